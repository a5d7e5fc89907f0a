//! Accesses that stale entries of TLBs hid from page aging, and for how long.

/// Accesses hidden, and how long entries hid some.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// Accesses through entries whose page was old: aging does not see them.
    pub accesses: u64,
    /// Accesses through entries whose page was no longer mapped as they have it.
    pub after_unmap: u64,
}

//! Numbers that identify entries of the caller's tables.

use pageout_paging::pte::{SwapEntry, SwapKind};

/// The number of no entry: the end of a list, or a frame without a folio.
pub(crate) const NONE: u32 = u32::MAX;

/// The index of a folio in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FolioId(pub u32);

/// The index of a VMA in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VmaId(pub u32);

/// The index of an address space in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MmId(pub u32);

/// The index of a mapping in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MappingId(pub u32);

/// The index of a cgroup in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemcgId(pub u16);

impl MemcgId {
    /// The root of the hierarchy. Everything is charged to it in the end, and it has no limit.
    pub const ROOT: Self = Self(0);
    /// The number of no cgroup.
    pub(crate) const NONE: Self = Self(u16::MAX);
}

/// The index of a swap slot, of one page, in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwapSlot(pub u32);

impl SwapSlot {
    /// Returns the entry that names the slot. Slot 0 has offset 1: offset 0 is a swap device's
    /// header.
    #[inline]
    pub fn entry(self) -> SwapEntry {
        let entry = SwapEntry::new(SwapKind::Device(0), u64::from(self.0) + 1);
        entry.expect("32 bits fit an offset of 50, and are not 0")
    }

    /// Returns the slot that an entry names, if it names one.
    pub fn named_by(entry: SwapEntry) -> Option<Self> {
        let slot = u32::try_from(entry.offset.checked_sub(1)?).ok()?;
        matches!(entry.kind, SwapKind::Device(0)).then_some(Self(slot))
    }

    /// Returns the `k`-th slot after this one.
    #[must_use]
    pub fn nth(self, k: usize) -> Self {
        Self(self.0 + k as u32)
    }
}

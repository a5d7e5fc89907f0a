//! Swap slots: where anonymous pages go, how many entries name each, and the swap cache.

use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

/// Index of a slot, one page, in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwapSlot(pub u32);

/// One swap slot, 16 bytes.
#[derive(Debug, Default)]
pub struct Slot {
    /// The shadow of the page last evicted here, 0 if there is none.
    pub(crate) shadow: AtomicU64,
    /// The folio in the swap cache, or for a free slot the next free one.
    pub(crate) folio: AtomicU32,
    /// Page-table entries that name the slot.
    pub(crate) entries: AtomicU16,
    /// The cgroup its page was charged to.
    pub(crate) memcg: AtomicU16,
}

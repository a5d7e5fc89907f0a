//! The walker: from the root to the leaf, setting accessed and dirty bits as hardware does.

use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::table::Slot;
use pageout_paging::{Pfn, VirtAddr};

/// The address space that a core runs in user mode, and what its walker can do.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Its tag.
    pub asid: Asid,
    /// Its root table.
    pub root: Pfn,
    /// What hardware sets by itself.
    pub caps: Caps,
}

/// Why a walk ended without a translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Nothing is mapped that hardware can reach.
    Absent,
    /// A store to what is not writable.
    Permission,
    /// The entry is old, and hardware makes nothing young.
    Accessed,
    /// A store to a clean entry, and hardware makes nothing dirty.
    Dirty,
}

/// An access that needs software.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageFault {
    /// The address.
    pub at: VirtAddr,
    /// Whether it was a store.
    pub store: bool,
    /// Why.
    pub kind: FaultKind,
}

/// What a walk did, so that it can be priced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Tables read: four, less those that the page-walk cache led past.
    pub levels: u8,
    /// The last entry read: the leaf, or the one that leads no further.
    pub last: Slot,
    /// Whether the leaf was changed: young, dirty or both.
    pub changed: bool,
    /// Whether the entry that leads to the leaf's table became young, and its place.
    pub made_table_young: Option<Slot>,
    /// The fault, if it ended in one.
    pub fault: Option<PageFault>,
}

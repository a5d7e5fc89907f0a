//! The TLB of one core: two levels, the page-walk cache, and the walker that fills them.

mod shape;
mod walk;

pub use shape::{LevelShape, ShapeError, TlbShape};
pub use walk::{FaultKind, PageFault, Space, Walk};

use crate::Time;
use crate::hidden::Hidden;
use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::table::{HostTables, Slot};
use pageout_paging::{Format, Pfn, VirtAddr};

/// What a TLB answers to an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The first level has a translation that permits it.
    L1,
    /// The second level had one; the first has it now.
    L2,
    /// Neither has one that permits it: a walk follows ([`Tlb::walk`]).
    Miss,
    /// What is held is that nothing is mapped here. It is forgotten with this answer, as software
    /// does in the fault that follows (Linux 7.1.5, flush_tlb_fix_spurious_fault of riscv).
    Fault,
}

/// One entry, as tests see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// 1 or 2.
    pub level: u8,
    /// The address space; `None` for a global translation.
    pub asid: Option<Asid>,
    /// The first address.
    pub start: VirtAddr,
    /// Pages.
    pub nr_pages: usize,
    /// The first frame; `None` where it is held that nothing is mapped.
    pub pfn: Option<Pfn>,
    /// Stores go through without a look at the table.
    pub stores: bool,
    /// Where the young bit was set for this entry; of a coalesced run, its first page's.
    pub slot: Slot,
    /// When the entry first hid an access that would have made its page young, if it does.
    pub hides_since: Option<Time>,
}

/// The TLB of one core, over the page tables of the machine.
///
/// No two entries of a level overlap, and where the levels overlap they hold the same: a fill drops
/// what it overlaps. Within a set the entry used least recently gives way.
#[derive(Debug)]
pub struct Tlb<'a, F> {
    tables: HostTables<'a, F>,
}

impl<'a, F: Format> Tlb<'a, F> {
    /// An empty TLB.
    ///
    /// # Panics
    /// If the shape is none ([`TlbShape::check`]).
    pub fn new(_shape: &TlbShape, tables: HostTables<'a, F>) -> Self {
        Self { tables }
    }

    /// Looks for a translation of `at`. Counts the access if it is hidden: the entry that would
    /// become young, were it asked, is old.
    #[inline]
    pub fn find(&mut self, _asid: Asid, _at: VirtAddr, _store: bool, _now: Time) -> Found {
        let _ = self.tables;
        todo!()
    }

    /// Walks the tables for `at`, sets what hardware sets, and holds what may be held.
    pub fn walk(&mut self, _space: &Space, _at: VirtAddr, _store: bool, _now: Time) -> Walk {
        todo!()
    }

    /// Applies an invalidation; how many entries it removed.
    pub fn forget(&mut self, _what: Invalidate, _now: Time) -> usize {
        todo!()
    }

    /// Forgets an address space, walks included; how many entries that removed.
    pub fn forget_asid(&mut self, _asid: Asid, _now: Time) -> usize {
        todo!()
    }

    /// Forgets everything that is not global; how many entries that removed.
    pub fn forget_all_but_global(&mut self, _now: Time) -> usize {
        todo!()
    }

    /// Accesses that entries hid, and for how long they did.
    pub fn hidden(&self) -> &Hidden {
        todo!()
    }

    /// What is held, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = Held> {
        std::iter::empty()
    }
}

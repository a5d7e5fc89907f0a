//! The address spaces that cores have loaded, and the hardware identifiers that were given.

use pageout_paging::mmu::Asid;
use std::cell::Cell;

/// The address space that a core runs in user mode, and those that its TLB keeps apart.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The address space in the core's registers.
    pub(crate) mm: Option<Asid>,
    /// True if the address space is loaded but none of its tasks runs: invalidations may wait until
    /// one does.
    pub(crate) lazy: bool,
    /// The address spaces that have a tag, each with the generation up to which it is flushed (x86
    /// with PCID). Without tags, the loaded address space.
    pub(super) tags: Vec<(Asid, u64)>,
    slots: usize,
    /// The position of the tag that is given away next.
    next: usize,
    /// True if hardware identifiers were given anew: all is flushed at the next switch (arm64).
    pub(super) flush_pending: bool,
}

impl Loaded {
    pub(crate) fn new(slots: u8) -> Self {
        let slots = usize::from(slots).max(1);
        let tags = Vec::new();
        Self { mm: None, lazy: false, tags, slots, next: 0, flush_pending: false }
    }

    /// Gives the address space the next tag in turn, and returns the address space that had it.
    pub(super) fn give_tag(&mut self, asid: Asid, generation: u64) -> Option<Asid> {
        if self.tags.len() < self.slots {
            self.tags.push((asid, generation));
            return None;
        }
        let (former, _) = std::mem::replace(&mut self.tags[self.next], (asid, generation));
        self.next = (self.next + 1) % self.slots;
        Some(former)
    }
}

/// The identifiers given in the present generation.
#[derive(Default)]
pub(crate) struct Identifiers {
    pub(super) generation: Cell<u64>,
    pub(super) given: Cell<u32>,
}

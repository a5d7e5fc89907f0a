//! Memory that gets fragmented: frames in buddy blocks, watermarks, and who is told when it gets
//! low.

use super::env::ModelEnv;
use super::software::KernelOp;
use crate::buddy::{Buddy, Watermarks};
use pageout_experiment::formats::Arch;
use pageout_machine::TaskId;
use pageout_paging::{Order, Pfn};
use pageout_reclaim::FreeBlocks;
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// A zone of frames for folios (Linux 7.3.4, `struct zone`; without per-CPU lists and kinds of
/// mobility).
#[derive(Debug)]
pub struct Zone {
    buddy: RefCell<Buddy>,
    marks: Watermarks,
    /// Who reclaims in the background, while it sleeps.
    sleeper: Cell<Option<TaskId>>,
}

impl Zone {
    /// So many free pages of 2^`page_shift` bytes from frame 0 on, with the watermarks that Linux
    /// sets for them.
    pub fn new(pages: usize, page_shift: u32) -> Self {
        let marks = Watermarks::of(pages, page_shift);
        Self { buddy: RefCell::new(Buddy::new(pages)), marks, sleeper: Cell::new(None) }
    }

    /// Its watermarks.
    pub fn marks(&self) -> Watermarks {
        self.marks
    }

    /// The task that reclaims in the background is about to sleep until memory gets low.
    pub fn sleeps(&self, task: TaskId) {
        self.sleeper.set(Some(task));
    }

    /// Whoever is to be woken, if it sleeps.
    pub fn take_sleeper(&self) -> Option<TaskId> {
        self.sleeper.take()
    }

    /// Whether background reclaim is to begin.
    pub(super) fn is_low(&self) -> bool {
        self.free_pages() < self.marks.low
    }

    pub(super) fn free_pages(&self) -> usize {
        self.buddy.borrow().free_pages()
    }

    /// A run that leaves the least watermark free.
    pub(super) fn alloc(&self, order: Order) -> Option<Pfn> {
        let mut buddy = self.buddy.borrow_mut();
        buddy.watermark_ok(order, self.marks.min).then(|| buddy.alloc(order)).flatten()
    }

    pub(super) fn free(&self, pfn: Pfn, order: Order) {
        self.buddy.borrow_mut().free(pfn, order);
    }
}

/// What compaction asks of the zone. It is asked of no other supply, so there is one.
impl<F: Arch> FreeBlocks for ModelEnv<'_, '_, F> {
    fn frames(&self) -> Range<Pfn> {
        Pfn::new(0)..Pfn::new(self.zone().buddy.borrow().frames() as u64)
    }

    fn block_at(&self, pfn: Pfn) -> Option<Order> {
        self.does(KernelOp::ScanFrame, 1);
        self.zone().buddy.borrow().block_at(pfn)
    }

    fn alloc_at(&self, pfn: Pfn, order: Order) -> bool {
        self.does(KernelOp::Move, 1);
        self.zone().buddy.borrow_mut().alloc_at(pfn, order)
    }

    fn has_block(&self, order: Order) -> bool {
        let zone = self.zone();
        zone.buddy.borrow().watermark_ok(order, zone.marks.min)
    }

    fn low_watermark(&self) -> usize {
        self.zone().marks.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_stop_at_the_least_watermark_and_tell_of_the_low_one() {
        let zone = Zone::new(1 << 12, 12);
        let marks = zone.marks();
        let one = Order::default();
        let mut taken = 0;
        while !zone.is_low() {
            zone.alloc(one).expect("above the low watermark there is memory");
            taken += 1;
        }
        assert_eq!(zone.free_pages(), marks.low - 1);
        while zone.alloc(one).is_some() {
            taken += 1;
        }
        assert_eq!((zone.free_pages(), taken), (marks.min, (1 << 12) - marks.min));
        zone.free(Pfn::new(7), one);
        assert_eq!(zone.alloc(one), Some(Pfn::new(7)));
        zone.sleeps(TaskId(3));
        assert_eq!((zone.take_sleeper(), zone.take_sleeper()), (Some(TaskId(3)), None));
    }
}

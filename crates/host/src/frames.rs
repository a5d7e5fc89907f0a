//! The frames of ground `host`: numbers, without memory behind those of folios.

use crate::env::FIRST_TABLE;
use pageout_paging::walk::TableFrames;
use pageout_paging::{Order, Pfn};
use std::cell::{Cell, RefCell};
use std::iter::repeat_with;

/// Two supplies of frames: for folios from 0 on, each aligned to its size, and for page tables from
/// [`FIRST_TABLE`] on. A freed run goes on a stack of its size, from which it is allocated again.
/// Runs are neither split nor merged, so that freeing costs one store, as it does on kernels'
/// per-CPU lists.
#[derive(Debug, Default)]
pub struct HostFrames {
    next: Cell<u64>,
    end: u64,
    free: Cell<usize>,
    freed: Vec<RefCell<Vec<Pfn>>>,
    next_table: Cell<u64>,
    tables: u64,
    freed_tables: RefCell<Vec<Pfn>>,
    now_ms: Cell<u64>,
}

impl HostFrames {
    /// Returns `frames` frames for folios, and `tables` for tables.
    pub fn new(frames: usize, tables: usize) -> Self {
        let stacks = usize::from(Order::MAX.get()) + 1;
        Self {
            end: frames as u64,
            free: Cell::new(frames),
            freed: repeat_with(RefCell::default).take(stacks).collect(),
            tables: tables as u64,
            ..Self::default()
        }
    }

    /// Returns the milliseconds that have passed in the scenario.
    pub fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    /// Advances the time of the scenario: nothing else does.
    pub fn pass(&self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms);
    }

    /// Reserves room for `runs` runs on the stack of `order`, so that freeing them allocates
    /// nothing.
    pub fn reserve(&self, order: Order, runs: usize) {
        self.freed[usize::from(order.get())].borrow_mut().reserve(runs);
    }

    /// Allocates a run of 2^`order` frames.
    pub fn alloc(&self, order: Order) -> Option<Pfn> {
        let nr = order.nr_pages() as u64;
        let again = self.freed[usize::from(order.get())].borrow_mut().pop();
        let new = || {
            let start = self.next.get().next_multiple_of(nr);
            let fits = start + nr <= self.end;
            fits.then(|| {
                self.next.set(start + nr);
                Pfn::new(start)
            })
        };
        let pfn = again.or_else(new)?;
        self.free.set(self.free.get() - order.nr_pages());
        Some(pfn)
    }

    /// Frees a run.
    #[inline]
    pub fn free(&self, pfn: Pfn, order: Order) {
        self.freed[usize::from(order.get())].borrow_mut().push(pfn);
        self.free.set(self.free.get() + order.nr_pages());
    }

    /// Returns the runs freed and not allocated again, by order, in the order in which they were
    /// freed.
    #[cfg(test)]
    pub(crate) fn freed(&self) -> Vec<Vec<Pfn>> {
        self.freed.iter().map(|stack| stack.borrow().clone()).collect()
    }

    /// Returns the number of free frames for folios; those skipped to align a run count as free.
    pub fn free_pages(&self) -> usize {
        self.free.get()
    }

    /// Allocates a frame with an empty table.
    pub fn alloc_table(&self) -> Option<Pfn> {
        if let Some(again) = self.freed_tables.borrow_mut().pop() {
            return Some(again);
        }
        let next = self.next_table.get();
        (next < self.tables).then(|| {
            self.next_table.set(next + 1);
            FIRST_TABLE.add(next)
        })
    }

    /// Frees an empty table.
    pub fn free_table(&self, frame: Pfn) {
        self.freed_tables.borrow_mut().push(frame);
    }
}

impl TableFrames for &HostFrames {
    fn take(&mut self) -> Option<Pfn> {
        self.alloc_table()
    }

    fn give_back(&mut self, frame: Pfn) {
        self.free_table(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_aligned_found_again_and_counted() {
        let frames = HostFrames::new(16, 0);
        let order = |order| Order::new(order).unwrap();
        let one = frames.alloc(order(0)).unwrap();
        let four = frames.alloc(order(2)).unwrap();
        assert_eq!((one, four), (Pfn::new(0), Pfn::new(4)));
        assert_eq!(frames.free_pages(), 11);
        frames.free(four, order(2));
        assert_eq!(frames.alloc(order(2)), Some(four));
        assert_eq!(frames.alloc(order(3)), Some(Pfn::new(8)));
        assert_eq!(frames.alloc(order(0)), None);
        assert_eq!(frames.alloc_table(), None);
    }
}

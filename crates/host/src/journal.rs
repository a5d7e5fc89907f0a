//! A journal of the engine's frees and transfers, for code that runs a program on it.

use pageout_paging::{Order, Pfn};
use pageout_reclaim::Io;
use std::cell::{Cell, RefCell};

/// Freed frames, and transferred pages. An environment with a journal adds to it.
#[derive(Debug, Default)]
pub struct Journal {
    read: Cell<u64>,
    written: Cell<u64>,
    freed: RefCell<Vec<(Pfn, Order)>>,
}

impl Journal {
    /// Notes a freed run of frames.
    pub fn note_free(&self, pfn: Pfn, order: Order) {
        self.freed.borrow_mut().push((pfn, order));
    }

    /// Notes a started transfer, to storage or from it.
    pub fn note_transfer(&self, io: Io, write: bool) {
        let pages = if write { &self.written } else { &self.read };
        pages.set(pages.get() + io.nr as u64);
    }

    /// Returns the number of pages read from storage so far.
    pub(crate) fn read(&self) -> u64 {
        self.read.get()
    }

    /// Returns the number of pages written to storage so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.get()
    }

    /// Returns the frames freed since the last call.
    pub(crate) fn take_freed(&self) -> impl Iterator<Item = Pfn> {
        let runs = self.freed.take().into_iter();
        runs.flat_map(|(first, order)| (0..order.nr_pages() as u64).map(move |k| first.add(k)))
    }
}

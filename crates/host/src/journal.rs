//! What the engine did with frames and storage, for who runs a program on it.

use pageout_paging::{Order, Pfn};
use pageout_reclaim::Io;
use std::cell::{Cell, RefCell};

/// Frames given back, and pages transferred. An environment tells it where one is kept.
#[derive(Debug, Default)]
pub struct Journal {
    read: Cell<u64>,
    written: Cell<u64>,
    freed: RefCell<Vec<(Pfn, Order)>>,
}

impl Journal {
    /// A run of frames is given back.
    pub fn note_free(&self, pfn: Pfn, order: Order) {
        self.freed.borrow_mut().push((pfn, order));
    }

    /// A transfer is started, to storage or from it.
    pub fn note_transfer(&self, io: Io, write: bool) {
        let pages = if write { &self.written } else { &self.read };
        pages.set(pages.get() + io.nr as u64);
    }

    /// Pages read from storage so far.
    pub(crate) fn read(&self) -> u64 {
        self.read.get()
    }

    /// Pages written to storage so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.get()
    }

    /// The frames given back since this was asked last.
    pub(crate) fn take_freed(&self) -> impl Iterator<Item = Pfn> {
        let runs = self.freed.take().into_iter();
        runs.flat_map(|(first, order)| (0..order.nr_pages() as u64).map(move |k| first.add(k)))
    }
}

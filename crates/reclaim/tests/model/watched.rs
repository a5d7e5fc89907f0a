//! Page tables that report every write to the hardware.

use crate::hardware::Hardware;
use pageout_paging::table::HostTables;
use pageout_paging::{Format, Pfn, Pte};
use pageout_sim::{FIRST_TABLE, Watch, WatchedTable};
use std::cell::RefCell;
use std::marker::PhantomData;

/// The page tables.
pub(crate) struct WatchedTables<'g, F> {
    pub(crate) tables: HostTables<'g, F>,
    pub(crate) hardware: &'g RefCell<Hardware>,
}

impl<'g, F: Format> WatchedTables<'g, F> {
    pub(crate) fn table(&self, frame: Pfn) -> Watched<'g, F> {
        let number = frame.offset_from(FIRST_TABLE) as usize;
        let writes = Writes { number, hardware: self.hardware, format: PhantomData };
        WatchedTable::new(self.tables.table(frame), writes)
    }
}

/// A page table.
pub(crate) type Watched<'g, F> = WatchedTable<'g, F, Writes<'g, F>>;

/// The hardware that is told of the writes to a table.
pub(crate) struct Writes<'g, F> {
    number: usize,
    hardware: &'g RefCell<Hardware>,
    format: PhantomData<F>,
}

impl<F> Clone for Writes<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Writes<'_, F> {}

impl<F: Format> Watch for Writes<'_, F> {
    fn changed(self, i: usize, was: Pte, now: Pte) {
        self.hardware.borrow_mut().written::<F>(self.number, i, was, now);
    }
}

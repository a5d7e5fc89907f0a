//! Page tables that report every write to the hardware.

use crate::hardware::Hardware;
use crate::memory::FIRST_TABLE;
use pageout_paging::table::{HostTable, HostTables, LINE};
use pageout_paging::{Format, Pfn, Pte, Table};
use std::cell::RefCell;

/// The page tables.
pub(crate) struct WatchedTables<'g, F> {
    pub(crate) tables: HostTables<'g, F>,
    pub(crate) hardware: &'g RefCell<Hardware>,
}

impl<'g, F: Format> WatchedTables<'g, F> {
    pub(crate) fn table(&self, frame: Pfn) -> Watched<'g, F> {
        let number = frame.offset_from(FIRST_TABLE) as usize;
        Watched { table: self.tables.table(frame), number, hardware: self.hardware }
    }
}

/// A page table.
pub(crate) struct Watched<'g, F> {
    table: HostTable<'g, F>,
    number: usize,
    hardware: &'g RefCell<Hardware>,
}

impl<F> Clone for Watched<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Watched<'_, F> {}

impl<'g, F: Format> Watched<'g, F> {
    fn write<T>(self, i: usize, write: impl FnOnce(HostTable<'g, F>) -> T) -> T {
        let was = self.table.load(i);
        let done = write(self.table);
        let now = self.table.load(i);
        if was != now {
            self.hardware.borrow_mut().written::<F>(self.number, i, was, now);
        }
        done
    }
}

impl<F: Format> Table for Watched<'_, F> {
    fn load(self, i: usize) -> Pte {
        self.table.load(i)
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.table.line(i)
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.write(i, |table| table.test_and_clear_bit(i, bit))
    }

    fn clear_bits(self, i: usize, bits: u64) {
        self.write(i, |table| table.clear_bits(i, bits));
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.write(i, |table| table.cas(i, old, new))
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        self.write(i, |table| table.swap(i, new))
    }

    fn set(self, i: usize, pte: Pte) {
        self.write(i, |table| table.set(i, pte));
    }

    fn prefetch_write(self, i: usize) {
        self.table.prefetch_write(i);
    }
}

//! Page tables whose operations are watched.

use pageout_paging::table::{HostTable, LINE};
use pageout_paging::{Format, Pte, Table};

/// The kind of an operation on a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Reads one entry, or a line of them.
    Read,
    /// May change an entry.
    Change,
    /// Prefetches an entry.
    Prefetch,
}

/// Watches the operations on one table.
pub trait Watch: Copy {
    /// Called before each operation.
    fn before(self, _operation: Operation) {}

    /// Called after entry `i` changed.
    fn changed(self, _i: usize, _was: Pte, _now: Pte) {}

    /// Returns true if a change is a load and a store, which is a mistake. Others may change the
    /// entry in between.
    fn is_torn(self) -> bool {
        false
    }
}

/// A page table that is watched by `W`.
#[derive(Debug)]
pub struct WatchedTable<'a, F, W> {
    table: HostTable<'a, F>,
    watch: W,
}

impl<'a, F, W> WatchedTable<'a, F, W> {
    /// Returns the table with its watch.
    pub const fn new(table: HostTable<'a, F>, watch: W) -> Self {
        Self { table, watch }
    }
}

impl<F, W: Copy> Clone for WatchedTable<'_, F, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, W: Copy> Copy for WatchedTable<'_, F, W> {}

impl<'a, F: Format, W: Watch> WatchedTable<'a, F, W> {
    fn read(self) -> HostTable<'a, F> {
        self.watch.before(Operation::Read);
        self.table
    }

    fn change<T>(self, i: usize, change: impl FnOnce(HostTable<'a, F>) -> T) -> T {
        let loaded = self.watch.is_torn().then(|| self.table.load(i));
        self.watch.before(Operation::Change);
        let was = self.table.load(i);
        if let Some(loaded) = loaded {
            self.table.set(i, loaded);
        }
        let done = change(self.table);
        let now = self.table.load(i);
        if was != now {
            self.watch.changed(i, was, now);
        }
        done
    }
}

impl<F: Format, W: Watch> Table for WatchedTable<'_, F, W> {
    fn load(self, i: usize) -> Pte {
        self.read().load(i)
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.read().line(i)
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.change(i, |table| table.test_and_clear_bit(i, bit))
    }

    fn clear_bits(self, i: usize, bits: u64) {
        self.change(i, |table| table.clear_bits(i, bits));
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.change(i, |table| table.cas(i, old, new))
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        self.change(i, |table| table.swap(i, new))
    }

    fn set(self, i: usize, pte: Pte) {
        self.change(i, |table| table.set(i, pte));
    }

    fn prefetch_write(self, i: usize) {
        self.watch.before(Operation::Prefetch);
        self.table.prefetch_write(i);
    }
}

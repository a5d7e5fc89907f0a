//! Tables whose operations are watched.

use super::{LINE, Table};
use crate::pte::Pte;

/// An operation on a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Reads an entry.
    Load,
    /// Reads the line of an entry.
    Line,
    /// Changes an entry in one atomic operation, unless it is a compare-and-swap that fails.
    Change,
    /// Stores this to an entry.
    Set(Pte),
    /// Prefetches the line of an entry.
    Prefetch,
}

/// Watches the operations on one table. Those that do more than to act before an operation do the
/// operation themselves.
pub trait Watch: Copy {
    /// Called before each operation, with the index of its entry.
    fn before(self, _operation: Operation, _i: usize) {}

    /// Reads entry `i`.
    #[inline]
    fn load(self, table: impl Table, i: usize) -> Pte {
        self.before(Operation::Load, i);
        table.load(i)
    }

    /// Reads the line of entry `i`.
    #[inline]
    fn line(self, table: impl Table, i: usize) -> [u64; LINE] {
        self.before(Operation::Line, i);
        table.line(i)
    }

    /// Does an operation that may change entry `i`.
    #[inline]
    fn change<T: Table, R>(
        self,
        operation: Operation,
        table: T,
        i: usize,
        change: impl FnOnce(T) -> R,
    ) -> R {
        self.before(operation, i);
        change(table)
    }
}

/// Does an operation that may change entry `i`. Returns its result, and the entry before and after
/// it if they differ.
pub fn changed_by<T: Table, R>(
    table: T,
    i: usize,
    change: impl FnOnce(T) -> R,
) -> (R, Option<(Pte, Pte)>) {
    let was = table.load(i);
    let done = change(table);
    let now = table.load(i);
    (done, (was != now).then_some((was, now)))
}

/// A table that is watched by `W`.
#[derive(Clone, Copy, Debug)]
pub struct WatchedTable<T, W> {
    table: T,
    watch: W,
}

impl<T, W> WatchedTable<T, W> {
    /// Returns the table with its watch.
    #[inline]
    pub const fn new(table: T, watch: W) -> Self {
        Self { table, watch }
    }
}

impl<T: Table, W: Watch> WatchedTable<T, W> {
    #[inline]
    fn change<R>(self, i: usize, change: impl FnOnce(T) -> R) -> R {
        self.watch.change(Operation::Change, self.table, i, change)
    }
}

impl<T: Table, W: Watch> Table for WatchedTable<T, W> {
    #[inline]
    fn load(self, i: usize) -> Pte {
        self.watch.load(self.table, i)
    }

    #[inline]
    fn line(self, i: usize) -> [u64; LINE] {
        self.watch.line(self.table, i)
    }

    #[inline]
    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.change(i, |table| table.test_and_clear_bit(i, bit))
    }

    #[inline]
    fn clear_bits(self, i: usize, bits: u64) {
        self.change(i, |table| table.clear_bits(i, bits));
    }

    #[inline]
    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.change(i, |table| table.cas(i, old, new))
    }

    #[inline]
    fn swap(self, i: usize, new: Pte) -> Pte {
        self.change(i, |table| table.swap(i, new))
    }

    #[inline]
    fn set(self, i: usize, pte: Pte) {
        self.watch.change(Operation::Set(pte), self.table, i, |table| table.set(i, pte));
    }

    #[inline]
    fn prefetch_write(self, i: usize) {
        self.watch.before(Operation::Prefetch, i);
        self.table.prefetch_write(i);
    }
}

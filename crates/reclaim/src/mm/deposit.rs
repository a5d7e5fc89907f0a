//! Page tables in reserve: one for each PMD leaf of anonymous memory (the kernel's
//! `pgtable_trans_huge_deposit`). The leaf can then be split even when no table can be allocated.

use crate::lock::QueuedLock;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::pte::{Entry, SwapEntry, SwapKind};
use pageout_paging::{Env, Format, Pfn, Pte, Table};

/// A list of the tables. Each holds the frame of the next in its first entry, in a format that
/// hardware does not use. No table belongs to a particular leaf: there are at least as many tables
/// as leaves.
#[derive(Debug, Default)]
pub(crate) struct Deposits {
    /// The lock of all fields.
    pub(super) lock: QueuedLock,
    /// The frame of the first table, if there is one.
    head: AtomicU64,
    tables: AtomicU32,
    /// The number of leaves that need a table.
    leaves: AtomicU32,
}

impl Deposits {
    /// Returns the number of tables in reserve.
    pub(super) fn tables(&self) -> u32 {
        self.tables.load(Relaxed)
    }

    /// Returns true if there are more tables than leaves.
    pub(super) fn has_spare(&self) -> bool {
        self.tables() > self.leaves.load(Relaxed)
    }

    /// Counts one leaf more, or one less. The caller holds the lock.
    pub(super) fn count_leaf(&self, more: bool) {
        let leaves = self.leaves.load(Relaxed);
        self.leaves.store(if more { leaves + 1 } else { leaves - 1 }, Relaxed);
    }

    /// Adds an empty table. The caller holds the lock.
    pub(super) fn push<E: Env>(&self, env: &E, frame: Pfn) {
        if self.tables() > 0 {
            let next = SwapEntry::new(SwapKind::Marker, self.head.load(Relaxed));
            env.table(frame).set(0, E::Format::swap(next.expect("a frame's number fits")));
        }
        self.head.store(frame.get(), Relaxed);
        self.tables.store(self.tables() + 1, Relaxed);
    }

    /// Takes a table out, emptied. The caller holds the lock.
    pub(super) fn pop<E: Env>(&self, env: &E) -> Option<Pfn> {
        let left = self.tables().checked_sub(1)?;
        let frame = Pfn::new(self.head.load(Relaxed));
        if left > 0 {
            let table = env.table(frame);
            let Entry::Swap(next) = E::Format::entry(table.load(0)) else {
                unreachable!("a table in reserve names the next");
            };
            self.head.store(next.offset, Relaxed);
            table.set(0, Pte::NONE);
        }
        self.tables.store(left, Relaxed);
        Some(frame)
    }
}

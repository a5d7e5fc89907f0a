//! An environment whose tables are checked.

use super::Machine;
use super::rule::Rule;
use super::tree::{Place, decode};
use crate::Pfn;
use crate::env::Env;
use crate::mmu::Asid;
use crate::notifier::Notifier;
use crate::pte::{Format, Level, Pte};
use crate::table::{LINE, Operation, Table, Watch, WatchedTable, changed_by};
use core::sync::atomic::AtomicU32;

/// The environment of a [`Machine`]: the embedder's, with checked tables. All else is forwarded.
pub struct Checked<'m, E: Env, const HELD: usize> {
    machine: &'m Machine<'m, E, HELD>,
}

impl<'m, E: Env, const HELD: usize> Checked<'m, E, HELD> {
    pub(super) const fn new(machine: &'m Machine<'m, E, HELD>) -> Self {
        Self { machine }
    }

    /// Returns the machine.
    pub const fn machine(&self) -> &'m Machine<'m, E, HELD> {
        self.machine
    }
}

impl<'m, E: Env, const HELD: usize> Env for Checked<'m, E, HELD> {
    type Format = E::Format;
    type Table = CheckedTable<'m, E, HELD>;
    type Mmu = E::Mmu;
    type Rules = E::Rules;
    type Observer = E::Observer;
    type TableGuard<'a>
        = E::TableGuard<'a>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        WatchedTable::new(self.machine.env().table(frame), Checks { machine: self.machine, frame })
    }

    fn mmu(&self) -> &E::Mmu {
        self.machine.env().mmu()
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<E::TableGuard<'_>> {
        self.machine.env().try_lock_table(frame)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        self.machine.env().notifier(asid)
    }

    fn observer(&self) -> &E::Observer {
        self.machine.env().observer()
    }

    fn relax(&self) {
        self.machine.step();
        self.machine.env().relax();
    }

    fn sleep(&self, word: &AtomicU32, seen: u32) {
        self.machine.step();
        self.machine.env().sleep(word, seen);
    }

    fn locks_in_order(&self) -> bool {
        self.machine.env().locks_in_order()
    }

    fn wake(&self, word: &AtomicU32) {
        self.machine.env().wake(word);
    }

    fn corrupted(&self, damage: &dyn core::error::Error) {
        self.machine.env().corrupted(damage);
    }

    fn need_resched(&self) -> bool {
        self.machine.env().need_resched()
    }
}

/// A table that checks the rules of [`testing`](super). Hardware may act between any two
/// operations.
pub type CheckedTable<'m, E, const HELD: usize> =
    WatchedTable<<E as Env>::Table, Checks<'m, E, HELD>>;

/// The checks of one table.
pub struct Checks<'m, E: Env, const HELD: usize> {
    machine: &'m Machine<'m, E, HELD>,
    frame: Pfn,
}

impl<E: Env, const HELD: usize> Clone for Checks<'_, E, HELD> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Env, const HELD: usize> Copy for Checks<'_, E, HELD> {}

impl<E: Env, const HELD: usize> Checks<'_, E, HELD> {
    /// Checks that a change follows break-before-make.
    ///
    /// # Panics
    /// If it does not.
    fn check(self, i: usize, old: Pte, new: Pte) {
        let Some(first) = self.machine.place(self.frame) else { return };
        let level = first.level;
        if E::Format::is_valid(old) && E::Format::is_valid(new) {
            self.check_in_place(i, level, old, new);
        }
        let addr = first.addr.add((i as u64) << E::Format::shift(level));
        let decoded = |raw| decode::<E::Format>(raw, level, i);
        self.machine.change(Place { addr, ..first }, decoded(old), decoded(new));
    }

    /// Checks that no valid entry is stored over, but for one that leads to a table.
    ///
    /// # Panics
    /// If one is.
    fn check_stored(self, i: usize, old: Pte, new: Pte) {
        if E::Format::is_valid(old) && !self.takes_out_table(old, new) {
            Rule::OneAtomicOperation.broken(format_args!(
                "{new:?} is stored over entry {i} of the table in {:?}, which is valid ({old:?}): \
                 what hardware set in it since it was read is lost",
                self.frame
            ));
        }
    }

    /// Returns true if a change takes a table out: bits that hardware set in the entry that led to
    /// it no longer matter.
    fn takes_out_table(self, old: Pte, new: Pte) -> bool {
        let place = self.machine.place(self.frame);
        let may_lead = place.is_none_or(|place| place.level != Level::Pte);
        may_lead && E::Format::is_table(old) && !E::Format::is_valid(new)
    }

    /// Checks a change from one valid entry to another without an invalid moment: hardware may have
    /// read either.
    fn check_in_place(self, i: usize, level: Level, old: Pte, new: Pte) {
        let may_mix = self.machine.tlbs().caps().bbml2_noabort;
        let decoded = |raw| decode::<E::Format>(raw, level, i);
        let (was, is) = (decoded(old), decoded(new));
        let leads = |pte| level != Level::Pte && E::Format::is_table(pte);
        let moved = E::Format::pfn(was) != E::Format::pfn(is) || leads(was) != leads(is);
        let resized = E::Format::is_cont(was) != E::Format::is_cont(is) && !may_mix;
        if moved || resized {
            Rule::BreakBeforeMake.broken(format_args!(
                "entry {i} of the table in {:?} went from {old:?} to {new:?} without being taken \
                 out and forgotten in between",
                self.frame
            ));
        }
    }
}

impl<E: Env, const HELD: usize> Watch for Checks<'_, E, HELD> {
    fn before(self, operation: Operation, _i: usize) {
        if operation != Operation::Prefetch {
            self.machine.step();
        }
    }

    fn line(self, table: impl Table, i: usize) -> [u64; LINE] {
        let first = i - i % LINE;
        core::array::from_fn(|k| self.load(table, first + k).0)
    }

    fn change<T: Table, R>(
        self,
        operation: Operation,
        table: T,
        i: usize,
        change: impl FnOnce(T) -> R,
    ) -> R {
        self.before(operation, i);
        if let Operation::Set(pte) = operation {
            self.check_stored(i, table.load(i), pte);
        }
        let (done, changed) = changed_by(table, i, change);
        if let Some((old, new)) = changed {
            self.check(i, old, new);
        }
        done
    }
}

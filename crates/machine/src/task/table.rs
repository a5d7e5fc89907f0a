//! Page tables as a task sees them: every operation takes its price and its turn.

use super::Task;
use crate::Time;
use crate::account::{MachineActivity, count};
use crate::core_set::CoreId;
use crate::lines::Lines;
use crate::platform::Prices;
use pageout_paging::table::{HostTable, LINE, Slot};
use pageout_paging::{Format, Pfn, Pte, Table};

/// A page table as a task sees it.
pub struct TaskTable<'x, 'a, F: Format> {
    task: &'x Task<'x, 'a, F>,
    frame: Pfn,
    table: HostTable<'a, F>,
}

impl<F: Format> Clone for TaskTable<'_, '_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Format> Copy for TaskTable<'_, '_, F> {}

impl<F: Format> std::fmt::Debug for TaskTable<'_, '_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "table in {:?}", self.frame)
    }
}

impl<'a, F: Format> Task<'_, 'a, F> {
    /// Returns the table in `frame`.
    ///
    /// # Panics
    /// If the frame is none of the machine's tables.
    #[inline]
    pub fn table(&self, frame: Pfn) -> TaskTable<'_, 'a, F> {
        TaskTable { task: self, frame, table: self.machine.tables.table(frame) }
    }
}

impl<F: Format> TaskTable<'_, '_, F> {
    #[inline]
    fn turn(self, price: impl FnOnce(&mut Lines, CoreId, &Prices) -> Time) {
        self.task.sync();
        let machine = self.task.machine;
        let core = self.task.core.get();
        let price = price(&mut machine.lines.borrow_mut(), core, &machine.setup.prices);
        count(&self.task.core().tally.table_operations);
        self.task.spend(price);
        self.task.of_which(MachineActivity::Table, price);
    }

    #[inline]
    fn read(self, i: usize) {
        self.turn(|lines, core, prices| lines.read(core, self.slot(i)).software(prices));
    }

    #[inline]
    fn write(self, i: usize) {
        self.turn(|lines, core, prices| lines.write(core, self.slot(i)).software(prices));
    }

    #[inline]
    fn slot(self, i: usize) -> Slot {
        self.task.machine.tables.slot(self.frame, i)
    }
}

impl<F: Format> Table for TaskTable<'_, '_, F> {
    #[inline]
    fn load(self, i: usize) -> Pte {
        self.read(i);
        self.table.load(i)
    }

    #[inline]
    fn line(self, i: usize) -> [u64; LINE] {
        self.read(i);
        self.table.line(i)
    }

    #[inline]
    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.write(i);
        self.table.test_and_clear_bit(i, bit)
    }

    #[inline]
    fn clear_bits(self, i: usize, bits: u64) {
        self.write(i);
        self.table.clear_bits(i, bits);
    }

    #[inline]
    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.write(i);
        self.table.cas(i, old, new)
    }

    #[inline]
    fn swap(self, i: usize, new: Pte) -> Pte {
        self.write(i);
        self.table.swap(i, new)
    }

    #[inline]
    fn set(self, i: usize, pte: Pte) {
        self.write(i);
        self.table.set(i, pte);
    }

    #[inline]
    fn prefetch_write(self, _i: usize) {}
}

//! Page tables as a task sees them: every operation takes its price and its turn.

use super::Task;
use crate::Time;
use crate::account::{MachineActivity, count};
use crate::core_set::CoreId;
use crate::lines::Lines;
use crate::platform::Prices;
use pageout_paging::table::{HostTable, Operation, Slot, Watch, WatchedTable};
use pageout_paging::{Format, Pfn};

/// A page table as a task sees it.
pub type TaskTable<'x, 'a, F> = WatchedTable<HostTable<'a, F>, Priced<'x, 'a, F>>;

/// The price and the turn of each operation on a table.
pub struct Priced<'x, 'a, F: Format> {
    task: &'x Task<'x, 'a, F>,
    frame: Pfn,
}

impl<F: Format> Clone for Priced<'_, '_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Format> Copy for Priced<'_, '_, F> {}

impl<'a, F: Format> Task<'_, 'a, F> {
    /// Returns the table in `frame`.
    ///
    /// # Panics
    /// If the frame is none of the machine's tables.
    #[inline]
    pub fn table(&self, frame: Pfn) -> TaskTable<'_, 'a, F> {
        WatchedTable::new(self.machine.tables.table(frame), Priced { task: self, frame })
    }
}

impl<F: Format> Priced<'_, '_, F> {
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
    fn slot(self, i: usize) -> Slot {
        self.task.machine.tables.slot(self.frame, i)
    }
}

impl<F: Format> Watch for Priced<'_, '_, F> {
    #[inline]
    fn before(self, operation: Operation, i: usize) {
        match operation {
            Operation::Load | Operation::Line => {
                self.turn(|lines, core, prices| lines.read(core, self.slot(i)).software(prices));
            }
            Operation::Change | Operation::Set(_) => {
                self.turn(|lines, core, prices| lines.write(core, self.slot(i)).software(prices));
            }
            Operation::Prefetch => {}
        }
    }
}

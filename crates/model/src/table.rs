//! Page tables for kernel code on a modelled machine. The machine prices each access, and the meter
//! prices the instructions around it.

use super::software::{Access, Meter};
use pageout_machine::{Task, TaskTable};
use pageout_paging::table::{Operation, Watch, WatchedTable};
use pageout_paging::{Format, Pte, Table};

/// A page table.
pub type ModelTable<'e, 'a, F> = WatchedTable<TaskTable<'e, 'a, F>, Metered<'e, 'a, F>>;

/// The price of the instructions around accesses to a table.
pub struct Metered<'e, 'a, F: Format> {
    pub(super) task: &'e Task<'e, 'a, F>,
    pub(super) meter: &'e Meter<'e>,
}

impl<F: Format> Clone for Metered<'_, '_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Format> Copy for Metered<'_, '_, F> {}

impl<F: Format> Metered<'_, '_, F> {
    #[inline]
    fn does(self, access: Access) {
        self.task.instructions(self.meter.accesses(access));
    }
}

impl<F: Format> Watch for Metered<'_, '_, F> {
    #[inline]
    fn before(self, operation: Operation, _i: usize) {
        match operation {
            Operation::Line => self.does(Access::Line),
            Operation::Change | Operation::Set(_) => self.does(Access::Change),
            Operation::Load | Operation::Prefetch => {}
        }
    }

    #[inline]
    fn load(self, table: impl Table, i: usize) -> Pte {
        let pte = table.load(i);
        self.does(Access::Read(F::is_cont(pte)));
        pte
    }
}

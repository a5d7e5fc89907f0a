//! Page tables for kernel code on a modelled machine. The machine prices each access, and the meter
//! prices the instructions around it.

use super::software::{Access, Meter};
use pageout_machine::{Task, TaskTable};
use pageout_paging::table::LINE;
use pageout_paging::{Format, Pte, Table};

/// A page table.
pub struct ModelTable<'e, 'a, F: Format> {
    table: TaskTable<'e, 'a, F>,
    task: &'e Task<'e, 'a, F>,
    meter: &'e Meter<'e>,
}

impl<'e, 'a, F: Format> ModelTable<'e, 'a, F> {
    pub(super) fn new(
        table: TaskTable<'e, 'a, F>,
        task: &'e Task<'e, 'a, F>,
        meter: &'e Meter<'e>,
    ) -> Self {
        Self { table, task, meter }
    }

    #[inline]
    fn does(self, access: Access) {
        self.task.instructions(self.meter.accesses(access));
    }
}

impl<F: Format> Clone for ModelTable<'_, '_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Format> Copy for ModelTable<'_, '_, F> {}

impl<F: Format> std::fmt::Debug for ModelTable<'_, '_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.table.fmt(f)
    }
}

impl<F: Format> Table for ModelTable<'_, '_, F> {
    fn load(self, i: usize) -> Pte {
        let pte = self.table.load(i);
        self.does(Access::Read(F::is_cont(pte)));
        pte
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.does(Access::Line);
        self.table.line(i)
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.does(Access::Change);
        self.table.test_and_clear_bit(i, bit)
    }

    fn clear_bits(self, i: usize, bits: u64) {
        self.does(Access::Change);
        self.table.clear_bits(i, bits);
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.does(Access::Change);
        self.table.cas(i, old, new)
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        self.does(Access::Change);
        self.table.swap(i, new)
    }

    fn set(self, i: usize, pte: Pte) {
        self.does(Access::Change);
        self.table.set(i, pte);
    }

    fn prefetch_write(self, i: usize) {
        self.table.prefetch_write(i);
    }
}

//! The smallest environment: host tables, no locks to wait for, no TLB.

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::{Env, Format, Mmu, Notifier, Pfn, Sound};

/// Tables in ordinary memory, on a machine without TLBs.
#[derive(Debug)]
pub(crate) struct Ground<'a, F> {
    tables: HostTables<'a, F>,
    mmu: NoTlb,
}

/// An MMU that holds no translations.
#[derive(Debug)]
pub(crate) struct NoTlb;

impl Mmu for NoTlb {
    fn caps(&self) -> Caps {
        Caps::IDEAL
    }

    fn invalidate(&self, _what: Invalidate) {}

    fn barrier(&self, _barrier: Barrier) {}
}

impl<'a, F: Format> Env for Ground<'a, F> {
    type Format = F;
    type Table = HostTable<'a, F>;
    type Mmu = NoTlb;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'g>
        = ()
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &Self::Mmu {
        &self.mmu
    }

    fn try_lock_table(&self, _frame: Pfn) -> Option<Self::TableGuard<'_>> {
        Some(())
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {}
}

//! Ground `host`: tables in ordinary memory, real atomics, no TLB to maintain.

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::{Env, Format, Notifier, Pfn, Sound};
use pageout_reclaim::{Lock, WriteGuard};
use std::sync::atomic::AtomicU64;

/// Frame number of the first page table: tables live apart from the folios' frames, which begin
/// at 0.
pub const FIRST_TABLE: Pfn = Pfn::new(1 << 34);

/// The timed environment. It counts nothing.
#[derive(Clone, Copy, Debug)]
pub struct HostEnv<'a, F> {
    tables: HostTables<'a, F>,
    locks: &'a [Lock],
}

impl<'a, F: Format> HostEnv<'a, F> {
    /// Tables in `memory`, with a lock each.
    ///
    /// # Panics
    /// If there are fewer locks than tables.
    pub fn new(memory: &'a [AtomicU64], locks: &'a [Lock]) -> Self {
        let tables = HostTables::new(memory, FIRST_TABLE);
        assert!(locks.len() >= tables.len(), "a lock for each of {} tables", tables.len());
        Self { tables, locks }
    }
}

impl<'a, F: Format> Env for HostEnv<'a, F> {
    type Format = F;
    type Table = HostTable<'a, F>;
    type Mmu = NoTlb;
    type Rules = Sound;
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    #[inline]
    fn table(&self, frame: Pfn) -> HostTable<'a, F> {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &NoTlb {
        &NoTlb
    }

    #[inline]
    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.locks[frame.offset_from(FIRST_TABLE) as usize].try_write()
    }

    #[inline]
    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn relax(&self) {
        std::hint::spin_loop();
    }
}

/// No TLB, and the hardware that the ideal walker plays: invalidations and barriers cost nothing
/// here and are not executed.
#[derive(Clone, Copy, Debug)]
pub struct NoTlb;

impl Mmu for NoTlb {
    fn caps(&self) -> Caps {
        Caps::IDEAL
    }

    fn invalidate(&self, _what: Invalidate) {}

    fn barrier(&self, _barrier: Barrier) {}
}

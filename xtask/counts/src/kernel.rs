//! The kernel around the engine: page tables with a lock each, and frames that are numbers.

use crate::board;
use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::pte::{Arm64_4K, Format};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::{Env, Notifier, Order, Pfn, Pte, Sound};
use pageout_reclaim::{Backing, Frames, Io, Lock, Submitted, World, WriteGuard};

/// The frame of the first page table, above those of folios.
const FIRST_TABLE: Pfn = Pfn::new(1 << 30);

pub(crate) struct Kernel<'m> {
    memory: &'m [AtomicU64],
    tables: HostTables<'m, Arm64_4K>,
    locks: &'m [Lock],
    /// The pages of freed folios.
    freed: Cell<usize>,
}

impl<'m> Kernel<'m> {
    pub(crate) fn new(memory: &'m [AtomicU64], locks: &'m [Lock]) -> Self {
        memory.iter().for_each(|entry| entry.store(0, Relaxed));
        let tables = HostTables::new(memory, FIRST_TABLE);
        Self { memory, tables, locks, freed: Cell::new(0) }
    }

    /// Returns the frames of all page tables.
    pub(crate) fn table_frames(&self) -> Range<Pfn> {
        FIRST_TABLE..FIRST_TABLE.add(self.locks.len() as u64)
    }

    /// Returns the number of pages that were freed.
    pub(crate) fn freed(&self) -> usize {
        self.freed.get()
    }

    /// Makes all entries that map pages young, as hardware does.
    pub(crate) fn use_all_pages(&self) {
        for entry in self.memory {
            let pte = Pte(entry.load(Relaxed));
            let maps_page = Arm64_4K::is_valid(pte) && Arm64_4K::pfn(pte) < FIRST_TABLE;
            if maps_page {
                entry.store(Arm64_4K::mkyoung(pte).0, Relaxed);
            }
        }
    }
}

impl<'m> Env for Kernel<'m> {
    type Format = Arm64_4K;
    type Table = HostTable<'m, Arm64_4K>;
    type Mmu = Self;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    #[inline]
    fn table(&self, frame: Pfn) -> Self::Table {
        self.tables.table(frame)
    }
    fn mmu(&self) -> &Self {
        self
    }
    #[inline]
    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.locks[frame.offset_from(FIRST_TABLE) as usize].try_write()
    }
    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        None
    }
    fn observer(&self) -> &() {
        &()
    }
    fn relax(&self) {
        core::hint::spin_loop();
    }
}

/// Invalidations by broadcast, of ranges by one instruction (FEAT_TLBIRANGE).
impl Mmu for Kernel<'_> {
    fn caps(&self) -> Caps {
        Caps::IDEAL
    }
    fn invalidate(&self, what: Invalidate) {
        board::invalidate(match what {
            Invalidate::Range { start, .. } => start.get() >> Arm64_4K::PAGE_SHIFT,
            Invalidate::AddressSpace(_) | Invalidate::Everything => 0,
        });
    }
    fn barrier(&self, _: Barrier) {
        board::barrier();
    }
}

impl Frames for Kernel<'_> {
    fn alloc(&self, _: Order) -> Option<Pfn> {
        None
    }
    fn free(&self, _: Pfn, order: Order) {
        self.freed.set(self.freed.get() + order.nr_pages());
    }
    fn alloc_table(&self) -> Option<Pfn> {
        None
    }
    fn free_table(&self, _: Pfn) {}
    fn zero(&self, _: Pfn, _: usize) {}
    fn copy(&self, _: Pfn, _: Pfn, _: usize) {}
    fn free_pages(&self) -> usize {
        0
    }
}

impl Backing for Kernel<'_> {
    fn read(&self, _: Io) -> Submitted {
        Submitted::Done
    }
    fn write(&self, _: Io) -> Submitted {
        Submitted::Done
    }
}

impl World for Kernel<'_> {
    fn now_ms(&self) -> u64 {
        0
    }
}

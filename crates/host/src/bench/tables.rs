//! Page tables that a sweep runs over, owned, so that they can also be read as plain memory.

use crate::env::{FIRST_TABLE, HostEnv};
use crate::floor::{scalar_read_ns, wide_read_ns};
use crate::frames::HostFrames;
use pageout_experiment::formats::Arch;
use pageout_paging::contig;
use pageout_paging::pte::Prot;
use pageout_paging::walk::make_table;
use pageout_paging::{Level, LockedTable, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::Lock;
use std::iter::repeat_with;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of entries of a table, in both formats.
const PTES: usize = 512;

/// Page tables with a root, mapping addresses from zero to frames from zero.
#[derive(Debug)]
pub(super) struct SweepTables {
    memory: Vec<AtomicU64>,
    /// The number of words before the tables, so that they begin at a page boundary.
    skip: usize,
    locks: Vec<Lock>,
    frames: HostFrames,
    pte_tables: usize,
    filled: Option<(&'static str, usize)>,
}

impl SweepTables {
    /// Allocates memory for `bytes` of PTE tables and the tables above them.
    pub(super) fn new(bytes: usize) -> Self {
        let pte_tables = bytes / (PTES * size_of::<AtomicU64>());
        let tables = pte_tables + pte_tables.div_ceil(PTES) + 2;
        let words = (tables + 1) * PTES;
        let memory: Vec<_> = repeat_with(AtomicU64::default).take(words).collect();
        let skip = memory.as_ptr().align_offset(PTES * size_of::<AtomicU64>());
        let locks = repeat_with(Lock::default).take(tables).collect();
        Self { memory, skip, locks, frames: HostFrames::default(), pte_tables, filled: None }
    }

    /// Returns the number of entries of the PTE tables.
    pub(super) fn entries(&self) -> usize {
        self.pte_tables * PTES
    }

    /// Maps every page in folios of `nr` pages, unless they are mapped so already; returns the
    /// mapped addresses.
    pub(super) fn fill<F: Arch>(&mut self, nr: usize) -> VirtRange {
        let end = VirtAddr::new((self.entries() as u64) << F::PAGE_SHIFT);
        let range = VirtAddr::new(0)..end;
        if self.filled.replace((F::NAME, nr)) == Some((F::NAME, nr)) {
            return range;
        }
        self.memory.iter().for_each(|entry| entry.store(0, Relaxed));
        let mut frames = FIRST_TABLE.add(1)..FIRST_TABLE.add(self.locks.len() as u64);
        let (env, root) = self.env::<F>();
        for page in (0..self.entries() as u64).step_by(nr) {
            let addr = VirtAddr::new(page << F::PAGE_SHIFT);
            let frame = make_table(&env, root, addr, Level::Pte, &mut frames);
            let pt = LockedTable::lock(&env, frame.expect("there is room for every table"));
            let pte = F::leaf(Level::Pte, Pfn::new(page), Prot::READ);
            contig::set_ptes::<F, _>(pt.table(), F::index(Level::Pte, addr), pte, nr);
        }
        range
    }

    /// Makes `percent` of the entries young, the same ones for the same seed, and all others old.
    pub(super) fn make_young<F: Arch>(&mut self, percent: u8, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        for entry in &mut self.memory {
            let young = percent == 100 || (percent > 0 && random.u8(0..100) < percent);
            let entry = entry.get_mut();
            *entry = if young { *entry | F::YOUNG } else { *entry & !F::YOUNG };
        }
    }

    /// Returns the environment over the tables, and the root's frame.
    pub(super) fn env<F: Arch>(&self) -> (HostEnv<'_, F>, Pfn) {
        let tables = &self.memory[self.skip..self.skip + self.locks.len() * PTES];
        (HostEnv::new(tables, &self.locks, &self.frames), FIRST_TABLE)
    }

    /// Returns the nanoseconds for each entry of the widest read of all the tables.
    pub(super) fn wide_read_ns(&mut self) -> f64 {
        wide_read_ns(&mut self.memory[self.skip..])
    }

    /// Returns the nanoseconds for each entry of a read of all the tables word by word.
    pub(super) fn scalar_read_ns(&self) -> f64 {
        scalar_read_ns(&self.memory[self.skip..])
    }
}

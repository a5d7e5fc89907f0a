//! Page tables of two address spaces, small enough to compare whole.

use pageout_paging::contig::set_ptes;
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::pte::Prot;
use pageout_paging::table::{HostTables, Slot, Table};
use pageout_paging::{Format, Level, Pfn, Pte, VirtAddr};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::tlb::Space;

/// The number of tables of an address space: root, PUD, PMD, two of PTEs.
const TABLES: u64 = 5;
const BASE: u64 = 1000;
/// The number of pages mapped in each: two tables of eight and a PMD leaf.
pub(super) const PAGES: u64 = 24;
pub(super) const SPACES: u32 = 2;

/// The mapping of a page.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Map {
    Nothing,
    Read,
    Write,
    /// The page is mapped to a frame that is not next to its neighbours' frames.
    Elsewhere,
    /// The page is mapped for every address space, if the format has a bit for that.
    Global,
}

#[derive(Debug)]
pub(super) struct Tables<F> {
    memory: Vec<AtomicU64>,
    format: PhantomData<F>,
}

impl<F: Format> Tables<F> {
    /// Makes tables with all pages mapped for writing, old.
    pub(super) fn new() -> Self {
        assert_eq!(F::PTES, 8);
        let nr = TABLES as usize * SPACES as usize * F::PTES;
        let memory = (0..nr).map(|_| AtomicU64::new(0)).collect();
        let tables = Self { memory, format: PhantomData };
        for asid in (0..SPACES).map(Asid) {
            let frame = |k: u64| Pfn::new(BASE + u64::from(asid.0) * TABLES + k);
            let set = |k, i, pte| tables.all().table(frame(k)).set(i, pte);
            set(0, 0, F::table(frame(1)));
            set(1, 0, F::table(frame(2)));
            set(2, 0, F::table(frame(3)));
            set(2, 1, F::table(frame(4)));
            set(2, 2, F::leaf(Level::Pmd, Pfn::new(512), Prot::WRITE));
            for page in 0..16 {
                tables.map(asid, page, Map::Write);
            }
        }
        tables
    }

    pub(super) fn all(&self) -> HostTables<'_, F> {
        HostTables::new(&self.memory, Pfn::new(BASE))
    }

    pub(super) fn space(&self, asid: Asid, caps: Caps) -> Space {
        let root = Pfn::new(BASE + u64::from(asid.0) * TABLES);
        Space { asid, root, caps }
    }

    /// Returns the entry that maps a page.
    pub(super) fn slot(&self, asid: Asid, page: u64) -> Slot {
        let (table, i) = match page {
            0..16 => (3 + page / 8, page % 8),
            _ => (2, 2),
        };
        self.all().slot(Pfn::new(BASE + u64::from(asid.0) * TABLES + table), i as usize)
    }

    pub(super) fn load(&self, slot: u32) -> Pte {
        Pte(self.memory[slot as usize].load(Relaxed))
    }

    fn change(&self, asid: Asid, page: u64, change: impl Fn(Pte) -> Pte) {
        let slot = self.slot(asid, page).get();
        let new = change(self.load(slot));
        self.memory[slot as usize].store(new.0, Relaxed);
    }

    pub(super) fn make_old(&self, asid: Asid, page: u64) {
        self.change(asid, page, |pte| if F::is_valid(pte) { F::mkold(pte) } else { pte });
    }

    pub(super) fn make_young(&self, asid: Asid, page: u64) {
        self.change(asid, page, |pte| if F::is_valid(pte) { F::mkyoung(pte) } else { pte });
    }

    pub(super) fn make_table_old(&self, asid: Asid) {
        let slot = self.slot(asid, 16).get() as usize - 2;
        self.memory[slot].store(F::mkold(self.load(slot as u32)).0, Relaxed);
    }

    /// Maps one page, unless it is in a contiguous block or under the PMD leaf.
    pub(super) fn map(&self, asid: Asid, page: u64, map: Map) {
        if page >= 16 || F::is_cont(self.load(self.slot(asid, page).get())) {
            return;
        }
        let leaf = |pfn, prot| F::leaf(Level::Pte, Pfn::new(pfn), prot);
        self.change(asid, page, |_| match map {
            Map::Nothing => Pte::NONE,
            Map::Read => leaf(64 + page, Prot::READ),
            Map::Write => leaf(64 + page, Prot::WRITE),
            Map::Elsewhere => leaf(128 + page * 2, Prot::WRITE),
            Map::Global => {
                let pte = leaf(64 + page, Prot::WRITE);
                let bits = (0..64).map(|bit| Pte(pte.0 ^ 1 << bit));
                let mut global = bits.filter(|pte| F::is_valid(*pte) && F::is_global(*pte));
                global.next().expect("a format has a global bit")
            }
        });
    }

    /// Maps the block of a page as one or as single pages.
    pub(super) fn map_block(&self, asid: Asid, page: u64, cont: bool) {
        if page >= 16 || F::CONT_SHIFT == 0 {
            return;
        }
        let nr = F::CONT_PTES as u64;
        let first = page / nr * nr;
        let (table, i) = self.all().at(self.slot(asid, first));
        (i..i + F::CONT_PTES).for_each(|k| table.set(k, Pte::NONE));
        let pte = F::leaf(Level::Pte, Pfn::new(64 + first), Prot::WRITE);
        if cont {
            set_ptes::<F, _>(table, i, pte, F::CONT_PTES);
        } else {
            (first..first + nr).for_each(|page| self.map(asid, page, Map::Write));
        }
    }

    pub(super) fn words(&self) -> Vec<u64> {
        self.memory.iter().map(|word| word.load(Relaxed)).collect()
    }

    pub(super) fn address(page: u64) -> VirtAddr {
        VirtAddr::new(page << F::PAGE_SHIFT)
    }
}

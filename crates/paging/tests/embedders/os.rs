//! A small operating system that writes its page tables by itself.

use pageout_paging::mmu::{Asid, Caps, Shootdown};
use pageout_paging::pte::{Format, Level, Prot};
use pageout_paging::testing::{LazyMmu, Tlbs, WatchedTables};
use pageout_paging::{Pfn, Pte, VirtAddr};
use std::cell::Cell;
use std::ops::Range;

const HELD: usize = 2048;

/// The table of each level. Addresses from 0 on are below the first entry of each.
pub(crate) const ROOT: Pfn = Pfn::new(0);
pub(crate) const PUD: Pfn = Pfn::new(1);
pub(crate) const PMD: Pfn = Pfn::new(2);
pub(crate) const PTE: Pfn = Pfn::new(3);
/// A table that is not linked at first, and the last.
pub(crate) const SPARE: Pfn = Pfn::new(4);
/// The first frame of pages, aligned to a PMD leaf in every format.
pub(crate) const PAGES: Pfn = Pfn::new(1 << 20);
pub(crate) const ASID: Asid = Asid(7);

/// The operating system: its tables, and the TLBs of the machine.
pub(crate) struct Os<F: Format> {
    memory: Vec<Cell<u64>>,
    pub(crate) tlbs: Tlbs<F, HELD>,
}

impl<F: Format> Os<F> {
    /// Boots on hardware that broadcasts invalidations.
    pub(crate) fn with_broadcasts() -> Self {
        Self::boot(Tlbs::new(Caps::IDEAL))
    }

    /// Boots on hardware whose CPUs invalidate for themselves.
    pub(crate) fn with_interrupts() -> Self {
        Self::boot(Tlbs::new(Caps { shootdown: Shootdown::Ipi, ..Caps::IDEAL }))
    }

    pub(crate) fn boot(tlbs: Tlbs<F, HELD>) -> Self {
        let memory = vec![Cell::new(0); (SPARE.get() as usize + 1) * F::PTES];
        let os = Self { memory, tlbs };
        for (table, below) in [(ROOT, PUD), (PUD, PMD), (PMD, PTE)] {
            os.set(table, 0, F::table(below));
        }
        os.tlbs.run(ASID, ROOT);
        os
    }

    pub(crate) fn set(&self, table: Pfn, i: usize, pte: Pte) {
        self.memory[table.get() as usize * F::PTES + i].set(pte.0);
    }

    pub(crate) fn get(&self, table: Pfn, i: usize) -> Pte {
        Pte(self.memory[table.get() as usize * F::PTES + i].get())
    }

    /// Maps page `k` to frame `k` of the pages, if nothing was there.
    pub(crate) fn map(&self, k: usize) {
        self.set(PTE, k, Self::leaf(k));
        self.cpu(0).dsb("ishst");
    }

    /// Maps the first pages by a PMD leaf, in place of the table that was there at boot.
    pub(crate) fn map_huge(&self) {
        self.set(PMD, 0, F::leaf(Level::Pmd, PAGES, Prot::WRITE));
    }

    pub(crate) fn leaf(k: usize) -> Pte {
        F::leaf(Level::Pte, PAGES.add(k as u64), Prot::WRITE)
    }

    /// Returns the address of page `k`.
    pub(crate) fn addr(k: usize) -> VirtAddr {
        VirtAddr::new((k as u64) << F::PAGE_SHIFT)
    }

    /// Returns the frame of page `k`.
    pub(crate) fn frame(k: usize) -> Range<Pfn> {
        PAGES.add(k as u64)..PAGES.add(k as u64 + 1)
    }

    /// Returns the operand of a TLBI by address that the Arm manual asks for.
    pub(crate) fn operand(k: usize) -> u64 {
        u64::from(ASID.0) << 48 | Self::addr(k).get() >> 12
    }

    pub(crate) fn watched(&self) -> WatchedTables<'_, F, impl Fn(Pfn, usize) -> u64, HELD> {
        WatchedTables::new(&self.tlbs, |table, i| self.get(table, i).0)
    }

    /// Executes an instruction on a CPU.
    pub(crate) fn cpu(&self, cpu: u32) -> LazyMmu<'_, F, HELD> {
        self.watched().cpu(cpu)
    }

    /// Frees frames on CPU 0.
    pub(crate) fn free(&self, frames: Range<Pfn>) {
        self.watched().check_free(0, frames);
    }

    /// Executes a TLBI between the barriers that arm64's manual asks for.
    pub(crate) fn tlbi(&self, name: &str, operand: u64) {
        self.cpu(0).dsb("ishst");
        self.cpu(0).tlbi(name, operand);
        self.cpu(0).dsb("ish");
    }

    /// Invalidates a page as arm64's manual asks for.
    pub(crate) fn flush(&self, k: usize) {
        self.tlbi("vae1is", Self::operand(k));
    }
}

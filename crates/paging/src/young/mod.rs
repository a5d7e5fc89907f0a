//! Young checks read and clear the accessed bit of one entry, of a run, or of a PMD leaf. They
//! include the architecture's flush and the secondary MMUs' result.
//!
//! Functions have the kernel's names (Linux 7.3.4): `test_and_clear` never flushes, `clear_flush`
//! follows a [`FlushPolicy`], `_notify` also calls the secondary MMUs. There are three algorithms
//! of checks of a run: [`per_entry`] as kernels did, [`batched`] as kernels do, and
//! [`line`](mod@line), which is ours.
//!
//! [`YoungCheck`] demands the table's lock by type. The functions of the algorithms work on a bare
//! handle. Their precondition is that its lock is held, because only its holder may clear.

mod aging;
pub mod batched;
pub mod entry;
pub mod line;
pub mod per_entry;
mod widened;

pub use aging::Candidates;

use crate::batch::folio_pte_batch;
use crate::contig::Getter;
use crate::env::{Env, LockedTable};
use crate::mmu::Asid;
use crate::observer::Observer;
use crate::pte::{Format, Level, Pte, YoungClear};
use crate::tlb::{FlushPolicy, YoungFlush, flush_young};
use crate::{Rules, Run, Stage, VirtAddr, VirtRange};
use widened::widened;

/// The way in which the young bits of a run are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum YoungAlgorithm {
    /// A call for each entry, as kernels did before batching. On a contiguous entry each call
    /// visits the whole block.
    PerEntry,
    /// A call for each run, as merged: x86 and riscv loop over the single call, arm64 passes once
    /// over the run widened to block edges.
    Batched,
    /// Eight entries a step, with atomics only for young entries, and batch detection in the same
    /// pass.
    Line,
}

impl YoungAlgorithm {
    /// Every algorithm, in the order of tables.
    pub const ALL: [Self; 3] = [Self::PerEntry, Self::Batched, Self::Line];

    /// Returns the getter of this algorithm's rmap walk: the gathering one for kernels' algorithms,
    /// the raw one for ours.
    pub const fn getter(self) -> Getter {
        match self {
            Self::PerEntry | Self::Batched => Getter::Contpte,
            Self::Line => Getter::Raw,
        }
    }
}

/// The flush after clearing, which decides the call of secondary MMUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    Nothing,
    Flush,
}

/// A young check in one address space: its ground, algorithm and flush.
pub struct YoungCheck<'e, E: Env> {
    /// The ground.
    pub env: &'e E,
    /// The way to check a run.
    pub algorithm: YoungAlgorithm,
    /// The flush of `clear_flush`.
    pub flush: FlushPolicy,
    /// The address space.
    pub asid: Asid,
}

impl<'e, E: Env> YoungCheck<'e, E> {
    /// Clears the young bit of the entry that maps `addr`; on a contiguous entry, those of its
    /// block. Returns true if any was set.
    #[inline]
    pub fn ptep_test_and_clear_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        self.check_one(pt.table(), E::Format::index(Level::Pte, addr))
    }

    /// Does [`YoungCheck::ptep_test_and_clear_young`], then flushes if any was set.
    #[inline]
    pub fn ptep_clear_flush_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.ptep_test_and_clear_young(pt, addr);
        if young {
            self.flush_run(pt, addr, 1);
        }
        young
    }

    /// Clears the young bits of `nr` entries from the one that maps `addr`, and of whole blocks if
    /// the run begins or ends inside one. Returns true if any was set.
    ///
    /// Precondition: present, consecutive pages of one folio, in one VMA and this table.
    #[inline(always)] // so that one entry costs as little as the single check
    pub fn test_and_clear_young_ptes(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        nr: usize,
    ) -> bool {
        if nr == 1 {
            self.ptep_test_and_clear_young(pt, addr)
        } else {
            self.check_run(pt, addr, nr)
        }
    }

    /// Does [`YoungCheck::test_and_clear_young_ptes`], then flushes if any was set. It flushes once
    /// for the widened run, or once for each young entry if kernels loop over the single call.
    #[inline(always)] // as above
    pub fn clear_flush_young_ptes(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        nr: usize,
    ) -> bool {
        if nr == 1 { self.ptep_clear_flush_young(pt, addr) } else { self.flush_after(pt, addr, nr) }
    }

    /// Does the single check, or-ed with the secondary MMUs'.
    #[inline]
    pub fn ptep_test_and_clear_young_notify(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
    ) -> bool {
        let young = self.ptep_test_and_clear_young(pt, addr);
        young | self.notify(After::Nothing, addr, 1)
    }

    /// Does the single clear-flush, or-ed with the secondary MMUs'.
    #[inline]
    pub fn ptep_clear_flush_young_notify(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.ptep_clear_flush_young(pt, addr);
        young | self.notify(After::Flush, addr, 1)
    }

    /// Does the check of a run, or-ed with the secondary MMUs'.
    #[inline]
    pub fn test_and_clear_young_ptes_notify(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        nr: usize,
    ) -> bool {
        let young = self.test_and_clear_young_ptes(pt, addr, nr);
        young | self.notify(After::Nothing, addr, nr)
    }

    /// Does the clear-flush of a run, or-ed with the secondary MMUs'.
    #[inline]
    pub fn clear_flush_young_ptes_notify(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        nr: usize,
    ) -> bool {
        let young = self.clear_flush_young_ptes(pt, addr, nr);
        young | self.notify(After::Flush, addr, nr)
    }

    /// Clears the young bit of the PMD entry for `addr`, and returns true if it was set. The entry
    /// is a leaf or, in formats with such a bit, an entry that leads to a table. `pt` is the PMD
    /// table.
    #[inline]
    pub fn pmdp_test_and_clear_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        entry::test_and_clear_one::<E>(pt.table(), E::Format::index(Level::Pmd, addr))
    }

    /// Does [`YoungCheck::pmdp_test_and_clear_young`], then flushes if the bit was set.
    #[inline]
    pub fn pmdp_clear_flush_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.pmdp_test_and_clear_young(pt, addr);
        if young {
            let start = addr.align_down(E::Format::shift(Level::Pmd));
            flush_young(self.env, self.flush.pmd, self.asid, start, 1, Level::Pmd);
        }
        young
    }

    /// Does the check of a PMD leaf, or-ed with the secondary MMUs' for all its pages.
    #[inline]
    pub fn pmdp_test_and_clear_young_notify(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
    ) -> bool {
        let young = self.pmdp_test_and_clear_young(pt, addr);
        young | self.notify_pmd(After::Nothing, addr)
    }

    /// Does the clear-flush of a PMD leaf, or-ed with the secondary MMUs' for all its pages.
    #[inline]
    pub fn pmdp_clear_flush_young_notify(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.pmdp_clear_flush_young(pt, addr);
        young | self.notify_pmd(After::Flush, addr)
    }

    /// Clear-flushes the run of one folio that begins with `pte`, which maps `addr`, and calls the
    /// secondary MMUs. The run is as long as this algorithm checks at once, and has at most
    /// `max_nr` entries (the end of folio, VMA or table). Returns its number of entries, and true
    /// if any was young.
    #[inline(always)] // as above: per-entry checks must not pay for batches
    pub fn clear_flush_young_run(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> (usize, bool) {
        self.env.observer().enter(Stage::Young);
        let (nr, young) = if self.algorithm == YoungAlgorithm::PerEntry || max_nr == 1 {
            (1, self.ptep_clear_flush_young(pt, addr))
        } else {
            self.clear_flush_batch(pt, addr, pte, max_nr)
        };
        self.env.observer().enter(Stage::RmapWalk);
        (nr, young | self.notify(After::Flush, addr, nr))
    }

    /// Calls only the secondary MMUs: the remaining check if the primary entry is not present (a
    /// page lent to a device).
    #[inline]
    pub fn clear_flush_young_secondary(&self, addr: VirtAddr) -> bool {
        self.notify(After::Flush, addr, 1)
    }

    #[inline]
    fn check_run(&self, pt: &LockedTable<'e, E>, addr: VirtAddr, nr: usize) -> bool {
        let run = Run { first: E::Format::index(Level::Pte, addr), nr };
        debug_assert!(nr >= 1 && run.end() <= E::Format::PTES, "{run:?} in one table");
        match self.algorithm {
            // The code merged for x86 and riscv is the loop that was there before.
            _ if self.loops() => per_entry::test_and_clear_young::<E>(pt.table(), run),
            YoungAlgorithm::PerEntry | YoungAlgorithm::Batched => {
                batched::test_and_clear_young::<E>(pt.table(), run)
            }
            YoungAlgorithm::Line => {
                line::test_and_clear_young_ptes::<E>(pt.table(), pt.ahead(), run)
            }
        }
    }

    /// Returns true if a run is checked by calling the single check for every entry.
    #[inline]
    fn loops(&self) -> bool {
        match self.algorithm {
            YoungAlgorithm::PerEntry => true,
            YoungAlgorithm::Batched => E::Format::CLEAR == YoungClear::TestFirst,
            YoungAlgorithm::Line => false,
        }
    }

    /// Finds the batch that begins at `addr`, checks it and flushes if any entry was young.
    fn clear_flush_batch(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> (usize, bool) {
        let run = Run { first: E::Format::index(Level::Pte, addr), nr: max_nr };
        if self.algorithm != YoungAlgorithm::Line {
            let nr = folio_pte_batch::<E::Format, _>(pt.table(), run, pte);
            return (nr, self.clear_flush_young_ptes(pt, addr, nr));
        }
        let run = line::check_batch::<E>(pt.table(), None, run, pte);
        if run.young {
            self.flush_run(pt, addr, run.nr);
        }
        (run.nr, run.young)
    }

    /// Checks a run and flushes if any entry was young.
    #[inline]
    fn flush_after(&self, pt: &LockedTable<'e, E>, addr: VirtAddr, nr: usize) -> bool {
        if self.loops() {
            return per_entry::clear_flush_young(self, pt, addr, nr);
        }
        let young = self.check_run(pt, addr, nr);
        if young {
            self.flush_run(pt, addr, nr);
        }
        young
    }

    /// Does the single check. Kernels' is the same in both of their algorithms; ours reads before
    /// it clears on every format.
    #[inline]
    fn check_one(&self, table: E::Table, i: usize) -> bool {
        if E::Format::CLEAR == YoungClear::CompareAndSwap && self.algorithm == YoungAlgorithm::Line
        {
            line::test_and_clear_young_pte::<E>(table, i)
        } else {
            entry::test_and_clear_young::<E>(table, i)
        }
    }

    fn notify(&self, after: After, addr: VirtAddr, nr: usize) -> bool {
        let Some(notifier) = self.env.notifier(self.asid) else {
            return false;
        };
        let range: VirtRange = addr..E::Rules::range_end::<E::Format>(addr, nr);
        match after {
            After::Nothing => notifier.clear_young(range),
            After::Flush => notifier.clear_flush_young(range),
        }
    }

    fn notify_pmd(&self, after: After, addr: VirtAddr) -> bool {
        let start = addr.align_down(E::Format::shift(Level::Pmd));
        self.notify(after, start, E::Format::nr_pages(Level::Pmd))
    }

    fn flush_run(&self, pt: &LockedTable<'e, E>, addr: VirtAddr, nr: usize) {
        if self.flush.pte == YoungFlush::None {
            return;
        }
        let run = Run { first: E::Format::index(Level::Pte, addr), nr };
        let wide = widened::<E>(pt.table(), run);
        let before = ((run.first - wide.first) as u64) << E::Format::PAGE_SHIFT;
        let start = VirtAddr::new(addr.get() - before);
        flush_young(self.env, self.flush.pte, self.asid, start, wide.nr, Level::Pte);
    }
}

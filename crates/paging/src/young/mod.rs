//! Young checks: read and clear the accessed bit of one entry, of a run, or of a PMD leaf, with the
//! architecture's flush and with the secondary MMUs' answer.
//!
//! The kernel's names are kept (Linux 7.3.4): `test_and_clear` never flushes, `clear_flush` follows
//! a [`FlushPolicy`], `_notify` asks the secondary MMUs as well. Three families check a run:
//! [`per_entry`] as kernels did, [`batched`] as they do, [`line`](mod@line) as we do.
//!
//! [`YoungCheck`] demands the table's lock by type. The functions of the families work on a bare
//! handle: that its lock is held is their precondition, because only its holder may clear.

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

/// How the young bits of a run are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// One call an entry, as kernels did before batching. On a contiguous entry each call visits
    /// the whole block.
    PerEntry,
    /// One call a run, as merged: x86 and riscv loop over the single call, arm64 passes once over
    /// the run widened to block edges.
    Batched,
    /// Eight entries a step, atomics only where an entry is young, batch detection in the same
    /// pass.
    Line,
}

impl Family {
    /// Every family, in the order tables show them.
    pub const ALL: [Self; 3] = [Self::PerEntry, Self::Batched, Self::Line];

    /// How this family's rmap walk reads entries: kernels' through the gathering getter, ours as
    /// they stand.
    pub const fn getter(self) -> Getter {
        match self {
            Self::PerEntry | Self::Batched => Getter::Gathered,
            Self::Line => Getter::Raw,
        }
    }
}

/// Whether a check flushes after clearing, and so which question secondary MMUs are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    Nothing,
    Flush,
}

/// A young check in one address space: who checks, how, and with which flush.
pub struct YoungCheck<'e, E: Env> {
    /// The ground.
    pub env: &'e E,
    /// How a run is checked.
    pub family: Family,
    /// What `clear_flush` does.
    pub flush: FlushPolicy,
    /// The address space.
    pub asid: Asid,
}

impl<'e, E: Env> YoungCheck<'e, E> {
    /// Clears the young bit of the entry that maps `addr`; on a contiguous entry, those of its
    /// block. Whether any was set.
    #[inline]
    pub fn ptep_test_and_clear_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        self.check_one(pt.table(), E::Format::index(Level::Pte, addr))
    }

    /// [`YoungCheck::ptep_test_and_clear_young`], then the flush if any was set.
    #[inline]
    pub fn ptep_clear_flush_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.ptep_test_and_clear_young(pt, addr);
        if young {
            self.flush_run(pt, addr, 1);
        }
        young
    }

    /// Clears the young bits of `nr` entries from the one that maps `addr`, and of whole blocks
    /// where the run begins or ends inside one. Whether any was set.
    ///
    /// Precondition: present, consecutive pages of one folio, in one VMA and this table.
    #[inline(always)] // so that one entry costs what the single check costs
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

    /// [`YoungCheck::test_and_clear_young_ptes`], then the flush if any was set: one for the
    /// widened run, but where kernels loop over the single call, one an entry.
    #[inline(always)] // as above
    pub fn clear_flush_young_ptes(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        nr: usize,
    ) -> bool {
        if nr == 1 { self.ptep_clear_flush_young(pt, addr) } else { self.flush_after(pt, addr, nr) }
    }

    /// The single check, or-ed with the secondary MMUs'.
    #[inline]
    pub fn ptep_test_and_clear_young_notify(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
    ) -> bool {
        let young = self.ptep_test_and_clear_young(pt, addr);
        young | self.notify(After::Nothing, addr, 1)
    }

    /// The single clear-flush, or-ed with the secondary MMUs'.
    #[inline]
    pub fn ptep_clear_flush_young_notify(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.ptep_clear_flush_young(pt, addr);
        young | self.notify(After::Flush, addr, 1)
    }

    /// The check of a run, or-ed with the secondary MMUs'.
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

    /// The clear-flush of a run, or-ed with the secondary MMUs'.
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

    /// Clears the young bit of the PMD entry for `addr`, a leaf or, in formats where it has one, an
    /// entry that leads to a table; whether it was set. `pt` is the PMD table.
    #[inline]
    pub fn pmdp_test_and_clear_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        entry::test_and_clear_one::<E>(pt.table(), E::Format::index(Level::Pmd, addr))
    }

    /// [`YoungCheck::pmdp_test_and_clear_young`], then the flush if it was set.
    #[inline]
    pub fn pmdp_clear_flush_young(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.pmdp_test_and_clear_young(pt, addr);
        if young {
            let start = addr.align_down(E::Format::shift(Level::Pmd));
            flush_young(self.env, self.flush.pmd, self.asid, start, 1, Level::Pmd);
        }
        young
    }

    /// The check of a PMD leaf, or-ed with the secondary MMUs' for all its pages.
    #[inline]
    pub fn pmdp_test_and_clear_young_notify(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
    ) -> bool {
        let young = self.pmdp_test_and_clear_young(pt, addr);
        young | self.notify_pmd(After::Nothing, addr)
    }

    /// The clear-flush of a PMD leaf, or-ed with the secondary MMUs' for all its pages.
    #[inline]
    pub fn pmdp_clear_flush_young_notify(&self, pt: &LockedTable<'e, E>, addr: VirtAddr) -> bool {
        let young = self.pmdp_clear_flush_young(pt, addr);
        young | self.notify_pmd(After::Flush, addr)
    }

    /// Clear-flushes the run of one folio that begins with `pte`, which maps `addr`, as far as this
    /// family goes at once and at most `max_nr` entries (the end of folio, VMA or table), and
    /// asks the secondary MMUs. The entries done, and whether any was young.
    #[inline(always)] // as above: what kernels did is not to pay for what they do
    pub fn clear_flush_young_run(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> (usize, bool) {
        self.env.observer().enter(Stage::Young);
        let (nr, young) = if self.family == Family::PerEntry || max_nr == 1 {
            (1, self.ptep_clear_flush_young(pt, addr))
        } else {
            self.clear_flush_batch(pt, addr, pte, max_nr)
        };
        self.env.observer().enter(Stage::RmapWalk);
        (nr, young | self.notify(After::Flush, addr, nr))
    }

    /// Asks only the secondary MMUs: what is left to check where the primary entry is not present
    /// (a page lent to a device).
    #[inline]
    pub fn clear_flush_young_secondary(&self, addr: VirtAddr) -> bool {
        self.notify(After::Flush, addr, 1)
    }

    #[inline]
    fn check_run(&self, pt: &LockedTable<'e, E>, addr: VirtAddr, nr: usize) -> bool {
        let run = Run { first: E::Format::index(Level::Pte, addr), nr };
        debug_assert!(nr >= 1 && run.end() <= E::Format::PTES, "{run:?} in one table");
        match self.family {
            // What was merged for x86 and riscv is the loop there was before: one piece of code.
            _ if self.loops() => per_entry::test_and_clear_young::<E>(pt.table(), run),
            Family::PerEntry | Family::Batched => {
                batched::test_and_clear_young::<E>(pt.table(), run)
            }
            Family::Line => line::test_and_clear_young_ptes::<E>(pt.table(), pt.ahead(), run),
        }
    }

    /// Whether a run is checked by calling the single check for every entry.
    #[inline]
    fn loops(&self) -> bool {
        match self.family {
            Family::PerEntry => true,
            Family::Batched => E::Format::CLEAR == YoungClear::TestFirst,
            Family::Line => false,
        }
    }

    /// Finds the batch that begins at `addr`, checks it and flushes what was young.
    fn clear_flush_batch(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> (usize, bool) {
        let run = Run { first: E::Format::index(Level::Pte, addr), nr: max_nr };
        if self.family != Family::Line {
            let nr = folio_pte_batch::<E::Format, _>(pt.table(), run, pte);
            return (nr, self.clear_flush_young_ptes(pt, addr, nr));
        }
        let run = line::check_batch::<E>(pt.table(), None, run, pte);
        if run.young {
            self.flush_run(pt, addr, run.nr);
        }
        (run.nr, run.young)
    }

    /// Checks a run and flushes what was young.
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

    /// The single check. Kernels' are one and the same in both families; ours looks before it
    /// clears on every format.
    #[inline]
    fn check_one(&self, table: E::Table, i: usize) -> bool {
        if E::Format::CLEAR == YoungClear::CompareAndSwap && self.family == Family::Line {
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

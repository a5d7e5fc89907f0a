//! What an aging walk asks of a table: which entry next, and was its run used? Nothing is flushed.

use super::{After, Family, YoungCheck, line};
use crate::batch::{BatchFlags, YoungRun, folio_pte_batch_flags};
use crate::contig::gather_early;
use crate::env::{Env, LockedTable};
use crate::pte::{Format, Level, Pte};
use crate::{Rules, VirtAddr};
use core::ops::Range;

impl<'e, E: Env> YoungCheck<'e, E> {
    /// The first entry of `run` (indices) that an aging walk has to check, and its index; all those
    /// before it are passed. `secondary`: the address space has secondary MMUs, which leaves every
    /// present entry to check.
    ///
    /// Kernels read entry after entry through the gathering getter (Linux 7.1.5, walk_pte_range);
    /// the line family skips eight old ones at a time and finds the same. The entry is as the
    /// family's getter reads it: whether the run is dirty, only its check tells.
    #[inline]
    pub fn next_candidate(
        &self,
        pt: &LockedTable<'e, E>,
        run: Range<usize>,
        secondary: bool,
    ) -> Option<(usize, Pte)> {
        let table = pt.table();
        let get = self.family.getter();
        let look = |i| {
            let pte = get.get::<E::Format, _>(table, i);
            E::Rules::is_candidate::<E::Format>(pte, secondary).then_some((i, pte))
        };
        if self.family != Family::Line || secondary {
            return run.into_iter().find_map(look);
        }
        if run.is_empty() {
            return None;
        }
        // Where most are young, the next entry is it.
        look(run.start).or_else(|| line::next_young::<E>(table, pt.ahead(), run))
    }

    /// Checks the run of one folio that begins with the candidate `pte`, which maps `addr`, as far
    /// as this family's walk looks at once, or-ed with the secondary MMUs' answer (Linux 7.1.5,
    /// test_and_clear_young_ptes_notify after folio_pte_batch_flags): the next entry to look at is
    /// the one after it. Per entry, that is the entry itself, or its contiguous block.
    ///
    /// Precondition: `max_nr` ≥ 1 is at most what [`Rules::max_batch`] says.
    #[inline(always)] // one entry is to cost what the single check costs
    pub fn walk_young_run(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> YoungRun {
        let run = if self.family == Family::PerEntry || max_nr == 1 {
            let young = self.ptep_test_and_clear_young(pt, addr);
            YoungRun { nr: 1, young, dirty: self.is_dirty(pt, addr, pte) }
        } else {
            self.check_batch(pt, addr, pte, max_nr)
        };
        YoungRun { young: run.young | self.notify(After::Nothing, addr, run.nr), ..run }
    }

    fn check_batch(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> YoungRun {
        let i = E::Format::index(Level::Pte, addr);
        if self.family == Family::Line {
            return line::check_batch::<E>(pt.table(), pt.ahead(), i, pte, max_nr);
        }
        let merge = BatchFlags { merge_young_dirty: true, ..BatchFlags::NONE };
        let mut copy = pte;
        let nr = folio_pte_batch_flags::<E::Format, _>(pt.table(), i, &mut copy, max_nr, merge);
        let young = self.test_and_clear_young_ptes(pt, addr, nr);
        YoungRun { nr, young, dirty: E::Format::is_dirty(copy) }
    }

    /// Whether `pte`, read by the family's getter, or its contiguous block is dirty.
    #[inline]
    fn is_dirty(&self, pt: &LockedTable<'e, E>, addr: VirtAddr, pte: Pte) -> bool {
        let raw_of_block = self.family == Family::Line && E::Format::is_cont(pte);
        E::Format::is_dirty(match raw_of_block {
            true => gather_early::<E::Format, _>(pt.table(), E::Format::index(Level::Pte, addr)),
            false => pte,
        })
    }
}

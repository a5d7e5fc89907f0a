//! The checks of a table by an aging walk: the next entry to check, and the use of its run. It
//! never flushes.

use super::line::{self, Known};
use super::{After, YoungAlgorithm, YoungCheck};
use crate::batch::{BatchFlags, YoungRun, folio_pte_batch_flags};
use crate::contig::{batch_hint, gather};
use crate::env::{Env, LockedTable};
use crate::observer::Observer;
use crate::pte::{Format, Level, Pte};
use crate::table::Table;
use crate::{Rules, Run, VirtAddr};

/// The entries of one table that an aging walk has to check, in address order.
///
/// Kernels read entry after entry through the gathering getter (Linux 7.3.4, walk_pte_range). The
/// line algorithm skips eight old ones at a time and finds the same.
pub struct Candidates<'c, 'e, E: Env> {
    check: &'c YoungCheck<'e, E>,
    pt: &'c LockedTable<'e, E>,
    /// The first entry that is left; past `end` if none is.
    next: usize,
    end: usize,
    secondary: bool,
    known: Known,
}

impl<E: Env> Candidates<'_, '_, E> {
    /// Returns the next entry to check, with its index, and skips those before it. The entry is as
    /// the algorithm's getter reads it; only the check tells if its run is dirty.
    #[inline(always)] // the loop of a walk: most candidates are known
    pub fn next_candidate(&mut self) -> Option<(usize, Pte)> {
        let found = match self.known.from(self.next) {
            Some(i) => (i, self.pt.table().load(i)),
            None => self.search()?,
        };
        self.next = found.0 + 1;
        Some(found)
    }

    /// Counts the `nr` entries from the last candidate on as visited: the next lies after them.
    #[inline]
    pub fn skip(&mut self, nr: usize) {
        self.next += nr - 1;
    }

    /// Skips candidate `i`, whose folio the walk does not check. Kernels go on with the next entry;
    /// the line algorithm skips the rest of its contiguous block, which belongs to the same folio.
    #[inline]
    pub fn pass(&mut self, i: usize, pte: Pte) {
        if self.check.algorithm == YoungAlgorithm::Line {
            self.next = i + batch_hint::<E::Format>(i, pte);
        }
    }

    /// Searches for the next candidate past the known ones.
    fn search(&mut self) -> Option<(usize, Pte)> {
        let (table, getter) = (self.pt.table(), self.check.algorithm.getter());
        self.next = self.next.max(self.known.end());
        if self.next >= self.end {
            return None;
        }
        let run = Run::between(self.next, self.end);
        if self.check.algorithm == YoungAlgorithm::Line && !self.secondary {
            let (i, known) = line::next_young::<E>(table, self.pt.ahead(), run)?;
            self.known = known;
            return Some((i, getter.get::<E::Format, _>(table, i)));
        }
        let secondary = self.secondary;
        let mut read = run.indices().map(|i| (i, getter.get::<E::Format, _>(table, i)));
        read.find(|(_, pte)| E::Rules::is_candidate::<E::Format>(*pte, secondary))
    }
}

impl<'e, E: Env> YoungCheck<'e, E> {
    /// Returns the entries of `run` that an aging walk has to check. `secondary` is true if the
    /// address space has secondary MMUs: then every present entry has to be checked.
    #[inline]
    pub fn candidates<'c>(
        &'c self,
        pt: &'c LockedTable<'e, E>,
        run: Run,
        secondary: bool,
    ) -> Candidates<'c, 'e, E> {
        let (next, end) = (run.first, run.end());
        Candidates { check: self, pt, next, end, secondary, known: Known::default() }
    }

    /// Checks the run of one folio that begins with the candidate `pte`, which maps `addr`, as far
    /// as this algorithm's walk checks at once. The result of secondary MMUs is or-ed in (Linux
    /// 7.3.4, test_and_clear_young_ptes_notify after folio_pte_batch_flags). The next entry to
    /// check is the one after it. In the per-entry algorithm, the run is the entry itself, or its
    /// contiguous block.
    ///
    /// Precondition: `max_nr` ≥ 1 ends within the folio, the VMA or window, and the table.
    #[inline(always)] // so that one entry costs as little as the single check
    pub fn walk_young_run(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> YoungRun {
        self.env.observer().begin_run();
        let run = if self.algorithm == YoungAlgorithm::PerEntry || max_nr == 1 {
            let young = self.ptep_test_and_clear_young(pt, addr);
            YoungRun { nr: 1, young, dirty: self.is_dirty(pt, addr, pte) }
        } else {
            self.check_batch(pt, addr, pte, max_nr)
        };
        self.env.observer().end_run();
        YoungRun { young: run.young | self.notify(After::Nothing, addr, run.nr), ..run }
    }

    fn check_batch(
        &self,
        pt: &LockedTable<'e, E>,
        addr: VirtAddr,
        pte: Pte,
        max_nr: usize,
    ) -> YoungRun {
        let run = Run { first: E::Format::index(Level::Pte, addr), nr: max_nr };
        if self.algorithm == YoungAlgorithm::Line {
            return line::check_batch::<E>(pt.table(), pt.ahead(), run, pte);
        }
        let merge = BatchFlags { merge_young_dirty: true, ..BatchFlags::NONE };
        let mut copy = pte;
        let nr = folio_pte_batch_flags::<E::Format, _>(pt.table(), run, &mut copy, merge);
        let young = self.test_and_clear_young_ptes(pt, addr, nr);
        YoungRun { nr, young, dirty: E::Format::is_dirty(copy) }
    }

    /// Returns true if `pte`, read by the algorithm's getter, or its contiguous block is dirty.
    #[inline]
    fn is_dirty(&self, pt: &LockedTable<'e, E>, addr: VirtAddr, pte: Pte) -> bool {
        let raw_of_block = self.algorithm == YoungAlgorithm::Line && E::Format::is_cont(pte);
        E::Format::is_dirty(match raw_of_block {
            true => gather::<E::Format, _>(pt.table(), E::Format::index(Level::Pte, addr)),
            false => pte,
        })
    }
}

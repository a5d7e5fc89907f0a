//! The checks of a table by an aging walk: the next entry to check, and the use of its run. It
//! never flushes.

use super::line::{self, Known};
use super::{After, YoungAlgorithm, YoungCheck};
use crate::batch::{BatchFlags, YoungRun, folio_pte_batch_flags};
use crate::contig::{batch_hint, gather};
use crate::env::{Env, LockedTable};
use crate::observer::Observer;
use crate::pte::{Format, Level, Pte};
use crate::{Rules, Run, VirtAddr};

/// The entries of one table that an aging walk has to check, in address order.
///
/// Kernels read entry after entry through the gathering getter (Linux 7.3.4, walk_pte_range). The
/// line algorithm skips eight old ones at a time and finds the same.
pub struct Candidates<'c, 'e, E: Env> {
    check: &'c YoungCheck<'e, E>,
    pt: &'c LockedTable<'e, E>,
    /// The entries that are left.
    run: Run,
    secondary: bool,
    known: Option<Known>,
}

impl<E: Env> Candidates<'_, '_, E> {
    /// Returns the next entry to check, with its index, and skips those before it. The entry is as
    /// the algorithm's getter reads it; only the check tells if its run is dirty.
    #[inline]
    pub fn next_candidate(&mut self) -> Option<(usize, Pte)> {
        let (table, getter) = (self.pt.table(), self.check.algorithm.getter());
        let found = if self.check.algorithm == YoungAlgorithm::Line && !self.secondary {
            let i = self.next_young()?;
            (i, getter.get::<E::Format, _>(table, i))
        } else {
            let secondary = self.secondary;
            let mut read = self.run.indices().map(|i| (i, getter.get::<E::Format, _>(table, i)));
            read.find(|(_, pte)| E::Rules::is_candidate::<E::Format>(*pte, secondary))?
        };
        self.go_on(found.0 + 1);
        Some(found)
    }

    /// Counts the `nr` entries from the last candidate on as visited: the next lies after them.
    #[inline]
    pub fn skip(&mut self, nr: usize) {
        self.go_on(self.run.first + nr - 1);
    }

    /// Skips candidate `i`, whose folio the walk does not check. Kernels go on with the next entry;
    /// the line algorithm skips the rest of its contiguous block, which belongs to the same folio.
    #[inline]
    pub fn pass(&mut self, i: usize, pte: Pte) {
        if self.check.algorithm == YoungAlgorithm::Line {
            self.go_on(i + batch_hint::<E::Format>(i, pte));
        }
    }

    /// Leaves only entries from index `i` on, which may lie past the end.
    #[inline]
    fn go_on(&mut self, i: usize) {
        let end = self.run.end();
        self.run = Run::between(i.min(end), end);
    }

    #[inline]
    fn next_young(&mut self) -> Option<usize> {
        if let Some(known) = self.known {
            let next = known.from(self.run.first);
            if next.is_some() {
                return next;
            }
            self.known = None;
            self.go_on(self.run.first.max(known.end()));
        }
        if self.run.nr == 0 {
            return None;
        }
        let (i, known) = line::next_young::<E>(self.pt.table(), self.pt.ahead(), self.run)?;
        self.known = known;
        Some(i)
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
        Candidates { check: self, pt, run, secondary, known: None }
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
        let run = self.env.observer().check_run(|| {
            if self.algorithm == YoungAlgorithm::PerEntry || max_nr == 1 {
                let young = self.ptep_test_and_clear_young(pt, addr);
                YoungRun { nr: 1, young, dirty: self.is_dirty(pt, addr, pte) }
            } else {
                self.check_batch(pt, addr, pte, max_nr)
            }
        });
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

//! What an aging walk asks of a table: which entry next, and was its run used? Nothing is flushed.

use super::line::{self, Known};
use super::{After, Family, YoungCheck};
use crate::batch::{BatchFlags, YoungRun, folio_pte_batch_flags};
use crate::contig::{batch_hint, gather};
use crate::env::{Env, LockedTable};
use crate::pte::{Format, Level, Pte};
use crate::{Rules, VirtAddr};
use core::ops::Range;

/// The entries of one table that an aging walk has to check, in address order.
///
/// Kernels read entry after entry through the gathering getter (Linux 7.3.4, walk_pte_range); the
/// line family skips eight old ones at a time and finds the same.
pub struct Candidates<'c, 'e, E: Env> {
    check: &'c YoungCheck<'e, E>,
    pt: &'c LockedTable<'e, E>,
    /// The entries that are left.
    run: Range<usize>,
    secondary: bool,
    known: Option<Known>,
}

impl<E: Env> Candidates<'_, '_, E> {
    /// The next entry to check, and its index: those before it are passed. The entry is as the
    /// family's getter reads it: whether its run is dirty, only the check tells.
    #[inline]
    pub fn next_candidate(&mut self) -> Option<(usize, Pte)> {
        let found = if self.check.family == Family::Line && !self.secondary {
            let i = self.next_young()?;
            (i, self.get(i))
        } else {
            let is_candidate = |pte| E::Rules::is_candidate::<E::Format>(pte, self.secondary);
            let mut read = self.run.clone().map(|i| (i, self.get(i)));
            read.find(|(_, pte)| is_candidate(*pte))?
        };
        self.run.start = found.0 + 1;
        Some(found)
    }

    /// Counts the `nr` entries from the last candidate on as visited: the next lies after them.
    #[inline]
    pub fn skip(&mut self, nr: usize) {
        self.run.start += nr - 1;
    }

    /// Passes candidate `i`, of a folio that is not the walk's concern. Kernels go on with the next
    /// entry; the line family passes the rest of its contiguous block, which is the same folio's.
    #[inline]
    pub fn pass(&mut self, i: usize, pte: Pte) {
        if self.check.family == Family::Line {
            self.run.start = i + batch_hint::<E::Format>(i, pte);
        }
    }

    #[inline]
    fn next_young(&mut self) -> Option<usize> {
        if let Some(known) = self.known {
            let next = known.from(self.run.start);
            if next.is_some() {
                return next;
            }
            self.known = None;
            self.run.start = self.run.start.max(known.end());
        }
        if self.run.is_empty() {
            return None;
        }
        let (i, known) = line::next_young::<E>(self.pt.table(), self.pt.ahead(), self.run.clone())?;
        self.known = known;
        Some(i)
    }

    #[inline]
    fn get(&self, i: usize) -> Pte {
        self.check.family.getter().get::<E::Format, _>(self.pt.table(), i)
    }
}

impl<'e, E: Env> YoungCheck<'e, E> {
    /// What an aging walk has to check among the entries `run` (indices). `secondary`: the address
    /// space has secondary MMUs, which leaves every present entry to check.
    #[inline]
    pub fn candidates<'c>(
        &'c self,
        pt: &'c LockedTable<'e, E>,
        run: Range<usize>,
        secondary: bool,
    ) -> Candidates<'c, 'e, E> {
        Candidates { check: self, pt, run, secondary, known: None }
    }

    /// Checks the run of one folio that begins with the candidate `pte`, which maps `addr`, as far
    /// as this family's walk looks at once, or-ed with the secondary MMUs' answer (Linux 7.3.4,
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
        let run = self.env.check_run(|| {
            if self.family == Family::PerEntry || max_nr == 1 {
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
            true => gather::<E::Format, _>(pt.table(), E::Format::index(Level::Pte, addr)),
            false => pte,
        })
    }
}

//! Batch detection: the number of entries that are one run of one folio (the kernel's
//! folio_pte_batch).

use crate::Run;
use crate::contig::{Getter, batch_hint};
use crate::pte::{Format, Pte};
use crate::table::Table;
use crate::young::line;

/// The properties that entries of a batch must agree on in addition to frames and attributes, and
/// those that it merges (Linux 7.3.4, `fpb_t`). Young never matters; dirty, soft-dirty and writable
/// matter only if respected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchFlags {
    /// True if entries must agree on dirty.
    pub respect_dirty: bool,
    /// True if entries must agree on soft-dirty.
    pub respect_soft_dirty: bool,
    /// True if entries must agree on writable.
    pub respect_write: bool,
    /// True if the caller's copy becomes writable if any entry is.
    pub merge_write: bool,
    /// True if the caller's copy becomes young, or dirty, if any entry is.
    pub merge_young_dirty: bool,
    /// The way to read the entries after the first. They may be read raw only if dirty is not
    /// respected and young and dirty are not merged. Another entry of a block may have the bits.
    pub read: Getter,
}

impl BatchFlags {
    /// The flags of `folio_referenced`: nothing respected, nothing merged, entries gathered.
    pub const NONE: Self = Self {
        respect_dirty: false,
        respect_soft_dirty: false,
        respect_write: false,
        merge_write: false,
        merge_young_dirty: false,
        read: Getter::Contpte,
    };
}

/// Returns the entry with everything cleared that a batch under `flags` ignores.
#[inline]
pub fn ignore<F: Format>(pte: Pte, flags: BatchFlags) -> Pte {
    let mut kept = F::mkold(pte);
    if !flags.respect_dirty {
        kept = F::mkclean(kept);
    }
    if !flags.respect_soft_dirty {
        kept = F::clear_soft_dirty(kept);
    }
    if !flags.respect_write {
        kept = F::wrprotect(kept);
    }
    kept
}

/// Returns the number of entries of `run`, from its first on, that map consecutive frames with
/// equal attributes under `flags`; at least 1. Reads one entry of each contiguous block, by the
/// getter of `flags`. `pte` is the caller's copy of the first, read likewise. The merge flags
/// change this copy.
///
/// Precondition: `pte` is present, and `run` is not empty and lies within the folio, the VMA and
/// the table.
#[inline]
pub fn folio_pte_batch_flags<F: Format, T: Table>(
    table: T,
    run: Run,
    pte: &mut Pte,
    flags: BatchFlags,
) -> usize {
    let Run { first: i, nr: max_nr } = run;
    debug_assert!(F::is_present(*pte), "a batch starts at a present entry, not {pte:?}");
    debug_assert!(max_nr >= 1 && run.end() <= F::PTES, "{run:?} lies in a table");
    let asks = flags.respect_dirty || flags.merge_young_dirty;
    debug_assert!(!asks || flags.read == Getter::Contpte, "young and dirty are of a whole block");
    let first = ignore::<F>(*pte, flags);
    let mut nr = batch_hint::<F>(i, *pte);
    while nr < max_nr {
        let next = flags.read.get::<F, T>(table, i + nr);
        if ignore::<F>(next, flags) != F::advance(first, nr) {
            break;
        }
        merge_into::<F>(pte, next, flags);
        nr += batch_hint::<F>(i + nr, next);
    }
    nr.min(max_nr)
}

/// Calls [`folio_pte_batch_flags`] with no flag.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use pageout_paging::batch::folio_pte_batch;
/// use pageout_paging::contig::set_ptes;
/// use pageout_paging::pte::{Format, Level, Prot, X86_64};
/// use pageout_paging::table::{HostTable, Table};
/// use pageout_paging::{Pfn, Run};
///
/// let memory = [const { AtomicU64::new(0) }; 512];
/// let table = HostTable::<X86_64>::new(&memory).expect("512 entries");
/// set_ptes::<X86_64, _>(table, 3, X86_64::leaf(Level::Pte, Pfn::new(40), Prot::READ), 4);
///
/// // Of at most eight pages of a folio, four follow one another here.
/// let most = Run { first: 3, nr: 8 };
/// assert_eq!(folio_pte_batch::<X86_64, _>(table, most, table.load(3)), 4);
/// ```
#[inline]
pub fn folio_pte_batch<F: Format, T: Table>(table: T, run: Run, pte: Pte) -> usize {
    folio_pte_batch_flags::<F, T>(table, run, &mut { pte }, BatchFlags::NONE)
}

#[inline]
fn merge_into<F: Format>(copy: &mut Pte, next: Pte, flags: BatchFlags) {
    if flags.merge_write && F::is_write(next) {
        *copy = F::mkwrite(*copy);
    }
    if flags.merge_young_dirty {
        if F::is_young(next) {
            *copy = F::mkyoung(*copy);
        }
        if F::is_dirty(next) {
            *copy = F::mkdirty(*copy);
        }
    }
}

/// The result of a batch that was found and checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YoungRun {
    /// The number of entries in the run.
    pub nr: usize,
    /// True if any was young.
    pub young: bool,
    /// True if any is dirty.
    pub dirty: bool,
}

/// Does [`folio_pte_batch`] eight entries at a time, and clears the young bits of the batch in the
/// same pass. `pte` is the first entry of `run`, by either getter. The table's lock is held. No bit
/// past the batch is cleared or counted. The same lines of `ahead` are prefetched.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use pageout_paging::batch::{YoungRun, batch_and_clear_young};
/// use pageout_paging::contig::set_ptes;
/// use pageout_paging::pte::{Format, Level, Prot, X86_64};
/// use pageout_paging::table::{HostTable, Table};
/// use pageout_paging::{Pfn, Run};
///
/// let memory = [const { AtomicU64::new(0) }; 512];
/// let table = HostTable::<X86_64>::new(&memory).expect("512 entries");
/// let leaf = X86_64::mkyoung(X86_64::leaf(Level::Pte, Pfn::new(40), Prot::READ));
/// set_ptes::<X86_64, _>(table, 3, leaf, 4);
///
/// let check = || {
///     let most = Run { first: 3, nr: 8 };
///     batch_and_clear_young::<X86_64, _>(table, None, most, table.load(3))
/// };
/// assert_eq!(check(), YoungRun { nr: 4, young: true, dirty: false });
/// assert_eq!(check(), YoungRun { nr: 4, young: false, dirty: false });
/// ```
#[inline]
pub fn batch_and_clear_young<F: Format, T: Table>(
    table: T,
    ahead: Option<T>,
    run: Run,
    pte: Pte,
) -> YoungRun {
    if F::is_valid(pte) {
        return line::batch::<F, T>(table, ahead, run, pte);
    }
    let merge = BatchFlags { merge_young_dirty: true, ..BatchFlags::NONE };
    let mut copy = pte;
    let nr = folio_pte_batch_flags::<F, T>(table, run, &mut copy, merge);
    let young = line::test_and_clear_young(table, ahead, Run { nr, ..run }, F::YOUNG);
    YoungRun { nr, young, dirty: F::is_dirty(copy) }
}

//! The functions for C callers.
//!
//! All have the same precondition, which their `# Safety` sections call *the promise*. Structures
//! and results are null or live and aligned. The entries of a [`LockedTable`] are null, or a table
//! of its format whose lock the caller holds. All who write to it do so by single accesses of 64
//! bits. An [`Mmu`]'s functions may be called as it says.
//!
//! A check changes the young bits of present entries. As in kernels, its caller makes sure that
//! entries are present, consecutive pages of one folio: in other entries the same bit is cleared.
#![allow(unsafe_code)]

use core::ffi::c_char;

use pageout_paging::batch::{BatchFlags, folio_pte_batch_flags};
use pageout_paging::contig::{Getter, gather};
use pageout_paging::mmu::Asid;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::{Format as _, Level, Pfn, Pte, Run, VirtAddr, young};

use crate::error::number;
use crate::ground::{Callbacks, Ground};
use crate::types::{
    Batch, Error, Family, Flush, Format, LockedTable, Mmu, YoungCheck, with_format,
};

/// The parameters of a check.
struct Asked {
    mmu: Callbacks,
    family: young::YoungAlgorithm,
    flush: YoungFlush,
    asid: Asid,
}

/// The entries to check.
#[derive(Clone, Copy)]
enum Entries {
    /// A number of entries of the last level.
    Ptes(usize),
    /// A leaf of the level above.
    Pmd,
}

impl Asked {
    /// Makes the parameters of a check without a flush.
    const fn without_flush(family: young::YoungAlgorithm) -> Self {
        Self { mmu: Callbacks::NONE, family, flush: YoungFlush::None, asid: Asid(0) }
    }

    /// # Safety
    /// The promise.
    unsafe fn with_flush(check: *const YoungCheck) -> Result<Self, Error> {
        // SAFETY: the promise: null, or live and aligned.
        let check = unsafe { check.as_ref() }.ok_or(Error::Null)?;
        let (family, flush) = (Family::of(check.family)?, Flush::of(check.flush)?);
        if flush == YoungFlush::None {
            return Ok(Self::without_flush(family));
        }
        // SAFETY: as above.
        let mmu: &Mmu = unsafe { check.mmu.as_ref() }.ok_or(Error::Mmu)?;
        // SAFETY: the promise: its functions may be called.
        let mmu = unsafe { Callbacks::new(mmu)? };
        Ok(Self { mmu, family, flush, asid: Asid(check.asid) })
    }

    /// Checks entries from the one that maps `addr` on. Returns 1 if any was young, 0 otherwise.
    ///
    /// # Safety
    /// The promise.
    unsafe fn check(
        &self,
        pt: *const LockedTable,
        addr: u64,
        entries: Entries,
    ) -> Result<i32, Error> {
        // SAFETY: the promise: null, or live and aligned.
        let pt = unsafe { pt.as_ref() }.ok_or(Error::Null)?;
        with_format!(Format::of(pt.format)?, F => {
            // SAFETY: the promise: a table of this format, and functions that may be called.
            let ground = unsafe { Ground::<F>::new(pt.entries, self.mmu)? };
            self.check_in(&ground, addr, entries)
        })
    }

    fn check_in<F: pageout_paging::Format>(
        &self,
        ground: &Ground<'_, F>,
        addr: u64,
        entries: Entries,
    ) -> Result<i32, Error> {
        let flush = FlushPolicy::uniform(self.flush);
        let check =
            young::YoungCheck { env: ground, algorithm: self.family, flush, asid: self.asid };
        let pt = pageout_paging::LockedTable::lock(ground, Pfn::default());
        Ok(i32::from(match entries {
            Entries::Ptes(nr) => check.clear_flush_young_ptes(&pt, page_of::<F>(addr, nr)?, nr),
            Entries::Pmd => check.pmdp_clear_flush_young(&pt, VirtAddr::new(addr)),
        }))
    }
}

/// Returns the address of the page that holds `addr`, if its entry and `nr - 1` after it lie in one
/// table.
fn page_of<F: pageout_paging::Format>(addr: u64, nr: usize) -> Result<VirtAddr, Error> {
    let addr = VirtAddr::new(addr).align_down(F::PAGE_SHIFT);
    let room = F::PTES - F::index(Level::Pte, addr);
    if (1..=room).contains(&nr) { Ok(addr) } else { Err(Error::Range) }
}

/// Returns the flags of a batch from their bits.
fn batch_flags(bits: u32) -> Result<BatchFlags, Error> {
    let has = |flag: Batch| bits & flag as u32 != 0;
    if bits >= 2 * Batch::MergeYoungDirty as u32 {
        return Err(Error::Batch);
    }
    Ok(BatchFlags {
        respect_dirty: has(Batch::RespectDirty),
        respect_soft_dirty: has(Batch::RespectSoftDirty),
        respect_write: has(Batch::RespectWrite),
        merge_write: has(Batch::MergeWrite),
        merge_young_dirty: has(Batch::MergeYoungDirty),
        read: Getter::Contpte,
    })
}

/// Clears the young bits of `nr` entries from the one that maps `addr` on, by `family` (one of
/// `enum pageout_family`). If the run begins or ends inside a contiguous block, the whole block is
/// cleared. Flushes nothing. Returns 1 if any was young, 0 if none was, or an error.
///
/// The entries are present, of consecutive pages of one folio, in one VMA.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_test_and_clear_young_ptes(
    pt: *const LockedTable,
    family: u32,
    addr: u64,
    nr: usize,
) -> i32 {
    let young = Family::of(family).and_then(|family| {
        // SAFETY: the promise.
        unsafe { Asked::without_flush(family).check(pt, addr, Entries::Ptes(nr)) }
    });
    number(young)
}

/// Does `pageout_test_and_clear_young_ptes`, and the flush of `check` if any entry was young. It
/// flushes the run widened to contiguous blocks, or each young entry if kernels loop over entries.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_clear_flush_young_ptes(
    pt: *const LockedTable,
    check: *const YoungCheck,
    addr: u64,
    nr: usize,
) -> i32 {
    // SAFETY: the promise.
    let young = unsafe { Asked::with_flush(check) }.and_then(|asked| {
        // SAFETY: the promise.
        unsafe { asked.check(pt, addr, Entries::Ptes(nr)) }
    });
    number(young)
}

/// Clears the young bit of the entry for `addr` in a PMD table. The entry is a leaf, or leads to a
/// table if the format has a young bit there. Flushes nothing. Returns 1 if it was young, 0 if not,
/// or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_pmdp_test_and_clear_young(
    pt: *const LockedTable,
    addr: u64,
) -> i32 {
    // All families check a single entry alike.
    let asked = Asked::without_flush(young::YoungAlgorithm::Line);
    // SAFETY: the promise.
    number(unsafe { asked.check(pt, addr, Entries::Pmd) })
}

/// Does `pageout_pmdp_test_and_clear_young`, and the flush of `check` if the entry was young.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_pmdp_clear_flush_young(
    pt: *const LockedTable,
    check: *const YoungCheck,
    addr: u64,
) -> i32 {
    // SAFETY: the promise.
    let young = unsafe { Asked::with_flush(check) }.and_then(|asked| {
        // SAFETY: the promise.
        unsafe { asked.check(pt, addr, Entries::Pmd) }
    });
    number(young)
}

/// Returns the length of the batch from the entry that maps `addr` on, at least 1 and at most
/// `max_nr`, or an error. Entries of a batch map consecutive frames of one folio, with equal
/// attributes. `flags` are bits of `enum pageout_batch`. `max_nr` ends within the folio, the VMA
/// and the table.
///
/// `pte` may be null. Otherwise it gets the first entry as `pageout_ptep_get` reads it, with the
/// bits that the flags merge into it.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_folio_pte_batch(
    pt: *const LockedTable,
    addr: u64,
    max_nr: usize,
    flags: u32,
    pte: *mut u64,
) -> i32 {
    // SAFETY: the promise.
    let batch = unsafe { folio_pte_batch(pt, addr, max_nr, flags) };
    // SAFETY: the promise.
    number(batch.map(|(nr, first)| unsafe { give(pte, first, nr) }))
}

/// Reads the entry that maps `addr`. A contiguous one is young or dirty if any entry of its block
/// is. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_ptep_get(pt: *const LockedTable, addr: u64, pte: *mut u64) -> i32 {
    if pte.is_null() {
        return Error::Null as i32;
    }
    // SAFETY: the promise.
    let found = unsafe { ptep_get(pt, addr) };
    // SAFETY: the promise.
    number(found.map(|found| unsafe { give(pte, found, 0) }))
}

/// Returns an English description of an error from its number, and an empty text for any other
/// number. The text is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn pageout_error_text(error: i32) -> *const c_char {
    let known = Error::all().into_iter().find(|known| *known as i32 == error);
    known.map_or(c"", Error::text).as_ptr()
}

/// Stores an entry at `pte` if that is not null. Returns `answer`.
///
/// # Safety
/// `pte` is null, or live and aligned.
unsafe fn give(pte: *mut u64, entry: Pte, answer: i32) -> i32 {
    if !pte.is_null() {
        // SAFETY: not null, so the caller vouches for it.
        unsafe { pte.write(entry.0) };
    }
    answer
}

/// # Safety
/// The promise.
unsafe fn folio_pte_batch(
    pt: *const LockedTable,
    addr: u64,
    max_nr: usize,
    flags: u32,
) -> Result<(i32, Pte), Error> {
    // SAFETY: the promise: null, or live and aligned.
    let pt = unsafe { pt.as_ref() }.ok_or(Error::Null)?;
    let flags = batch_flags(flags)?;
    with_format!(Format::of(pt.format)?, F => {
        // SAFETY: the promise: a table of this format.
        let table = unsafe { Ground::<F>::new(pt.entries, Callbacks::NONE)? }.entries();
        let i = F::index(Level::Pte, page_of::<F>(addr, max_nr)?);
        let mut first = gather::<F, _>(table, i);
        if !F::is_present(first) {
            return Err(Error::Entry);
        }
        let run = Run { first: i, nr: max_nr };
        let nr = folio_pte_batch_flags::<F, _>(table, run, &mut first, flags);
        Ok((nr as i32, first)) // at most the entries of a table
    })
}

/// # Safety
/// The promise.
unsafe fn ptep_get(pt: *const LockedTable, addr: u64) -> Result<Pte, Error> {
    // SAFETY: the promise: null, or live and aligned.
    let pt = unsafe { pt.as_ref() }.ok_or(Error::Null)?;
    with_format!(Format::of(pt.format)?, F => {
        // SAFETY: the promise: a table of this format.
        let table = unsafe { Ground::<F>::new(pt.entries, Callbacks::NONE)? }.entries();
        Ok(gather::<F, _>(table, F::index(Level::Pte, VirtAddr::new(addr))))
    })
}

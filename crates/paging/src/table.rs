//! The table handle, and tables in ordinary memory. All unsafe code of the workspace's engine is
//! here; `docs/soundness.md` argues each block.
#![allow(unsafe_code)]

use crate::pte::{Format, Pte};
use crate::{Pfn, contig};
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

mod area;
mod watched;
pub use area::Area;
pub use watched::{Operation, Watch, WatchedTable, changed_by};

/// The number of entries in a cache line of 64 bytes.
pub const LINE: usize = 8;

/// Returns `f` of each place of a line. It is unrolled by hand: as a loop, which is what optimising
/// for size keeps, it costs as much as the entries.
#[inline(always)]
pub(crate) fn each<R>(f: impl Fn(usize) -> R) -> [R; LINE] {
    [f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)]
}

/// Returns the places of a line that are set, as a bit mask.
#[inline(always)]
pub(crate) fn mask(set: [bool; LINE]) -> u32 {
    let [a, b, c, d, e, f, g, h] = each(|k| u32::from(set[k]) << k);
    ((a | b) | (c | d)) | ((e | f) | (g | h))
}

/// A `Copy` handle to one page table. Every access is one untorn operation on a 64-bit entry, and
/// hardware or other agents may act between any two of them.
///
/// Indices are entries, below the format's `PTES`. Clears are named by their return value, which
/// decides the instruction. On x86, returning a bit is `lock btr`, and returning nothing is `lock
/// and`. Returning a word would be a compare-and-swap loop.
pub trait Table: Copy {
    /// Reads entry `i`.
    fn load(self, i: usize) -> Pte;
    /// Reads the 64-byte line that holds entry `i`: eight separate untorn reads.
    fn line(self, i: usize) -> [u64; LINE];
    /// Returns the entries of the line that holds entry `i` in which any of `bits` is set, as a bit
    /// mask. A line without one costs one read; a line with one is read again.
    #[inline(always)] // called once for each line, in the innermost loop
    fn line_with(self, i: usize, bits: u64) -> u32 {
        let [a, b, c, d, e, f, g, h] = self.line(i);
        if ((a | b) | (c | d) | (e | f) | (g | h)) & bits == 0 {
            return 0;
        }
        let line = self.line(i);
        mask(each(|k| line[k] & bits != 0))
    }
    /// Clears the one bit `bit` of entry `i` in one atomic operation. Returns true if it was set.
    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool;
    /// Clears `bits` of entry `i` in one atomic operation.
    fn clear_bits(self, i: usize, bits: u64);
    /// Replaces entry `i` if it equals `old`.
    ///
    /// # Errors
    /// The entry found, if it differs (or, on some machines, spuriously equal).
    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte>;
    /// Replaces entry `i` in one atomic operation, and returns its old value.
    fn swap(self, i: usize, new: Pte) -> Pte;
    /// Stores entry `i`. This is allowed only over an invalid entry, which hardware cannot write,
    /// or to take out an entry that leads to a table. Hardware's writes to an entry that leads to a
    /// table do not matter.
    fn set(self, i: usize, pte: Pte);
    /// Hints that the line of entry `i` will be written.
    fn prefetch_write(self, i: usize);
}

/// A table of format `F` in ordinary memory.
#[derive(Debug)]
pub struct HostTable<'a, F> {
    /// Invariant: exactly `F::PTES` entries.
    entries: &'a [AtomicU64],
    format: PhantomData<F>,
}

impl<F> Clone for HostTable<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for HostTable<'_, F> {}

impl<'a, F: Format> HostTable<'a, F> {
    /// Makes a handle to `entries`, or returns `None` unless there are exactly `F::PTES` of them.
    pub fn new(entries: &'a [AtomicU64]) -> Option<Self> {
        (entries.len() == F::PTES).then_some(Self { entries, format: PhantomData })
    }

    #[inline]
    fn entry(self, i: usize) -> &'a AtomicU64 {
        debug_assert!(i < F::PTES, "entry {i} of a table of {}", F::PTES);
        // SAFETY: the mask keeps the index below F::PTES, a power of two and the slice's length.
        unsafe { self.entries.get_unchecked(i & (F::PTES - 1)) }
    }
}

impl<F: Format> Table for HostTable<'_, F> {
    #[inline]
    fn load(self, i: usize) -> Pte {
        Pte(self.entry(i).load(Relaxed))
    }

    #[inline]
    fn line(self, i: usize) -> [u64; LINE] {
        let first = contig::align_down(i, LINE);
        each(|k| self.entry(first + k).load(Relaxed))
    }

    #[inline]
    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        debug_assert!(bit.is_power_of_two(), "one bit, not {bit:#x}");
        self.entry(i).fetch_and(!bit, Relaxed) & bit != 0
    }

    #[inline]
    fn clear_bits(self, i: usize, bits: u64) {
        self.entry(i).fetch_and(!bits, Relaxed);
    }

    #[inline]
    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        let entry = self.entry(i);
        entry.compare_exchange_weak(old.0, new.0, Relaxed, Relaxed).map(|_| ()).map_err(Pte)
    }

    #[inline]
    fn swap(self, i: usize, new: Pte) -> Pte {
        Pte(self.entry(i).swap(new.0, Relaxed))
    }

    #[inline]
    fn set(self, i: usize, pte: Pte) {
        self.entry(i).store(pte.0, Release);
    }

    #[inline]
    fn prefetch_write(self, i: usize) {
        prefetch_for_write(self.entry(i));
    }
}

/// Page-table frames in one run of ordinary memory: frame `base + k` is the k-th table.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use pageout_paging::Pfn;
/// use pageout_paging::pte::{Format, Level, Prot, X86_64};
/// use pageout_paging::table::{HostTables, Table};
///
/// let memory = [const { AtomicU64::new(0) }; 1024];
/// let tables = HostTables::<X86_64>::new(&memory, Pfn::new(100));
/// tables.table(Pfn::new(101)).set(0, X86_64::leaf(Level::Pte, Pfn::new(7), Prot::READ));
/// assert_eq!(X86_64::pfn(tables.load(tables.slot(Pfn::new(101), 0))), Pfn::new(7));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HostTables<'a, F> {
    memory: &'a [AtomicU64],
    base: Pfn,
    format: PhantomData<F>,
}

/// The place of an entry in a run of tables: its index in their memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Slot(u32);

impl Slot {
    /// Returns the index.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the place `nr` entries further.
    #[must_use]
    pub const fn add(self, nr: u32) -> Self {
        Self(self.0.wrapping_add(nr))
    }
}

impl<'a, F: Format> HostTables<'a, F> {
    /// Makes tables in `memory`, the first of which is frame `base`. Entries past the last whole
    /// table are not used.
    pub fn new(memory: &'a [AtomicU64], base: Pfn) -> Self {
        Self { memory, base, format: PhantomData }
    }

    /// Returns the number of tables that fit.
    pub fn len(&self) -> usize {
        self.memory.len() / F::PTES
    }

    /// Returns true if no table fits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the table in `frame`.
    ///
    /// # Panics
    /// If the frame is not one of these tables: a page table that points outside its memory.
    #[inline]
    pub fn table(&self, frame: Pfn) -> HostTable<'a, F> {
        let number = frame.offset_from(self.base) as usize;
        let start = number.wrapping_mul(F::PTES);
        let entries = self.memory.get(start..start.wrapping_add(F::PTES));
        HostTable {
            entries: entries.expect("a table frame lies in the table memory"),
            format: PhantomData,
        }
    }

    /// Returns the place of entry `i` of the table in `frame`.
    ///
    /// # Panics
    /// If it lies past 2^32 entries.
    #[inline]
    pub fn slot(&self, frame: Pfn, i: usize) -> Slot {
        let number = frame.offset_from(self.base) as usize;
        let index = number.wrapping_mul(F::PTES) + i;
        Slot(u32::try_from(index).expect("table memory within 2^32 entries"))
    }

    /// Returns the table that holds a place, and the entry's index in it.
    #[inline]
    pub fn at(&self, slot: Slot) -> (HostTable<'a, F>, usize) {
        let frame = self.base.add(u64::from(slot.0 >> F::TABLE_SHIFT));
        (self.table(frame), slot.0 as usize & (F::PTES - 1))
    }

    /// Reads the entry at a place.
    ///
    /// # Panics
    /// If the place lies outside of the memory.
    #[inline]
    pub fn load(&self, slot: Slot) -> Pte {
        Pte(self.memory[slot.0 as usize].load(Relaxed))
    }
}

/// All of physical memory, mapped at one virtual offset, as kernels keep it.
#[derive(Clone, Copy, Debug)]
pub struct DirectMap<F> {
    base: *const AtomicU64,
    first: Pfn,
    frames: u64,
    format: PhantomData<F>,
}

// SAFETY: the map only hands out shared references to atomics, which any thread may use. `new`
// demands that the memory stays mapped as long as it is used.
unsafe impl<F> Send for DirectMap<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for DirectMap<F> {}

impl<F: Format> DirectMap<F> {
    /// Makes the direct map of `frames`, the first of which is at `base`.
    ///
    /// # Safety
    /// The promise holds for as long as any copy of the map or of a table made from it is used.
    /// `base` is aligned to the page size. As many pages from `base` on as there are frames are
    /// mapped, readable and writable.
    pub const unsafe fn new(base: *mut u8, frames: Range<Pfn>) -> Self {
        let nr = frames.end.get().saturating_sub(frames.start.get());
        Self { base: base.cast(), first: frames.start, frames: nr, format: PhantomData }
    }

    /// Returns the table in `frame`.
    ///
    /// # Safety
    /// For as long as any copy of the table is used, the frame holds a page table. The program
    /// accesses it only through atomics; hardware walkers may access it in their own way.
    ///
    /// # Panics
    /// If the frame lies outside the map.
    #[inline]
    pub unsafe fn table(&self, frame: Pfn) -> HostTable<'static, F> {
        let number = frame.offset_from(self.first);
        assert!(
            number < self.frames,
            "a table frame, {:#x}, lies in the direct map: {} frames from {:#x} on",
            frame.get(),
            self.frames,
            self.first.get()
        );
        let start = number as usize * (F::PAGE_SIZE as usize / size_of::<AtomicU64>());
        // SAFETY: the frame lies in the map, so `new`'s caller vouches for PTES entries (at most a
        // page) that are mapped, aligned and live. The caller here vouches that only atomics access
        // them.
        let entries = unsafe { core::slice::from_raw_parts(self.base.add(start), F::PTES) };
        HostTable { entries, format: PhantomData }
    }
}

#[inline]
fn prefetch_for_write(entry: &AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch changes no architectural state; processors without it run a no-op.
    unsafe {
        core::arch::asm!(
            "prefetchw [{}]",
            in(reg) entry,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a prefetch changes no architectural state.
    unsafe {
        core::arch::asm!(
            "prfm pstl1keep, [{}]",
            in(reg) entry,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = entry;
}

#[cfg(test)]
mod tests;

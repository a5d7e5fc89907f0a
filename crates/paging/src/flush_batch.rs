//! The record of deferred invalidations of an address space that are not complete yet.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire};

/// The deferrals of one address space by number: the last made and the last known complete (Linux
/// 7.3.4, `mm->tlb_flush_batched`). A task that cleared an entry and deferred its flush notes that
/// under the table's lock. A task that relies on entries checks under that lock. If a deferral is
/// pending, it flushes the address space and marks the pending ones it saw as flushed.
///
/// Bits 0 to 14 number the last deferral, 16 to 30 the last flushed. As in kernels, there is a
/// limit. During a flush that takes as long as 16,383 deferrals, the numbers may begin again, and
/// be taken for those it saw.
///
/// ```
/// use pageout_paging::FlushBatch;
///
/// let batch = FlushBatch::new();
/// assert_eq!(batch.pending(), None);
/// batch.note_deferral();
/// let pending = batch.pending().expect("one was just put off");
/// // Here the address space is flushed.
/// batch.mark_flushed(pending);
/// assert_eq!(batch.pending(), None);
/// ```
#[derive(Debug, Default)]
pub struct FlushBatch(AtomicU32);

/// The deferrals that [`FlushBatch::pending`] found pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending(u32);

const MASK: u32 = 0x7fff;
const FLUSHED_SHIFT: u32 = 16;
/// The number of deferrals after which the count begins again, long before it would overflow.
const LAST: u32 = 0x3fff;

impl FlushBatch {
    /// Makes a record with nothing pending.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Notes that the invalidation of an entry cleared before is deferred.
    #[inline]
    pub fn note_deferral(&self) {
        let mut word = self.0.load(Acquire);
        while let Err(now) = self.0.compare_exchange_weak(word, deferred(word), AcqRel, Acquire) {
            word = now;
        }
    }

    /// Returns the pending deferrals, if there are any.
    #[inline]
    pub fn pending(&self) -> Option<Pending> {
        let word = self.0.load(Acquire);
        (word & MASK != word >> FLUSHED_SHIFT).then_some(Pending(word))
    }

    /// Marks the deferrals `seen` to be pending as flushed, unless more were made since, which the
    /// flush may have missed. Precondition: the address space was flushed after
    /// [`FlushBatch::pending`].
    #[inline]
    pub fn mark_flushed(&self, seen: Pending) {
        let last = seen.0 & MASK;
        let word = last | (last << FLUSHED_SHIFT);
        // If it fails, a deferral is still pending: the next task that checks flushes once more.
        let _ = self.0.compare_exchange(seen.0, word, AcqRel, Acquire);
    }
}

/// Returns the word after one more deferral.
const fn deferred(word: u32) -> u32 {
    if word & MASK > LAST { 1 } else { word + 1 }
}

#[cfg(test)]
mod tests;

//! Which deferred invalidations of an address space are still to be completed.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire};

/// The deferrals of one address space by number: the last made and the last known complete (Linux
/// 7.3.4, `mm->tlb_flush_batched`). Whoever cleared an entry and put off its flush notes so under
/// the table's lock; whoever relies on entries asks under that lock, flushes the address space if
/// anything is pending, and marks what it saw as flushed.
///
/// Bits 0 to 14 number the last deferral, 16 to 30 the last flushed. As in kernels, a flush that
/// took as long as 16,383 deferrals might take the numbers begun anew for those it saw.
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

/// What was pending when [`FlushBatch::pending`] was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending(u32);

const MASK: u32 = 0x7fff;
const FLUSHED_SHIFT: u32 = 16;
/// Past this number of deferrals the count begins again, long before it would spill over.
const LAST: u32 = 0x3fff;

impl FlushBatch {
    /// Nothing is pending.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Notes that the invalidation of an entry cleared before is put off.
    #[inline]
    pub fn note_deferral(&self) {
        let mut word = self.0.load(Acquire);
        while let Err(now) = self.0.compare_exchange_weak(word, deferred(word), AcqRel, Acquire) {
            word = now;
        }
    }

    /// What is pending, if anything is.
    #[inline]
    pub fn pending(&self) -> Option<Pending> {
        let word = self.0.load(Acquire);
        (word & MASK != word >> FLUSHED_SHIFT).then_some(Pending(word))
    }

    /// Marks what was `seen` to be pending as flushed, unless more was deferred since: that the
    /// flush may have missed. Precondition: the address space was flushed after the question.
    #[inline]
    pub fn mark_flushed(&self, seen: Pending) {
        let last = seen.0 & MASK;
        let word = last | (last << FLUSHED_SHIFT);
        // Where it fails, something is still pending: the next to ask flushes once more.
        let _ = self.0.compare_exchange(seen.0, word, AcqRel, Acquire);
    }
}

/// The word after one more deferral.
const fn deferred(word: u32) -> u32 {
    if word & MASK > LAST { 1 } else { word + 1 }
}

#[cfg(test)]
mod tests;

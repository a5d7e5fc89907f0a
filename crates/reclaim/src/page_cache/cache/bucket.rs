//! Buckets of the file index. The word that leads to a bucket's first entry is the bucket's lock
//! too: a task that takes the bucket takes that number out of the word, and puts the first entry's
//! number there when it is done.

use super::SLOT;
use crate::engine::Engine;
use crate::id::{FolioNr, NONE, SwapSlot};
use crate::mm_state::MmState;
use crate::noted::{Note, Noted};
use crate::rank::{Rank, Ranked};
use core::iter;
use core::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use pageout_paging::Env;

/// The word of a bucket that is taken. No entry has this number.
const TAKEN: u32 = NONE - 1;

/// A bucket that is taken: no other task finds its entries, or changes them.
#[derive(Debug)]
pub(crate) struct Bucket<'e> {
    word: &'e AtomicU32,
    /// The first entry, or [`NONE`].
    first: u32,
}

/// The guard of a bucket.
pub(crate) type TakenBucket<'e, E> = Noted<'e, E, Ranked<'e, Bucket<'e>>>;

impl Drop for Bucket<'_> {
    #[inline]
    fn drop(&mut self) {
        self.word.store(self.first, Release);
    }
}

impl Bucket<'_> {
    /// Returns the numbers of its entries.
    #[inline]
    pub(super) fn entries(&self, maps: &MmState<'_>) -> impl Iterator<Item = u32> {
        let named = |at: u32| (at != NONE).then_some(at);
        iter::successors(named(self.first), move |at| named(next_of(maps, *at).load(Relaxed)))
    }

    /// Puts an entry before the others. `next` is its link.
    #[inline]
    pub(super) fn push(&mut self, next: &AtomicU32, number: u32) {
        next.store(self.first, Relaxed);
        self.first = number;
    }

    /// Takes an entry out.
    ///
    /// # Panics
    /// If it is not in the bucket.
    #[inline]
    pub(super) fn remove(&mut self, maps: &MmState<'_>, number: u32) {
        let rest = next_of(maps, number).load(Relaxed);
        if self.first == number {
            self.first = rest;
            return;
        }
        let before = self.entries(maps).map(|at| next_of(maps, at));
        let link = before.into_iter().find(|link| link.load(Relaxed) == number);
        link.expect("what is to be taken out is in the index").store(rest, Relaxed);
    }
}

/// Returns the link to the number after `number` in its bucket.
#[inline]
fn next_of<'a>(maps: &'a MmState<'_>, number: u32) -> &'a AtomicU32 {
    match number & SLOT {
        0 => &maps.folio_at(FolioNr(number)).chain,
        _ => &maps.slot(SwapSlot(number & !SLOT)).chain,
    }
}

impl<'e, E: Env> Engine<'e, E> {
    /// Takes a bucket by its number.
    #[inline]
    pub(super) fn lock_bucket(&self, number: u64) -> TakenBucket<'e, E> {
        self.take(&self.maps.folios.table[number as usize].bucket)
    }

    /// Takes a bucket, unless it has no entry or there is none of that number.
    #[inline]
    pub(super) fn lock_used_bucket(&self, number: u64) -> Option<TakenBucket<'e, E>> {
        let word = &self.maps.folios.table.get(number as usize)?.bucket;
        (word.load(Acquire) != NONE).then(|| self.take(word))
    }

    #[inline]
    fn take(&self, word: &'e AtomicU32) -> TakenBucket<'e, E> {
        let held = self.ranks.enter(Rank::Index);
        let note = Note::try_of(self.world, Rank::Index, word, false);
        let mut first = word.swap(TAKEN, Acquire);
        if first == TAKEN {
            first = wait_for(word, &note);
        }
        note.held(held.with(Bucket { word, first }))
    }
}

/// Waits for a bucket, takes it, and returns its first entry.
#[cold]
fn wait_for<E: Env>(word: &AtomicU32, note: &Note<'_, E>) -> u32 {
    loop {
        note.wait(E::relax);
        if word.load(Relaxed) != TAKEN {
            let first = word.swap(TAKEN, Acquire);
            if first != TAKEN {
                return first;
            }
        }
    }
}

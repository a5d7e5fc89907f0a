//! The generations of a table's entries.

use core::sync::atomic::{
    AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// The generation of an entry of a table: odd while the entry is in use.
#[derive(Debug, Default)]
pub(crate) struct Generation(AtomicU32);

impl Generation {
    /// Makes the entry free.
    pub(crate) fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// Puts the entry into use, once it is filled in. The caller has taken it off its free list.
    pub(crate) fn begin(&self) -> u32 {
        let generation = self.0.load(Relaxed).wrapping_add(1);
        self.0.store(generation, Release);
        generation
    }

    /// Ends the use of the entry. Of several calls for one use, only one returns true.
    pub(crate) fn end(&self, generation: u32) -> bool {
        let ended = generation.wrapping_add(1);
        self.0.compare_exchange(generation, ended, AcqRel, Relaxed).is_ok()
    }

    /// Returns the generation.
    #[inline]
    pub(crate) fn now(&self) -> u32 {
        self.0.load(Acquire)
    }
}

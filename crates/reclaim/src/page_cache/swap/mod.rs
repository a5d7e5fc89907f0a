//! Swap slots, the number of entries that name each, and the swap cache.
//!
//! A slot is in use while an entry names it or the swap cache has a folio for it. The index of
//! shared memory counts as an entry. A folio of several pages has as many slots in a row.

pub(super) mod cache;

use crate::folio::{Folio, FolioFlags};
use crate::id::NONE;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A swap slot, in 32 bytes.
#[derive(Debug, Default)]
pub struct Slot {
    /// The shadow of the page last evicted here, or 0.
    shadow: AtomicU64,
    /// The page of shared memory that is here, while the index leads to the slot.
    pub(super) index: AtomicU64,
    /// The mapping of that page.
    pub(super) mapping: AtomicU32,
    /// The next slot in this one's chain of the index.
    pub(super) chain: AtomicU32,
    /// The folio in the swap cache.
    folio: AtomicU32,
    /// The number of page-table entries that name the slot, or 1 for the index.
    pub(super) entries: AtomicU16,
    /// The cgroup its page was charged to.
    memcg: AtomicU16,
}

impl Slot {
    pub(super) fn clear(&self) {
        self.shadow.store(0, Relaxed);
        self.mapping.store(NONE, Relaxed);
        self.folio.store(NONE, Relaxed);
        self.entries.store(0, Relaxed);
    }

    /// Returns true if the slot holds the `k`-th page of a folio. For shared memory, the index
    /// decides. For anonymous memory, it holds the page if no index leads to it.
    pub(super) fn is_of(&self, folio: &Folio, k: usize) -> bool {
        let mapping = self.mapping.load(Relaxed);
        match folio.flags().contains(FolioFlags::ANON) {
            true => mapping == NONE,
            false => {
                let index = folio.index() + k as u64;
                mapping == folio.mapping().0 && self.index.load(Relaxed) == index
            }
        }
    }

    fn is_free(&self) -> bool {
        self.entries.load(Relaxed) == 0 && self.folio.load(Relaxed) == NONE
    }
}

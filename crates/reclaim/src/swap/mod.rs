//! Swap slots: where anonymous pages go, how many entries name each, and the swap cache.
//!
//! A slot is in use while an entry names it or the swap cache has a folio for it. The index of
//! shared memory counts as an entry. A folio of several pages has as many slots in a row.

pub(crate) mod cache;

use crate::folio::{Folio, FolioFlags};
use crate::id::NONE;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// One swap slot, 32 bytes.
#[derive(Debug, Default)]
pub struct Slot {
    /// The shadow of the page last evicted here, 0 if there is none.
    shadow: AtomicU64,
    /// The page of shared memory that is here, while the index leads to the slot.
    pub(crate) index: AtomicU64,
    /// Whose page that is.
    pub(crate) mapping: AtomicU32,
    /// What comes after it in its chain of the index.
    pub(crate) chain: AtomicU32,
    /// The folio in the swap cache.
    folio: AtomicU32,
    /// Page-table entries that name the slot, or 1 for the index.
    pub(crate) entries: AtomicU16,
    /// The cgroup its page was charged to.
    pub(crate) memcg: AtomicU16,
}

impl Slot {
    pub(crate) fn clear(&self) {
        self.shadow.store(0, Relaxed);
        self.mapping.store(NONE, Relaxed);
        self.folio.store(NONE, Relaxed);
        self.entries.store(0, Relaxed);
    }

    /// Whether it holds the `k`-th page of a folio: of shared memory what the index says, and of
    /// anonymous memory what page tables name.
    pub(crate) fn is_of(&self, folio: &Folio, k: usize) -> bool {
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

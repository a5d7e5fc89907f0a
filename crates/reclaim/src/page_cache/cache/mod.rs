//! The file index. It leads from a file and a page offset to the folio that holds the page. A page
//! of shared memory may lead to its swap slot. It also has the shadows of evicted folios.
//!
//! The index is a hash table with one chain for each bucket. Consecutive folios of a file are in
//! consecutive buckets, and their shadows in consecutive entries, so that a sweep reads memory in
//! order. A file remembers the orders that its folios ever had, and a look-up tries each of them. A
//! slot stands in the chain where a folio of one page would.
//!
//! Each bucket has a lock of its own: a look-up takes no other, and neither does the removal of a
//! folio. A folio of several pages may meet others in more than one bucket. So each file has a lock
//! of the places of its pages, under which folios enter, and exchange places with slots.

mod bucket;
pub(crate) mod dirty;
pub(super) mod index;
mod key;
pub(super) mod shadow;
mod shadows;
pub(super) mod tags;

use crate::memory::BadId;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The shadow of an evicted folio of a file, in 24 bytes. The table of shadows is bounded: a new
/// shadow replaces an old one. If the old one's page comes back, it looks as if it had never been
/// in memory.
#[derive(Debug, Default)]
pub struct ShadowEntry {
    /// The hash of file, order and page offset; 0 for an unused entry. If two hashes collide, the
    /// refault distance of one folio is judged by the shadow of the other.
    key: AtomicU64,
    /// The shadow (see `workingset`).
    shadow: AtomicU64,
    /// The time at which the shadow was stored, to find the oldest of a set.
    stored: AtomicU32,
}

impl ShadowEntry {
    pub(super) fn clear(&self) {
        self.key.store(0, Relaxed);
    }
}

/// The error that there is another folio already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exists;

/// The reason why the index of a file, or the swap cache, was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IndexError {
    /// The index has a folio there already, or the slots no longer have the folio's pages (EEXIST).
    #[error("there is another folio already")]
    Exists,
    /// The folio is not in the index (ENOENT).
    #[error("the folio is not in the index")]
    Absent,
    /// The folio was freed, or the slots are out of range.
    #[error(transparent)]
    BadId(#[from] BadId),
}

impl From<Exists> for IndexError {
    fn from(_: Exists) -> Self {
        Self::Exists
    }
}

/// The bit that the numbers of slots have in the chains of the index, and those of folios have not.
pub(crate) const SLOT: u32 = 1 << 31;

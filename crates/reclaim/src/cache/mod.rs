//! The file index: from a file and a page offset to the folio that holds it, or for a page of
//! shared memory to the swap slot; and shadows of those evicted.
//!
//! A hash table with a chain a bucket, under one lock. Consecutive folios of a file are in
//! consecutive buckets, and their shadows in consecutive entries, so that a sweep reads memory in
//! order. A file remembers which orders its folios ever had: a look-up asks for each of them. A
//! slot stands in the chain where a folio of one page would.

pub(crate) mod index;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// What is left of an evicted folio of a file. The table of shadows is bounded: an old shadow gives
/// way to a new one, and its page, if it comes back, seems never to have been there. 24 bytes.
#[derive(Debug, Default)]
pub struct ShadowEntry {
    /// File, order and page offset, hashed; 0 for an unused entry. What collides takes one folio
    /// for another, and misjudges how long it was gone.
    key: AtomicU64,
    /// The shadow (see `workingset`).
    shadow: AtomicU64,
    /// When it was stored, to find the oldest of a set.
    stored: AtomicU32,
}

impl ShadowEntry {
    pub(crate) fn clear(&self) {
        self.key.store(0, Relaxed);
    }
}

/// A page of the file is in the index already (EEXIST).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the file index already has a folio there")]
pub struct Exists;

/// In the chains of the index the numbers of slots have this bit, and those of folios have not.
pub(crate) const SLOT: u32 = 1 << 31;

//! The file index: from a file and a page offset to the folio that holds it, and shadows of those
//! evicted.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// What is left of an evicted folio of a file. The table of shadows is bounded: an old shadow gives
/// way to a new one, and its page, if it comes back, seems never to have been there. 24 bytes.
#[derive(Debug, Default)]
pub struct ShadowEntry {
    /// File, order and page offset, packed; 0 for an unused entry.
    pub(crate) key: AtomicU64,
    /// The shadow (see `workingset`).
    pub(crate) shadow: AtomicU64,
    /// When it was stored, to find the oldest of a set.
    pub(crate) stored: AtomicU32,
}

//! Nodes of memory.

use super::mglru::MemcgLru;
use core::sync::atomic::AtomicU64;

/// A node (`struct pglist_data`), as far as reclaim is concerned. Each cgroup has LRU lists on each
/// ([`Lruvec`](super::Lruvec)).
#[derive(Debug, Default)]
pub struct Node {
    /// The order in which reclaim of the whole node visits cgroups.
    pub(super) memcgs: MemcgLru,
    /// The number of free pages at which background reclaim stops.
    pub(super) high_watermark: AtomicU64,
}

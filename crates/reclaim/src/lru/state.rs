//! The state of the LRU that is common to all cgroups.

use super::mglru::{BloomFilter, LruGenState, MemcgLru};
use crate::cgroup::Memcg;
use crate::id::MemcgId;
use crate::mm_state::FreeList;

/// The order in which reclaim visits cgroups, the switches of the multi-generational LRU, and the
/// filters of its page-table walks.
#[derive(Debug)]
pub(crate) struct LruState<'m> {
    /// The order in which reclaim of the whole machine visits cgroups.
    pub(super) memcgs: MemcgLru,
    /// The parts of the multi-generational LRU that are on.
    pub(crate) lru_gen: LruGenState,
    pub(super) filters: &'m [BloomFilter],
    pub(super) free_filters: FreeList,
}

impl<'m> LruState<'m> {
    /// Makes the state of a machine whose only cgroup is the root.
    pub(crate) fn new(memcgs: &[Memcg], filters: &'m [BloomFilter]) -> Self {
        let order = MemcgLru::default();
        order.add(memcgs, MemcgId::ROOT);
        let free_filters = FreeList::of(filters.iter().map(|filter| &filter.next));
        Self { memcgs: order, lru_gen: LruGenState::default(), filters, free_filters }
    }
}

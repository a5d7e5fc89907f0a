//! Cgroups: their tree, their order, and the filters of their page-table walks.

use super::free_list::FreeList;
use crate::id::MemcgId;
use crate::memcg::{Memcg, MemcgTree};
use crate::mglru::bloom::BloomFilter;
use crate::mglru::caps::LruGenState;
use crate::mglru::memcg_lru::MemcgLru;
use core::sync::atomic::Ordering::Relaxed;

/// The tables of cgroups and of filters, and the state common to all cgroups.
#[derive(Debug)]
pub(crate) struct Cgroups<'m> {
    pub(crate) table: &'m [Memcg],
    pub(crate) tree: MemcgTree,
    /// The order in which reclaim of the whole machine visits them.
    pub(crate) lru: MemcgLru,
    /// The parts of the multi-generational LRU that are on.
    pub(crate) lru_gen_state: LruGenState,
    pub(crate) filters: &'m [BloomFilter],
    pub(crate) free_filters: FreeList,
}

impl<'m> Cgroups<'m> {
    /// Makes a tree of only the root.
    pub(super) fn new(table: &'m [Memcg], filters: &'m [BloomFilter]) -> Self {
        let (tree, lru) = (MemcgTree::default(), MemcgLru::default());
        table[0].init(MemcgId::ROOT, Memcg::SWAPPINESS, false, 0);
        lru.add(table, MemcgId::ROOT);
        let rest = &table[1..];
        for (next, memcg) in (2..).zip(rest) {
            let last = usize::from(next) == table.len();
            memcg.parent.store(if last { MemcgId::NONE.0 } else { next }, Relaxed);
        }
        tree.free.store(if rest.is_empty() { MemcgId::NONE.0 } else { 1 }, Relaxed);
        let free_filters = FreeList::of(filters.iter().map(|filter| &filter.next));
        Self { table, tree, lru, lru_gen_state: LruGenState::default(), filters, free_filters }
    }
}

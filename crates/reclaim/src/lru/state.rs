//! The state of the LRU: nodes, and the lists of all cgroups on them.

use super::lruvec::Lruvec;
use super::mglru::{BloomFilter, LruGenState};
use super::node::Node;
use crate::id::{LruvecNr, MemcgNr, NodeId};
use crate::mm_state::FreeList;

/// The nodes, the lists, the switches of the multi-generational LRU, and the filters of its
/// page-table walks.
#[derive(Debug)]
pub(crate) struct LruState<'m> {
    nodes: &'m [Node],
    /// The lists of each cgroup, node by node.
    lruvecs: &'m [Lruvec],
    /// The number of cgroups that have lists on a node.
    nr_memcgs: usize,
    /// The parts of the multi-generational LRU that are on.
    pub(crate) lru_gen: LruGenState,
    pub(super) filters: &'m [BloomFilter],
    pub(super) free_filters: FreeList,
}

impl<'m> LruState<'m> {
    /// Makes the state of a machine whose only cgroup is the root.
    pub(crate) fn new(
        nodes: &'m [Node],
        lruvecs: &'m [Lruvec],
        filters: &'m [BloomFilter],
    ) -> Self {
        let free_filters = FreeList::of(filters.iter().map(|filter| &filter.next));
        let (nr_memcgs, lru_gen) = (lruvecs.len() / nodes.len(), LruGenState::default());
        let state = Self { nodes, lruvecs, nr_memcgs, lru_gen, filters, free_filters };
        for (node, id) in nodes.iter().zip((0..).map(NodeId)) {
            let lists = state.on_node(id);
            lists[0].init(false, 0);
            node.memcgs.add(lists, MemcgNr::ROOT);
        }
        state
    }

    #[inline]
    pub(crate) fn nodes(&self) -> &'m [Node] {
        self.nodes
    }

    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &'m Node {
        &self.nodes[usize::from(id.0)]
    }

    /// Returns the lists of a cgroup on a node.
    #[inline]
    pub(super) fn lruvec(&self, id: LruvecNr) -> &'m Lruvec {
        let [memcg, node] = [usize::from(id.memcg.0), usize::from(id.node.0)];
        debug_assert!(memcg < self.nr_memcgs, "a cgroup of the table");
        &self.lruvecs[node * self.nr_memcgs + memcg]
    }

    /// Returns the lists on a node, by cgroup.
    #[inline]
    pub(super) fn on_node(&self, id: NodeId) -> &'m [Lruvec] {
        &self.lruvecs[usize::from(id.0) * self.nr_memcgs..][..self.nr_memcgs]
    }
}

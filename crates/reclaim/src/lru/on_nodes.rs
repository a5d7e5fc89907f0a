//! The lists of cgroups on nodes: their names, walks over them, and the nodes' watermarks.

use super::lruvec::Lruvec;
use crate::id::{LruvecId, LruvecNr, MemcgNr, NodeId};
use crate::memory::{BadId, TableKind};
use crate::mm_state::MmState;
use core::sync::atomic::Ordering::Relaxed;

impl<'m> MmState<'m> {
    /// Returns the lists of a cgroup on a node.
    #[inline]
    pub(crate) fn lruvec(&self, id: LruvecNr) -> &'m Lruvec {
        self.lru.lruvec(id)
    }

    /// Returns the lists of a cgroup, by node.
    pub(super) fn lruvecs_of(&self, memcg: MemcgNr) -> impl Iterator<Item = &'m Lruvec> {
        self.nodes().map(move |node| self.lruvec(LruvecNr { memcg, node }))
    }

    /// Returns the lists of a cgroup on a node, its parent's on the same node, and so on up to the
    /// root's.
    #[inline]
    pub(super) fn lruvecs_up(&self, id: LruvecNr) -> impl Iterator<Item = &'m Lruvec> {
        let parent = |id: &MemcgNr| (*id != MemcgNr::ROOT).then(|| self.memcg_at(*id).parent());
        let memcgs = core::iter::successors(Some(id.memcg), parent);
        memcgs.map(move |memcg| self.lru.lruvec(LruvecNr { memcg, ..id }))
    }

    /// Returns all nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.lru.nodes().len() as u8).map(NodeId)
    }
}

impl MmState<'_> {
    /// Returns the lists that a caller names, by entries of the tables.
    pub(crate) fn lruvec_nr(&self, id: impl Into<LruvecId>) -> Result<LruvecNr, BadId> {
        let LruvecId { memcg, node } = id.into();
        self.check_node(node)?;
        Ok(LruvecNr { memcg: self.memcg_nr(memcg)?, node })
    }

    /// Returns an error if there is no such node.
    pub(crate) fn check_node(&self, node: NodeId) -> Result<(), BadId> {
        let there = usize::from(node.0) < self.lru.nodes().len();
        there.then_some(()).ok_or(BadId(TableKind::Nodes))
    }

    /// Sets the number of pages that background reclaim of a node leaves free on it. It is 0 at
    /// first.
    ///
    /// # Errors
    /// [`BadId`] if there is no such node.
    pub fn set_high_watermark(&self, node: NodeId, pages: u64) -> Result<(), BadId> {
        self.check_node(node)?;
        self.lru.node(node).high_watermark.store(pages, Relaxed);
        Ok(())
    }

    /// Returns the number of pages that background reclaim of a node leaves free on it.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    pub(crate) fn high_watermark(&self, node: NodeId) -> u64 {
        self.lru.node(node).high_watermark.load(Relaxed)
    }

    /// Returns the next cgroup of a walk of a node that continues where the last one stopped, and
    /// ends with the subtree. Concurrent walks share the cgroups among them (Linux 7.3.4,
    /// `mem_cgroup_iter` with a cookie).
    pub(crate) fn walk_on(&self, top: LruvecNr, first: bool) -> Option<MemcgNr> {
        let walked = &self.lruvec(top).walked;
        loop {
            let at = walked.load(Relaxed);
            let next = match MemcgNr(at) {
                MemcgNr::NONE => first.then_some(top.memcg),
                at => self.next_memcg(top.memcg, at),
            };
            let to = next.unwrap_or(MemcgNr::NONE).0;
            let claimed = walked.compare_exchange(at, to, Relaxed, Relaxed).is_ok();
            if claimed && (next.is_some() || !first) {
                return next;
            }
        }
    }

    /// Lets walks that stopped at a cgroup, which is removed from below `parent`, begin anew.
    pub(super) fn forget_walked(&self, id: MemcgNr, parent: MemcgNr) {
        for node in self.nodes() {
            for above in self.lruvecs_up(LruvecNr { memcg: parent, node }) {
                let _ = above.walked.compare_exchange(id.0, MemcgNr::NONE.0, Relaxed, Relaxed);
            }
        }
    }
}

//! Reclaim's visits of cgroups, in their order on a node.

use super::{Bin, MEMCG_NR_BINS, MEMCG_NR_GENS, MemcgLru, MemcgLruOp, NextMemcg, generation_of};
use crate::engine::Engine;
use crate::id::{LruvecNr, MemcgId, MemcgNr, NodeId};
use crate::lru::Lruvec;
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::rank::Rank;
use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use pageout_paging::Env;

impl<E: Env> Engine<'_, E> {
    /// Calls `work` on a node's order of cgroups, under its lock, and on the lists by cgroup.
    fn with_memcg_lru<T>(&self, node: NodeId, work: impl FnOnce(&MemcgLru, &[Lruvec]) -> T) -> T {
        let lru = &self.maps.lru;
        let order = &lru.node(node).memcgs;
        let _guard = self.lock_write(Rank::MemcgLru, &order.lock);
        work(order, lru.on_node(node))
    }
}

impl MmState<'_> {
    /// Returns all cgroups in the order in which reclaim of a whole node visits them, except that
    /// its first bin is random. The caller keeps others from changing the order meanwhile.
    ///
    /// # Errors
    /// [`BadId`] if there is no such node.
    pub fn lru_gen_memcgs(&self, node: NodeId) -> Result<impl Iterator<Item = MemcgId>, BadId> {
        self.check_node(node)?;
        let named =
            |link: &AtomicU16| Some(MemcgNr(link.load(Relaxed))).filter(|id| *id != MemcgNr::NONE);
        let (order, lists) = (&self.lru.node(node).memcgs, self.lru.on_node(node));
        let seq = order.seq.load(Relaxed);
        let bins =
            (seq..seq + MEMCG_NR_GENS as u64).flat_map(|seq| order.bins[generation_of(seq)].iter());
        let memcgs = bins.flat_map(move |ends| {
            let after = move |id: &MemcgNr| named(&lists[usize::from(id.0)].lru_link.next);
            core::iter::successors(named(&ends.head), after)
        });
        Ok(memcgs.map(|nr| self.memcg_id(nr)))
    }
}

impl<E: Env> Engine<'_, E> {
    /// Adds a new cgroup to the oldest generation (`lru_gen_online_memcg`).
    pub(in crate::lru) fn memcg_lru_add(&mut self, id: LruvecNr) {
        self.with_memcg_lru(id.node, |lru, lists| lru.add(lists, id.memcg));
    }

    /// Removes a cgroup that ends (`lru_gen_release_memcg`).
    pub(in crate::lru) fn memcg_lru_remove(&mut self, id: LruvecNr) {
        self.with_memcg_lru(id.node, |lru, lists| {
            let left = lists[usize::from(id.memcg.0)].lru_link.place().generation;
            lru.remove(lists, id.memcg);
            lru.grow_older(left);
        });
    }

    /// Moves a cgroup (`lru_gen_rotate_memcg`).
    pub(crate) fn rotate_memcg(&mut self, id: LruvecNr, op: MemcgLruOp) {
        self.with_memcg_lru(id.node, |lru, lists| lru.rotate(lists, id.memcg, op));
    }

    /// Returns the bins of a node's oldest generation, from a random one on.
    pub(crate) fn oldest_bins(&mut self, node: NodeId) -> [Bin; MEMCG_NR_BINS] {
        self.with_memcg_lru(node, |lru, _| lru.oldest_bins())
    }

    /// Returns the cgroup after `at` in a node's bin, or the first.
    pub(crate) fn next_in_bin(&mut self, node: NodeId, bin: Bin, at: Option<MemcgNr>) -> NextMemcg {
        self.with_memcg_lru(node, |lru, lists| lru.next(lists, bin, at))
    }
}

//! Reclaim's visits of cgroups, in their order.

use super::{Bin, MEMCG_NR_BINS, MEMCG_NR_GENS, MemcgLru, MemcgLruOp, NextMemcg, generation_of};
use crate::cgroup::Memcg;
use crate::engine::Engine;
use crate::id::MemcgId;
use crate::mm_state::MmState;
use crate::rank::Rank;
use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use pageout_paging::Env;

impl<E: Env> Engine<'_, E> {
    /// Calls `work` on the order of cgroups, under its lock.
    fn with_memcg_lru<T>(&self, work: impl FnOnce(&MemcgLru, &[Memcg]) -> T) -> T {
        let maps = self.maps;
        let _guard = self.lock_write(Rank::MemcgLru, &maps.lru.memcgs.lock);
        work(&maps.lru.memcgs, maps.cgroups.table)
    }
}

impl MmState<'_> {
    /// Returns all cgroups in the order in which reclaim of the whole machine visits them, except
    /// that its first bin is random. The caller keeps others from changing the order meanwhile.
    pub fn lru_gen_memcgs(&self) -> impl Iterator<Item = MemcgId> {
        let named =
            |link: &AtomicU16| Some(MemcgId(link.load(Relaxed))).filter(|id| *id != MemcgId::NONE);
        let seq = self.lru.memcgs.seq.load(Relaxed);
        let bins = (seq..seq + MEMCG_NR_GENS as u64)
            .flat_map(|seq| self.lru.memcgs.bins[generation_of(seq)].iter());
        bins.flat_map(move |ends| {
            let after = move |id: &MemcgId| named(&self.memcg(*id).lru_link.next);
            core::iter::successors(named(&ends.head), after)
        })
    }
}

impl<E: Env> Engine<'_, E> {
    /// Adds a new cgroup to the oldest generation (`lru_gen_online_memcg`).
    pub(in crate::lru) fn memcg_lru_add(&mut self, id: MemcgId) {
        self.with_memcg_lru(|lru, memcgs| lru.add(memcgs, id));
    }

    /// Removes a cgroup that ends (`lru_gen_release_memcg`).
    pub(in crate::lru) fn memcg_lru_remove(&mut self, id: MemcgId) {
        self.with_memcg_lru(|lru, memcgs| {
            let left = memcgs[usize::from(id.0)].lru_link.place().generation;
            lru.remove(memcgs, id);
            lru.grow_older(left);
        });
    }

    /// Moves a cgroup (`lru_gen_rotate_memcg`).
    pub(crate) fn rotate_memcg(&mut self, id: MemcgId, op: MemcgLruOp) {
        self.with_memcg_lru(|lru, memcgs| lru.rotate(memcgs, id, op));
    }

    /// Returns the bins of the oldest generation, from a random one on.
    pub(crate) fn oldest_bins(&mut self) -> [Bin; MEMCG_NR_BINS] {
        self.with_memcg_lru(|lru, _| lru.oldest_bins())
    }

    /// Returns the cgroup after `at` in a bin, or the first.
    pub(crate) fn next_in_bin(&mut self, bin: Bin, at: Option<MemcgId>) -> NextMemcg {
        self.with_memcg_lru(|lru, memcgs| lru.next(memcgs, bin, at))
    }
}

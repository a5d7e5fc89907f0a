//! Entry points of the multi-generational LRU: reclaim of a whole node, and of one cgroup on it
//! (Linux 7.3.4, vmscan.c).

use crate::cgroup::Protected;
use crate::engine::Engine;
use crate::id::MemcgNr;
use crate::lru::LruList;
use crate::lru::mglru::{MIN_LRU_BATCH, MemcgLruOp, MmWalk, NextMemcg};
use crate::mm_state::MmState;
use crate::reclaim::scan::{Agent, DEF_PRIORITY, ScanControl};
use crate::vmstat::Counter;
use crate::world::World;
use pageout_paging::Env;

/// Returns the priority at which a reclaim of `nr_to_reclaim` pages starts, if `reclaimable` pages
/// could be reclaimed. It is the one that scans about as many, but at most half of all urgencies
/// are skipped.
fn initial_priority(reclaimable: u64, nr_to_reclaim: u64) -> u8 {
    // `reclaimable` is rounded down, and `nr_to_reclaim` up.
    let bits = |n: u64| i64::from(u64::BITS - n.leading_zeros());
    let priority = bits(reclaimable) - 1 - bits(nr_to_reclaim - 1);
    priority.clamp(i64::from(DEF_PRIORITY / 2), i64::from(DEF_PRIORITY)) as u8
}

impl MmState<'_> {
    /// Skips the urgencies at which a large reclaim of the whole machine would get too little
    /// (`set_initial_priority`).
    pub(super) fn set_initial_priority(&self, sc: &mut ScanControl) {
        if sc.priority != DEF_PRIORITY || sc.nr_to_reclaim < MIN_LRU_BATCH {
            return;
        }
        let root = self.lruvec(sc.lruvec(MemcgNr::ROOT));
        let size = |list| root.subtree_size(list);
        let anon = if self.can_reclaim_anon() { size(LruList::InactiveAnon) } else { 0 };
        sc.priority = initial_priority(size(LruList::InactiveFile) + anon, sc.nr_to_reclaim);
    }
}

impl<W: World> Engine<'_, W> {
    /// Makes one pass over the cgroups, beginning with those visited longest ago
    /// (`lru_gen_shrink_node`). Kernels compute protections only in background reclaim; here every
    /// pass does, so that they hold for every reclaim.
    pub(in crate::reclaim) fn lru_gen_shrink_node(&mut self, sc: &mut ScanControl) {
        let maps = self.maps;
        maps.set_initial_priority(sc);
        maps.subtree(MemcgNr::ROOT).for_each(|id| maps.calculate_protection(MemcgNr::ROOT, id));
        let before = sc.nr_reclaimed;
        if sc.agent == Agent::Kswapd {
            sc.nr_reclaimed = 0;
        }
        self.set_mm_walk(sc);
        self.shrink_many(sc);
        self.clear_mm_walk();
        if sc.agent == Agent::Kswapd {
            sc.nr_reclaimed += before;
        }
    }

    /// Evicts from one cgroup, for its own limit or an ancestor's (`lru_gen_shrink_lruvec`).
    pub(in crate::reclaim) fn lru_gen_shrink_lruvec(&mut self, id: MemcgNr, sc: &mut ScanControl) {
        self.set_mm_walk(sc);
        if self.try_to_shrink_lruvec(id, sc) {
            self.rotate_memcg(sc.lruvec(id), MemcgLruOp::Young);
        }
        self.clear_mm_walk();
    }

    /// Visits the oldest generation of cgroups, until enough is reclaimed (`shrink_many`).
    fn shrink_many(&mut self, sc: &mut ScanControl) {
        let node = sc.node;
        for bin in self.oldest_bins(node) {
            let mut next = self.next_in_bin(node, bin, None);
            loop {
                let id = match next {
                    NextMemcg::End => break,
                    NextMemcg::Is(id) => id,
                    NextMemcg::Moved => {
                        next = self.next_in_bin(node, bin, None);
                        continue;
                    }
                };
                let op = self.shrink_one(id, sc);
                let enough = self.should_abort_scan(sc);
                next = self.next_in_bin(node, bin, Some(id));
                if let Some(op) = op {
                    self.rotate_memcg(sc.lruvec(id), op);
                }
                if enough {
                    return;
                }
            }
        }
    }

    /// Evicts from one cgroup, and returns its move, if it moves (`shrink_one`).
    fn shrink_one(&mut self, id: MemcgNr, sc: &mut ScanControl) -> Option<MemcgLruOp> {
        let maps = self.maps;
        let again = !maps.lruvec(sc.lruvec(id)).lru_link.at_tail();
        match maps.protected(MemcgNr::ROOT, id) {
            Protected::BelowMin => return Some(MemcgLruOp::Young),
            Protected::BelowLow if again => return Some(MemcgLruOp::Tail),
            Protected::BelowLow => maps.memcg_at(id).vmstat.add(Counter::EventLow, 1),
            Protected::Above => {}
        }
        if self.try_to_shrink_lruvec(id, sc) {
            Some(MemcgLruOp::Young)
        } else if maps.is_sizable(id, sc) {
            None
        } else if again {
            Some(MemcgLruOp::Tail)
        } else {
            Some(MemcgLruOp::Young)
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Gives the reclaim on this CPU a batch for walks' changes. Direct reclaim gets one only once
    /// it ages (`set_mm_walk`).
    fn set_mm_walk(&mut self, sc: &ScanControl) {
        debug_assert!(self.cpu.walk.is_none(), "one reclaim runs on a CPU");
        self.cpu.walk = (sc.agent != Agent::Direct).then(MmWalk::default);
    }

    /// Removes that batch.
    fn clear_mm_walk(&mut self) {
        let walk = self.cpu.walk.take();
        debug_assert!(walk.is_none_or(|walk| walk.batched == 0), "all changes are handed in");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_reclaim_starts_more_urgently_the_larger_it_is() {
        // By hand: 2^20 to 2^21 − 1 pages have 21 bits, and 64 pages less one have 6.
        let table = [
            (1 << 20, 64, 12),
            (1 << 18, 64, 12),
            ((1 << 18) - 1, 64, 11),
            (1 << 17, 64, 11),
            (1 << 17, 65, 10),
            (1 << 17, 128, 10),
            (1 << 17, 2048, 6),
            (1 << 17, 2049, 6),
            (64, 64, 6),
            (0, 1 << 40, 6),
            (u64::MAX, 64, 12),
        ];
        for (reclaimable, nr_to_reclaim, wanted) in table {
            let found = initial_priority(reclaimable, nr_to_reclaim);
            assert_eq!(found, wanted, "{nr_to_reclaim} of {reclaimable}");
        }
    }
}

//! How far a cgroup's generations are scanned, and when a new one is opened (Linux 7.1.5, vmscan.c).

use super::seq::evictable_types;
use super::{MIN_LRU_BATCH, MIN_NR_GENS};
use crate::CpuCtx;
use crate::balance::unprotected;
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::protection::Protected;
use crate::scan::{Agent, DEF_PRIORITY, ScanControl};
use crate::tuning::LruGenLoop;
use crate::world::World;

/// Whether a new generation is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    /// No.
    None,
    /// One more eviction, and there are too few: better open it now.
    Desired,
    /// There are too few to evict.
    Mandatory,
}

fn need(min_seq: u64, max_seq: u64) -> Need {
    match (min_seq + MIN_NR_GENS).cmp(&max_seq) {
        core::cmp::Ordering::Less => Need::None,
        core::cmp::Ordering::Equal => Need::Desired,
        core::cmp::Ordering::Greater => Need::Mandatory,
    }
}

impl Maps<'_> {
    /// Pages that may be evicted some day, of the types that may (`lruvec_evictable_size`).
    pub(crate) fn evictable_size(&self, memcg: MemcgId, swappiness: u8) -> u64 {
        let lrugen = self.lru_gen(memcg);
        let of = |kind| (lrugen.min_seq(kind)..=lrugen.max_seq()).map(move |seq| (seq, kind));
        evictable_types(swappiness).flat_map(of).map(|(seq, kind)| lrugen.size(seq, kind)).sum()
    }

    /// Whether a cgroup is large enough that a scan of this urgency helps (`lruvec_is_sizable`).
    pub(crate) fn is_sizable(&self, memcg: MemcgId, sc: &ScanControl) -> bool {
        self.evictable_size(memcg, self.get_swappiness(memcg, sc)) >> sc.priority > 0
    }

    /// A cgroup's swappiness for this reclaim: 0 where next to nothing can be swapped out
    /// (`get_swappiness`).
    pub(crate) fn get_swappiness(&self, memcg: MemcgId, sc: &ScanControl) -> u8 {
        if !sc.may_swap || (self.free_slots() as u64) < MIN_LRU_BATCH {
            return 0;
        }
        sc.swappiness.unwrap_or_else(|| self.memcg(memcg).swappiness())
    }

    fn need(&self, memcg: MemcgId, swappiness: u8) -> Need {
        need(self.evictable_min_seq(memcg, swappiness), self.lru_gen(memcg).max_seq())
    }

    fn is_below_min(&self, memcg: MemcgId, sc: &ScanControl) -> bool {
        self.protected(sc.top(), memcg) == Protected::BelowMin
    }

    /// Opens a new generation; false if someone else is about to.
    fn age<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        swappiness: u8,
        sc: &ScanControl,
    ) -> bool {
        let seq = self.lru_gen(memcg).max_seq();
        self.try_to_inc_max_seq(world, cpu, memcg, seq, swappiness, false, sc.tuning.aging)
    }

    /// Evicts from one cgroup as far as this reclaim is to: whether the next is to be visited
    /// before it again, since it is short of old folios (`try_to_shrink_lruvec`).
    pub(crate) fn try_to_shrink_lruvec<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        sc: &mut ScanControl,
    ) -> bool {
        let swappiness = self.get_swappiness(memcg, sc);
        match sc.tuning.lru_gen {
            LruGenLoop::V7_1 => self.shrink_by_rounds(world, cpu, memcg, swappiness, sc),
            LruGenLoop::Mm => self.shrink_by_budget(world, cpu, memcg, swappiness, sc),
        }
    }

    /// As in Linux 7.1.5: asks anew after each round how far to scan.
    fn shrink_by_rounds<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        swappiness: u8,
        sc: &mut ScanControl,
    ) -> bool {
        let mut scanned = 0;
        let rotate = loop {
            let nr_to_scan = match self.get_nr_to_scan(world, cpu, memcg, swappiness, sc) {
                None => break true,
                Some(0) => break false,
                Some(nr) => nr,
            };
            let delta = self.evict_folios(world, cpu, memcg, nr_to_scan, swappiness, sc);
            scanned += delta;
            if delta == 0 || scanned >= nr_to_scan || self.should_abort_scan(world, sc) {
                break false;
            }
        };
        // Nothing but dirty pages of files that no one writes: the flushers are behind.
        let dirty = sc.state.unqueued_dirty;
        if dirty > 0 && dirty == sc.state.file_taken {
            cpu.events.wakeup_flusher += 1;
        }
        rotate
    }

    /// How many pages to scan now; `None` if the cgroup is done with: protected, or short of old
    /// folios, so that a new generation was opened (`get_nr_to_scan`).
    fn get_nr_to_scan<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        swappiness: u8,
        sc: &mut ScanControl,
    ) -> Option<u64> {
        if self.is_below_min(memcg, sc) {
            return None;
        }
        let need = self.need(memcg, swappiness);
        if need == Need::None || sc.priority == DEF_PRIORITY {
            let nothing = need == Need::Mandatory;
            return Some(if nothing { 0 } else { self.budget(memcg, swappiness, sc) });
        }
        let aged = self.age(world, cpu, memcg, swappiness, sc);
        if aged { None } else { Some(0) }
    }

    /// The part of a cgroup's size that this urgency scans, without what it keeps.
    fn budget(&self, memcg: MemcgId, swappiness: u8, sc: &mut ScanControl) -> u64 {
        let size = self.evictable_size(memcg, swappiness);
        let kept = self.spare(memcg, sc);
        unprotected(size, self.memcg(memcg).usage(), kept) >> sc.priority
    }

    /// As the memory-management tree does since: how far to scan is settled first, and aging comes
    /// between rounds of 64 folios.
    fn shrink_by_budget<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        swappiness: u8,
        sc: &mut ScanControl,
    ) -> bool {
        let mut rotate = false;
        let mut left = self.budget(memcg, swappiness, sc);
        while left > 0 {
            if self.is_below_min(memcg, sc) {
                return true;
            }
            let aging = match self.need(memcg, swappiness) {
                Need::Mandatory => true,
                Need::Desired => sc.priority < DEF_PRIORITY,
                Need::None => false,
            };
            if aging {
                rotate |= self.age(world, cpu, memcg, swappiness, sc);
            }
            let batch = left.min(MIN_LRU_BATCH);
            let delta = self.evict_folios(world, cpu, memcg, batch, swappiness, sc);
            // A cgroup short of old folios lets others go first, where there are others.
            let next = aging && sc.root_reclaim();
            if delta == 0 || next || self.should_abort_scan(world, sc) {
                break;
            }
            left = left.saturating_sub(delta);
        }
        rotate
    }

    /// Whether a reclaim has enough. In Linux 7.1.5 that of a cgroup goes on for the sake of
    /// fairness among those below it; since then user space's ends at a signal too
    /// (`should_abort_scan`).
    pub(crate) fn should_abort_scan<W: World>(&self, world: &W, sc: &ScanControl) -> bool {
        match sc.tuning.lru_gen {
            LruGenLoop::V7_1 if !sc.root_reclaim() => return false,
            LruGenLoop::Mm if sc.agent == Agent::Proactive && world.signal_pending() => {
                return true;
            }
            _ => {}
        }
        if sc.nr_reclaimed >= sc.nr_to_reclaim {
            return true;
        }
        let wanted = self.high_watermark() + MIN_LRU_BATCH;
        sc.agent == Agent::Kswapd && world.free_pages() as u64 >= wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_needed_when_three_are_left_and_due_when_two_are() {
        let table = [(4, Need::None), (3, Need::Desired), (2, Need::Mandatory)];
        for (nr_gens, wanted) in table {
            for min_seq in [0, 1, 77] {
                assert_eq!(need(min_seq, min_seq + nr_gens - 1), wanted, "{nr_gens} generations");
            }
        }
    }
}

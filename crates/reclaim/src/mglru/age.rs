//! How far a cgroup's generations are scanned, and when a new one is opened (Linux 7.1.5,
//! vmscan.c).

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

    /// Opens a new generation; false if someone else is about to. A direct reclaim that walked for
    /// it goes on to batch what it finds used (`set_mm_walk`).
    fn age<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        swappiness: u8,
        sc: &ScanControl,
    ) -> bool {
        let seq = self.lru_gen(memcg).max_seq();
        if self.should_walk_mmu(world) {
            cpu.walk.get_or_insert_default();
        }
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
        let size = match need {
            Need::Mandatory => 0,
            Need::None | Need::Desired => self.evictable_size(memcg, swappiness),
        };
        let nr_to_scan = self.part_to_scan(memcg, size, sc);
        if need == Need::None || sc.priority == DEF_PRIORITY {
            return Some(nr_to_scan);
        }
        let aged = self.age(world, cpu, memcg, swappiness, sc);
        if aged { None } else { Some(0) }
    }

    /// The part of `size` pages of a cgroup that this urgency scans, without what it keeps. Notes
    /// where low protection spared some.
    fn part_to_scan(&self, memcg: MemcgId, size: u64, sc: &mut ScanControl) -> u64 {
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
        let mut left = self.part_to_scan(memcg, self.evictable_size(memcg, swappiness), sc);
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
    use crate::mglru::LruGenCaps;
    use crate::mglru::bare::Ground;
    use crate::referenced::Aging;
    use crate::scan::{ANON, FILE};
    use crate::tuning::{ShootdownWhen, Thp, Tuning, UnmapBy, Unmapping};
    use core::sync::atomic::Ordering::Relaxed;
    use pageout_paging::tlb::FlushPolicy;
    use pageout_paging::young::Family;

    const ROOT: MemcgId = MemcgId::ROOT;

    fn control(target: Option<MemcgId>, priority: u8, lru_gen: LruGenLoop) -> ScanControl {
        let tuning = Tuning {
            aging: Aging { family: Family::Batched, flush: FlushPolicy::GENERIC },
            unmapping: Unmapping { by: UnmapBy::Batched, shootdown: ShootdownWhen::Deferred },
            lru_gen,
            thp: Thp::Never,
        };
        ScanControl { priority, ..ScanControl::new(target, 32, Agent::Direct, tuning) }
    }

    /// A cgroup below the root with so many pages of files.
    fn group(ground: &mut Ground, pages: usize) -> MemcgId {
        let id = ground.maps.add_memcg(&ground.world, &mut ground.cpu, ROOT).expect("room");
        for _ in 0..pages {
            let folio = ground.folio(FILE, 0, 0, id);
            ground.maps.lru_add(&ground.world, &mut ground.cpu, folio);
        }
        id
    }

    #[test]
    fn a_generation_is_due_when_three_are_left_and_needed_when_two_are() {
        let table = [(4, Need::None), (3, Need::Desired), (2, Need::Mandatory)];
        for (nr_gens, wanted) in table {
            for min_seq in [0, 1, 77] {
                assert_eq!(need(min_seq, min_seq + nr_gens - 1), wanted, "{nr_gens} generations");
            }
        }
    }

    #[test]
    fn a_round_scans_its_part_or_opens_a_generation() {
        // (generations, priority, pages to scan of 64, whether a generation is opened)
        let table = [
            (4, 12, Some(0), false),
            (4, 2, Some(16), false),
            (4, 0, Some(64), false),
            (3, 12, Some(0), false),
            (3, 2, None, true),
            (3, 0, None, true),
            (2, 12, Some(0), false),
            (2, 0, None, true),
        ];
        for (nr_gens, priority, wanted, opened) in table {
            let mut ground = Ground::new(64);
            let id = group(&mut ground, 64);
            let lrugen = ground.maps.lru_gen(id);
            lrugen.nr_pages.as_flattened().as_flattened().iter().for_each(|n| n.store(0, Relaxed));
            lrugen.nr_pages[3][FILE][0].store(64, Relaxed);
            lrugen.min_seq.iter().for_each(|seq| seq.store(4 - nr_gens, Relaxed));
            let (world, cpu) = (&ground.world, &mut ground.cpu);
            let mut sc = control(None, priority, LruGenLoop::V7_1);
            let found = ground.maps.get_nr_to_scan(world, cpu, id, 0, &mut sc);
            assert_eq!(found, wanted, "{nr_gens} generations at {priority}");
            assert_eq!(lrugen.max_seq() > 3, opened, "{nr_gens} generations at {priority}");
        }
    }

    #[test]
    fn a_cgroup_short_of_old_folios_is_rotated() {
        use LruGenLoop::{Mm, V7_1};
        // (loop, generations, priority, memory.min, whether it is rotated, generations opened)
        let table = [
            (V7_1, 4, 0, 0, false, 0),
            (V7_1, 3, 6, 0, true, 1),
            (V7_1, 2, 6, 0, true, 1),
            (V7_1, 2, 6, 64, true, 0),
            (Mm, 4, 6, 0, false, 0),
            (Mm, 3, 6, 0, true, 1),
            (Mm, 2, 6, 0, true, 1),
            (Mm, 2, 5, 64, true, 0),
            // Of 64 pages an urgency of 7 scans none, so that none are aged.
            (Mm, 2, 7, 0, false, 0),
        ];
        for (lru_gen, nr_gens, priority, min, rotated, opened) in table {
            let mut ground = Ground::new(64);
            let id = group(&mut ground, 0);
            let lrugen = ground.maps.lru_gen(id);
            // All in the youngest generation, so that nothing can be evicted at once.
            lrugen.nr_pages[3][FILE][0].store(64, Relaxed);
            lrugen.min_seq.iter().for_each(|seq| seq.store(4 - nr_gens, Relaxed));
            ground.maps.memcg(id).usage.store(64, Relaxed);
            ground.maps.memcg(id).set_min(min);
            [ROOT, id].into_iter().for_each(|id| ground.maps.calculate_protection(ROOT, id));
            let (world, cpu) = (&ground.world, &mut ground.cpu);
            let mut sc = control(None, priority, lru_gen);
            let found = ground.maps.try_to_shrink_lruvec(world, cpu, id, &mut sc);
            let what = (lru_gen, nr_gens, priority, min);
            assert_eq!((found, lrugen.max_seq() - 3), (rotated, opened), "{what:?}");
        }
    }

    #[test]
    fn a_reclaim_that_walked_goes_on_to_batch() {
        for (caps, walks) in [(LruGenCaps::all(), true), (LruGenCaps::CORE, false)] {
            for lru_gen in [LruGenLoop::V7_1, LruGenLoop::Mm] {
                let mut ground = Ground::new(64);
                let id = group(&mut ground, 0);
                let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
                maps.set_lru_gen_caps(world, cpu, caps);
                // All in the youngest generation: the older ones go first.
                maps.lru_gen(id).nr_pages[3][FILE][0].store(64, Relaxed);
                maps.memcg(id).usage.store(64, Relaxed);
                let mut sc = control(None, 0, lru_gen);
                for (opened, walked) in [(0, false), (1, walks)] {
                    maps.try_to_shrink_lruvec(world, cpu, id, &mut sc);
                    assert_eq!(maps.lru_gen(id).max_seq(), 3 + opened);
                    assert_eq!(cpu.walk.is_some(), walked, "{caps:?} {lru_gen:?}");
                }
            }
        }
    }

    #[test]
    fn a_type_that_may_not_be_evicted_counts_for_nothing() {
        let mut ground = Ground::new(16);
        for (kind, nr) in [(ANON, 4), (FILE, 8)] {
            (0..nr).for_each(|n| {
                ground.folio_in(n % 4, kind, n % 3, 0);
            });
        }
        let size = |swappiness| ground.maps.evictable_size(ROOT, swappiness);
        assert_eq!([0, 1, 60, 200, 201].map(size), [8, 12, 12, 12, 4]);
        // A walk that has not handed in its changes may leave a size negative.
        ground.maps.lru_gen(ROOT).nr_pages[0][FILE][0].store(-3, Relaxed);
        assert_eq!(ground.maps.evictable_size(ROOT, 0), 7);
    }

    #[test]
    fn protection_takes_its_part_of_a_round() {
        for (min, low, wanted, skipped) in [
            (0, 0, Some(64), false),
            (64, 0, None, false),
            // By hand: 64 − 64 · 16 / 65 = 49.
            (16, 0, Some(49), false),
            (16, 16, Some(49), false),
            // 64 − 64 · 32 / 65 = 33.
            (16, 32, Some(33), true),
            // 64 − 64 · 64 / 65 = 1, but a batch at least.
            (0, 64, Some(32), true),
        ] {
            let mut ground = Ground::new(64);
            let id = group(&mut ground, 64);
            ground.maps.memcg(id).set_min(min);
            ground.maps.memcg(id).set_low(low);
            [ROOT, id].into_iter().for_each(|id| ground.maps.calculate_protection(ROOT, id));
            let (world, cpu) = (&ground.world, &mut ground.cpu);
            let mut sc = control(None, 0, LruGenLoop::V7_1);
            let found = ground.maps.get_nr_to_scan(world, cpu, id, 0, &mut sc);
            assert_eq!((found, sc.state.memcg_low_skipped), (wanted, skipped), "{min} {low}");
            let mut own = control(Some(id), 0, LruGenLoop::V7_1);
            let found = ground.maps.get_nr_to_scan(world, cpu, id, 0, &mut own);
            assert_eq!(found, Some(64), "for its own sake it gives all");
        }
    }

    #[test]
    fn enough_is_what_was_asked_for_but_for_a_cgroup_of_the_first_loop() {
        let ground = Ground::new(1);
        let (cgroup, enough) = (Some(MemcgId(1)), 32);
        for (lru_gen, target, nr_reclaimed, aborts) in [
            (LruGenLoop::V7_1, None, enough - 1, false),
            (LruGenLoop::V7_1, None, enough, true),
            (LruGenLoop::V7_1, Some(ROOT), enough, true),
            (LruGenLoop::V7_1, cgroup, enough, false),
            (LruGenLoop::Mm, None, enough - 1, false),
            (LruGenLoop::Mm, cgroup, enough - 1, false),
            (LruGenLoop::Mm, cgroup, enough, true),
        ] {
            let sc = ScanControl { nr_reclaimed, ..control(target, 6, lru_gen) };
            let found = ground.maps.should_abort_scan(&ground.world, &sc);
            assert_eq!(found, aborts, "{lru_gen:?} {target:?} {nr_reclaimed}");
        }
    }
}

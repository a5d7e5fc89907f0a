//! The number of pages of a cgroup to scan, and the aging in between: opening new generations
//! (Linux 7.3.4, vmscan.c).

use crate::cgroup::Protected;
use crate::engine::Engine;
use crate::id::{LruvecNr, MemcgNr};
use crate::lru::mglru::{MIN_LRU_BATCH, MIN_NR_GENS, evictable_types};
use crate::mm_state::MmState;
use crate::reclaim::balance::unprotected;
use crate::reclaim::scan::{Agent, DEF_PRIORITY, ScanControl};
use crate::world::World;
use pageout_uapi::SWAPPINESS_ANON_ONLY;

/// Returns true if a new generation is due before more is evicted (`should_run_aging`). One is due
/// if there are too few to evict from, or if an urgent reclaim would leave too few with one more
/// eviction.
fn is_aging_due(min_seq: u64, max_seq: u64, priority: u8) -> bool {
    match (min_seq + MIN_NR_GENS).cmp(&max_seq) {
        core::cmp::Ordering::Less => false,
        core::cmp::Ordering::Equal => priority < DEF_PRIORITY,
        core::cmp::Ordering::Greater => true,
    }
}

impl MmState<'_> {
    /// Returns the number of pages of the evictable types, in all generations
    /// (`lruvec_evictable_size`).
    fn evictable_size(&self, lruvec: LruvecNr, swappiness: u8) -> u64 {
        let lrugen = self.lru_gen(lruvec);
        let of = |kind| (lrugen.min_seq(kind)..=lrugen.max_seq()).map(move |seq| (seq, kind));
        evictable_types(swappiness).flat_map(of).map(|(seq, kind)| lrugen.size(seq, kind)).sum()
    }

    /// Returns true if a cgroup is large enough that a scan of this urgency helps
    /// (`lruvec_is_sizable`).
    pub(super) fn is_sizable(&self, memcg: MemcgNr, sc: &ScanControl) -> bool {
        self.evictable_size(sc.lruvec(memcg), self.get_swappiness(memcg, sc)) >> sc.priority > 0
    }

    /// Returns a cgroup's swappiness for this reclaim. It is 0 if next to nothing can be swapped
    /// out, unless the reclaim asks only for anonymous memory (`get_swappiness`).
    pub(super) fn get_swappiness(&self, memcg: MemcgNr, sc: &ScanControl) -> u8 {
        let swappiness = sc.swappiness.unwrap_or_else(|| self.memcg_at(memcg).swappiness());
        let swaps = sc.may_swap && self.free_slots() as u64 >= MIN_LRU_BATCH;
        if swaps || swappiness == SWAPPINESS_ANON_ONLY { swappiness } else { 0 }
    }

    #[inline]
    fn is_below_min(&self, memcg: MemcgNr, sc: &ScanControl) -> bool {
        self.protected(sc.top(), memcg) == Protected::BelowMin
    }
}

impl<W: World> Engine<'_, W> {
    /// Opens a new generation. Returns false if another task is about to. If this reclaim walks
    /// page tables for it, it batches the used folios that it finds from then on (`set_mm_walk`).
    fn age(&mut self, lruvec: LruvecNr, swappiness: u8, _sc: &ScanControl) -> bool {
        let seq = self.maps.lru_gen(lruvec).max_seq();
        if self.should_walk_mmu() {
            self.cpu.walk.get_or_insert_default();
        }
        self.try_to_inc_max_seq_at(lruvec, seq, swappiness, false)
    }
}

impl MmState<'_> {
    /// Returns the number of pages of a cgroup that this urgency scans, without the protected part.
    /// Notes in `sc` if low protection spared some. Returns 0 if only anonymous memory is wanted
    /// and there is no room to swap it to (`get_nr_to_scan`).
    fn get_nr_to_scan(&self, memcg: MemcgNr, swappiness: u8, sc: &mut ScanControl) -> u64 {
        if swappiness == SWAPPINESS_ANON_ONLY && !self.can_reclaim_anon() {
            return 0;
        }
        let size = self.evictable_size(sc.lruvec(memcg), swappiness);
        let kept = self.spare(memcg, sc);
        unprotected(size, self.memcg_at(memcg).usage(), kept) >> sc.priority
    }
}

impl<W: World> Engine<'_, W> {
    /// Evicts from one cgroup on a node, in rounds of 64 folios, as much as this reclaim is to, and
    /// opens generations in between. Returns true if the cgroup should be visited later than
    /// others, since it is protected or short of old folios (`try_to_shrink_lruvec`).
    pub(super) fn try_to_shrink_lruvec(&mut self, memcg: MemcgNr, sc: &mut ScanControl) -> bool {
        let maps = self.maps;
        let swappiness = maps.get_swappiness(memcg, sc);
        let lruvec = sc.lruvec(memcg);
        let (mut rotate, mut aged) = (false, false);
        let mut left = maps.get_nr_to_scan(memcg, swappiness, sc);
        while left > 0 {
            if maps.is_below_min(memcg, sc) {
                return true;
            }
            let oldest = maps.evictable_min_seq(lruvec, swappiness);
            if is_aging_due(oldest, maps.lru_gen(lruvec).max_seq(), sc.priority) {
                rotate |= self.age(lruvec, swappiness, sc);
                aged = true;
            }
            let batch = left.min(MIN_LRU_BATCH);
            let delta = self.evict_folios(memcg, batch, swappiness, sc);
            // A cgroup that is short of old folios lets others go first, if there are others.
            let next = aged && sc.root_reclaim();
            if delta == 0 || self.should_abort_scan(sc) || next {
                break;
            }
            left = left.saturating_sub(delta);
        }
        rotate
    }

    /// Returns true if a reclaim has enough, or if it is user space's and a signal is pending
    /// (`should_abort_scan`).
    pub(super) fn should_abort_scan(&self, sc: &ScanControl) -> bool {
        let world = self.world;
        let interrupted = sc.agent == Agent::Proactive && world.signal_pending();
        if interrupted || sc.nr_reclaimed >= sc.nr_to_reclaim {
            return true;
        }
        let wanted = self.maps.high_watermark(sc.node).saturating_add(MIN_LRU_BATCH);
        sc.agent == Agent::Kswapd && world.free_pages_on(sc.node) as u64 >= wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{Ground, TUNING};
    use crate::lru::mglru::LruGenCaps;
    use crate::lru::{ANON, FILE};
    use core::sync::atomic::Ordering::Relaxed;

    const ROOT: MemcgNr = MemcgNr::ROOT;

    fn control(target: Option<MemcgNr>, priority: u8) -> ScanControl {
        ScanControl { priority, ..ScanControl::new(target, 32, Agent::Direct) }
    }

    /// Makes a cgroup below the root with `pages` pages of files.
    fn group(ground: &mut Ground, pages: usize) -> MemcgNr {
        let id = ground.engine().add_group(ROOT);
        for _ in 0..pages {
            let folio = ground.folio(FILE, 0, 0, id);
            ground.engine().lru_add_at(folio);
        }
        id
    }

    #[test]
    fn a_generation_is_due_when_two_are_left_or_at_more_than_gentle_urgency_three() {
        // (generations, priority, whether one is due)
        let table = [
            (4, 12, false),
            (4, 0, false),
            (3, 12, false),
            (3, 11, true),
            (3, 0, true),
            (2, 12, true),
            (2, 0, true),
        ];
        for (nr_gens, priority, due) in table {
            for min_seq in [0, 1, 77] {
                let found = is_aging_due(min_seq, min_seq + nr_gens - 1, priority);
                assert_eq!(found, due, "{nr_gens} generations at {priority}");
            }
        }
    }

    #[test]
    fn urgency_says_which_part_of_a_cgroup_is_scanned() {
        // (generations, priority, pages to scan of 64)
        for (nr_gens, priority, wanted) in
            [(4, 12, 0), (4, 2, 16), (4, 0, 64), (3, 2, 16), (2, 2, 16), (2, 0, 64)]
        {
            let mut ground = Ground::new(64);
            let id = group(&mut ground, 64);
            let lrugen = ground.maps.lru_gen(id.into());
            lrugen.min_seq.iter().for_each(|seq| seq.store(4 - nr_gens, Relaxed));
            lrugen.nr_pages.as_flattened().as_flattened().iter().for_each(|n| n.store(0, Relaxed));
            lrugen.nr_pages[3][FILE][0].store(64, Relaxed);
            let found = ground.maps.get_nr_to_scan(id, 0, &mut control(None, priority));
            assert_eq!(found, wanted, "{nr_gens} generations at {priority}");
            assert_eq!(lrugen.max_seq(), 3);
        }
    }

    #[test]
    fn a_request_for_anonymous_memory_alone_takes_nothing_without_swap() {
        let mut ground = Ground::new(64);
        for (kind, nr) in [(ANON, 20), (FILE, 40)] {
            (0..nr).for_each(|n| {
                ground.folio_in(n % 4, kind, 0, 0);
            });
        }
        assert_eq!(ground.maps.free_slots(), 0);
        let mut sc = ScanControl { swappiness: Some(201), ..control(None, 0) };
        assert_eq!(ground.maps.get_swappiness(ROOT, &sc), 201, "what is asked for stays so");
        assert_eq!(ground.maps.get_nr_to_scan(ROOT, 201, &mut sc), 0);
        let other = ScanControl { swappiness: Some(200), ..sc.clone() };
        assert_eq!(ground.maps.get_swappiness(ROOT, &other), 0, "anything else takes files");
        assert!(!ground.engine().try_to_shrink_lruvec(ROOT, &mut sc));
        assert_eq!(sc.nr_scanned, 0);
    }

    #[test]
    fn a_cgroup_short_of_old_folios_is_rotated() {
        // (generations, priority, memory.min, true if it is rotated, generations opened)
        let table = [
            (4, 6, 0, false, 0),
            (3, 6, 0, true, 1),
            (2, 6, 0, true, 1),
            (2, 5, 64, true, 0),
            // Of 64 pages an urgency of 7 scans none, so that none are aged.
            (2, 7, 0, false, 0),
        ];
        for (nr_gens, priority, min, rotated, opened) in table {
            let mut ground = Ground::new(64);
            let id = group(&mut ground, 0);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            let lrugen = maps.lru_gen(id.into());
            // All pages are in the youngest generation, so that nothing can be evicted at once.
            lrugen.nr_pages[3][FILE][0].store(64, Relaxed);
            lrugen.min_seq.iter().for_each(|seq| seq.store(4 - nr_gens, Relaxed));
            ground.maps.memcg_at(id).usage.store(64, Relaxed);
            ground.maps.memcg_at(id).set_min(min);
            [ROOT, id].into_iter().for_each(|id| ground.maps.calculate_protection(ROOT, id));
            let mut sc = control(None, priority);
            let found = maps.on(world, cpu, TUNING).try_to_shrink_lruvec(id, &mut sc);
            let what = (nr_gens, priority, min);
            assert_eq!((found, lrugen.max_seq() - 3), (rotated, opened), "{what:?}");
        }
    }

    #[test]
    fn a_reclaim_that_walked_goes_on_to_batch() {
        for (caps, walks) in [(LruGenCaps::all(), true), (LruGenCaps::CORE, false)] {
            let mut ground = Ground::new(64);
            let id = group(&mut ground, 0);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            maps.on(world, cpu, TUNING).set_lru_gen_caps(caps);
            // All pages are in the youngest generation: the older ones go first.
            maps.lru_gen(id.into()).nr_pages[3][FILE][0].store(64, Relaxed);
            maps.memcg_at(id).usage.store(64, Relaxed);
            let mut sc = control(None, 0);
            for (opened, walked) in [(0, false), (1, walks)] {
                maps.on(world, cpu, TUNING).try_to_shrink_lruvec(id, &mut sc);
                assert_eq!(maps.lru_gen(id.into()).max_seq(), 3 + opened);
                assert_eq!(cpu.state.walk.is_some(), walked, "{caps:?}");
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
        let size = |swappiness| ground.maps.evictable_size(ROOT.into(), swappiness);
        assert_eq!([0, 1, 60, 200, 201].map(size), [8, 12, 12, 12, 4]);
        // A walk that has not handed in its changes may leave a size negative.
        ground.maps.lru_gen(ROOT.into()).nr_pages[0][FILE][0].store(-3, Relaxed);
        assert_eq!(ground.maps.evictable_size(ROOT.into(), 0), 7);
    }

    #[test]
    fn protection_takes_its_part_of_a_round() {
        for (min, low, wanted, skipped) in [
            (0, 0, 64, false),
            // By hand: 64 − 64 · 16 / 65 = 49.
            (16, 0, 49, false),
            (16, 16, 49, false),
            // 64 − 64 · 32 / 65 = 33.
            (16, 32, 33, true),
            // 64 − 64 · 64 / 65 = 1, but a batch at least.
            (0, 64, 32, true),
        ] {
            let mut ground = Ground::new(64);
            let id = group(&mut ground, 64);
            ground.maps.memcg_at(id).set_min(min);
            ground.maps.memcg_at(id).set_low(low);
            [ROOT, id].into_iter().for_each(|id| ground.maps.calculate_protection(ROOT, id));
            let mut sc = control(None, 0);
            let found = ground.maps.get_nr_to_scan(id, 0, &mut sc);
            assert_eq!((found, sc.state.memcg_low_skipped), (wanted, skipped), "{min} {low}");
            let found = ground.maps.get_nr_to_scan(id, 0, &mut control(Some(id), 0));
            assert_eq!(found, 64, "for its own sake it gives all");
        }
    }

    #[test]
    fn enough_is_what_was_asked_for() {
        let mut ground = Ground::new(1);
        for target in [None, Some(ROOT), Some(MemcgNr(1))] {
            for (nr_reclaimed, aborts) in [(31, false), (32, true)] {
                let sc = ScanControl { nr_reclaimed, ..control(target, 6) };
                let found = ground.engine().should_abort_scan(&sc);
                assert_eq!(found, aborts, "{target:?} {nr_reclaimed}");
            }
        }
    }
}

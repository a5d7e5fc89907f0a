//! Shadows of evicted folios in the multi-generational LRU, and the judgement of refaults by them
//! (Linux 7.3.4, workingset.c).

use super::MAX_NR_GENS;
use super::tier::{tier_from_refs, tier_of};
use crate::engine::Engine;
use crate::folio::Folio;
use crate::lru::lru_list::{FILE, kind_of};
use crate::mm_state::MmState;
use crate::page_cache::Shadow;
use crate::recency::{REFS_WIDTH, Recency};
use crate::vmstat::Counter;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Env;

/// Returns the token of a shadow: the oldest generation at eviction, and the uses after the first,
/// 0 to 3.
fn token(min_seq: u64, refs: u32) -> u64 {
    min_seq << REFS_WIDTH | u64::from(refs.saturating_sub(1))
}

/// Returns true if fewer than four generations were opened since (`lru_gen_test_recent`).
fn is_recent(token: u64, max_seq: u64) -> bool {
    let max_seq = max_seq & (Shadow::AGE_MASK >> REFS_WIDTH);
    max_seq.abs_diff(token >> REFS_WIDTH) < MAX_NR_GENS as u64
}

impl MmState<'_> {
    /// Makes the shadow of a folio that is about to be evicted, and counts the eviction in the
    /// folio's tier (`lru_gen_eviction`).
    #[inline]
    pub(in crate::lru) fn lru_gen_eviction(&self, folio: &Folio) -> Shadow {
        let (of, recency, kind) = (folio.lruvec(), folio.recency(), kind_of(folio));
        let lrugen = self.lru_gen(of);
        let evicted = &lrugen.evicted[kind][tier_of(recency)];
        evicted.fetch_add(folio.nr_pages() as u64, Relaxed);
        let token = token(lrugen.min_seq(kind), recency.refs());
        Shadow::new(token, of, recency.contains(Recency::WORKINGSET))
    }
}

impl<E: Env> Engine<'_, E> {
    /// Judges a folio that refaulted: counts the refault in its cgroup's tier, and sets the uses
    /// that the folio starts with. A refault in another cgroup, or on another node, is ignored
    /// (`lru_gen_refault`).
    pub(in crate::lru) fn lru_gen_refault(&self, folio: &Folio, shadow: Shadow) {
        let maps = self.maps;
        let (of, kind, nr) = (folio.lruvec(), kind_of(folio), folio.nr_pages() as u64);
        if of != shadow.lruvec() {
            return;
        }
        let count = |anon: Counter, of_file: Counter| {
            maps.memcg_at(of.memcg).vmstat.add(if kind == FILE { of_file } else { anon }, nr);
        };
        count(Counter::WorkingsetRefaultAnon, Counter::WorkingsetRefaultFile);
        let lruvec = maps.lruvec(of);
        let lrugen = &lruvec.generations;
        if !is_recent(shadow.age(), lrugen.max_seq()) {
            return;
        }
        let uses = (shadow.age() & ((1 << REFS_WIDTH) - 1)) as u32;
        let tier = tier_from_refs(uses + 1, shadow.was_workingset());
        lrugen.refaulted[kind][tier].fetch_add(nr, Relaxed);
        if shadow.was_workingset() {
            if self.cpu.in_fault {
                // It becomes active as soon as it is on a list.
                count(Counter::WorkingsetActivateAnon, Counter::WorkingsetActivateFile);
                lruvec.stat.activated[kind].fetch_add(nr, Relaxed);
            }
            folio.note_use(Recency::WORKINGSET, Recency::NONE);
            count(Counter::WorkingsetRestoreAnon, Counter::WorkingsetRestoreFile);
            lruvec.stat.restored[kind].fetch_add(nr, Relaxed);
        } else {
            let _ = folio.update_recency(|now| Some(now.with_count(uses)));
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::bare::{Ground, TUNING};
    use crate::folio::FolioFlags;
    use crate::id::MemcgNr;
    use crate::lru::lru_list::ANON;

    const ROOT: MemcgNr = MemcgNr::ROOT;

    /// Evicts a folio that was used so often, and brings it back as another. Returns the tier in
    /// which both counted, and the record of the other's use.
    fn come_back(ground: &mut Ground, kind: usize, before: Recency) -> (usize, Recency) {
        let [old, new] = [(); 2].map(|()| ground.folio(kind, 0, 2, ROOT));
        let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
        maps.folio_at(old).note_use(before, Recency::NONE);
        let shadow = maps.lru_gen_eviction(maps.folio_at(old));
        maps.on(world, cpu, TUNING).lru_gen_refault(maps.folio_at(new), shadow);
        let lrugen = maps.lru_gen(ROOT.into());
        let tiers = [&lrugen.evicted, &lrugen.refaulted].map(|of| {
            let counted = |n: &core::sync::atomic::AtomicU64| n.swap(0, Relaxed) == 4;
            of[kind].iter().position(counted).expect("a tier has its four pages")
        });
        assert_eq!(tiers[0], tiers[1], "{before:?}");
        (tiers[0], maps.folio_at(new).recency())
    }

    #[test]
    fn what_comes_back_counts_in_its_tier_and_keeps_its_uses() {
        let used = |n| Recency::REFERENCED.with_count(n);
        let uses = |n| Recency::NONE.with_count(n);
        let cases = [
            (Recency::NONE, 0, uses(0)),
            (used(0), 0, uses(0)),
            (used(1), 1, uses(1)),
            (used(2), 2, uses(2)),
            (used(3), 2, uses(3)),
            (Recency::WORKINGSET, 3, Recency::WORKINGSET),
            (used(3).union(Recency::WORKINGSET), 3, Recency::WORKINGSET),
        ];
        for kind in [ANON, FILE] {
            for (before, tier, after) in cases {
                let mut ground = Ground::new(2);
                assert_eq!(come_back(&mut ground, kind, before), (tier, after));
            }
        }
    }

    /// Returns the refaults, activations and restores of files' pages.
    fn counters(ground: &Ground, memcg: MemcgNr) -> [u64; 3] {
        let vmstat = &ground.maps.memcg_at(memcg).vmstat;
        [
            Counter::WorkingsetRefaultFile,
            Counter::WorkingsetActivateFile,
            Counter::WorkingsetRestoreFile,
        ]
        .map(|counter| vmstat.get(counter))
    }

    #[test]
    fn a_refault_counts_if_it_is_recent_and_in_the_same_cgroup() {
        for (in_fault, workingset) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut ground = Ground::new(5);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            let child = maps.on(world, cpu, TUNING).add_group(ROOT);
            cpu.state.in_fault = in_fault;
            let [old, recent, late] = [(); 3].map(|()| ground.folio(FILE, 0, 1, child));
            let elsewhere = ground.folio(FILE, 0, 1, ROOT);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            if workingset {
                maps.folio_at(old).note_use(Recency::WORKINGSET, Recency::NONE);
            }
            let shadow = maps.workingset_eviction_for(maps.folio_at(old), None);
            maps.on(world, cpu, TUNING).workingset_refault_at(elsewhere, shadow);
            maps.on(world, cpu, TUNING).workingset_refault_at(recent, shadow);
            let active = u64::from(in_fault && workingset);
            let wanted = [2, 2 * active, 2 * u64::from(workingset)];
            assert_eq!(counters(&ground, child), wanted);
            assert_eq!(counters(&ground, ROOT), [0; 3]);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            assert!(maps.on(world, cpu, TUNING).inc_max_seq(child.into(), 3, 60));
            maps.on(world, cpu, TUNING).workingset_refault_at(late, shadow);
            assert_eq!(counters(&ground, child), [4, wanted[1], wanted[2]], "long ago");
            assert_eq!(ground.maps.folio_at(late).recency(), Recency::NONE);
        }
    }

    /// A refault by a read joins the oldest generation, or the next if it was in a working set. A
    /// refault by a fault is marked as used and joins the next, or the youngest and active if it
    /// was in a working set. An mlocked folio joins none.
    #[test]
    fn what_comes_back_joins_a_generation_by_what_is_known_of_it() {
        let (marked, set) = (Recency::REFERENCED, Recency::WORKINGSET);
        for (in_fault, workingset, wanted) in [
            (false, false, (0, Recency::NONE)),
            (false, true, (1, set)),
            (true, false, (1, marked)),
            (true, true, (3, set)),
        ] {
            let mut ground = Ground::new(3);
            let [old, new, locked] = [(); 3].map(|()| ground.folio(FILE, 0, 0, ROOT));
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            if workingset {
                maps.folio_at(old).note_use(set, Recency::NONE);
            }
            let shadow = maps.workingset_eviction_for(maps.folio_at(old), None);
            cpu.state.in_fault = in_fault;
            for id in [new, locked] {
                maps.on(world, cpu, TUNING).workingset_refault_at(id, shadow);
            }
            maps.folio_at(locked).update_flags(FolioFlags::MLOCKED, FolioFlags::empty());
            maps.on(world, cpu, TUNING).lru_add_at(new);
            maps.on(world, cpu, TUNING).lru_add_at(locked);
            let (generation, marks) = wanted;
            let joined = marks.in_generation(Some(generation));
            assert_eq!(maps.folio_at(new).recency(), joined, "{in_fault} {workingset}");
            let unlisted = maps.folio_at(locked).recency();
            assert_eq!(unlisted, if workingset { set } else { Recency::NONE });
        }
    }

    #[test]
    fn a_token_keeps_the_generation_and_the_uses() {
        for (refs, kept) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 3)] {
            assert_eq!(token(9, refs), 9 << 2 | kept);
        }
    }

    #[test]
    fn four_generations_on_it_is_long_ago() {
        for (left_at, now, recent) in
            [(0, 3, true), (0, 4, false), (5, 8, true), (5, 9, false), (8, 5, true), (9, 5, false)]
        {
            assert_eq!(is_recent(token(left_at, 4), now), recent, "{left_at} to {now}");
        }
        // Bits of a generation's number that do not fit the shadow's 42 are not compared.
        let wide = Shadow::AGE_MASK >> REFS_WIDTH;
        assert!(is_recent(token(0, 0), wide + 1));
    }
}

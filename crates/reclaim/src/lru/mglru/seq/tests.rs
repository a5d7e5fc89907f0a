extern crate std;

use super::*;
use crate::bare::Ground;
use crate::id::MemcgNr;
use crate::recency::Recency;
use std::vec::Vec;

const ROOT: MemcgNr = MemcgNr::ROOT;

/// Returns all choices of the oldest generations of both types, if generations 0 to 3 are open.
fn all_oldest() -> impl Iterator<Item = [u64; 2]> {
    (0..=2).flat_map(|anon| (0..=2).map(move |file| [anon, file]))
}

fn with_oldest(ground: &Ground, oldest: [u64; 2]) {
    let lrugen = ground.maps.lru_gen(ROOT.into());
    for (kind, seq) in oldest.into_iter().enumerate() {
        lrugen.min_seq[kind].store(seq, Relaxed);
    }
}

fn oldest(ground: &Ground) -> [u64; 2] {
    [ANON, FILE].map(|kind| ground.maps.lru_gen(ROOT.into()).min_seq(kind))
}

#[test]
fn swappiness_says_which_types_may_be_evicted() {
    let ground = Ground::new(1);
    with_oldest(&ground, [1, 2]);
    for (swappiness, types, seq) in
        [(0, FILE..=FILE, 2), (1, ANON..=FILE, 1), (200, ANON..=FILE, 1), (201, ANON..=ANON, 1)]
    {
        assert_eq!(evictable_types(swappiness), types);
        assert_eq!(ground.maps.evictable_min_seq(ROOT.into(), swappiness), seq);
    }
    with_oldest(&ground, [2, 1]);
    let found =
        [0, 60, 201].map(|swappiness| ground.maps.evictable_min_seq(ROOT.into(), swappiness));
    assert_eq!(found, [1, 1, 2]);
}

/// Tries every set of oldest generations and every swappiness, with one folio of each type and zone
/// in each generation. A type with four generations retires its oldest. Its folios move on if they
/// may be evicted, and are the youngest otherwise.
#[test]
fn a_new_generation_takes_the_place_of_the_oldest_of_four() {
    for (from, swappiness) in all_oldest().flat_map(|from| [0, 60, 201].map(|s| (from, s))) {
        let mut ground = Ground::new(24);
        with_oldest(&ground, from);
        let mut made = Vec::new();
        for kind in [ANON, FILE] {
            for (seq, zone) in (from[kind]..4).flat_map(|seq| (0..3).map(move |zone| (seq, zone))) {
                made.push((kind, seq, ground.folio_in(seq, kind, zone, zone as u8)));
            }
        }
        ground.check(ROOT);
        ground.world.now.store(77, Relaxed);
        assert!(ground.engine().inc_max_seq(ROOT.into(), 3, swappiness));
        let lrugen = ground.maps.lru_gen(ROOT.into());
        assert_eq!((lrugen.max_seq(), oldest(&ground)), (4, from.map(|seq| seq.max(1))));
        assert_eq!(lrugen.timestamps.each_ref().map(|at| at.load(Relaxed)), [77, 0, 0, 0]);
        for (kind, seq, id) in made {
            let went_on = seq == 0 && evictable_types(swappiness).contains(&kind);
            let generation = if went_on { 1 } else { gen_from_seq(seq) };
            let folio = ground.maps.folio_at(id);
            assert_eq!(folio.recency().generation(), Some(generation), "{from:?} {swappiness}");
            assert_eq!(folio.listed_in(), Some(generation));
        }
        assert_eq!(ground.check(ROOT).len() as u64, 24 - 3 * (from[0] + from[1]));
        assert!(!ground.engine().inc_max_seq(ROOT.into(), 3, swappiness));
        assert_eq!(ground.maps.lru_gen(ROOT.into()).max_seq(), 4, "someone else opened it");
    }
}

/// Has a folio for each tier, with the pages of it that count as protected.
#[test]
fn what_a_generation_gives_up_counts_as_protected_and_loses_its_uses() {
    let used = |n: u32| Recency::REFERENCED.with_count(n);
    let kept = [Recency::NONE, used(0), used(1), used(3), Recency::WORKINGSET];
    let full = used(3).union(Recency::WORKINGSET);
    let mut ground = Ground::new(8);
    let ids: Vec<_> = kept
        .into_iter()
        .chain([full])
        .map(|recency| {
            let id = ground.folio_in(0, FILE, 0, 2);
            ground.maps.folio_at(id).note_use(recency.union(Recency::RECLAIM), Recency::NONE);
            id
        })
        .collect();
    let cold = ground.folio_in(1, FILE, 0, 0);
    let engine = ground.engine();
    let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
    assert!(maps.inc_min_seq(&guard, FILE, 60));
    drop(guard);
    let averages = &ground.maps.lru_gen(ROOT.into()).avg_total[FILE];
    let found = averages.each_ref().map(|n| n.load(Relaxed));
    assert_eq!(found, [4, 2, 2, 2], "pages, and half of them: the last was not protected");
    for (id, before) in ids.iter().zip(kept.into_iter().chain([full])) {
        let now = ground.maps.folio_at(*id).recency();
        let kept = Recency::RECLAIM.in_generation(Some(1));
        assert_eq!(now.with(Recency::NONE, Recency::WORKINGSET), kept);
        assert_eq!(now.contains(Recency::WORKINGSET), before.contains(Recency::WORKINGSET));
    }
    // From the tail to the tail, one by one.
    let order: Vec<_> = core::iter::once(cold).chain(ids.into_iter().rev()).collect();
    assert_eq!(ground.listed(ROOT, 1, FILE), order);
}

/// A folio that a walk has moved keeps its generation, and its uses.
#[test]
fn a_folio_that_a_walk_moved_goes_to_the_list_of_its_generation() {
    for to in [1, 2, 3] {
        let mut ground = Ground::new(2);
        let [moved, left] = [(); 2].map(|()| ground.folio_in(0, ANON, 1, 1));
        let word = Recency::WORKINGSET.union(Recency::REFERENCED).in_generation(Some(to));
        let _ = ground.maps.folio_at(moved).update_recency(|_| Some(word));
        let engine = ground.engine();
        let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
        let before = maps.lru_gen(ROOT.into()).counted(0, ANON);
        let mut sizes = PerGeneration::default();
        assert_eq!(maps.folio_inc_gen(&guard, moved, &mut sizes), to);
        assert_eq!(maps.folio_at(moved).recency(), word);
        assert_eq!(sizes, PerGeneration::default(), "the walk's to count");
        assert_eq!(maps.folio_inc_gen(&guard, left, &mut sizes), 1);
        maps.lru_gen_add_sizes(&guard, &sizes);
        let after = maps.lru_gen(ROOT.into()).counted(0, ANON);
        assert_eq!(after.iter().sum::<i64>(), before.iter().sum::<i64>() - 2);
        drop(guard);
    }
}

/// 4096 folios are moved under one hold of the lock, and only the rest under the next.
#[test]
fn a_long_list_is_given_up_in_turns() {
    for (folios, turns) in [(4095, 0), (4096, 1), (8191, 1), (8192, 2)] {
        let mut ground = Ground::new(folios);
        for _ in 0..folios {
            ground.folio_in(0, FILE, 0, 0);
        }
        ground.world.relaxed.store(0, Relaxed);
        assert!(ground.engine().inc_max_seq(ROOT.into(), 3, 60));
        assert_eq!(ground.world.relaxed.load(Relaxed), turns, "{folios} folios");
        assert_eq!(ground.listed(ROOT, 1, FILE).len(), folios);
        ground.check(ROOT);
    }
}

/// Tries every set of oldest generations, of generations that list a folio, and every swappiness,
/// against the rule in another form.
#[test]
fn oldest_generations_that_list_nothing_are_given_up() {
    let cases = all_oldest().flat_map(|from| [0, 60, 201].map(|swappiness| (from, swappiness)));
    for ((from, swappiness), listed) in
        cases.flat_map(|case| (0..256_u32).map(move |listed| (case, listed)))
    {
        let has = |kind: usize, seq: u64| listed >> (4 * kind as u32 + seq as u32) & 1 == 1;
        let mut ground = Ground::new(8);
        with_oldest(&ground, from);
        for (kind, seq) in
            [ANON, FILE].into_iter().flat_map(|kind| (0..4).map(move |seq| (kind, seq)))
        {
            if seq >= from[kind] && has(kind, seq) {
                ground.folio_in(seq, kind, seq % 3, 0);
            }
        }
        let engine = ground.engine();
        let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
        maps.try_to_inc_min_seq(&guard, swappiness);
        drop(guard);
        // The first generation that lists a folio, or the last that may be the oldest.
        let first = |kind: usize| (from[kind]..2).find(|seq| has(kind, *seq)).unwrap_or(2);
        let wanted = match swappiness {
            0 => [from[ANON], first(FILE)],
            201 => [first(ANON), from[FILE]],
            // A type waits at 1 for the other that is still at 0, but never goes back.
            _ => match [first(ANON), first(FILE)] {
                [2, 0] => [from[ANON].max(1), 0],
                [0, 2] => [0, from[FILE].max(1)],
                both => both,
            },
        };
        assert_eq!(oldest(&ground), wanted, "{from:?} {swappiness} {listed:#010b}");
    }
}

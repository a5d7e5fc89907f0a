extern crate std;

use super::*;
use crate::bare::Ground;
use crate::lru::mglru::{MAX_NR_GENS, MAX_NR_TIERS, MmWalk};
use crate::reclaim::scan::{Agent, DEF_PRIORITY};
use std::vec::Vec;

const ROOT: MemcgNr = MemcgNr::ROOT;

fn control() -> ScanControl {
    ScanControl::new(None, 32, Agent::Direct)
}

/// A folio at the tail of the oldest generation, 0 of 0 to 3, in a state that eviction may find.
#[derive(Clone, Copy, Debug)]
struct Met {
    kind: usize,
    /// True if a walk has moved it to generation 2.
    promoted: bool,
    refs: u32,
    workingset: bool,
    tier_idx: usize,
    too_high: bool,
    flags: FolioFlags,
}

fn all_met() -> impl Iterator<Item = Met> {
    let dirty = FolioFlags::DIRTY;
    let states = [
        FolioFlags::empty(),
        dirty,
        FolioFlags::WRITEBACK,
        dirty | FolioFlags::WRITEBACK,
        FolioFlags::MLOCKED,
    ];
    (0..2 * 2 * 5 * 2 * MAX_NR_TIERS * 2 * 5).map(move |number| {
        let mut rest = number;
        let mut next = |of: usize| {
            let n = rest % of;
            rest /= of;
            n
        };
        Met {
            kind: next(2),
            promoted: next(2) == 1,
            refs: next(5) as u32,
            workingset: next(2) == 1,
            tier_idx: next(MAX_NR_TIERS),
            too_high: next(2) == 1,
            flags: states[next(5)],
        }
    })
}

/// The result of sorting a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sorted {
    /// Moved to this generation, at this end of its list.
    In(usize, End),
    Stays,
}

/// Returns the result by the sheet's rules, and the pages protected. Folios that are dirty, being
/// written or locked into memory are sorted out where they are reclaimed.
fn expected(met: Met, is_protected: fn(usize, usize) -> bool) -> (Sorted, u64) {
    let tier = [0, 0, 1, 2, 2][met.refs as usize];
    let tier = if met.workingset { 3 } else { tier };
    let lazily = met.refs == 4 && met.workingset;
    if met.flags.contains(FolioFlags::MLOCKED) {
        (Sorted::Stays, 0)
    } else if met.promoted {
        (Sorted::In(2, End::Head), 0)
    } else if is_protected(tier, met.tier_idx) || lazily {
        (Sorted::In(1, End::Head), if lazily { 0 } else { 2 })
    } else if met.too_high {
        (Sorted::In(1, End::Tail), 0)
    } else {
        (Sorted::Stays, 0)
    }
}

fn recency(refs: u32, workingset: bool) -> Recency {
    let used = match refs {
        0 => Recency::NONE,
        n => Recency::REFERENCED.with_count(n - 1),
    };
    used.with(if workingset { Recency::WORKINGSET } else { Recency::NONE }, Recency::NONE)
}

/// Puts such a folio into the oldest generation, between others of the next one.
fn meet(ground: &mut Ground, met: Met) -> FolioNr {
    let id = ground.folio_in(0, met.kind, if met.too_high { 2 } else { 1 }, 1);
    let folio = ground.maps.folio_at(id);
    let generation = if met.promoted { 2 } else { 0 };
    let word = recency(met.refs, met.workingset).in_generation(Some(generation));
    let _ = folio.update_recency(|_| Some(word));
    folio.update_flags(met.flags, FolioFlags::empty());
    let engine = ground.engine();
    let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
    if met.promoted {
        let mut sizes = PerGeneration::default();
        let (kind, zone, nr) = (met.kind, maps.zone_of(folio), folio.nr_pages() as i64);
        sizes[0][kind][zone] -= nr;
        sizes[generation][kind][zone] += nr;
        maps.lru_gen_add_sizes(&guard, &sizes);
    }
    drop(guard);
    id
}

#[test]
fn a_folio_of_the_oldest_generation_goes_where_the_rules_say() {
    sort_each(|tier, limit| tier > limit);
}

#[test]
#[should_panic(expected = "goes where the rules say")]
fn a_limit_of_tiers_that_is_off_by_one_is_seen() {
    sort_each(|tier, limit| tier >= limit);
}

/// Sorts each possible folio. `is_protected` tells from the tier and its limit which are protected.
fn sort_each(is_protected: fn(usize, usize) -> bool) {
    let mut ground = Ground::new(all_met().count() + 16);
    // Folios before and behind, in every list that a folio may move to.
    for (kind, seq, zone, _) in (0..2)
        .flat_map(|kind| [1, 2].map(|seq| (kind, seq)))
        .flat_map(|(kind, seq)| [1, 2].map(|zone| (kind, seq, zone)))
        .flat_map(|(kind, seq, zone)| [0, 1].map(|n| (kind, seq, zone, n)))
    {
        ground.folio_in(seq, kind, zone, 0);
    }
    for met in all_met() {
        let sc = ScanControl { reclaim_idx: 1, ..control() };
        let id = meet(&mut ground, met);
        let folio = ground.maps.folio_at(id);
        let engine = ground.engine();
        let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
        let mut sizes = PerGeneration::default();
        let moved = maps.sort_folio(&guard, id, &sc, met.tier_idx, &mut sizes);
        maps.lru_gen_add_sizes(&guard, &sizes);
        drop(guard);
        let lrugen = ground.maps.lru_gen(ROOT.into());
        let found = match (folio.recency().generation(), folio.listed_in()) {
            (Some(_), Some(0)) => Sorted::Stays,
            (Some(generation), Some(listed)) => {
                assert_eq!(generation, listed, "{met:?}");
                let list = &lrugen.lists[generation][met.kind][ground.maps.zone_of(folio)];
                match (list.head(), list.tail()) {
                    (Some(head), _) if head == id => Sorted::In(generation, End::Head),
                    (_, Some(tail)) if tail == id => Sorted::In(generation, End::Tail),
                    ends => panic!("{met:?}: between {ends:?}"),
                }
            }
            mixed => panic!("{met:?}: {mixed:?}"),
        };
        let protected: u64 = lrugen.protected[met.kind].iter().map(|n| n.swap(0, Relaxed)).sum();
        let rules = expected(met, is_protected);
        assert_eq!((found, protected), rules, "{met:?} goes where the rules say");
        assert_eq!(moved, found != Sorted::Stays, "{met:?}");
        ground.check(ROOT);
        ground.remove(id);
    }
}

/// Makes folios of files in the oldest generation, and returns them, the oldest first.
fn oldest(ground: &mut Ground, nr: usize, order: u8) -> Vec<FolioNr> {
    let mut made: Vec<_> = (0..nr).map(|_| ground.folio_in(0, FILE, 1, order)).collect();
    made.reverse();
    made
}

/// Scans a type with all tiers open. Returns the scan's result, and the folios isolated, first to
/// last.
fn scan(ground: &mut Ground, sc: &ScanControl, nr: u64, kind: usize) -> (Scan, Vec<FolioNr>) {
    let engine = ground.engine();
    let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
    let mut out = FolioList::default();
    let scan = maps.scan_folios(&guard, sc, nr, kind, &mut out);
    drop(guard);
    ground.check(ROOT);
    (scan, core::iter::from_fn(|| out.pop(&ground.maps)).collect())
}

/// Returns the number of changes to sizes of lists and generations so far.
fn size_updates(ground: &Ground) -> u64 {
    ground.maps.lru_gen(ROOT.into()).size_updates.load(Relaxed)
}

#[test]
fn sizes_change_once_for_all_folios_of_a_scan() {
    for (order, isolated) in [(0, 64), (4, 4), (9, 1)] {
        let mut ground = Ground::of_order(70, order);
        oldest(&mut ground, 70, order);
        let before = size_updates(&ground);
        let (_, taken) = scan(&mut ground, &control(), 1000, FILE);
        assert_eq!(taken.len(), isolated, "order {order}");
        assert_eq!(size_updates(&ground) - before, 2, "the generation's and the list's");
        // The zone is too high: the folios that are left move to the next generation.
        let before = size_updates(&ground);
        let (seen, taken) =
            scan(&mut ground, &ScanControl { reclaim_idx: 0, ..control() }, 6, FILE);
        assert_eq!((seen.scanned, taken.len()), (6 << order, 0), "order {order}");
        assert_eq!(size_updates(&ground) - before, 2, "those of two generations");
    }
}

#[test]
fn what_a_walk_hands_in_changes_no_size_by_nothing() {
    // The generation that a folio was in, and the number of sizes that its move to the youngest
    // changes.
    for (from, updates) in [(0, 4), (1, 4), (2, 2)] {
        let mut ground = Ground::new(1);
        let mut walk = MmWalk::default();
        walk.moved(FILE, 1, 4, from, 3);
        let before = size_updates(&ground);
        ground.engine().hand_in(&mut walk);
        assert_eq!(size_updates(&ground) - before, updates, "from generation {from}");
    }
}

#[test]
fn a_scan_ends_with_64_pages_or_so_many_folios() {
    // (order, folios to scan, folios isolated)
    let table = [
        (0, 10, 10),
        (0, 64, 64),
        (0, 1000, 64),
        (1, 31, 31),
        (1, 1000, 32),
        (2, 15, 15),
        (2, 4096, 16),
    ];
    for (order, nr_to_scan, isolated) in table {
        let mut ground = Ground::new(100);
        let made = oldest(&mut ground, 100, order);
        let (seen, taken) = scan(&mut ground, &control(), nr_to_scan, FILE);
        assert_eq!(taken, made[..isolated], "the oldest, oldest first");
        let pages = (isolated as u64) << order;
        assert_eq!((seen.scanned, seen.isolated), (pages, pages));
        let stat = &ground.maps.memcg_at(ROOT).vmstat;
        let counted = [Counter::PgscanDirect, Counter::PgscanFile, Counter::Pgrefill];
        assert_eq!(counted.map(|counter| stat.get(counter)), [pages, pages, 0]);
        for id in taken {
            let folio = ground.maps.folio_at(id);
            assert_eq!((folio.refs(), folio.recency().generation()), (2, None));
            assert_eq!(folio.lru(), LruFlags::empty(), "not active, wherever it was");
        }
    }
}

#[test]
fn zones_are_scanned_from_the_highest_wanted_one_downwards() {
    for reclaim_idx in 0..MAX_NR_ZONES {
        let mut ground = Ground::new(9);
        let made: Vec<_> = (0..9).map(|n| ground.folio_in(0, FILE, n / 3, 0)).collect();
        // Each folio was put behind the others.
        let zone = |zone: usize| made[3 * zone..3 * zone + 3].iter().rev();
        let sc = ScanControl { reclaim_idx, ..control() };
        let (seen, taken) = scan(&mut ground, &sc, 100, FILE);
        let wanted = (0..=reclaim_idx).rev().flat_map(zone);
        assert!(taken.iter().eq(wanted), "up to zone {reclaim_idx}: {taken:?}");
        assert_eq!(seen.scanned, 9);
        let refilled = ground.maps.memcg_at(ROOT).vmstat.get(Counter::Pgrefill);
        assert_eq!(refilled, 9 - taken.len() as u64, "the others go on");
        assert_eq!(ground.listed(ROOT, 1, FILE).len() as u64, refilled);
    }
}

#[test]
fn two_generations_are_left_alone() {
    let mut ground = Ground::new(4);
    (0..4).for_each(|seq| {
        ground.folio_in(seq, ANON, 0, 0);
    });
    ground.maps.lru_gen(ROOT.into()).min_seq[ANON].store(2, Relaxed);
    let engine = ground.engine();
    let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
    let mut out = FolioList::default();
    let seen = maps.scan_folios(&guard, &control(), 100, ANON, &mut out);
    assert_eq!((seen.scanned, out.len), (0, 0));
    drop(guard);
}

#[test]
fn folios_about_to_be_freed_are_passed_over_once() {
    let mut ground = Ground::new(10);
    let made = oldest(&mut ground, 10, 0);
    for id in made.iter().step_by(2) {
        assert!(ground.maps.folio_at(*id).freeze(1));
    }
    let (seen, taken) = scan(&mut ground, &control(), 100, FILE);
    assert!(taken.iter().eq(made.iter().skip(1).step_by(2)));
    assert_eq!((seen.scanned, seen.isolated), (10, 5), "each of them once");
    assert_eq!(ground.listed(ROOT, 0, FILE).len(), 5, "on the list they were on");
    let (again, none) = scan(&mut ground, &control(), 3, FILE);
    assert!(none.is_empty());
    assert_eq!(again.scanned, 3, "as many as asked for");
    let (end, _) = scan(&mut ground, &control(), 100, FILE);
    assert_eq!((end.scanned, end.isolated), (5, 0), "all, and none of use");
}

#[test]
fn isolation_forgets_uses_that_no_first_one_marks() {
    for (word, left) in [
        (Recency::REFS, Recency::NONE),
        (Recency::USES, Recency::USES),
        (Recency::REFERENCED, Recency::REFERENCED),
        (Recency::RECLAIM, Recency::RECLAIM),
        (Recency::REFS.union(Recency::WORKINGSET), Recency::WORKINGSET),
    ] {
        let mut ground = Ground::new(1);
        let id = ground.folio_in(0, ANON, 0, 0);
        let folio = ground.maps.folio_at(id);
        let _ = folio.update_recency(|_| Some(word.in_generation(Some(0))));
        let engine = ground.engine();
        let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
        let from = maps.isolate_folio(&guard, id);
        assert_eq!(from, Some(0), "the generation");
        assert_eq!(folio.recency(), left, "{word:?}");
        drop(guard);
    }
}

/// A type that has folios, even if none is usable now, is tried again instead.
#[test]
fn the_other_type_is_tried_when_the_first_has_nothing_at_all() {
    for priority in [DEF_PRIORITY, 0] {
        for (files, other) in [(0, true), (1, false), (5, false), (50, false)] {
            let mut ground = Ground::new(100);
            for _ in 0..files {
                let id = ground.folio_in(0, FILE, 0, 0);
                assert!(ground.maps.folio_at(id).freeze(1));
            }
            ground.folio_in(0, ANON, 0, 0);
            let sc = ScanControl { priority, ..control() };
            let engine = ground.engine();
            let (maps, guard) = (engine.maps, engine.lock_lruvec(ROOT.into()));
            let mut out = Isolated::default();
            let scanned = maps.isolate_folios(&guard, &sc, 20, 60, &mut out);
            drop(guard);
            let taken = (out.nr, out.folios.len as u64);
            assert_eq!(taken, if other { (1, 1) } else { (0, 0) }, "{priority} {files}");
            assert_eq!(out.kind, if other { ANON } else { FILE });
            let looked_at = if other { 1 } else { 2 * files.min(20) };
            assert_eq!(scanned, looked_at, "{files}: twice");
        }
    }
}

/// Makes a reject of files' pages, as `shrink_folio_list` may leave it.
#[test]
fn rejects_are_tried_again_or_kept_out_of_the_oldest_generation() {
    let mut ground = Ground::new(64);
    for number in 0..64u32 {
        let bit = |n: u32| number >> n & 1 == 1;
        let [active, mapped, dirty, writeback, mlocked, retry] = [0, 1, 2, 3, 4, 5].map(bit);
        let id = ground.folio(FILE, 0, 0, ROOT);
        let folio = ground.maps.folio_at(id);
        // It is not used, so that it would join the oldest generation.
        let word = Recency::REFS;
        let _ = folio.update_recency(|_| Some(word));
        let flags = [
            (dirty, FolioFlags::DIRTY),
            (writeback, FolioFlags::WRITEBACK),
            (mlocked, FolioFlags::MLOCKED),
        ];
        for (_, flag) in flags.into_iter().filter(|(set, _)| *set) {
            folio.update_flags(flag, FolioFlags::empty());
        }
        folio.add_mappings(u32::from(mapped));
        if active {
            folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
        }
        let mut rejects = FolioList::default();
        rejects.push(&ground.maps, id);
        let (clean, settled) = ground.maps.sort_rejects(ROOT.into(), FILE, rejects, retry);
        let again = retry && !(active || mapped || dirty || writeback || mlocked);
        assert_eq!((clean.len, settled.len), if again { (1, 0) } else { (0, 1) }, "{number:#b}");
        // If it is not active, it would join generation 0 of 0 to 3 again.
        let raised = !again && !mlocked && !active;
        assert_eq!(folio.lru().contains(LruFlags::ACTIVE), active || raised, "{number:#b}");
        assert_eq!(folio.recency(), if raised { Recency::NONE } else { word }, "{number:#b}");
    }
}

#[test]
fn rejects_that_join_a_younger_generation_stay_as_they_are() {
    let mut ground = Ground::new(3);
    let maps = &ground.maps;
    maps.lru_gen(ROOT.into()).max_seq.store(4, Relaxed);
    maps.lru_gen(ROOT.into()).min_seq.iter().for_each(|seq| seq.store(1, Relaxed));
    for (word, raised) in
        [(Recency::NONE, true), (Recency::REFERENCED, false), (Recency::WORKINGSET, false)]
    {
        let id = ground.folio(FILE, 0, 0, ROOT);
        let folio = ground.maps.folio_at(id);
        let _ = folio.update_recency(|_| Some(word));
        let mut rejects = FolioList::default();
        rejects.push(&ground.maps, id);
        ground.maps.sort_rejects(ROOT.into(), FILE, rejects, false);
        assert_eq!(folio.lru().contains(LruFlags::ACTIVE), raised, "{word:?}");
        assert_eq!(MAX_NR_GENS, 4, "what was used joins the next generation");
    }
}

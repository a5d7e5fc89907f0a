//! Over random layouts of VMAs, a walk counts and clears according to a plain reading of its rules.

use crate::mglru_walk::FILTERS;
use crate::world::{Arena, World, page};
use pageout_paging::Format;
use pageout_paging::pte::{SmallArm2, SmallX86};
use pageout_paging::walk::pmd_table;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::mglru::MmStats;
use pageout_reclaim::{Limits, MmId, VmFlags};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

const ROOM: Limits = Limits { folios: 512, ..FILTERS };

#[derive(Clone, Debug)]
struct Part {
    gap: u64,
    pages: u64,
    skipped: bool,
    /// The masks of the pages that are mapped, and of those that are young, a bit each, repeated.
    mapped: u64,
    young: u64,
}

fn part() -> impl Strategy<Value = Part> {
    let gap = prop_oneof![4 => 0..4_u64, 2 => 0..20_u64, 1 => 0..150_u64];
    let pages = prop_oneof![4 => 1..6_u64, 2 => 1..40_u64, 1 => 1..200_u64];
    let masks = (any::<u64>(), any::<u64>(), any::<u64>());
    (gap, pages, prop::bool::weighted(0.25), masks).prop_map(|(gap, pages, skipped, masks)| {
        let (mapped, sparse, young) = masks;
        // Some VMAs map no page at all.
        let mapped = if sparse % 4 == 0 { 0 } else { mapped & sparse };
        Part { gap, pages, skipped, mapped, young }
    })
}

fn bit(mask: u64, k: u64) -> bool {
    mask >> (k % 64) & 1 == 1
}

/// Returns the counts of a walk that enters every table, from the VMAs that it reads.
fn counts<F: Format>(world: &World<'_, F>, mm: MmId, walked: &[Range<u64>]) -> MmStats {
    let mut tables = BTreeMap::<u64, u64>::new();
    let mut young = 0;
    for at in walked {
        for number in at.clone() {
            *tables.entry(number / F::PTES as u64).or_default() += 1;
        }
        young += world.young(mm, at.clone()).len() as u64;
    }
    let mut stats = MmStats { leaf_young: young, ..MmStats::default() };
    for (table, pages) in tables {
        let first = table * F::PTES as u64;
        let root = world.maps.mm(mm).expect("it lives").root();
        let leads_on = pmd_table(&world.env, root, page::<F>(first)).is_ok();
        if world.place(mm, first).is_some() {
            stats.leaf_total += pages;
            stats.nonleaf_found += 1;
        } else if leads_on {
            stats.leaf_total += 1;
        }
    }
    stats
}

fn a_walk_counts_and_clears<F: Format>(
    parts: &[Part],
    start: u64,
    algorithm: YoungAlgorithm,
    pauses: bool,
) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    let (mut walked, mut passed, mut at) = (Vec::new(), Vec::new(), start);
    for part in parts {
        at += part.gap;
        let range = at..at + part.pages;
        at = range.end;
        let more = if part.skipped { VmFlags::RAND_READ } else { VmFlags::empty() };
        let vma = world.vma(mm, range.clone(), VmFlags::READ | more, file, range.start);
        for number in range.clone().filter(|number| bit(part.mapped, *number)).take(40) {
            let folio = world.listed(file, 0, number);
            world.map(vma, folio);
            if bit(part.young, number) {
                world.touch(mm, number);
            }
        }
        if part.skipped { passed.push(range) } else { walked.push(range) }
    }
    let young = |world: &World<'_, F>, of: &[Range<u64>]| {
        of.iter().map(|at| world.young(mm, at.clone())).collect::<Vec<_>>()
    };
    let (expected, left) = (counts(&world, mm, &walked), young(&world, &passed));
    world.env.mmu.need_resched.store(pauses, Relaxed);
    let stats = world.age(3, algorithm);
    assert_eq!(MmStats { nonleaf_added: 0, ..stats }, expected);
    assert!(young(&world, &walked).concat().is_empty(), "what was walked is old");
    assert_eq!(young(&world, &passed), left, "what was passed is as it was");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn walks_keep_the_rules(
        parts in vec(part(), 1..12),
        start in 0..140_u64,
        algorithm in prop::sample::select(&YoungAlgorithm::ALL[..]),
        pauses: bool,
    ) {
        a_walk_counts_and_clears::<SmallX86>(&parts, start, algorithm, pauses);
        a_walk_counts_and_clears::<SmallArm2>(&parts, start, algorithm, pauses);
    }
}

//! Look-around: the effects on neighbours when eviction finds a folio used.

use crate::formats::on_every_format;
use crate::mglru_walk::FILTERS;
use crate::world::{Arena, LIMITS, World};
use pageout_paging::Format;
use pageout_paging::pte::{Arm64_4K, SmallArm4, SmallX86, X86_64};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{FolioId, Limits, MmId, Recency, Refs, VmFlags};
use std::ops::Range;

/// Makes a process that maps anonymous pages in folios of an order, and isolates one of them.
fn around<F: Format>(
    world: &mut World<'_, F>,
    order: u8,
    at: Range<u64>,
    isolated: u64,
) -> (MmId, FolioId, Vec<FolioId>) {
    let (mm, anon) = (world.process(), world.anon());
    let vma = world.vma(mm, at.clone(), VmFlags::READ, anon, at.start);
    let mut target = None;
    let mut near = Vec::new();
    for index in at.step_by(1 << order) {
        let folio = if index == isolated {
            *target.insert(world.folio(anon, order, index))
        } else {
            let folio = world.listed(anon, order, index);
            near.push(folio);
            folio
        };
        world.map(vma, folio);
    }
    (mm, target.expect("one is isolated"), near)
}

fn neighbours_are_cleared_and_promoted_from_the_second_sight_on<F: Format>(
    algorithm: YoungAlgorithm,
) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, target, near) = around(&mut world, 0, 8..16, 11);
    let old = near[1];
    // The uses mark it, activate it (as anonymous memory begins), and make it part of a working
    // set.
    for generation in [2, 2, 3] {
        [8, 11, 14].into_iter().for_each(|page| world.touch(mm, page));
        world.forget();
        assert_eq!(world.referenced(target, algorithm).refs, Refs::Vmas(1));
        assert_eq!(world.young(mm, 8..16), []);
        assert_eq!(world.env.mmu.invalidations(), [], "nothing is flushed");
        for folio in [near[0], near[5]] {
            assert_eq!(world.generation(folio), Some(generation));
        }
        assert_eq!(world.generation(old), Some(2));
    }
    assert!(world.recency(near[0]).contains(Recency::WORKINGSET));
    assert_eq!(world.recency(target).generation(), None);
}

fn around_an_old_page_nothing_is_looked_at<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, target, _) = around(&mut world, 0, 8..16, 11);
    world.touch(mm, 10);
    assert_eq!(world.referenced(target, algorithm).refs, Refs::Vmas(0));
    assert_eq!(world.young(mm, 8..16), [10]);
}

fn the_classic_lists_look_at_the_folio_alone<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, target, _) = around(&mut world, 0, 8..16, 11);
    [10, 11].into_iter().for_each(|page| world.touch(mm, page));
    world.forget();
    assert_eq!(world.referenced(target, algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.young(mm, 8..16), [10]);
    assert_eq!(world.env.mmu.invalidations().len(), 1);
}

fn the_table_and_the_vma_end_what_is_looked_at<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, target, _) = around(&mut world, 0, n - 2..n + 2, n - 1);
    let first = world.maps.mapping_of(world.maps.folio(target).expect("it lives"));
    world.mapped(mm, first, 0, n - 4..n - 2);
    (n - 4..n + 2).for_each(|page| world.touch(mm, page));
    assert_eq!(world.referenced(target, algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.young(mm, n - 4..n + 2), [n - 4, n - 3, n, n + 1]);
}

on_every_format!(
    neighbours_are_cleared_and_promoted_from_the_second_sight_on,
    around_an_old_page_nothing_is_looked_at,
    the_classic_lists_look_at_the_folio_alone,
    the_table_and_the_vma_end_what_is_looked_at,
);

#[test]
fn each_entry_is_asked_once_where_the_folio_is_young() {
    for algorithm in YoungAlgorithm::ALL {
        let mut arena = Arena::new::<SmallArm4>(&LIMITS);
        let mut world = arena.world::<SmallArm4>();
        world.use_generations();
        let (mm, target, near) = around(&mut world, 2, 0..8, 4);
        (0..8).for_each(|page| world.touch(mm, page));
        assert_eq!(world.referenced(target, algorithm).refs, Refs::Vmas(1));
        assert_eq!(world.young(mm, 0..8), []);
        assert!(world.recency(near[0]).contains(Recency::REFERENCED));
        assert!(!world.recency(near[0]).contains(Recency::WORKINGSET), "one sighting");
    }
}

#[test]
fn leaves_are_flushed_as_ever() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    world.set_caps(LruGenCaps::all());
    let (mm, file) = (world.process(), world.file());
    let vma = world.vma(mm, 8..16, VmFlags::READ, file, 8);
    let leaf = world.folio(file, 3, 8);
    world.map_pmd(vma, leaf);
    world.touch(mm, 8);
    world.forget();
    assert_eq!(world.referenced(leaf, YoungAlgorithm::Batched).refs, Refs::Vmas(1));
    assert_eq!(world.env.mmu.invalidations().len(), 1);
}

/// Returns true if a look-around over a window adds the table to the filter of the next walk. The
/// order of the folios and the pages mapped and touched are given.
fn notes<F: Format>(
    algorithm: YoungAlgorithm,
    order: u8,
    pages: u64,
    young: u64,
    isolated: u64,
) -> bool {
    let room = Limits { folios: 96, ..FILTERS };
    let mut arena = Arena::new::<F>(&room);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, target, _) = around(&mut world, order, 0..pages, isolated);
    // Nothing was young: the table is in no filter, and there is a filter for it.
    assert_eq!(world.age(3, algorithm).nonleaf_added, 0);
    world.touch(mm, isolated);
    (0..young).for_each(|page| world.touch(mm, page));
    assert_eq!(world.referenced(target, algorithm).refs, Refs::Vmas(1));
    world.maps.lru_gen_use_mm(mm).expect("it lives");
    world.age(4, algorithm).nonleaf_found == 1
}

#[test]
fn the_folio_asked_for_counts_as_many_young_entries_as_were_checked_at_once() {
    for algorithm in YoungAlgorithm::ALL {
        // Of eight pages one is young: the target. A ninth page needs one more.
        assert!(notes::<X86_64>(algorithm, 0, 8, 0, 7));
        assert!(!notes::<X86_64>(algorithm, 0, 9, 0, 7));
        assert!(notes::<X86_64>(algorithm, 0, 9, 1, 7));
        // One page of sixteen is young, but in a target of four pages.
        let at_once = algorithm != YoungAlgorithm::PerEntry;
        assert_eq!(notes::<X86_64>(algorithm, 2, 16, 0, 8), at_once, "{algorithm:?}");
        assert_eq!(notes::<X86_64>(algorithm, 2, 32, 0, 8), at_once, "{algorithm:?}");
        assert!(!notes::<X86_64>(algorithm, 2, 36, 0, 8), "{algorithm:?}");
        // With 64 pages and more, 8 of 64 are needed.
        assert!(!notes::<X86_64>(algorithm, 0, 80, 6, 20), "{algorithm:?}");
        assert!(notes::<X86_64>(algorithm, 0, 80, 7, 20), "{algorithm:?}");
    }
}

#[test]
fn per_entry_a_contiguous_neighbourhood_is_not_worth_it_and_in_batches_it_is() {
    for (algorithm, worth) in [
        (YoungAlgorithm::PerEntry, false),
        (YoungAlgorithm::Batched, true),
        (YoungAlgorithm::Line, true),
    ] {
        assert_eq!(notes::<Arm64_4K>(algorithm, 4, 64, 64, 16), worth, "{algorithm:?}");
    }
}

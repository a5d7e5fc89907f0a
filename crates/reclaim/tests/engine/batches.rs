//! Runs: their ends, their counts, and the end of the walk. The secondary MMU records each run's
//! exact range.
#![allow(clippy::single_range_in_vec_init, reason = "a list of runs may have one")]

use crate::env::Asked;
use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World, pages};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{FolioId, MappingId, MmId, Refs, VmFlags, VmaId};
use std::ops::Range;

/// Returns the calls that a secondary MMU gets for checks of `runs`: whole runs, or each page by
/// itself.
fn asked<F: Format>(algorithm: YoungAlgorithm, runs: &[Range<u64>]) -> Vec<Asked> {
    let by_page = runs.iter().flat_map(|run| run.clone().map(|page| page..page + 1));
    let ranges: Vec<_> = match algorithm {
        YoungAlgorithm::PerEntry => by_page.collect(),
        YoungAlgorithm::Batched | YoungAlgorithm::Line => runs.to_vec(),
    };
    ranges.into_iter().map(|run| Asked::ClearFlush(pages::<F>(run))).collect()
}

/// Makes a process with a secondary MMU that maps `file` from page `pgoff` on, with all of
/// `folios`.
fn watcher<F: Format>(
    world: &mut World<'_, F>,
    file: MappingId,
    folios: &[FolioId],
    at: Range<u64>,
    pgoff: u64,
) -> (MmId, VmaId) {
    let mm = world.process();
    let vma = world.vma(mm, at, VmFlags::READ, file, pgoff);
    for folio in folios {
        world.map(vma, *folio);
    }
    world.attach(mm, []);
    world.forget();
    (mm, vma)
}

fn a_run_is_the_folio<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    // Frames and attributes of the second folio continue those of the first.
    let folios: Vec<_> = (0..2).map(|k| world.folio(file, 2, 4 * k)).collect();
    let (mm, _) = watcher(&mut world, file, &folios, 0..8, 0);
    for page in [3, 4] {
        world.touch(mm, page);
    }
    assert_eq!(world.referenced(folios[0], algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &[0..4]));
    assert_eq!(world.young(mm, 0..8), [4]);
    assert_eq!(world.referenced(folios[1], algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &[4..8]));
}

fn a_run_ends_with_the_table<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    let (mm, _) = watcher(&mut world, file, &[folio], n - 3..n + 1, 0);
    let tables = [world.pte_table(mm, n - 1), world.pte_table(mm, n)];
    for young in n - 3..=n {
        world.touch(mm, young);
        world.forget();
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
        let runs = asked::<F>(algorithm, &[n - 3..n, n..n + 1]);
        assert_eq!(world.secondary(mm).asked(), runs);
        assert_eq!(tables.map(|table| world.locked(table)), [1, 1]);
        assert_eq!(world.young(mm, n - 3..n + 1), []);
    }
}

fn a_run_begins_and_ends_with_the_vma<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 4);
    for (pgoff, at, run) in [(5, 2..9, 2..5), (0, 0..6, 4..6), (5, 8..10, 8..10)] {
        let (mm, vma) = watcher(&mut world, file, &[folio], at.clone(), pgoff);
        world.touch(mm, run.end - 1);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
        assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &[run]));
        assert_eq!(world.young(mm, at), []);
        world.zap(vma, folio);
        world.munmap(vma);
    }
}

/// As after mlock of a part, VMAs of one process meet inside a contiguous block. A run ends with
/// the VMA. The block's young bits are cleared to its edges, and count for the VMA that is checked
/// first.
fn a_run_ends_with_the_vma_inside_a_block<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::CONT_PTES.max(4) as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, n.ilog2() as u8, 0);
    let (mm, whole) = watcher(&mut world, file, &[folio], 0..n, 0);
    world.munmap(whole);
    let cut = n - 1;
    world.vma(mm, 0..cut, VmFlags::READ, file, 0);
    world.vma(mm, cut..n, VmFlags::EXEC, file, cut);
    world.touch(mm, cut);
    let found = world.referenced(folio, algorithm);
    let first = if F::CONT_SHIFT > 0 { VmFlags::READ } else { VmFlags::EXEC };
    assert_eq!((found.refs, found.vm_flags), (Refs::Vmas(1), first));
    assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &[0..cut, cut..n]));
    assert_eq!(world.young(mm, 0..n), []);
}

fn a_run_does_not_mix_blocks_and_single_entries<F: Format>(algorithm: YoungAlgorithm) {
    let block = F::CONT_PTES as u64;
    let end = 8.max(2 * block);
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, end.ilog2() as u8, 0);
    // The first page is missing: the first block is not contiguous.
    let (mm, _) = watcher(&mut world, file, &[folio], 1..end, 1);
    let runs = if F::CONT_SHIFT > 0 { vec![1..block, block..end] } else { vec![1..end] };
    for young in 1..end {
        world.touch(mm, young);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
        assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &runs));
        assert_eq!(world.young(mm, 1..end), []);
    }
}

fn a_run_ends_at_a_difference_and_goes_on_after_it<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 3, 0);
    // At an odd page, no block is contiguous, so that a single entry may be changed.
    let (mm, _) = watcher(&mut world, file, &[folio], 1..9, 0);
    let across = if F::PTES == 8 { vec![1..4, 4..5, 5..8, 8..9] } else { vec![1..4, 4..5, 5..9] };
    world.change(mm, 4, F::mkuffd_wp);
    for young in 1..9 {
        world.touch(mm, young);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
        assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &across));
        assert_eq!(world.young(mm, 1..9), []);
    }
    let holes = if F::PTES == 8 { vec![1..4, 5..8, 8..9] } else { vec![1..4, 5..9] };
    world.change(mm, 4, |_| pageout_paging::Pte::NONE);
    world.referenced(folio, algorithm);
    assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &holes), "a hole");
}

/// Dirty and writable differ between pages of a folio in use, and do not end a run.
fn dirty_and_write_do_not_end_a_run<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    let (mm, _) = watcher(&mut world, file, &[folio], 1..5, 0);
    world.change(mm, 2, |pte| F::mkdirty(F::mkwrite(pte)));
    world.touch(mm, 4);
    let before = world.entries(mm, 1..5);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.secondary(mm).asked(), asked::<F>(algorithm, &[1..5]));
    let kept: Vec<_> = before.into_iter().map(F::mkold).collect();
    assert_eq!(world.entries(mm, 1..5), kept, "only the young bit is taken");
}

/// Each run's entries are subtracted from the folio's mappings. The walk visits further VMAs only
/// while mappings are left.
fn the_walk_stops_when_all_mappings_are_seen<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    for hidden in [false, true] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let file = world.file();
        let folio = world.folio(file, 2, 0);
        if hidden {
            let mm = world.process();
            let skipped = world.vma(mm, 0..1, VmFlags::SEQ_READ, file, 0);
            world.map(skipped, folio);
        }
        watcher(&mut world, file, &[folio], 0..4, 0);
        watcher(&mut world, file, &[folio], n - 1..n + 3, 0);
        watcher(&mut world, file, &[folio], 1..3, 0);
        let last = world.process();
        world.vma(last, 0..3, VmFlags::READ, file, 1);
        assert_eq!(world.mapcount(folio), 10 + u32::from(hidden));
        world.forget();
        world.referenced(folio, algorithm);
        assert_eq!(world.walked(last), hidden);
        assert_eq!(world.mapcount(folio), 10 + u32::from(hidden), "only the tally went down");
    }
}

fn a_pmd_leaf_is_one_mapping<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, F::TABLE_SHIFT as u8, 0);
    let vma = world.vma(mm, n..2 * n, VmFlags::READ, file, 0);
    world.map_pmd(vma, folio);
    world.attach(mm, []);
    let last = world.process();
    world.vma(last, 0..1, VmFlags::READ, file, 1);
    assert_eq!(world.mapcount(folio), 1);
    world.touch(mm, n);
    world.forget();
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
    let all = Asked::ClearFlush(pages::<F>(n..2 * n));
    assert_eq!(world.secondary(mm).asked(), [all]);
    assert!(!world.walked(last), "the one mapping was seen");
    assert_eq!(world.young(mm, n..n + 1), []);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0));
}

fn a_folio_mapped_by_a_leaf_and_by_entries<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (leaf, file) = (world.process(), world.file());
    let folio = world.folio(file, F::TABLE_SHIFT as u8, 0);
    let vma = world.vma(leaf, 0..n, VmFlags::READ, file, 0);
    world.map_pmd(vma, folio);
    let (entries, _) = watcher(&mut world, file, &[folio], 1..n + 1, 0);
    let last = world.process();
    world.vma(last, 0..1, VmFlags::READ, file, 1);
    assert_eq!(world.mapcount(folio), 1 + n as u32);
    for (young, page) in [(leaf, 0), (entries, 1), (entries, n)] {
        world.touch(young, page);
        world.forget();
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
        let runs = asked::<F>(algorithm, &[1..n, n..n + 1]);
        assert_eq!(world.secondary(entries).asked(), runs);
        assert!(!world.walked(last));
    }
    world.touch(leaf, 0);
    world.touch(entries, 2);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(2));
}

on_every_format!(
    a_run_is_the_folio,
    a_run_ends_with_the_table,
    a_run_begins_and_ends_with_the_vma,
    a_run_ends_with_the_vma_inside_a_block,
    a_run_does_not_mix_blocks_and_single_entries,
    a_run_ends_at_a_difference_and_goes_on_after_it,
    dirty_and_write_do_not_end_a_run,
    the_walk_stops_when_all_mappings_are_seen,
    a_pmd_leaf_is_one_mapping,
    a_folio_mapped_by_a_leaf_and_by_entries,
);

//! VMAs locked into memory: cases in which they decide for the folio, and in which they only count.

use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{FolioFlags, FolioId, MappingId, MmId, Refs, VmFlags};
use std::ops::Range;

/// Makes a process that maps pages of the file from its page `pgoff` on, and maps the folio there.
fn mapper<F: Format>(
    world: &mut World<'_, F>,
    (file, folio): (MappingId, FolioId),
    at: Range<u64>,
    flags: VmFlags,
    pgoff: u64,
) -> MmId {
    let mm = world.process();
    let vma = world.vma(mm, at, flags, file, pgoff);
    world.map(vma, folio);
    mm
}

fn a_locked_vma_with_the_whole_folio_in_one_table_decides<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    // The latest VMA of one page offset is checked first.
    let after = mapper(&mut world, (file, folio), 0..4, VmFlags::READ, 0);
    let locked = mapper(&mut world, (file, folio), 0..4, VmFlags::LOCKED, 0);
    let before = mapper(&mut world, (file, folio), 0..4, VmFlags::EXEC, 0);
    for mm in [after, locked, before] {
        world.touch(mm, 1);
    }
    world.forget();
    let found = world.referenced(folio, algorithm);
    assert_eq!(found.refs, Refs::Vmas(1), "of the one asked before");
    assert_eq!(found.vm_flags, VmFlags::EXEC | VmFlags::LOCKED);
    assert_eq!(world.flags(folio), FolioFlags::MLOCKED);
    assert_eq!(world.young(locked, 0..4), [1], "not asked for young bits");
    assert!(!world.walked(after), "nothing more to know");
}

fn a_locked_pmd_leaf_decides<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, F::TABLE_SHIFT as u8, 0);
    let vma = world.vma(mm, 0..n, VmFlags::LOCKED, file, 0);
    world.map_pmd(vma, folio);
    let found = world.referenced(folio, algorithm);
    assert_eq!((found.refs, found.vm_flags), (Refs::Vmas(0), VmFlags::LOCKED));
    assert_eq!(world.flags(folio), FolioFlags::MLOCKED);
}

/// Checks a locked VMA that cannot decide: its young bits are not counted, its flag is not
/// reported.
fn only_counts<F: Format>(algorithm: YoungAlgorithm, at: Range<u64>, pgoff: u64) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    let locked = mapper(&mut world, (file, folio), at.clone(), VmFlags::LOCKED, pgoff);
    let mapped = u64::from(world.mapcount(folio));
    let first = at.start;
    world.touch(locked, first);
    world.forget();
    let found = world.referenced(folio, algorithm);
    assert_eq!((found.refs, found.vm_flags), (Refs::Vmas(0), VmFlags::empty()));
    assert_eq!(world.flags(folio), FolioFlags::empty());
    assert_eq!(world.young(locked, at), [first]);
    assert!(mapped > 0 && world.walked(locked));
}

fn a_locked_vma_with_a_part_of_the_folio_only_counts<F: Format>(algorithm: YoungAlgorithm) {
    only_counts::<F>(algorithm, 0..2, 0);
    only_counts::<F>(algorithm, 1..4, 1);
}

fn a_locked_vma_whose_folio_crosses_a_table_only_counts<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    only_counts::<F>(algorithm, n - 2..n + 2, 0);
    only_counts::<F>(algorithm, n - 3..n + 1, 0);
}

/// Each entry is subtracted from the mappings: once none is left, later VMAs are not walked.
fn entries_of_a_locked_vma_are_taken_off_the_mapcount<F: Format>(algorithm: YoungAlgorithm) {
    for spent in [true, false] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let file = world.file();
        let folio = world.folio(file, 2, 0);
        mapper(&mut world, (file, folio), 0..3, VmFlags::LOCKED, 0);
        if !spent {
            // The VMA is skipped, so its entries are not subtracted.
            mapper(&mut world, (file, folio), 0..1, VmFlags::SEQ_READ, 0);
        }
        let last = world.process();
        world.vma(last, 0..3, VmFlags::READ, file, 1);
        world.forget();
        world.referenced(folio, algorithm);
        assert_eq!(world.walked(last), !spent);
    }
}

fn a_locked_vma_still_passes_on_what_idle_tracking_took<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    let flags = VmFlags::LOCKED | VmFlags::EXEC;
    mapper(&mut world, (file, folio), 0..2, flags, 0);
    world.flag(folio, FolioFlags::YOUNG);
    let found = world.referenced(folio, algorithm);
    assert_eq!((found.refs, found.vm_flags), (Refs::Vmas(1), VmFlags::EXEC));
}

on_every_format!(
    a_locked_vma_with_the_whole_folio_in_one_table_decides,
    a_locked_pmd_leaf_decides,
    a_locked_vma_with_a_part_of_the_folio_only_counts,
    a_locked_vma_whose_folio_crosses_a_table_only_counts,
    entries_of_a_locked_vma_are_taken_off_the_mapcount,
    a_locked_vma_still_passes_on_what_idle_tracking_took,
);

//! Fork: families of processes, and the state after there was no room for a child.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::{Arena, pages};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{Limits, OutOfMemory, SpaceError, VmFlags};

fn grandchildren_share_and_copy<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let first = world.process();
    world.anon_at(first, 2..12, 2);
    world.fill(first, 2..12, 10);
    let second = world.fork(first);
    let third = world.fork(second);
    world.fill(second, 4..6, 20);
    world.fill(third, 5..7, 30);
    world.exit(second);
    world.holds(first, 2..12, 10);
    world.holds(third, 2..5, 10);
    world.holds(third, 5..7, 30);
    world.exit(first);
    world.fill(third, 2..4, 40);
    world.holds(third, 2..4, 40);
    world.holds(third, 7..12, 10);
    world.exit(third);
    world.all_is_free_but(0);
}

fn copies_of_files_pages_are_inherited<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (parent, file) = (world.process(), world.file_of(2));
    world.vma(parent, 0..4, RW, file, 0);
    world.vma(parent, 4..8, RW | VmFlags::SHARED, file, 4);
    world.fill(parent, 1..3, 10);
    world.fill(parent, 5..6, 10);
    let child = world.fork(parent);
    world.holds(child, 1..3, 10);
    world.fill(child, 2..3, 20);
    world.fill(child, 5..6, 20);
    world.holds(parent, 1..3, 10);
    world.holds(parent, 5..6, 20);
    world.exit(child);
    world.exit(parent);
    world.engine().remove_mapping(file).expect("it lives");
    world.all_is_free_but(8);
}

fn without_room_there_is_no_child_and_the_parent_goes_on<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for left in 0..6 {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let parent = world.process();
        world.anon_at(parent, n - 2..n + 3, 1);
        world.anon_at(parent, 4 * n..4 * n + 2, 0);
        world.fill(parent, n - 2..n + 3, 10);
        world.fill(parent, 4 * n..4 * n + 2, 10);
        let tables = world.tables.in_use();
        world.tables.set_left(Some(left + 1));
        let child = world.try_fork(parent);
        world.tables.set_left(None);
        match child {
            Ok(child) => world.exit(child),
            Err(error) => assert_eq!(error, SpaceError::OutOfMemory(OutOfMemory::PageTables)),
        }
        assert_eq!(child.is_ok(), left >= 5, "two, and one a table of entries");
        assert_eq!(world.tables.in_use(), tables);
        world.fill(parent, n - 2..n + 3, 20);
        world.holds(parent, n - 2..n + 3, 20);
        world.holds(parent, 4 * n..4 * n + 2, 10);
        world.exit(parent);
        world.all_is_free_but(0);
    }
}

fn without_a_vma_there_is_no_child<F: Format>(_: YoungAlgorithm) {
    let limits = Limits { vmas: 3, ..ROOM };
    let mut arena = Arena::new::<F>(&limits);
    let mut world = arena.world::<F>();
    let parent = world.process();
    world.anon_at(parent, 0..2, 0);
    world.anon_at(parent, 2..4, 0);
    world.fill(parent, 0..4, 10);
    assert!(matches!(world.try_fork(parent), Err(SpaceError::OutOfMemory(OutOfMemory::Table(_)))));
    world.fill(parent, 0..4, 20);
    world.holds(parent, 0..4, 20);
    let range = pages::<F>(0..1);
    assert_eq!(world.engine().munmap_range(parent, &range), Ok(()));
    world.exit(parent);
    world.all_is_free_but(0);
}

fn anonymous_memory_that_was_shared_ends_with_the_last_process<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let parent = world.process();
    let anon = world.anon_at(parent, 0..4, 1);
    assert!(world.maps.mapping_is_used(anon).expect("it lives"), "a VMA maps it");
    world.fill(parent, 0..4, 10);
    let child = world.fork(parent);
    let kept = world.folio_at(child, 0);
    world.exit(parent);
    world.holds(child, 0..4, 10);
    let page = world.maps.folio(kept).expect("it lives").pfn();
    assert!(world.maps.mapping_is_used(anon).expect("it lives"), "the child maps it");
    world.exit(child);
    assert_eq!(world.maps.folio_of(page), None);
    assert!(!world.maps.mapping_is_used(anon).expect("it lives"));
    world.engine().remove_mapping(anon).expect("it lives");
}

fn a_files_mapping_is_used_until_its_pages_left_the_index<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    world.vma(mm, 0..2, VmFlags::READ, file, 0);
    assert!(world.load(0, mm, 1).is_ok());
    world.exit(mm);
    assert!(world.maps.mapping_is_used(file).expect("it lives"), "a page is in memory");
    let folio = world.engine().filemap_get_folio(file, 1).expect("it lives").expect("that page");
    world.engine().filemap_remove_folio(folio).expect("nothing else uses it");
    world.engine().release(folio, 2).expect("the caller has it");
    assert!(!world.maps.mapping_is_used(file).expect("it lives"));
}

on_every_format!(
    anonymous_memory_that_was_shared_ends_with_the_last_process,
    a_files_mapping_is_used_until_its_pages_left_the_index,
    grandchildren_share_and_copy,
    copies_of_files_pages_are_inherited,
    without_room_there_is_no_child_and_the_parent_goes_on,
    without_a_vma_there_is_no_child,
);

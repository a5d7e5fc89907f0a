//! Truncation: pages past the new end are no longer mapped, cached or swapped.

use crate::cpu::{ROOM, RW, SHARED};
use crate::formats::on_every_format;
use crate::world::{Arena, World, pages};
use pageout_paging::Format;
use pageout_paging::pte::Arm64_4K;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Access, Advice, Counter, Fault, FolioFlags, Frames, Limits, MappingId, MemcgId, MmId, Place,
    TruncateError, VmFlags,
};
use pageout_sim::Answer;

/// Makes two processes that map pages 0 to 8 of a file, and have stored to each.
fn sharers<F: Format>(world: &mut World<'_, F>, file: MappingId) -> [MmId; 2] {
    [0, 1].map(|_| {
        let mm = world.process();
        world.vma(mm, 0..8, SHARED, file, 0);
        world.fill(mm, 0..8, 100);
        mm
    })
}

fn gone<F: Format>(world: &World<'_, F>, mm: MmId, from: u64) -> bool {
    (from..8).all(|number| world.entry(mm, number).is_none())
}

fn what_is_past_the_end_is_gone<F: Format>(_: YoungAlgorithm) {
    for order in [0, 2] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let files = [world.file_of(order), world.shmem_of(order)];
        for file in files {
            let sharers = sharers(&mut world, file);
            assert_eq!(world.engine().truncate(file, 4), Ok(()));
            for mm in sharers {
                world.holds(mm, 0..4, 100);
                assert!(gone(&world, mm, 4));
            }
            assert_eq!(ROOM.frames - world.env.free_pages(), 4, "pages in use");
            assert!(world.env.memory().storage.transfers().iter().all(|transfer| !transfer.writes));
            // The pages that come back there are those of storage, or zeros: the stores are lost.
            let again = match file == files[0] {
                true => world.env.memory().storage.content(Place::File(file, 4)),
                false => 0,
            };
            assert_eq!(world.load(0, sharers[0], 4), Ok(again));
            sharers.into_iter().for_each(|mm| world.exit(mm));
            assert_eq!(world.engine().truncate(file, 0), Ok(()));
            assert!(!world.maps.mapping_is_used(file).expect("it lives"));
            world.all_is_free_but(0);
        }
    }
}

fn a_folio_that_goes_past_the_end_has_zeros_there<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    for file in [world.file_of(2), world.shmem_of(2)] {
        let mm = world.process();
        world.vma(mm, 0..8, SHARED, file, 0);
        world.fill(mm, 0..8, 100);
        let folio = world.folio_at(mm, 0);
        assert_eq!(world.engine().truncate(file, 1), Ok(()));
        assert!(gone(&world, mm, 1));
        assert_eq!(world.mapcount(folio), 1);
        assert_eq!(world.load(0, mm, 0), Ok(100));
        assert_eq!([1, 2, 3].map(|number| world.load(0, mm, number)), [Ok(0), Ok(0), Ok(0)]);
        assert_eq!(world.folio_at(mm, 3), folio, "it is not split");
        world.exit(mm);
        assert_eq!(world.engine().truncate(file, 0), Ok(()));
        world.all_is_free_but(0);
    }
}

fn private_copies_go_too_wherever_they_are<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    for file in [world.file_of(0), world.shmem_of(0)] {
        let mm = world.process();
        world.vma(mm, 0..8, RW, file, 0);
        world.fill(mm, 0..8, 100);
        let child = world.fork(mm);
        world.fill(child, 6..8, 200);
        world.advise(mm, 4..6, Advice::PageOut).expect("it is mapped");
        world.engine().mlock(mm, &pages::<F>(2..4)).expect("it is mapped");
        assert_eq!(world.engine().truncate(file, 3), Ok(()));
        for mm in [mm, child] {
            assert!(gone(&world, mm, 3));
            world.holds(mm, 0..3, 100);
        }
        assert_eq!(world.maps.free_slots(), ROOM.slots);
        assert_eq!(counted(&world, Counter::NrAnonPages), 3);
        [mm, child].into_iter().for_each(|mm| world.exit(mm));
        assert_eq!(world.engine().truncate(file, 0), Ok(()));
        world.all_is_free_but(0);
    }
}

fn counted<F: Format>(world: &World<'_, F>, counter: Counter) -> u64 {
    world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat().get(counter)
}

fn what_is_locked_into_memory_goes_too<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(1));
    world.vma(mm, 0..4, SHARED, file, 0);
    world.fill(mm, 0..4, 7);
    world.engine().mlock(mm, &pages::<F>(0..4)).expect("it is mapped");
    assert_eq!(world.engine().truncate(file, 0), Ok(()));
    world.all_pages_free();
}

fn a_transfer_that_goes_on_is_named<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(1));
    world.vma(mm, 0..8, SHARED, file, 0);
    world.fill(mm, 0..6, 100);
    world.env.memory().storage.answers(Answer::Late);
    let Fault::Pending(read) = world.fault(mm, 6, Access::Read) else {
        panic!("the read is late");
    };
    assert_eq!(world.engine().truncate(file, 2), Err(TruncateError::Pending(read)));
    assert!(gone(&world, mm, 2), "nothing is mapped past the end");
    assert_eq!(ROOM.frames - world.env.free_pages(), 4, "and what could go is gone");
    assert_eq!(world.finish_io(true), 1);
    assert_eq!(world.engine().truncate(file, 2), Ok(()));
    let written = world.folio_at(mm, 0);
    assert!(world.engine().write_back(written).is_ok_and(|begun| begun.is_some()));
    assert_eq!(world.engine().truncate(file, 1), Err(TruncateError::Pending(written)), "a part");
    assert_eq!(world.engine().truncate(file, 0), Err(TruncateError::Pending(written)));
    assert_eq!(world.finish_io(true), 1);
    assert_eq!(world.engine().truncate(file, 0), Ok(()));
    world.all_pages_free();
}

fn what_is_on_its_way_to_swap_needs_no_wait_unless_a_part_stays<F: Format>(_: YoungAlgorithm) {
    for ok in [true, false] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, shmem) = (world.process(), world.shmem_of(2));
        world.vma(mm, 0..8, SHARED, shmem, 0);
        world.fill(mm, 0..8, 100);
        let head = world.folio_at(mm, 0);
        world.env.memory().storage.answers(Answer::Late);
        world.advise(mm, 0..8, Advice::PageOut).expect("it is mapped");
        assert_eq!(world.engine().truncate(shmem, 4), Ok(()));
        assert_eq!(world.engine().truncate(shmem, 1), Err(TruncateError::Pending(head)));
        assert_eq!(world.finish_io(ok), 2);
        assert_eq!(ROOM.frames - world.env.free_pages(), 4, "the other went with its write");
        assert_eq!(world.engine().truncate(shmem, 1), Ok(()));
        assert_eq!(world.maps.free_slots(), ROOM.slots, "taken back, to become zeros in part");
        world.env.memory().storage.answers(Answer::AtOnce);
        world.advise(mm, 0..8, Advice::PageOut).expect("it is mapped");
        assert_eq!([0, 1, 3, 4].map(|number| world.load(0, mm, number).unwrap()), [100, 0, 0, 0]);
        world.exit(mm);
        world.end_shmem(shmem);
        world.all_is_free_but(0);
    }
}

fn slots_are_given_back<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, shmem) = (world.process(), world.shmem_of(2));
    world.vma(mm, 0..8, SHARED, shmem, 0);
    world.fill(mm, 0..8, 100);
    world.advise(mm, 0..8, Advice::PageOut).expect("it is mapped");
    world.all_pages_free();
    assert_eq!(world.engine().truncate(shmem, 3), Ok(()));
    assert_eq!(world.maps.free_slots(), ROOM.slots - 3);
    world.holds(mm, 0..3, 100);
    assert_eq!(world.load(0, mm, 3), Ok(0));
    world.exit(mm);
    world.end_shmem(shmem);
    world.all_is_free_but(0);
}

fn shadows_are_forgotten<F: Format>(_: YoungAlgorithm) {
    // Each shadow is forgotten, or all of them if there are fewer than the pages may be.
    for (shadows, kept) in [(64, 2), (4, 0)] {
        let mut arena = Arena::new::<F>(&Limits { shadows, ..ROOM });
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file_of(0));
        world.vma(mm, 0..8, VmFlags::READ, file, 0);
        for _ in 0..2 {
            for number in 0..8 {
                world.load(0, mm, number).expect("it is mapped");
            }
            world.advise(mm, 0..8, Advice::PageOut).expect("it is mapped");
            world.all_pages_free();
        }
        let before = counted(&world, Counter::WorkingsetRefaultFile);
        assert_eq!(world.engine().truncate(file, 2), Ok(()));
        for number in 0..8 {
            world.load(0, mm, number).expect("it is mapped");
        }
        assert_eq!(counted(&world, Counter::WorkingsetRefaultFile) - before, kept);
    }
}

/// The pages are so far apart that each bucket is read.
fn pages_far_apart_are_found<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, shmem) = (world.process(), world.shmem_of(1));
    let far = 1 << 40;
    for (at, pgoff) in [(0, 0), (8, far), (16, far * 2)] {
        world.vma(mm, at..at + 4, SHARED, shmem, pgoff);
        world.fill(mm, at..at + 4, 100);
    }
    world.advise(mm, 8..12, Advice::PageOut).expect("it is mapped");
    world.env.memory().storage.answers(Answer::Late);
    world.advise(mm, 16..20, Advice::PageOut).expect("it is mapped");
    let parted = world.engine().truncate(shmem, far * 2 + 1);
    assert!(matches!(parted, Err(TruncateError::Pending(_))), "{parted:?}");
    assert_eq!(world.engine().truncate(shmem, 1), Ok(()));
    assert_eq!(world.load(0, mm, 0), Ok(100));
    assert!(world.finish_io(true) > 0);
    assert_eq!(ROOM.frames - world.env.free_pages(), 2, "the folio of the first two pages");
    assert_eq!(world.maps.free_slots(), ROOM.slots);
    world.exit(mm);
    world.end_shmem(shmem);
    world.all_is_free_but(0);
}

fn anonymous_memory_is_refused<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    let anon = world.anon_at(mm, 0..4, 0);
    world.fill(mm, 0..4, 1);
    assert_eq!(world.engine().truncate(anon, 0), Err(TruncateError::Anonymous));
    world.holds(mm, 0..4, 1);
}

on_every_format!(
    what_is_past_the_end_is_gone,
    a_folio_that_goes_past_the_end_has_zeros_there,
    private_copies_go_too_wherever_they_are,
    what_is_locked_into_memory_goes_too,
    a_transfer_that_goes_on_is_named,
    what_is_on_its_way_to_swap_needs_no_wait_unless_a_part_stays,
    slots_are_given_back,
    shadows_are_forgotten,
    pages_far_apart_are_found,
    anonymous_memory_is_refused,
);

/// A PMD leaf of which a part stays is taken out whole: its pages are faulted in again.
#[test]
fn a_pmd_leaf_goes_as_a_whole() {
    let mut arena = Arena::new::<Arm64_4K>(&Limits { frames: 1024, ..ROOM });
    let mut world: World<'_, Arm64_4K> = arena.world();
    let (mm, file) = (world.process(), world.file());
    let vma = world.vma(mm, 512..1024, SHARED, file, 0);
    let folio = world.folio(file, 9, 0);
    world.engine().filemap_add_folio(folio).expect("nothing is there");
    world.flag(folio, FolioFlags::UPTODATE);
    world.map_pmd(vma, folio);
    world.engine().lru_add(folio).expect("it lives");
    assert_eq!(world.engine().truncate(file, 100), Ok(()));
    assert_eq!(world.mapcount(folio), 0);
    assert!(world.load(0, mm, 512).is_ok());
    assert_eq!(world.load(0, mm, 512 + 100), Ok(0));
    world.engine().release(folio, 1).expect("the caller has it");
    world.exit(mm);
    assert_eq!(world.engine().truncate(file, 0), Ok(()));
    assert_eq!(world.env.free_pages(), 1024);
}

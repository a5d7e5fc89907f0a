//! madvise, and what comes back after pages were given up or swapped out.

use crate::cpu::{ROOM, RW};
use crate::env::Asked;
use crate::formats::on_every_format;
use crate::world::Arena;
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{Advice, FolioFlags, Limits, LruFlags, OutOfMemory, SpaceError, VmFlags};
use pageout_sim::{Answer, pristine};

fn what_is_not_needed_is_zeros_next_time<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(1));
    world.anon_at(mm, 0..8, 2);
    world.vma(mm, 8..12, RW, file, 0);
    world.fill(mm, 0..12, 10);
    assert_eq!(world.advise(mm, 3..10, Advice::DontNeed), Ok(()));
    world.holds(mm, 0..3, 10);
    for number in 3..8 {
        assert_eq!(world.load(1, mm, number), Ok(0));
    }
    assert_eq!(world.load(1, mm, 9), Ok(pristine(file, 1)), "as the file has it");
    world.holds(mm, 10..12, 10);
    world.exit(mm);
    world.all_is_free_but(4);
}

fn what_is_paged_out_comes_back<F: Format>(_: YoungAlgorithm) {
    for order in 0..3 {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..16, order);
        world.fill(mm, 0..16, 10);
        assert_eq!(world.advise(mm, 0..16, Advice::PageOut), Ok(()));
        assert_eq!(world.maps.free_slots(), ROOM.slots - 16, "swapped out");
        world.all_pages_free();
        world.holds(mm, 0..9, 10);
        world.fill(mm, 4..16, 20);
        world.holds(mm, 4..16, 20);
        world.holds(mm, 0..4, 10);
        assert_eq!(world.advise(mm, 0..16, Advice::PageOut), Ok(()));
        world.holds(mm, 4..16, 20);
        world.holds(mm, 0..4, 10);
        assert_eq!(world.advise(mm, 0..16, Advice::PageOut), Ok(()));
        world.exit(mm);
        world.all_is_free_but(0);
    }
}

fn late_storage_loses_nothing<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..8, 1);
    world.fill(mm, 0..8, 10);
    world.env.memory().storage.answers(Answer::Late);
    assert_eq!(world.advise(mm, 0..8, Advice::PageOut), Ok(()));
    world.fill(mm, 0..3, 20);
    world.finish_io(true);
    assert_eq!(world.advise(mm, 0..8, Advice::PageOut), Ok(()));
    world.finish_io(true);
    assert_eq!(world.advise(mm, 0..8, Advice::PageOut), Ok(()));
    world.holds(mm, 0..3, 20);
    world.holds(mm, 3..8, 10);
    world.finish_io(true);
    world.exit(mm);
    world.all_is_free_but(0);
}

fn a_child_of_a_swapped_process_has_its_own_copy<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let parent = world.process();
    world.anon_at(parent, 0..8, 0);
    world.fill(parent, 0..8, 10);
    assert_eq!(world.advise(parent, 0..6, Advice::PageOut), Ok(()));
    let child = world.fork(parent);
    world.fill(child, 0..3, 20);
    world.fill(parent, 2..4, 30);
    world.holds(parent, 0..2, 10);
    world.holds(parent, 2..4, 30);
    world.holds(child, 0..3, 20);
    world.holds(child, 3..8, 10);
    assert_eq!(world.remap(parent, 4..6, 20..22), Ok(()), "swapped pages move too");
    for k in 0..2 {
        assert_eq!(world.load(0, parent, 20 + k), Ok(14 + k));
    }
    assert_eq!(world.advise(child, 4..8, Advice::DontNeed), Ok(()));
    world.exit(parent);
    world.exit(child);
    world.all_is_free_but(0);
}

fn what_is_freed_lazily_is_kept_if_written_again<F: Format>(_: YoungAlgorithm) {
    for order in 0..3 {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..8, order);
        world.fill(mm, 0..8, 10);
        assert_eq!(world.advise(mm, 0..8, Advice::Free), Ok(()));
        let folio = world.folio_at(mm, 0);
        assert!(!world.flags(folio).contains(FolioFlags::SWAPBACKED));
        assert!(!F::is_dirty(world.entry(mm, 0)));
        world.holds(mm, 0..8, 10);
        world.fill(mm, 4..5, 20);
        assert_eq!(world.advise(mm, 0..8, Advice::PageOut), Ok(()));
        assert_eq!(world.load(0, mm, 0), Ok(0), "dropped");
        world.holds(mm, 4..5, 20);
        world.exit(mm);
        world.all_is_free_but(0);
    }
}

fn cold_folios_are_old_and_inactive<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..4, 2);
    world.fill(mm, 0..4, 10);
    let folio = world.folio_at(mm, 0);
    world.engine().activate(folio).expect("it lives");
    assert_eq!(world.advise(mm, 0..4, Advice::Cold), Ok(()));
    assert!(!world.maps.folio(folio).expect("it lives").lru().contains(LruFlags::ACTIVE));
    assert_eq!(world.young(mm, 0..4), []);
    world.holds(mm, 0..4, 10);
    assert!(!world.young(mm, 0..4).is_empty(), "seen again by every CPU");
    world.exit(mm);
    world.all_is_free_but(0);
}

fn what_others_map_is_left_to_them<F: Format>(_: YoungAlgorithm) {
    for order in 0..3 {
        for advice in [Advice::PageOut, Advice::Cold] {
            let mut arena = Arena::new::<F>(&ROOM);
            let mut world = arena.world::<F>();
            let parent = world.process();
            world.anon_at(parent, 0..8, order);
            world.fill(parent, 0..8, 10);
            let child = world.fork(parent);
            world.holds(parent, 0..8, 10);
            let before = world.entries(parent, 0..8);
            assert_eq!(world.advise(parent, 0..8, advice), Ok(()));
            assert_eq!(world.entries(parent, 0..8), before, "order {order}, {advice:?}");
            world.exit(child);
            assert_eq!(world.advise(parent, 0..8, advice), Ok(()));
            assert_eq!(world.young(parent, 0..8), [], "order {order}, {advice:?}");
            world.holds(parent, 0..8, 10);
            world.exit(parent);
            world.all_is_free_but(0);
        }
    }
}

fn paging_out_asks_no_one_whether_pages_were_used<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..8, 0);
    world.fill(mm, 0..8, 10);
    world.attach(mm, 0..8);
    world.forget();
    assert_eq!(world.advise(mm, 0..8, Advice::PageOut), Ok(()));
    world.all_pages_free();
    let told = world.env.mmu.invalidations();
    assert_eq!(told.len(), 8, "as entries are taken out, and not before: {told:?}");
    let aged = |asked: &Asked| !matches!(asked, Asked::Invalidate(_));
    assert!(!world.secondary(mm).asked().iter().any(aged));
    world.exit(mm);
    world.all_is_free_but(0);
}

fn hints_split_and_merge_vmas<F: Format>(_: YoungAlgorithm) {
    let limits = Limits { vmas: 3, ..ROOM };
    let mut arena = Arena::new::<F>(&limits);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let vma = world.vma(mm, 0..8, VmFlags::READ, file, 0);
    for _ in 0..4 {
        assert_eq!(world.advise(mm, 2..5, Advice::Sequential), Ok(()));
        assert_eq!(world.maps.vma(vma).expect("it lives").end(), crate::world::page::<F>(2));
        let refused = world.advise(mm, 6..7, Advice::Random);
        assert!(matches!(refused, Err(SpaceError::OutOfMemory(OutOfMemory::Table(_)))));
        assert_eq!(world.advise(mm, 0..8, Advice::Normal), Ok(()));
        assert_eq!(world.maps.vma(vma).expect("it lives").end(), crate::world::page::<F>(8));
    }
    world.exit(mm);
    world.all_is_free_but(0);
}

on_every_format!(
    what_is_not_needed_is_zeros_next_time,
    what_is_paged_out_comes_back,
    late_storage_loses_nothing,
    a_child_of_a_swapped_process_has_its_own_copy,
    what_is_freed_lazily_is_kept_if_written_again,
    cold_folios_are_old_and_inactive,
    what_others_map_is_left_to_them,
    paging_out_asks_no_one_whether_pages_were_used,
    hints_split_and_merge_vmas,
);

//! The recipes of the contract for embedders, followed step by step.

use crate::cpu::{ROOM, RW, SHARED};
use crate::formats::on_every_format;
use crate::world::{Arena, World};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Access, Advice, Counter, Fault, MappingKind, MemcgId, OutOfMemory, Place, VmFlags,
};
use std::sync::atomic::Ordering::Relaxed;

fn a_folio_reaches_no_further_than_its_vma<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(2));
    world.vma(mm, 0..7, VmFlags::READ, file, 0);
    for number in 0..7 {
        world.load(0, mm, number).expect("it is mapped");
    }
    let read = world.env.memory().storage.transfers();
    let pages = |place| read.iter().find(|one| one.io.place == place).map(|one| one.io.nr);
    let first = |index| pages(Place::File(file, index));
    assert_eq!([first(0), first(4), first(6)], [Some(4), Some(2), Some(1)]);
    assert_eq!(world.engine().filemap_get_folio(file, 7).expect("it lives"), None);
    assert_eq!(world.fault(mm, 7, Access::Read), Fault::BadAddress);
}

fn the_shadows_of_a_file_end_with_it<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&pageout_reclaim::Limits { shadows: 64, ..ROOM });
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(0));
    world.vma(mm, 0..2, VmFlags::READ, file, 0);
    for number in 0..2 {
        world.load(0, mm, number).expect("it is mapped");
    }
    world.advise(mm, 0..2, Advice::PageOut).expect("it is mapped");
    world.all_pages_free();
    world.unmap_range(mm, 0..2).expect("it is mapped");
    assert!(!world.maps.mapping_is_used(file).expect("it lives"));
    world.engine().remove_mapping(file).expect("it lives");
    let other = world.mapping(MappingKind::File);
    assert_eq!(other.index(), file.index(), "the entry is used again");
    world.vma(mm, 0..2, VmFlags::READ, other, 0);
    let refaults = |world: &World<'_, F>| {
        world
            .maps
            .memcg(MemcgId::ROOT)
            .expect("it is online")
            .vmstat()
            .get(Counter::WorkingsetRefaultFile)
    };
    for number in 0..2 {
        world.load(0, mm, number).expect("it is mapped");
    }
    assert_eq!(refaults(&world), 0, "not taken for pages of the file before");
}

fn page_tables_are_reclaimed_for<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    let far = F::PTES as u64;
    world.anon_at(mm, 0..2, 0);
    world.anon_at(mm, far..far + 1, 0);
    world.tables.set_left(Some(0));
    let fault = world.fault(mm, 0, Access::Write);
    assert_eq!(fault, Fault::OutOfMemory(OutOfMemory::PageTables));
    let stalls = |world: &World<'_, F>| {
        world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat().get(Counter::Allocstall)
    };
    assert_eq!(stalls(&world), 1, "there is nothing to reclaim");
    world.tables.set_left(Some(3));
    world.fill(mm, 0..2, 1);
    assert_eq!(stalls(&world), 1);
    world.env.task.becomes_tables.store(true, Relaxed);
    assert_eq!(world.store(0, mm, far, 9), Ok(()));
    assert_eq!(stalls(&world), 2);
    assert!(world.maps.free_slots() < ROOM.slots, "a page made room for it");
    world.holds(mm, 0..2, 1);
}

fn entries_of_folios_are_reclaimed_for<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&pageout_reclaim::Limits { folios: 6, ..ROOM });
    let mut world = arena.world::<F>();
    let (mm, shmem) = (world.process(), world.shmem_of(0));
    world.anon_at(mm, 0..20, 0);
    world.vma(mm, 20..40, SHARED, shmem, 0);
    world.fill(mm, 0..40, 1);
    world.holds(mm, 0..40, 1);
}

fn page_offsets_of_anonymous_memory_may_meet<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, anon) = (world.process(), world.anon());
    for at in [0..4, 8..12] {
        world.vma(mm, at, RW, anon, 0);
    }
    for at in [0..4, 8..12] {
        world.fill(mm, at.clone(), 50);
        world.advise(mm, at, Advice::PageOut).expect("it is mapped");
    }
    world.all_pages_free();
    for at in [0..4, 8..12] {
        world.holds(mm, at, 50);
    }
}

on_every_format!(
    a_folio_reaches_no_further_than_its_vma,
    the_shadows_of_a_file_end_with_it,
    page_tables_are_reclaimed_for,
    entries_of_folios_are_reclaimed_for,
    page_offsets_of_anonymous_memory_may_meet,
);

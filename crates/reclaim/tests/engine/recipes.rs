//! What the contract tells embedders to do, done as it says.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::{Arena, World, page};
use pageout_paging::Format;
use pageout_paging::young::Family;
use pageout_reclaim::{
    Access, Advice, Counter, Fault, FolioFlags, Frames, Gather, MappingId, MappingKind, MemcgId,
    OutOfMemory, Place, VmFlags,
};
use std::ops::Range;

const SHARED: VmFlags = RW.union(VmFlags::SHARED);

/// Takes pages of a file out of memory, whatever they hold; false if one is not to be had yet.
fn truncate<F: Format>(world: &mut World<'_, F>, file: MappingId, pages: Range<u64>) -> bool {
    let maps = &world.maps;
    let mut engine = maps.on(&world.env, &mut world.cpu, crate::world::tuning());
    let mut all = true;
    for index in pages {
        let Some(id) = engine.filemap_get_folio(file, index) else { continue };
        let mut gather = Gather::new(&engine);
        let guard = maps.folio(id).try_lock().expect("one thread");
        let busy = guard.folio().flags().intersects(FolioFlags::READING | FolioFlags::WRITEBACK);
        let mut refs = 1;
        if !busy {
            let unmapped = engine.try_to_unmap(&guard, &mut gather);
            refs += unmapped.refs;
            if unmapped.all {
                engine.filemap_remove_folio(id);
                refs += 1;
            }
            all &= unmapped.all;
        }
        all &= !busy;
        drop(guard);
        gather.put_after(&mut engine, id, refs);
        gather.finish(&mut engine);
    }
    all
}

fn a_truncated_file_has_no_pages_left<F: Format>(_: Family) {
    for order in [0, 2] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let file = world.file_of(order);
        let sharers = [0, 1].map(|_| {
            let mm = world.process();
            world.vma(mm, 0..8, SHARED, file, 0);
            world.fill(mm, 0..8, 100);
            mm
        });
        let folio = world.folio_at(sharers[0], 4);
        assert!(truncate(&mut world, file, 4..8));
        for mm in sharers {
            world.holds(mm, 0..4, 100);
            assert!((4..8).all(|number| world.entry(mm, number).is_none()));
        }
        assert_eq!(world.mapcount(folio), 0);
        assert_eq!(ROOM.frames - world.env.free_pages(), 4, "pages in use");
        assert!(world.env.ground.transfers().iter().all(|transfer| !transfer.writes));
        // What comes there again is what storage has: the stores are gone.
        let read = world.load(0, sharers[0], 4);
        assert_eq!(read, Ok(world.env.ground.stored(Place::File(file, 4))));
    }
}

fn what_is_locked_into_memory_has_to_be_unlocked_first<F: Format>(_: Family) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(0));
    world.vma(mm, 0..1, SHARED, file, 0);
    world.fill(mm, 0..1, 7);
    let range = page::<F>(0)..page::<F>(1);
    world.engine().mlock(mm, &range).expect("it is mapped");
    assert!(!truncate(&mut world, file, 0..1));
    world.holds(mm, 0..1, 7);
    world.engine().munlock(mm, &range).expect("it is mapped");
    assert!(truncate(&mut world, file, 0..1));
    world.all_pages_free();
}

fn a_folio_reaches_no_further_than_its_vma<F: Format>(_: Family) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(2));
    world.vma(mm, 0..7, VmFlags::READ, file, 0);
    for number in 0..7 {
        world.load(0, mm, number).expect("it is mapped");
    }
    let read = world.env.ground.transfers();
    let pages = |place| read.iter().find(|one| one.io.place == place).map(|one| one.io.nr);
    let first = |index| pages(Place::File(file, index));
    assert_eq!([first(0), first(4), first(6)], [Some(4), Some(2), Some(1)]);
    assert_eq!(world.engine().filemap_get_folio(file, 7), None);
    assert_eq!(world.fault(mm, 7, Access::Read), Fault::BadAddress);
}

fn the_shadows_of_a_file_stay_with_its_number<F: Format>(_: Family) {
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
    assert!(!world.maps.mapping_is_used(file));
    world.engine().remove_mapping(file);
    let other = world.mapping(MappingKind::File);
    assert_eq!(other, file, "the number is used again");
    world.vma(mm, 0..2, VmFlags::READ, other, 0);
    let refaults = |world: &World<'_, F>| {
        world.maps.memcg(MemcgId::ROOT).vmstat().get(Counter::WorkingsetRefaultFile)
    };
    // The first folio of its size finds none, since the file never had such folios.
    world.load(0, mm, 0).expect("it is mapped");
    assert_eq!(refaults(&world), 0);
    world.load(0, mm, 1).expect("it is mapped");
    assert_eq!(refaults(&world), 1, "taken for the page of the file before");
}

fn page_tables_are_not_reclaimed_for<F: Format>(_: Family) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..1, 0);
    world.tables.left.set(Some(0));
    let fault = world.fault(mm, 0, Access::Write);
    assert_eq!(fault, Fault::OutOfMemory(OutOfMemory::PageTables));
    let stalls = world.maps.memcg(MemcgId::ROOT).vmstat().get(Counter::Allocstall);
    assert_eq!(stalls, 0);
    world.tables.left.set(None);
    world.fill(mm, 0..1, 1);
}

fn page_offsets_of_anonymous_memory_may_meet<F: Format>(_: Family) {
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
    a_truncated_file_has_no_pages_left,
    what_is_locked_into_memory_has_to_be_unlocked_first,
    a_folio_reaches_no_further_than_its_vma,
    the_shadows_of_a_file_stay_with_its_number,
    page_tables_are_not_reclaimed_for,
    page_offsets_of_anonymous_memory_may_meet,
);

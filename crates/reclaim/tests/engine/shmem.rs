//! Shared memory: zeros until a store, the same for all processes that map it, swapped out and in.

use crate::cpu::{ROOM, RW, SHARED};
use crate::formats::on_every_format;
use crate::world::{Arena, World, pages};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Access, Advice, Counter, Fault, FaultKind, FolioFlags, IoError, Limits, LruFlags, LruList,
    MappingId, MemcgId, MmId, SpaceError, SwapSlot, VmFlags,
};
use pageout_sim::Answer;

fn counted<F: Format>(world: &World<'_, F>, counter: Counter) -> u64 {
    world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat().get(counter)
}

/// Makes two processes that map pages 0 to 8 of the same shared memory, at different addresses.
fn sharers<F: Format>(world: &mut World<'_, F>, order: u8) -> ([MmId; 2], MappingId) {
    let shmem = world.shmem_of(order);
    let both = [0, 8].map(|at| {
        let mm = world.process();
        world.vma(mm, at..at + 8, SHARED, shmem, 0);
        mm
    });
    (both, shmem)
}

/// Reclaims as much as possible.
fn reclaim_all<F: Format>(world: &mut World<'_, F>) {
    (0..4).for_each(|_| _ = world.engine().try_to_free_pages());
}

/// Returns the swap slot of a page of shared memory, if it has one.
fn slot_of<F: Format>(world: &World<'_, F>, shmem: MappingId, index: u64) -> Option<SwapSlot> {
    let mut slots = (0..ROOM.slots as u32).map(SwapSlot);
    slots.find(|slot| world.maps.slot_shmem(*slot) == Ok(Some((shmem, index))))
}

fn all_who_map_it_have_the_same_pages<F: Format>(_: YoungAlgorithm) {
    for order in 0..4 {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let ([one, other], shmem) = sharers(&mut world, order);
        assert_eq!(world.load(0, one, 5), Ok(0), "zeros");
        let folio = world.folio_at(one, 5);
        assert_eq!(
            world.maps.folio(folio).expect("it lives").nr_pages(),
            1 << order,
            "of its order"
        );
        world.fill(one, 0..8, 100);
        world.holds(other, 8..16, 92);
        assert_eq!(world.folio_at(other, 13), folio);
        assert_eq!(world.store(1, other, 13, 7), Ok(()));
        assert_eq!(world.load(0, one, 5), Ok(7));
        let pages = [Counter::NrShmem, Counter::NrFilePages, Counter::NrAnonPages];
        assert_eq!(pages.map(|counter| counted(&world, counter)), [8, 8, 0]);
        assert_eq!(
            world.maps.lru_size(MemcgId::ROOT, LruList::InactiveAnon).expect("it is online"),
            8
        );
        let child = world.fork(one);
        assert_eq!(world.store(0, child, 2, 9), Ok(()));
        assert_eq!(world.load(1, one, 2), Ok(9), "a child shares it");
        [one, other, child].into_iter().for_each(|mm| world.exit(mm));
        assert_eq!(counted(&world, Counter::NrShmem), 8, "it outlives them");
        world.end_shmem(shmem);
        assert_eq!(pages.map(|counter| counted(&world, counter)), [0, 0, 0]);
        world.all_is_free_but(0);
    }
}

/// A file's entry for a load permits no stores.
fn an_entry_for_a_load_permits_stores_where_they_are_shared<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let ([one, other], shmem) = sharers(&mut world, 0);
    let reader = world.process();
    world.vma(reader, 0..8, VmFlags::READ | VmFlags::SHARED, shmem, 0);
    world.vma(one, 16..24, RW, shmem, 0);
    for (mm, number, writes) in [(one, 1, true), (reader, 1, false), (one, 17, false)] {
        world.load(0, mm, number).expect("it is mapped");
        let entry = world.entry(mm, number);
        assert_eq!(F::is_write(entry), writes, "page {number}");
        assert!(!F::is_dirty(entry));
    }
    let folio = world.folio_at(one, 1);
    assert!(!world.flags(folio).contains(FolioFlags::DIRTY));
    let faults = world.faults;
    assert_eq!(world.store(0, one, 1, 5), Ok(()));
    assert_eq!(world.faults, faults, "no fault");
    assert_eq!(world.load(0, other, 9), Ok(5));
    world.engine().set_uffd_wp(one, &pages::<F>(0..8), true).expect("it is mapped");
    world.load(0, one, 2).expect("it is mapped");
    assert!(!F::is_write(world.entry(one, 2)), "userfaultfd asks to be told of stores");
}

fn what_is_swapped_out_comes_back_dirty<F: Format>(_: YoungAlgorithm) {
    for (order, caps) in [(0, 0), (2, 0), (0, 7), (2, 7)] {
        let mut arena = Arena::new::<F>(&Limits { slots: 128, ..ROOM });
        let mut world = arena.world::<F>();
        world.engine().set_lru_gen_caps(LruGenCaps::from_bits_retain(caps));
        let ([one, other], shmem) = sharers(&mut world, order);
        world.fill(one, 0..8, 100);
        world.holds(other, 8..16, 92);
        reclaim_all(&mut world);
        world.all_pages_free();
        for number in 0..8 {
            assert!(world.entry(one, number).is_none(), "no swap entry");
            let slot = slot_of(&world, shmem, number).expect("the index has its slot");
            assert_eq!(world.maps.slot_entries(slot), Ok(1), "the index counts as one");
        }
        assert_eq!(world.maps.free_slots(), 120);
        let stats = [Counter::NrShmem, Counter::NrFilePages, Counter::Pswpout, Counter::Pswpin];
        assert_eq!(stats.map(|counter| counted(&world, counter)), [0, 0, 8, 0]);
        assert_eq!(world.fault(other, 11, Access::Read), Fault::Done(FaultKind::Major));
        assert_eq!(world.load(1, other, 11), Ok(103));
        let folio = world.folio_at(other, 11);
        let flags = world.flags(folio);
        assert!(flags.contains(FolioFlags::DIRTY | FolioFlags::INDEXED));
        assert!(!flags.contains(FolioFlags::SWAPCACHE));
        assert_eq!(world.maps.free_slots(), 121, "the slot is free");
        assert_eq!(slot_of(&world, shmem, 3), None);
        assert_eq!(stats.map(|counter| counted(&world, counter)), [1, 1, 8, 1]);
        assert_eq!(counted(&world, Counter::WorkingsetRefaultAnon), 1, "by the slot's shadow");
        // Whether entries were clean or not, its only copy is written again.
        reclaim_all(&mut world);
        world.all_pages_free();
        world.holds(one, 0..8, 100);
        [one, other].into_iter().for_each(|mm| world.exit(mm));
        reclaim_all(&mut world);
        world.end_shmem(shmem);
        assert_eq!(world.maps.free_slots(), 128);
        world.all_pages_free();
    }
}

fn what_no_one_stored_to_is_dropped<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let ([one, other], _) = sharers(&mut world, 1);
    for number in 0..8 {
        assert_eq!(world.load(0, one, number), Ok(0));
    }
    assert_eq!(world.store(0, other, 8, 3), Ok(()));
    reclaim_all(&mut world);
    world.all_pages_free();
    assert_eq!(world.maps.free_slots(), ROOM.slots - 2, "the folio that was stored to");
    assert_eq!(world.load(0, one, 0), Ok(3));
    assert_eq!(world.load(0, one, 7), Ok(0));
    assert_eq!(counted(&world, Counter::WorkingsetRefaultAnon), 1, "zeros leave no shadow");
}

fn what_is_being_written_is_waited_for<F: Format>(_: YoungAlgorithm) {
    for ok in [true, false] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let ([one, other], shmem) = sharers(&mut world, 2);
        world.fill(one, 0..4, 100);
        let folio = world.folio_at(one, 0);
        world.env.memory().storage.answers(Answer::Late);
        assert_eq!(world.advise(one, 0..4, Advice::PageOut), Ok(()));
        assert!(world.flags(folio).contains(FolioFlags::WRITEBACK | FolioFlags::SWAPCACHE));
        assert_eq!(world.fault(other, 9, Access::Write), Fault::Pending(folio));
        assert!(world.maps.transfer_is_pending(folio));
        assert_eq!(world.finish_io(ok), 1);
        assert!(!world.maps.transfer_is_pending(folio));
        assert_eq!(world.flags(folio).contains(FolioFlags::DIRTY), !ok);
        // The swap cache still has the whole folio.
        assert_eq!(world.store(0, other, 9, 7), Ok(()));
        assert_eq!(world.faults.major, 0, "nothing is read");
        assert_eq!(world.folio_at(other, 9), folio);
        assert_eq!(world.maps.free_slots(), ROOM.slots);
        for (number, content) in [(0, 100), (1, 7), (2, 102), (3, 103)] {
            assert_eq!(world.load(1, one, number), Ok(content));
        }
        [one, other].into_iter().for_each(|mm| world.exit(mm));
        world.end_shmem(shmem);
        world.all_is_free_but(0);
    }
}

fn a_late_or_failed_read_is_tried_again<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let ([one, other], shmem) = sharers(&mut world, 0);
    world.fill(one, 0..2, 100);
    reclaim_all(&mut world);
    world.env.memory().storage.answers(Answer::Late);
    let Fault::Pending(folio) = world.fault(one, 1, Access::Read) else {
        panic!("the read is late");
    };
    assert_eq!(world.fault(other, 9, Access::Write), Fault::Pending(folio), "the same folio");
    assert_eq!(world.finish_io(false), 1);
    world.env.memory().storage.answers(Answer::Failure);
    assert_eq!(world.fault(one, 1, Access::Read), Fault::IoError(IoError::Device));
    world.env.memory().storage.answers(Answer::AtOnce);
    world.holds(other, 8..10, 92);
    [one, other].into_iter().for_each(|mm| world.exit(mm));
    world.end_shmem(shmem);
    world.all_is_free_but(0);
}

fn without_slots_it_stays_in_memory<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&Limits { slots: 2, ..ROOM });
    let mut world = arena.world::<F>();
    let ([one, other], shmem) = sharers(&mut world, 2);
    world.fill(one, 0..4, 100);
    let folio = world.folio_at(one, 0);
    assert_eq!(world.advise(one, 0..4, Advice::PageOut), Ok(()));
    assert!(world.entry(one, 0).is_none(), "unmapped, as in kernels");
    assert!(world.maps.folio(folio).expect("it lives").lru().contains(LruFlags::ACTIVE));
    assert!(world.flags(folio).contains(FolioFlags::DIRTY | FolioFlags::INDEXED));
    assert_eq!(world.maps.free_slots(), 2);
    world.holds(other, 8..12, 92);
    [one, other].into_iter().for_each(|mm| world.exit(mm));
    world.end_shmem(shmem);
    world.all_pages_free();
}

fn a_private_mapping_copies_what_it_stores_to<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let ([one, other], shmem) = sharers(&mut world, 1);
    world.vma(one, 16..24, RW, shmem, 0);
    world.fill(one, 0..8, 100);
    reclaim_all(&mut world);
    // The pages come from the index, from swap, and over a page loaded before.
    world.load(0, one, 18).expect("it is mapped");
    for number in [17, 18] {
        assert_eq!(world.store(0, one, number, 5), Ok(()));
    }
    let child = world.fork(one);
    assert_eq!(world.store(0, child, 17, 6), Ok(()));
    world.holds(other, 8..16, 92);
    assert_eq!([world.load(1, one, 17), world.load(1, child, 17)], [Ok(5), Ok(6)]);
    assert_eq!(counted(&world, Counter::NrAnonPages), 3);
    reclaim_all(&mut world);
    assert_eq!([world.load(1, one, 18), world.load(1, child, 17)], [Ok(5), Ok(6)]);
    world.holds(other, 8..16, 92);
    [one, other, child].into_iter().for_each(|mm| world.exit(mm));
    world.end_shmem(shmem);
    world.all_is_free_but(0);
}

fn advice_and_locks_are_as_for_files<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let ([one, other], shmem) = sharers(&mut world, 1);
    world.fill(one, 0..8, 100);
    assert_eq!(world.advise(one, 0..8, Advice::Free), Err(SpaceError::BadRange));
    assert_eq!(world.advise(one, 0..8, Advice::DontNeed), Ok(()));
    assert!(world.entry(one, 0).is_none());
    world.holds(one, 0..8, 100);
    let folio = world.folio_at(one, 0);
    world.engine().activate(folio).expect("it lives");
    assert_eq!(world.advise(one, 0..8, Advice::Cold), Ok(()));
    assert!(!world.maps.folio(folio).expect("it lives").lru().contains(LruFlags::ACTIVE));
    world.engine().mlock(one, &pages::<F>(0..8)).expect("it is mapped");
    reclaim_all(&mut world);
    assert_eq!(world.maps.lru_size(MemcgId::ROOT, LruList::Unevictable).expect("it is online"), 8);
    assert_eq!(world.maps.free_slots(), ROOM.slots);
    world.engine().munlock(one, &pages::<F>(0..8)).expect("it is mapped");
    assert_eq!(world.advise(one, 0..8, Advice::PageOut), Ok(()));
    world.all_pages_free();
    world.holds(other, 8..16, 92);
    // Flushers do not write shared memory.
    let folio = world.folio_at(other, 8);
    assert!(world.flags(folio).contains(FolioFlags::DIRTY));
    assert_eq!(world.engine().write_back(folio).expect("it lives"), None);
    [one, other].into_iter().for_each(|mm| world.exit(mm));
    world.end_shmem(shmem);
    world.all_is_free_but(0);
}

fn it_is_charged_where_it_was_before<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let ([one, other], shmem) = sharers(&mut world, 0);
    let memcg = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    world.engine().set_memcg(one, memcg).expect("it lives");
    world.fill(one, 0..4, 100);
    let usage = |world: &World<'_, F>| world.maps.memcg(memcg).expect("it is online").usage();
    assert_eq!(usage(&world), 4);
    let stat = world.engine().memory_stat(memcg).expect("it is online");
    let bytes = Some(4 << F::PAGE_SHIFT);
    assert_eq!(["anon", "file", "shmem"].map(|name| stat.get(name)), [Some(0), bytes, bytes]);
    reclaim_all(&mut world);
    assert_eq!(usage(&world), 0);
    world.holds(other, 8..10, 92);
    assert_eq!(usage(&world), 2, "whoever reads it in");
    world.engine().set_memcg(one, MemcgId::ROOT).expect("it lives");
    assert_eq!(world.engine().remove_memcg(memcg), Ok(()));
    assert_eq!(counted(&world, Counter::NrShmem), 2);
    world.holds(other, 8..12, 92);
    [one, other].into_iter().for_each(|mm| world.exit(mm));
    world.end_shmem(shmem);
    world.all_is_free_but(0);
}

fn what_someone_else_made_dirty_is_written<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let ([one, _], shmem) = sharers(&mut world, 0);
    world.load(0, one, 0).expect("it is mapped");
    let folio = world.folio_at(one, 0);
    world.maps.note_dirty(world.maps.folio(folio).expect("it lives"));
    reclaim_all(&mut world);
    assert!(slot_of(&world, shmem, 0).is_some(), "it is written, though no entry is dirty");
}

on_every_format!(
    all_who_map_it_have_the_same_pages,
    an_entry_for_a_load_permits_stores_where_they_are_shared,
    what_is_swapped_out_comes_back_dirty,
    what_no_one_stored_to_is_dropped,
    what_is_being_written_is_waited_for,
    a_late_or_failed_read_is_tried_again,
    without_slots_it_stays_in_memory,
    a_private_mapping_copies_what_it_stores_to,
    advice_and_locks_are_as_for_files,
    it_is_charged_where_it_was_before,
    what_someone_else_made_dirty_is_written,
);

#[test]
fn shared_memory_with_pages_does_not_end() {
    let mut arena = Arena::new::<pageout_paging::pte::SmallX86>(&ROOM);
    let mut world = arena.world::<pageout_paging::pte::SmallX86>();
    let (both, shmem) = sharers(&mut world, 0);
    world.fill(both[0], 0..1, 1);
    both.into_iter().for_each(|mm| world.exit(mm));
    let ended = world.engine().remove_mapping(shmem);
    assert_eq!(ended, Err(pageout_reclaim::RemoveError::HasPages));
}

//! Faults: the pages they map and read, and the accesses they refuse.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::{Arena, World};
use pageout_paging::Format;
use pageout_paging::pte::Entry;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Access, Advice, Counter, Fault, FaultKind, FolioFlags, Frames, IoError, Limits, MemcgId, MmId,
    OutOfMemory, OutOfTable, Place, SwapSlot, TableKind, VmFlags,
};
use pageout_sim::{Answer, pristine};
use std::sync::atomic::Ordering::Relaxed;

fn anonymous_memory_is_zero_and_keeps_what_is_stored<F: Format>(_: YoungAlgorithm) {
    for order in 0..4 {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 3..29, order);
        for number in [3, 17, 28] {
            assert_eq!(world.load(1, mm, number), Ok(0));
        }
        world.fill(mm, 3..29, 100);
        world.holds(mm, 3..29, 100);
        let folio = world.folio_at(mm, 16);
        assert_eq!(
            world.maps.folio(folio).expect("it lives").nr_pages(),
            (1 << order).min(8),
            "of its order"
        );
        world.exit(mm);
        world.all_is_free_but(0);
    }
}

fn a_page_of_a_file_is_read_once<F: Format>(_: YoungAlgorithm) {
    for order in 0..4 {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let file = world.file_of(order);
        for _ in 0..2 {
            let mm = world.process();
            world.vma(mm, 1..15, VmFlags::READ, file, 2);
            for number in 1..15 {
                let content = pristine(file, number + 1);
                assert_eq!(world.load(0, mm, number), Ok(content));
            }
            world.exit(mm);
        }
        let read: Vec<_> = world.env.memory().storage.transfers();
        let pages: usize = read.iter().map(|transfer| transfer.io.nr).sum();
        assert_eq!(pages, 14, "each page once");
        assert_eq!(world.faults.major, read.len() as u64);
        world.all_is_free_but(14);
    }
}

/// A fault may read a slot that has become another page's since the fault saw the entry. Then
/// nothing maps the folio that was read, and the swap cache keeps it for the page that now has the
/// slot.
fn what_was_read_for_another_page_is_found_by_its_own_reverse_map<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    let mapping = world.anon_at(mm, 0..4, 0);
    world.fill(mm, 0..4, 10);
    assert_eq!(world.advise(mm, 0..4, Advice::PageOut), Ok(()));
    let Entry::Swap(entry) = F::entry(world.entry(mm, 2)) else {
        panic!("the page is swapped out");
    };
    let slot = SwapSlot::named_by(entry).expect("to a slot");
    let another = world.anon();
    let read = world.folio(another, 0, 99);
    let (folio, stored) = (
        world.maps.folio(read).expect("it lives"),
        world.env.memory().storage.content(Place::Swap(slot)),
    );
    world.env.memory().set_content(folio.pfn(), stored);
    assert_eq!(world.engine().charge(read, MemcgId::ROOT), Ok(()));
    let guard = folio.try_lock().expect("no one else knows it");
    world.engine().swap_cache_add_folio(&guard, read, slot).expect("no other folio is there");
    guard.set(FolioFlags::UPTODATE);
    drop(guard);
    world.engine().lru_add(read).expect("it lives");
    world.engine().release(read, 1).expect("the caller has it");
    world.holds(mm, 0..4, 10);
    assert_eq!(world.folio_at(mm, 2), read);
    assert_eq!((world.maps.mapping_of(folio), folio.index()), (mapping, 2));
    assert_eq!(world.advise(mm, 0..4, Advice::PageOut), Ok(()));
    world.all_pages_free();
    world.exit(mm);
    world.all_is_free_but(0);
}

fn a_late_read_is_waited_for_and_a_failed_one_tried_again<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(2));
    world.vma(mm, 0..8, VmFlags::READ, file, 0);
    world.env.memory().storage.answers(Answer::Late);
    let Fault::Pending(folio) = world.fault(mm, 1, Access::Read) else {
        panic!("the read is late");
    };
    assert_eq!(world.fault(mm, 3, Access::Read), Fault::Pending(folio), "the same folio");
    assert!(world.maps.transfer_is_pending(folio));
    assert_eq!(world.finish_io(false), 1);
    assert!(!world.maps.transfer_is_pending(folio));
    world.env.memory().storage.answers(Answer::Failure);
    assert_eq!(world.fault(mm, 1, Access::Read), Fault::IoError(IoError::Device));
    assert!(world.flags(folio).contains(FolioFlags::ERROR));
    world.env.memory().storage.answers(Answer::AtOnce);
    assert_eq!(world.fault(mm, 1, Access::Read), Fault::Done(FaultKind::Major));
    assert_eq!(world.load(0, mm, 1), Ok(pristine(file, 1)));
    let vmstat = world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat();
    assert_eq!(vmstat.get(Counter::Pgmajfault), 3, "each fault that read, not those that waited");
    let flags = world.flags(folio);
    assert!(flags.contains(FolioFlags::UPTODATE) && !flags.contains(FolioFlags::ERROR));
    world.exit(mm);
    world.all_is_free_but(4);
}

fn what_no_vma_permits_is_refused<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    world.vma(mm, 1..2, VmFlags::READ, file, 0);
    world.vma(mm, 2..3, VmFlags::READ | VmFlags::EXEC, file, 0);
    world.vma(mm, 3..4, VmFlags::empty(), file, 0);
    assert_eq!(world.load(0, mm, 0), Err(Fault::BadAddress));
    assert_eq!(world.load(0, mm, 3), Err(Fault::BadAddress));
    assert_eq!(world.load(0, mm, 4), Err(Fault::BadAddress));
    for number in 1..3 {
        assert_eq!(world.store(0, mm, number, 1), Err(Fault::BadAddress));
    }
    assert_eq!(world.reach(0, mm, 1, Access::Exec), Err(Fault::BadAddress));
    assert!(world.reach(0, mm, 2, Access::Exec).is_ok());
    assert_eq!(world.load(0, mm, 2), Ok(pristine(file, 0)));
}

/// Pages in memory around the fault are mapped with it, in blocks where possible. Only on arm64,
/// those of other folios are old.
fn pages_around_a_fault_are_mapped_if_they_are_in_memory<F: Format>(_: YoungAlgorithm) {
    let n = 8;
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let file = world.file_of(2);
    let (reader, mm) = (world.process(), world.process());
    for mm in [reader, mm] {
        world.vma(mm, n..2 * n, VmFlags::READ | VmFlags::EXEC, file, 0);
    }
    for number in n..n + 6 {
        world.load(0, reader, number).expect("read");
    }
    world.maps.mm(mm).expect("it lives").set_fault_around(8 << F::PAGE_SHIFT);
    world.env.memory().storage.transfers();
    world.load(0, mm, n + 1).expect("in memory");
    let mapped: Vec<_> = (n..2 * n).filter(|k| F::is_valid(world.entry(mm, *k))).collect();
    assert_eq!(mapped, (n..2 * n).collect::<Vec<_>>(), "both folios are in memory");
    let around: Vec<_> = if F::PREFAULTED_OLD { Vec::new() } else { (n + 4..2 * n).collect() };
    assert_eq!(world.young(mm, n + 4..2 * n), around, "mapped around: not used yet");
    assert!(world.young(mm, n..n + 4).contains(&(n + 1)), "used");
    if F::CONT_SHIFT > 0 && F::CONT_PTES <= 4 {
        let single = |k: &u64| !F::is_cont(world.entry(mm, *k));
        assert_eq!((n..2 * n).find(single), None, "each block is whole");
    }
    assert_eq!(world.env.memory().storage.transfers(), [], "nothing is read for it");
    for number in n..2 * n {
        assert_eq!(world.load(1, mm, number), Ok(pristine(file, number - n)));
    }
    world.exit(mm);
    world.exit(reader);
    world.all_is_free_but(8);
}

/// A file ends at its size, whatever folio holds its last page. Accesses past it are refused, and a
/// fault before it maps no page past it, until the file grows.
fn nothing_past_a_files_size_is_mapped<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    for file in [world.file_of(2), world.shmem_of(2)] {
        let mm = world.process();
        world.vma(mm, 8..16, RW | VmFlags::SHARED, file, 0);
        world.maps.mm(mm).expect("it lives").set_fault_around(8 << F::PAGE_SHIFT);
        world.maps.mapping(file).expect("it lives").set_size(6);
        world.load(0, mm, 8).expect("the first folio");
        world.load(0, mm, 12).expect("the second, which goes on past the end");
        let mapped: Vec<_> = (8..16).filter(|k| F::is_valid(world.entry(mm, *k))).collect();
        assert_eq!(mapped, (8..14).collect::<Vec<_>>(), "as far as the file goes");
        for access in [Access::Read, Access::Write] {
            assert_eq!(world.fault(mm, 14, access), Fault::PastEnd);
        }
        world.maps.mapping(file).expect("it lives").set_size(7);
        assert_eq!(world.store(0, mm, 14, 3), Ok(()));
        assert_eq!(world.fault(mm, 15, Access::Read), Fault::PastEnd);
        world.exit(mm);
        assert_eq!(world.engine().truncate(file, 0), Ok(()));
        world.all_is_free_but(0);
    }
}

/// A fault maps the whole folio, unless a page of it lies outside of the VMA or its table, or needs
/// a fault of its own.
fn a_fault_maps_its_whole_folio_where_that_fits<F: Format>(_: YoungAlgorithm) {
    let wp = RW | VmFlags::SHARED | VmFlags::UFFD_WP;
    // The VMA, its first page in the file, its flags, and its pages that are mapped.
    let cases = [
        (8..12, 0, RW | VmFlags::SHARED, 8..12),
        (8..11, 0, RW | VmFlags::SHARED, 9..10),
        (8..12, 1, RW | VmFlags::SHARED, 9..10),
        (7..11, 0, RW | VmFlags::SHARED, if F::PTES == 8 { 9..10 } else { 7..11 }),
        (8..12, 0, wp, 9..10),
    ];
    for access in [Access::Read, Access::Write] {
        for (at, pgoff, flags, expected) in cases.clone() {
            let mut arena = Arena::new::<F>(&ROOM);
            let mut world = arena.world::<F>();
            let (owner, mm) = (world.process(), world.process());
            let file = world.file_of(2);
            // With this VMA the file has folios of four pages, wherever the other VMA ends.
            world.vma(owner, 0..8, VmFlags::READ | VmFlags::SHARED, file, 0);
            for number in [0, 4] {
                world.load(0, owner, number).expect("read");
            }
            world.vma(mm, at.clone(), flags, file, pgoff);
            assert!(matches!(world.fault(mm, 9, access), Fault::Done(_)));
            let mapped = at.filter(|k| F::is_valid(world.entry(mm, *k)));
            assert_eq!(mapped.collect::<Vec<_>>(), expected.clone().collect::<Vec<_>>());
            let store = access == Access::Write;
            for number in expected {
                let pte = world.entry(mm, number);
                assert_eq!((F::is_dirty(pte), F::is_write(pte)), (store, store), "page {number}");
            }
        }
    }
}

fn stores_to_a_shared_file_reach_it<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let file = world.file_of(2);
    let (writer, reader) = (world.process(), world.process());
    world.vma(writer, 0..4, RW | VmFlags::SHARED, file, 0);
    world.vma(reader, 4..8, VmFlags::READ | VmFlags::SHARED, file, 0);
    assert_eq!(world.load(1, reader, 5), Ok(pristine(file, 1)));
    assert_eq!(world.load(1, writer, 1), Ok(pristine(file, 1)));
    assert!(!F::is_write(world.entry(writer, 1)), "the first store is to be seen");
    assert_eq!(world.store(0, writer, 1, 77), Ok(()));
    assert_eq!(world.store(0, writer, 2, 78), Ok(()));
    assert_eq!(world.load(1, reader, 5), Ok(77));
    assert_eq!(world.load(1, reader, 6), Ok(78));
    let folio = world.folio_at(writer, 1);
    assert!(world.maps.folio(folio).expect("it lives").try_lock().expect("free").is_dirty());
    world.exit(writer);
    world.exit(reader);
    assert!(world.maps.folio(folio).expect("it lives").try_lock().expect("free").is_dirty());
    world.all_is_free_but(4);
}

fn where_hardware_sets_no_accessed_bit_faults_do<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    world.env.mmu.software_af.store(true, Relaxed);
    let mm = world.process();
    world.anon_at(mm, 0..8, 2);
    world.fill(mm, 0..8, 5);
    let range = crate::world::pages::<F>(0..8);
    let cold = Advice::Cold;
    world.engine().madvise(mm, &range, cold).expect("good advice");
    assert_eq!(world.young(mm, 0..8), []);
    world.holds(mm, 0..8, 5);
    assert_eq!(world.young(mm, 0..8), (0..8).collect::<Vec<_>>());
    world.fill(mm, 0..8, 6);
    world.holds(mm, 0..8, 6);
    world.exit(mm);
    world.all_is_free_but(0);
}

fn more_than_memory_holds_goes_to_swap_and_comes_back<F: Format>(_: YoungAlgorithm) {
    let limits = Limits { frames: 24, ..ROOM };
    for order in 0..3 {
        let mut arena = Arena::new::<F>(&limits);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..40, order);
        world.fill(mm, 0..40, 10);
        world.holds(mm, 0..40, 10);
        world.fill(mm, 0..40, 90);
        world.holds(mm, 0..40, 90);
        world.exit(mm);
        assert_eq!(world.env.free_pages(), limits.frames);
        assert_eq!(world.maps.free_slots(), limits.slots);
        let transfers = world.env.memory().storage.transfers();
        let pages = |writes| {
            let of = transfers.iter().filter(|transfer| transfer.writes == writes);
            of.map(|transfer| transfer.io.nr as u64).sum::<u64>()
        };
        let vmstat = world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat();
        assert_eq!(vmstat.get(Counter::Pswpout), pages(true));
        assert_eq!(vmstat.get(Counter::Pswpin), pages(false));
        assert!(pages(false) >= 40, "not all of it fits");
    }
}

fn a_file_larger_than_memory_is_read_again<F: Format>(_: YoungAlgorithm) {
    let limits = Limits { frames: 24, ..ROOM };
    let mut arena = Arena::new::<F>(&limits);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(2));
    world.vma(mm, 0..40, VmFlags::READ, file, 0);
    for number in (0..40).chain(0..40) {
        assert_eq!(world.load(0, mm, number), Ok(pristine(file, number)));
    }
    assert!(world.faults.major > 10, "not all of it fits");
    world.exit(mm);
}

fn where_nothing_can_be_reclaimed_memory_is_out<F: Format>(_: YoungAlgorithm) {
    let limits = Limits { frames: 8, slots: 0, ..ROOM };
    let mut arena = Arena::new::<F>(&limits);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..9, 1);
    world.fill(mm, 0..8, 10);
    assert_eq!(world.store(0, mm, 8, 1), Err(Fault::OutOfMemory(OutOfMemory::Frames)));
    world.holds(mm, 0..8, 10);
    world.exit(mm);
    assert_eq!(world.env.free_pages(), limits.frames);
}

/// Returns the first fault, on nine pages of anonymous memory, that could not be resolved.
fn first_failure<F: Format>(
    limits: &Limits,
    prepare: impl FnOnce(&mut World<'_, F>, MmId),
) -> Option<Fault> {
    let mut arena = Arena::new::<F>(&Limits { slots: 0, ..*limits });
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..9, 0);
    prepare(&mut world, mm);
    (0..9).find_map(|number| world.store(0, mm, number, 1).err())
}

fn a_fault_says_what_ran_out<F: Format>(_: YoungAlgorithm) {
    let out_of = |what| Some(Fault::OutOfMemory(what));
    let folios = first_failure::<F>(&Limits { folios: 4, ..ROOM }, |_, _| {});
    assert_eq!(folios, out_of(OutOfTable(TableKind::Folios).into()));
    let mut group = MemcgId::ROOT;
    let limit = first_failure::<F>(&ROOM, |world, mm| {
        group = world.engine().add_memcg(MemcgId::ROOT).expect("room for a cgroup");
        world.maps.memcg(group).expect("it is online").set_max(4);
        world.engine().set_memcg(mm, group).expect("it lives");
    });
    assert_eq!(limit, out_of(OutOfMemory::Limit(group)));
    let tables = first_failure::<F>(&ROOM, |world, _| world.tables.set_left(Some(0)));
    assert_eq!(tables, out_of(OutOfMemory::PageTables));
    assert_eq!(first_failure::<F>(&ROOM, |_, _| {}), None);
}

on_every_format!(
    a_fault_says_what_ran_out,
    more_than_memory_holds_goes_to_swap_and_comes_back,
    a_file_larger_than_memory_is_read_again,
    where_nothing_can_be_reclaimed_memory_is_out,
    anonymous_memory_is_zero_and_keeps_what_is_stored,
    a_page_of_a_file_is_read_once,
    what_was_read_for_another_page_is_found_by_its_own_reverse_map,
    a_late_read_is_waited_for_and_a_failed_one_tried_again,
    what_no_vma_permits_is_refused,
    pages_around_a_fault_are_mapped_if_they_are_in_memory,
    nothing_past_a_files_size_is_mapped,
    a_fault_maps_its_whole_folio_where_that_fits,
    stores_to_a_shared_file_reach_it,
    where_hardware_sets_no_accessed_bit_faults_do,
);

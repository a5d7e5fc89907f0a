//! PMD leaves: any operation on a part of one, or on all of it, leaves the content in place and the
//! counts right.

use crate::cpu::RW;
use crate::formats::on_every_format;
use crate::world::{Arena, World, pages};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level};
use pageout_reclaim::{
    Access, Advice, Fault, FolioFlags, FolioId, Frames, Limits, MapAs, MapError, MappingId, MmId,
    OutOfMemory, SpaceError, VmFlags,
};
use pageout_sim::pristine;

fn limits<F: Format>() -> Limits {
    let n = F::PTES;
    Limits {
        frames: 8 * n,
        folios: 4 * n,
        vmas: 24,
        mms: 4,
        mappings: 8,
        memcgs: 2,
        nodes: 1,
        shadows: 16,
        slots: 4 * n,
        filters: 4,
    }
}

/// Maps a folio of a mapping from page `index` on as a leaf at page `at`.
fn map_leaf<F: Format>(
    world: &mut World<'_, F>,
    mm: MmId,
    (mapping, index): (MappingId, u64),
    at: u64,
    flags: VmFlags,
) -> FolioId {
    let n = F::PTES as u64;
    let vma = world.vma(mm, at..at + n, flags, mapping, index);
    let folio = world.folio(mapping, F::TABLE_SHIFT as u8, index);
    world.flag(folio, FolioFlags::UPTODATE);
    world.map_pmd(vma, folio);
    if !world.flags(folio).contains(FolioFlags::ANON) {
        for k in 0..n {
            let pfn = world.maps.folio(folio).expect("it lives").pfn().add(k);
            world.env.memory().set_content(pfn, pristine(mapping, index + k));
        }
        world.engine().filemap_add_folio(folio).expect("it is not there");
    }
    world.engine().lru_add(folio).expect("it lives");
    world.engine().release(folio, 1).expect("the caller has it");
    assert_eq!(level(world, mm, at), Some(Level::Pmd));
    folio
}

/// Anonymous memory at a leaf's range of pages, filled.
fn anon_leaf<F: Format>(world: &mut World<'_, F>, mm: MmId) -> FolioId {
    let n = F::PTES as u64;
    let anon = world.anon();
    let folio = map_leaf(world, mm, (anon, n), n, RW);
    world.fill(mm, n..2 * n, 10);
    assert_eq!(world.maps.tables_in_reserve(), 1);
    folio
}

/// Returns the level of the entry that maps a page.
fn level<F: Format>(world: &World<'_, F>, mm: MmId, number: u64) -> Option<Level> {
    let (table, i, level) = world.place(mm, number)?;
    let entry = pageout_paging::Table::load(world.env.hardware.table::<F>(table), i);
    F::is_present(entry).then_some(level)
}

/// Ends the process, and checks that nothing is in use except `left` pages of files.
fn ends<F: Format>(world: &mut World<'_, F>, mm: MmId, left: usize) {
    world.exit(mm);
    assert_eq!(limits::<F>().frames - world.env.free_pages(), left, "pages in use");
    assert_eq!(world.tables.in_use(), 0, "page tables in use");
    assert_eq!(world.maps.tables_in_reserve(), 0, "page tables in reserve");
    assert_eq!(world.maps.free_slots(), limits::<F>().slots, "slots free");
    assert!(world.cpu.is_idle());
}

fn a_part_unmapped_leaves_the_rest_mapped_by_entries<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for cut in [n..n + 1, n + 1..n + 3, 2 * n - 1..2 * n, n..2 * n] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let mm = world.process();
        let folio = anon_leaf(&mut world, mm);
        assert_eq!(world.unmap_range(mm, cut.clone()), Ok(()));
        let left = n - (cut.end - cut.start);
        assert_eq!(world.maps.tables_in_reserve(), 0);
        if left > 0 {
            assert_eq!(u64::from(world.mapcount(folio)), left);
        }
        for number in n..2 * n {
            let expected = match cut.contains(&number) {
                true => Err(Fault::BadAddress),
                false => Ok(10 + number),
            };
            assert_eq!(world.load(0, mm, number), expected);
            assert_eq!(world.load(1, mm, number), expected);
        }
        ends(&mut world, mm, 0);
    }
}

fn what_is_not_needed_of_a_leaf_is_lost_and_the_rest_stays<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let mm = world.process();
    anon_leaf(&mut world, mm);
    assert_eq!(world.advise(mm, n + 1..n + 3, Advice::DontNeed), Ok(()));
    assert_eq!(level(&world, mm, n), Some(Level::Pte));
    assert_eq!(world.load(1, mm, n + 1), Ok(0));
    world.holds(mm, n..n + 1, 10);
    world.holds(mm, n + 3..2 * n, 10);
    ends(&mut world, mm, 0);
}

fn protection_of_a_part_splits_and_of_all_does_not<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for (part, at) in [(n..2 * n, Level::Pmd), (n + 1..n + 2, Level::Pte)] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let mm = world.process();
        anon_leaf(&mut world, mm);
        assert_eq!(world.protect(mm, part.clone(), VmFlags::READ), Ok(()));
        assert_eq!(level(&world, mm, n), Some(at));
        for number in part.clone() {
            assert_eq!(world.fault(mm, number, Access::Write), Fault::BadAddress);
            assert_eq!(world.store(1, mm, number, 1), Err(Fault::BadAddress));
        }
        world.holds(mm, n..2 * n, 10);
        assert_eq!(world.protect(mm, part.clone(), VmFlags::empty()), Ok(()));
        assert_eq!(world.load(1, mm, part.start), Err(Fault::BadAddress));
        assert_eq!(world.protect(mm, part.clone(), RW), Ok(()));
        world.holds(mm, n..2 * n, 10);
        assert_eq!(level(&world, mm, n), Some(at), "again");
        ends(&mut world, mm, 0);
    }
}

fn write_protection_by_userfaultfd_reaches_leaves<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for part in [n..2 * n, n + 1..n + 2] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        anon_leaf(&mut world, mm);
        map_leaf(&mut world, mm, (file, 0), 3 * n, RW | VmFlags::SHARED);
        world.fill(mm, 3 * n..4 * n, 20);
        let of_file = part.start + 2 * n..part.end + 2 * n;
        for part in [part, of_file] {
            let range = pages::<F>(part.clone());
            assert_eq!(world.engine().set_uffd_wp(mm, &range, true), Ok(()));
            for number in part {
                assert_eq!(world.store(1, mm, number, 1), Err(Fault::WriteProtected));
                assert!(world.load(1, mm, number).is_ok());
            }
            assert_eq!(world.engine().set_uffd_wp(mm, &range, false), Ok(()));
        }
        world.holds(mm, n..2 * n, 10);
        world.holds(mm, 3 * n..4 * n, 20);
        ends(&mut world, mm, n as usize);
    }
}

/// A marker replaces each entry of a file's page, so each page of a leaf needs an entry.
fn without_a_table_a_files_leaf_is_not_write_protected<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    map_leaf(&mut world, mm, (file, 0), n, RW | VmFlags::SHARED);
    world.tables.set_left(Some(0));
    let range = pages::<F>(n..2 * n);
    let refused = world.engine().set_uffd_wp(mm, &range, true);
    assert_eq!(refused, Err(SpaceError::OutOfMemory(OutOfMemory::PageTables)));
    world.tables.set_left(None);
    assert_eq!(level(&world, mm, n), Some(Level::Pmd));
    world.fill(mm, n..2 * n, 10);
    world.holds(mm, n..2 * n, 10);
    ends(&mut world, mm, n as usize);
}

fn a_locked_leaf_is_locked_as_one_folio<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let mm = world.process();
    let folio = anon_leaf(&mut world, mm);
    assert_eq!(world.engine().mlock(mm, &pages::<F>(n..2 * n)), Ok(()));
    assert!(world.flags(folio).contains(FolioFlags::MLOCKED));
    assert_eq!(level(&world, mm, n), Some(Level::Pmd));
    assert_eq!(world.engine().munlock(mm, &pages::<F>(n..2 * n)), Ok(()));
    assert!(!world.flags(folio).contains(FolioFlags::MLOCKED));
    assert_eq!(world.engine().mlock(mm, &pages::<F>(n..n + 1)), Ok(()));
    assert!(!world.flags(folio).contains(FolioFlags::MLOCKED), "a part of it");
    assert_eq!(level(&world, mm, n), Some(Level::Pte), "in two VMAs");
    world.holds(mm, n..2 * n, 10);
    assert_eq!(world.engine().munlock(mm, &pages::<F>(n..2 * n)), Ok(()));
    ends(&mut world, mm, 0);
}

fn a_leaf_moves_as_it_is_or_by_entries<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for (to, at) in [(4 * n, Level::Pmd), (4 * n + 1, Level::Pte), (6 * n - 3, Level::Pte)] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let mm = world.process();
        anon_leaf(&mut world, mm);
        let reserve = u32::from(at == Level::Pmd);
        assert_eq!(world.remap(mm, n..2 * n, to..to + n), Ok(()));
        assert_eq!(world.maps.tables_in_reserve(), reserve);
        assert_eq!(level(&world, mm, to), Some(at));
        for k in 0..n {
            assert_eq!(world.load(1, mm, to + k), Ok(10 + n + k));
            assert_eq!(world.load(0, mm, n + k), Err(Fault::BadAddress));
        }
        world.fill(mm, to..to + n, 20);
        world.holds(mm, to..to + n, 20);
        // A part of the moved range moves elsewhere.
        assert_eq!(world.remap(mm, to + 1..to + 3, 8 * n..8 * n + 2), Ok(()));
        assert_eq!(world.load(1, mm, 8 * n + 1), Ok(20 + to + 2));
        assert_eq!(world.maps.tables_in_reserve(), 0);
        ends(&mut world, mm, 0);
    }
}

fn a_leaf_that_shrinks_is_split<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let mm = world.process();
    anon_leaf(&mut world, mm);
    assert_eq!(world.remap(mm, n..2 * n, n..n + 2), Ok(()));
    world.holds(mm, n..n + 2, 10);
    assert_eq!(world.load(0, mm, n + 2), Err(Fault::BadAddress));
    ends(&mut world, mm, 0);
}

fn a_child_shares_a_leaf<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let parent = world.process();
    let folio = anon_leaf(&mut world, parent);
    let child = world.fork(parent);
    assert_eq!((world.mapcount(folio), world.maps.tables_in_reserve()), (2, 2));
    assert_eq!(level(&world, child, n), Some(Level::Pmd));
    assert!(!F::is_write(world.entry(parent, n)) && !F::is_write(world.entry(child, n)));
    world.holds(child, n..2 * n, 10);
    assert_eq!(world.unmap_range(child, n..n + 1), Ok(()));
    assert_eq!(u64::from(world.mapcount(folio)), 1 + n - 1);
    world.holds(parent, n..2 * n, 10);
    world.exit(child);
    assert_eq!((world.mapcount(folio), world.maps.tables_in_reserve()), (1, 1));
    world.holds(parent, n..2 * n, 10);
    ends(&mut world, parent, 0);
}

fn without_a_table_in_reserve_there_is_no_child<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for left in 0..4 {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let parent = world.process();
        anon_leaf(&mut world, parent);
        world.tables.set_left(Some(left + 1));
        let child = world.try_fork(parent);
        world.tables.set_left(None);
        // Two tables lead to the leaf, and one is in reserve.
        assert_eq!(child.is_ok(), left >= 3);
        match child {
            Ok(child) => world.exit(child),
            Err(error) => assert_eq!(error, SpaceError::OutOfMemory(OutOfMemory::PageTables)),
        }
        assert_eq!(world.maps.tables_in_reserve(), 1);
        world.holds(parent, n..2 * n, 10);
        ends(&mut world, parent, 0);
    }
}

fn an_anonymous_leaf_is_swapped_out_by_entries<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for partly in [false, true] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let mm = world.process();
        anon_leaf(&mut world, mm);
        match partly {
            false => assert_eq!(world.advise(mm, n..2 * n, Advice::PageOut), Ok(())),
            true => _ = world.engine().try_to_free_pages(),
        }
        while world.env.free_pages() < limits::<F>().frames {
            assert!(world.engine().try_to_free_pages() > 0);
        }
        assert_eq!((level(&world, mm, n), world.maps.tables_in_reserve()), (None, 0));
        assert_eq!(limits::<F>().slots - world.maps.free_slots(), n as usize);
        world.holds(mm, n..2 * n, 10);
        ends(&mut world, mm, 0);
    }
}

fn a_leaf_given_up_lazily_is_dropped_unless_written_to<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for written in [false, true] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let mm = world.process();
        anon_leaf(&mut world, mm);
        assert_eq!(world.advise(mm, n..2 * n, Advice::Free), Ok(()));
        assert_eq!(level(&world, mm, n), Some(Level::Pmd));
        if written {
            world.fill(mm, n..n + 1, 10);
        }
        for _ in 0..8 {
            world.engine().try_to_free_pages();
        }
        for number in n..2 * n {
            let expected = if written { 10 + number } else { 0 };
            assert_eq!(world.load(1, mm, number), Ok(expected), "page {number}");
        }
        ends(&mut world, mm, 0);
    }
}

fn a_files_leaf_is_written_back_and_stored_to_again<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = map_leaf(&mut world, mm, (file, 0), n, RW | VmFlags::SHARED);
    for salt in [10, 20] {
        world.fill(mm, n..2 * n, salt);
        world.maps.folio(folio).expect("it lives");
        assert!(world.engine().write_back(folio).is_ok_and(|begun| begun.is_some()), "it is dirty");
        assert_eq!(world.engine().write_back(folio).expect("it lives"), None, "it is clean");
        for k in 0..n {
            let place = pageout_reclaim::Place::File(file, k);
            assert_eq!(world.env.memory().storage.content(place), salt + n + k);
        }
        if salt == 10 {
            assert!(F::is_present(world.entry(mm, n)) && !F::is_write(world.entry(mm, n)));
            // A part of it is changed: faults find the rest in the index.
            assert_eq!(world.protect(mm, n..n + 1, RW | VmFlags::EXEC), Ok(()));
            assert_eq!(level(&world, mm, n), None, "a file's leaf is taken out");
            assert_eq!(world.mapcount(folio), 0);
            world.holds(mm, n..2 * n, 10);
        }
    }
    ends(&mut world, mm, n as usize);
}

fn stores_through_a_files_leaf_are_known_when_it_goes<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = map_leaf(&mut world, mm, (file, 0), n, RW | VmFlags::SHARED);
    world.fill(mm, n..2 * n, 10);
    assert_eq!(world.unmap_range(mm, n..n + 1), Ok(()));
    assert_eq!(world.mapcount(folio), 0);
    assert!(world.engine().write_back(folio).is_ok_and(|begun| begun.is_some()), "it is dirty");
    assert_eq!(world.env.memory().storage.content(pageout_reclaim::Place::File(file, 0)), 10 + n);
    ends(&mut world, mm, n as usize);
}

fn a_leaf_taken_out_without_a_world_leaves_its_table_to_the_next<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let (mm, anon) = (world.process(), world.anon());
    let vma = world.vma(mm, n..2 * n, RW, anon, n);
    let folio = world.folio(anon, F::TABLE_SHIFT as u8, n);
    world.map_pmd(vma, folio);
    let made = world.tables.made();
    assert_eq!(world.try_map(vma, folio, MapAs::PmdLeaf), Err(MapError::Busy));
    world.zap(vma, folio);
    assert_eq!(world.maps.tables_in_reserve(), 2, "of the leaf, and of the one that was refused");
    world.map_pmd(vma, folio);
    assert_eq!(world.tables.made(), made + 1);
    world.zap(vma, folio);
    world.engine().release(folio, 1).expect("the caller has it");
    ends(&mut world, mm, 0);
}

on_every_format!(
    a_part_unmapped_leaves_the_rest_mapped_by_entries,
    what_is_not_needed_of_a_leaf_is_lost_and_the_rest_stays,
    protection_of_a_part_splits_and_of_all_does_not,
    write_protection_by_userfaultfd_reaches_leaves,
    without_a_table_a_files_leaf_is_not_write_protected,
    a_locked_leaf_is_locked_as_one_folio,
    a_leaf_moves_as_it_is_or_by_entries,
    a_leaf_that_shrinks_is_split,
    a_child_shares_a_leaf,
    without_a_table_in_reserve_there_is_no_child,
    an_anonymous_leaf_is_swapped_out_by_entries,
    a_leaf_given_up_lazily_is_dropped_unless_written_to,
    a_files_leaf_is_written_back_and_stored_to_again,
    stores_through_a_files_leaf_are_known_when_it_goes,
    a_leaf_taken_out_without_a_world_leaves_its_table_to_the_next,
);

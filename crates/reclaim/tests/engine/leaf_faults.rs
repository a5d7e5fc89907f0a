//! Faults that make PMD leaves, and stores to leaves that forbid them.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::{Arena, World, page, tuning};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level};
use pageout_reclaim::{
    Access, Counter, Fault, FaultKind, Frames, Limits, MemcgId, MmId, PmdLeaves, Thp, Tuning,
    VmFlags,
};
use pageout_sim::pristine;

const LEAVES: Tuning = Tuning { thp: Thp::Always, pmd_leaves: PmdLeaves::WhereTheyFit, ..tuning() };

fn limits<F: Format>() -> Limits {
    Limits { frames: 8 * F::PTES, folios: 4 * F::PTES, slots: F::PTES, ..ROOM }
}

fn fault<F: Format>(world: &mut World<'_, F>, mm: MmId, number: u64, access: Access) -> Fault {
    world.tuned(LEAVES).handle_fault(mm, page::<F>(number), access)
}

fn minor<F: Format>(world: &mut World<'_, F>, mm: MmId, number: u64, access: Access) {
    assert_eq!(fault(world, mm, number, access), Fault::Done(FaultKind::Minor));
}

fn level<F: Format>(world: &World<'_, F>, mm: MmId, number: u64) -> Option<Level> {
    let (_, _, level) = world.place(mm, number)?;
    F::is_present(world.entry(mm, number)).then_some(level)
}

fn count<F: Format>(world: &World<'_, F>, counter: Counter) -> u64 {
    world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat().get(counter)
}

/// Ends the process, and checks that nothing is in use except `left` pages of files.
fn ends<F: Format>(world: &mut World<'_, F>, mm: MmId, left: usize) {
    world.exit(mm);
    assert_eq!(limits::<F>().frames - world.env.free_pages(), left, "pages in use");
    assert_eq!((world.tables.in_use(), world.maps.tables_in_reserve()), (0, 0), "page tables");
    assert!(world.cpu.is_idle());
}

fn a_first_access_to_anonymous_memory_maps_a_leaf<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for access in [Access::Read, Access::Write] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, n - 1..3 * n - 1, 0);
        minor(&mut world, mm, n + 1, access);
        let leaf = world.entry(mm, n);
        assert_eq!(level(&world, mm, n), Some(Level::Pmd));
        assert!(F::is_young(leaf) && F::is_write(leaf) && F::is_dirty(leaf));
        let folio = world.maps.folio_of(F::pfn(leaf)).expect("a leaf maps a folio");
        assert_eq!(
            (world.mapcount(folio), world.maps.folio(folio).expect("it lives").refs()),
            (1, 1)
        );
        assert!((0..n).all(|k| world.maps.is_anon_exclusive(F::pfn(leaf).add(k))));
        assert_eq!((world.maps.tables_in_reserve(), count(&world, Counter::ThpFaultAlloc)), (1, 1));
        assert_eq!(world.load(0, mm, 2 * n - 1), Ok(0));
        // The range of a leaf would lie partly outside of the VMA.
        for outside in [n - 1, 2 * n] {
            minor(&mut world, mm, outside, access);
            assert_eq!(level(&world, mm, outside), Some(Level::Pte));
        }
        ends(&mut world, mm, 0);
    }
}

fn without_a_table_for_the_reserve_pages_are_mapped_alone<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..2 * n, 0);
    minor(&mut world, mm, 0, Access::Write);
    world.tables.set_left(Some(0));
    assert!(matches!(fault(&mut world, mm, n, Access::Write), Fault::OutOfMemory(_)));
    world.tables.set_left(None);
    // Reclaim for a table took the first folio.
    let frames = world.env.free_pages();
    assert_eq!(frames, limits::<F>().frames, "the folio is given back");
    minor(&mut world, mm, n, Access::Write);
    assert_eq!(level(&world, mm, n), Some(Level::Pmd));
    ends(&mut world, mm, 0);
}

fn where_a_table_stands_entries_are_made<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..n, 0);
    assert_eq!(world.store(0, mm, 0, 1), Ok(()), "with no leaves asked for");
    assert_eq!(world.unmap_range(mm, 0..n), Ok(()));
    world.anon_at(mm, 0..n, 0);
    minor(&mut world, mm, 1, Access::Write);
    assert_eq!(level(&world, mm, 1), Some(Level::Pte));
    let folio = world.folio_at(mm, 1);
    assert_eq!(u64::from(world.mapcount(folio)), n, "of one folio");
    ends(&mut world, mm, 0);
}

fn a_files_folio_is_mapped_by_a_leaf_where_it_fits<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let shared = RW | VmFlags::SHARED;
    let cases = [
        (n..2 * n, 0, Some(Level::Pmd)),
        (n..3 * n, n, Some(Level::Pmd)),
        (n..2 * n, 1, Some(Level::Pte)),
        (n + 1..2 * n, 1, Some(Level::Pte)),
    ];
    for (at, pgoff, expected) in cases {
        for access in [Access::Read, Access::Write] {
            let mut arena = Arena::new::<F>(&limits::<F>());
            let mut world = arena.world::<F>();
            let (mm, file) = (world.process(), world.file_of(F::TABLE_SHIFT as u8));
            let number = 2 * n - 1;
            world.vma(mm, at.clone(), shared, file, pgoff);
            assert_eq!(fault(&mut world, mm, number, access), Fault::Done(FaultKind::Major));
            assert_eq!(level(&world, mm, number), expected, "{at:?} at {pgoff}");
            let entry = world.entry(mm, number);
            let write = access == Access::Write;
            assert_eq!((F::is_write(entry), F::is_young(entry)), (write, true));
            let index = pgoff + number - at.start;
            assert_eq!(world.load(1, mm, number), Ok(pristine(file, index)));
            let id = world
                .engine()
                .filemap_get_folio(file, index)
                .expect("it lives")
                .expect("it is there");
            let pages = world.maps.folio(id).expect("it lives").nr_pages() as u32;
            let mappings = if expected == Some(Level::Pmd) { 1 } else { pages };
            assert_eq!(world.mapcount(id), mappings, "a leaf, or an entry for each page");
            assert_eq!(
                world.engine().write_back(id).is_ok_and(|begun| begun.is_some()),
                write,
                "dirty if stored to"
            );
            world.engine().release(id, 1).expect("the caller has it");
            world.exit(mm);
            assert_eq!(world.tables.in_use(), 0);
        }
    }
}

/// A leaf would map pages past the file's end, so entries map those before it.
fn no_leaf_goes_past_the_end_of_its_file<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    for (size, found) in [(n, Level::Pmd), (n - 1, Level::Pte)] {
        let (mm, file) = (world.process(), world.file_of(F::TABLE_SHIFT as u8));
        world.vma(mm, n..2 * n, RW | VmFlags::SHARED, file, 0);
        world.maps.mapping(file).expect("it lives").set_size(size);
        assert_eq!(fault(&mut world, mm, n, Access::Read), Fault::Done(FaultKind::Major));
        minor(&mut world, mm, n, Access::Read);
        assert_eq!(level(&world, mm, n), Some(found), "{size}");
        world.exit(mm);
        assert_eq!(world.engine().truncate(file, 0), Ok(()));
    }
}

fn a_store_makes_a_shared_files_leaf_dirty<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(F::TABLE_SHIFT as u8));
    world.vma(mm, n..2 * n, RW | VmFlags::SHARED, file, 0);
    assert_eq!(fault(&mut world, mm, n, Access::Read), Fault::Done(FaultKind::Major));
    minor(&mut world, mm, n + 1, Access::Write);
    let leaf = world.entry(mm, n);
    assert_eq!(level(&world, mm, n), Some(Level::Pmd));
    assert!(F::is_write(leaf) && F::is_dirty(leaf));
    world.fill(mm, n..2 * n, 10);
    let id = world.engine().filemap_get_folio(file, 0).expect("it lives").expect("it is there");
    assert!(world.engine().write_back(id).is_ok_and(|begun| begun.is_some()));
    world.engine().release(id, 1).expect("the caller has it");
    ends(&mut world, mm, n as usize);
}

fn a_private_store_takes_a_files_leaf_out<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>());
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(F::TABLE_SHIFT as u8));
    world.vma(mm, n..2 * n, RW, file, 0);
    assert_eq!(fault(&mut world, mm, n, Access::Read), Fault::Done(FaultKind::Major));
    assert_eq!(level(&world, mm, n), Some(Level::Pmd));
    assert_eq!(world.store(0, mm, n + 1, 7), Ok(()));
    assert_eq!(level(&world, mm, n + 1), Some(Level::Pte));
    assert_eq!(world.load(1, mm, n + 1), Ok(7));
    assert_eq!(world.load(1, mm, n), Ok(pristine(file, 0)));
    ends(&mut world, mm, n as usize);
}

/// The only process that maps a leaf stores to it as it is. While a child maps it too, stores go to
/// entries.
fn a_leaf_left_to_one_process_is_reused<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for shared in [false, true] {
        let mut arena = Arena::new::<F>(&limits::<F>());
        let mut world = arena.world::<F>();
        let parent = world.process();
        world.anon_at(parent, n..2 * n, 0);
        minor(&mut world, parent, n, Access::Write);
        world.fill(parent, n..2 * n, 10);
        let child = world.fork(parent);
        world.holds(child, n..2 * n, 10);
        if !shared {
            world.exit(child);
        }
        assert_eq!(world.store(0, parent, n + 1, 7), Ok(()));
        let expected = if shared { Level::Pte } else { Level::Pmd };
        assert_eq!(level(&world, parent, n + 1), Some(expected));
        assert_eq!(world.load(1, parent, n + 1), Ok(7));
        world.holds(parent, n + 2..2 * n, 10);
        if shared {
            world.holds(child, n..2 * n, 10);
            world.exit(child);
        }
        ends(&mut world, parent, 0);
    }
}

on_every_format!(
    a_first_access_to_anonymous_memory_maps_a_leaf,
    without_a_table_for_the_reserve_pages_are_mapped_alone,
    where_a_table_stands_entries_are_made,
    a_files_folio_is_mapped_by_a_leaf_where_it_fits,
    no_leaf_goes_past_the_end_of_its_file,
    a_store_makes_a_shared_files_leaf_dirty,
    a_private_store_takes_a_files_leaf_out,
    a_leaf_left_to_one_process_is_reused,
);

//! Splits of large folios for reclaim: their pages are handled separately, and nothing else
//! changes.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::{Arena, World, pages};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Advice, Counter, FolioFlags, FolioId, Frames, Limits, LruFlags, LruList, MemcgId, MmId,
};

/// Slots for all pages of a folio of four but one.
const THREE: Limits = Limits { slots: 3, ..ROOM };

fn count<F: Format>(world: &World<'_, F>, counter: Counter) -> u64 {
    world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat().get(counter)
}

/// Returns the pages of a range that are in memory.
fn present<F: Format>(world: &World<'_, F>, mm: MmId, at: std::ops::Range<u64>) -> Vec<u64> {
    at.filter(|number| F::is_present(world.entry(mm, *number))).collect()
}

/// Ends processes, and checks that nothing is in use.
fn end<F: Format>(world: &mut World<'_, F>, processes: &[MmId], limits: &Limits) {
    processes.iter().for_each(|mm| world.exit(*mm));
    assert_eq!(limits.frames - world.env.free_pages(), 0, "pages in use");
    assert_eq!(world.tables.in_use(), 0, "page tables in use");
    assert_eq!(world.maps.free_slots(), limits.slots, "slots free");
    assert_eq!(world.maps.memcg(MemcgId::ROOT).expect("it is online").usage(), 0, "pages charged");
    for list in LruList::ALL {
        assert_eq!(world.maps.lru_size(MemcgId::ROOT, list).expect("it is online"), 0, "{list:?}");
    }
    assert!(world.cpu.is_idle());
}

/// Makes a process with one folio of four pages, filled.
fn four<F: Format>(world: &mut World<'_, F>) -> (MmId, FolioId) {
    let mm = world.process();
    world.anon_at(mm, 4..8, 2);
    world.fill(mm, 4..8, 10);
    let folio = world.folio_at(mm, 4);
    assert_eq!(world.maps.folio(folio).expect("it lives").nr_pages(), 4);
    (mm, folio)
}

fn without_slots_in_a_row_pages_are_swapped_out_alone<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&THREE);
    let mut world = arena.world::<F>();
    let (mm, _) = four(&mut world);
    assert_eq!(world.advise(mm, 4..8, Advice::PageOut), Ok(()));
    let left = present(&world, mm, 4..8);
    assert_eq!(left.len(), 1, "there is no slot for it");
    let folio = world.folio_at(mm, left[0]);
    assert_eq!(
        (world.maps.folio(folio).expect("it lives").nr_pages(), world.mapcount(folio)),
        (1, 1)
    );
    assert!(world.maps.folio(folio).expect("it lives").lru().contains(LruFlags::LRU));
    assert_eq!(world.maps.memcg(MemcgId::ROOT).expect("it is online").usage(), 1);
    assert_eq!(count(&world, Counter::NrAnonPages), 1);
    world.holds(mm, 4..8, 10);
    world.fill(mm, 4..8, 20);
    world.holds(mm, 4..8, 20);
    end(&mut world, &[mm], &THREE);
}

fn a_shared_folio_is_split_under_both<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&THREE);
    let mut world = arena.world::<F>();
    let (parent, _) = four(&mut world);
    let child = world.fork(parent);
    while present(&world, parent, 4..8).len() > 1 {
        world.engine().try_to_free_pages();
    }
    assert_eq!(present(&world, parent, 4..8), present(&world, child, 4..8));
    world.holds(parent, 4..8, 10);
    world.holds(child, 4..8, 10);
    world.fill(child, 5..7, 30);
    world.holds(parent, 4..8, 10);
    world.holds(child, 5..7, 30);
    end(&mut world, &[parent, child], &THREE);
}

fn a_leaf_is_split_twice<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES;
    let limits = Limits { frames: 4 * n, folios: 2 * n, slots: n - 1, ..ROOM };
    let mut arena = Arena::new::<F>(&limits);
    let mut world = arena.world::<F>();
    let (mm, anon) = (world.process(), world.anon());
    let at = n as u64..2 * n as u64;
    let vma = world.vma(mm, at.clone(), RW, anon, at.start);
    let folio = world.folio(anon, F::TABLE_SHIFT as u8, at.start);
    world.flag(folio, FolioFlags::UPTODATE);
    world.engine().charge(folio, MemcgId::ROOT).expect("no limit");
    world.map_pmd(vma, folio);
    world.engine().lru_add(folio).expect("it lives");
    world.engine().release(folio, 1).expect("the caller has it");
    world.fill(mm, at.clone(), 10);
    assert_eq!(world.advise(mm, at.clone(), Advice::PageOut), Ok(()));
    assert_eq!(present(&world, mm, at.clone()).len(), 1, "there is no slot for it");
    let counters = [Counter::ThpSplitPage, Counter::ThpSplitPmd, Counter::ThpSwpoutFallback];
    assert_eq!(counters.map(|counter| count(&world, counter)), [1; 3]);
    world.holds(mm, at, 10);
    end(&mut world, &[mm], &limits);
}

fn without_entries_in_the_table_it_stays<F: Format>(_: YoungAlgorithm) {
    let limits = Limits { folios: 3, ..THREE };
    let mut arena = Arena::new::<F>(&limits);
    let mut world = arena.world::<F>();
    let (mm, folio) = four(&mut world);
    let before = world.entries(mm, 4..8);
    assert_eq!(world.advise(mm, 4..8, Advice::PageOut), Ok(()));
    assert_eq!((world.folio_at(mm, 7), world.mapcount(folio)), (folio, 4));
    assert_eq!(world.entries(mm, 4..8), before);
    assert!(world.maps.folio(folio).expect("it lives").lru().contains(LruFlags::ACTIVE));
    world.holds(mm, 4..8, 10);
    end(&mut world, &[mm], &limits);
}

fn what_someone_else_has_locked_stays_whole<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&THREE);
    let mut world = arena.world::<F>();
    let (mm, folio) = four(&mut world);
    let before = world.entries(mm, 4..8);
    let held = world.maps.folio(folio).expect("it lives").try_lock().expect("no one holds it");
    assert_eq!(world.advise(mm, 4..8, Advice::PageOut), Ok(()));
    drop(held);
    assert_eq!((world.folio_at(mm, 7), world.mapcount(folio)), (folio, 4));
    assert_eq!(world.entries(mm, 4..8), before);
    end(&mut world, &[mm], &THREE);
}

/// A VMA locks a part of a large folio. Only that part stays once the folio is split.
fn a_locked_page_of_what_is_split_is_locked<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&THREE);
    let mut world = arena.world::<F>();
    let (mm, folio) = four(&mut world);
    assert_eq!(world.engine().mlock(mm, &pages::<F>(5..6)), Ok(()));
    assert!(!world.flags(folio).contains(FolioFlags::MLOCKED));
    while present(&world, mm, 4..8) != [5] {
        world.engine().try_to_free_pages();
    }
    let locked = world.folio_at(mm, 5);
    assert!(world.flags(locked).contains(FolioFlags::MLOCKED));
    assert!(world.maps.folio(locked).expect("it lives").lru().contains(LruFlags::UNEVICTABLE));
    world.holds(mm, 4..8, 10);
    assert_eq!(world.engine().munlock(mm, &pages::<F>(5..6)), Ok(()));
    end(&mut world, &[mm], &THREE);
}

on_every_format!(
    without_slots_in_a_row_pages_are_swapped_out_alone,
    a_shared_folio_is_split_under_both,
    a_leaf_is_split_twice,
    without_entries_in_the_table_it_stays,
    what_someone_else_has_locked_stays_whole,
    a_locked_page_of_what_is_split_is_locked,
);

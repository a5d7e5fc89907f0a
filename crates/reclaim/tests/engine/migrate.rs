//! Migration: pages move to other frames, and nothing else changes for their users.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::unmap::ALL;
use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::contig::gather;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Env, Format, Order, Pfn, Pte};
use pageout_reclaim::{
    Advice, Counter, FolioFlags, FolioId, Frames, LruFlags, LruList, MemcgId, Migrated, MmId,
    Offlined, Recency, Targets, Tuning, Unmapping, VmFlags,
};
use std::ops::Range;

/// A supply of free runs, wherever they are.
pub(crate) struct Anywhere<'a, W>(pub(crate) &'a W);

impl<W: Frames> Targets for Anywhere<'_, W> {
    fn take(&mut self, order: Order) -> Option<Pfn> {
        self.0.alloc(order)
    }

    fn give_back(&mut self, pfn: Pfn, order: Order) {
        self.0.free(pfn, order);
    }
}

/// Moves the folios in a range of frames.
fn migrate<F: Format>(world: &mut World<'_, F>, range: Range<Pfn>, how: Unmapping) -> Migrated {
    let (env, cpu) = (&world.env, &mut world.cpu);
    world
        .maps
        .on(env, cpu, Tuning { unmapping: how, ..tuning() })
        .migrate_range(range, &mut Anywhere(env))
}

/// Moves one folio, and checks its old frames.
fn move_one<F: Format>(world: &mut World<'_, F>, id: FolioId, how: Unmapping) -> Migrated {
    let folio = world.maps.folio(id).expect("it lives");
    let (from, nr) = (folio.pfn(), folio.nr_pages() as u64);
    let done = migrate(world, from..from.add(nr), how);
    let moved = done.moved > 0;
    assert_eq!(folio.pfn() != from, moved);
    for k in 0..nr {
        assert_eq!(world.env.memory().frame(from.add(k)).used, !moved, "the frames it had");
        let at = world.maps.folio_of(folio.pfn().add(k));
        assert_eq!(at, Some(id), "the frames it has");
    }
    done
}

const fn moved(moved: u64) -> Migrated {
    Migrated { moved, failed: 0, bad_target: None }
}

/// Returns the entries of pages, young and dirty gathered over blocks, without their frames.
fn states<F: Format>(world: &World<'_, F>, mm: MmId, at: Range<u64>) -> Vec<[bool; 6]> {
    let state = |number| {
        let (frame, i, _) = world.place(mm, number).expect("the page has a table");
        let table = world.env.table(frame);
        let pte: Pte = gather::<F, _>(table, i);
        let kinds = [F::is_present(pte), F::is_cont(world.entry(mm, number))];
        let [present, cont] = kinds;
        let rest = [F::is_young(pte), F::is_dirty(pte), F::is_write(pte), F::is_exec(pte)];
        [present, cont, rest[0], rest[1], rest[2], rest[3]]
    };
    at.map(state).collect()
}

fn shared_pages_move_under_both_processes<F: Format>(_: YoungAlgorithm) {
    for (how, order) in ALL.into_iter().zip([0, 2, 3, 4]) {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let parent = world.process();
        world.anon_at(parent, 0..16, order);
        world.fill(parent, 0..16, 10);
        let child = world.fork(parent);
        world.fill(child, 4..6, 20);
        let all = Pfn::new(0)..Pfn::new(ROOM.frames as u64);
        let before = [parent, child].map(|mm| states(&world, mm, 0..16));
        assert!(migrate(&mut world, all.clone(), how).failed == 0);
        assert!(migrate(&mut world, all, how).moved >= 18);
        assert_eq!([parent, child].map(|mm| states(&world, mm, 0..16)), before);
        world.holds(parent, 0..16, 10);
        world.holds(child, 0..4, 10);
        world.holds(child, 4..6, 20);
        world.holds(child, 6..16, 10);
        world.fill(parent, 0..16, 30);
        world.holds(child, 6..16, 10);
        world.exit(parent);
        world.fill(child, 0..16, 40);
        world.exit(child);
        world.all_is_free_but(0);
    }
}

/// The state bits of each entry are as before, and blocks are contiguous again.
fn entries_keep_young_dirty_and_writable<F: Format>(_: YoungAlgorithm) {
    for how in ALL {
        for bits in 0..8_u64 {
            let mut arena = Arena::new::<F>(&LIMITS);
            let mut world = arena.world::<F>();
            let order = if F::CONT_SHIFT > 2 { F::CONT_SHIFT as u8 } else { 2 };
            let (mm, file, nr) = (world.process(), world.file(), 1 << order);
            let folio = world.folio(file, order, 0);
            let flags = if bits & 1 != 0 { RW | VmFlags::EXEC } else { VmFlags::READ };
            let vma = world.vma(mm, 0..nr, flags, file, 0);
            world.map(vma, folio);
            if bits & 2 != 0 {
                world.touch(mm, nr - 1);
            }
            if bits & 4 != 0 {
                world.change(mm, 1, F::mkdirty);
            }
            list(&mut world, folio);
            let before = states(&world, mm, 0..nr);
            assert_eq!(before[0][1], F::CONT_SHIFT > 0 && nr >= F::CONT_PTES as u64);
            assert_eq!(move_one(&mut world, folio, how), moved(nr));
            assert_eq!(states(&world, mm, 0..nr), before);
            let state = world.maps.folio(folio).expect("it lives");
            assert_eq!((state.mapcount(), u64::from(state.refs())), (nr as u32, nr + 1));
            assert_eq!(state.flags().contains(FolioFlags::DIRTY), bits & 4 != 0);
        }
    }
}

/// Puts a folio of a file in its index and on a list, and gives up the maker's reference.
fn list<F: Format>(world: &mut World<'_, F>, folio: FolioId) {
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning()).filemap_add_folio(folio).expect("nothing is there");
    maps.on(env, cpu, tuning()).lru_add(folio).expect("it lives");
    maps.on(env, cpu, tuning()).release(folio, 1).expect("the caller has it");
}

/// A range is emptied once the caller has given up its reference, and no target lies inside of it.
fn memory_is_taken_away_once_nobody_uses_it<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(2));
    world.vma(mm, 0..8, RW | VmFlags::SHARED, file, 0);
    world.fill(mm, 0..8, 10);
    let folio = world.folio_at(mm, 1);
    let (maps, env) = (&world.maps, &world.env);
    let pfn = maps.folio(folio).expect("it lives").pfn();
    let range = pfn..pfn.add(4);
    let held = maps.on(env, &mut world.cpu, tuning()).filemap_get_folio(file, 0);
    assert_eq!(held.expect("it lives"), Some(folio));
    env.memory().set_away(range.clone(), true);
    let mut take_away = |targets: &mut dyn Targets| {
        maps.on(env, &mut world.cpu, tuning()).offline_pages(range.clone(), targets)
    };
    let stays = Migrated { failed: 4, ..moved(0) };
    let stays = Offlined { migrated: stays, in_use: Some(pfn) };
    assert_eq!(take_away(&mut Anywhere(env)), stays);
    let free = env.free_pages();
    maps.on(env, &mut world.cpu, tuning()).release(folio, 1).expect("the caller has it");
    let all = env.memory().range();
    let done = maps.on(env, &mut world.cpu, tuning()).offline_pages(all, &mut Anywhere(env));
    assert_eq!(done.migrated.moved, 0, "every target lies in the range");
    assert!(done.migrated.bad_target.is_some());
    assert_eq!(done.in_use, Some(pfn));
    let mut take_away = |targets: &mut dyn Targets| {
        maps.on(env, &mut world.cpu, tuning()).offline_pages(range.clone(), targets)
    };
    let done = take_away(&mut Anywhere(env));
    assert_eq!((done.in_use, done.migrated.failed), (None, 0));
    env.memory().set_away(range, false);
    assert_eq!(env.free_pages(), free, "nothing is lost");
    world.holds(mm, 0..8, 10);
}

fn a_folio_referred_to_by_someone_else_stays<F: Format>(_: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file_of(2));
        world.vma(mm, 0..8, RW | VmFlags::SHARED, file, 0);
        world.fill(mm, 0..8, 10);
        let folio = world.folio_at(mm, 1);
        let before = states(&world, mm, 0..8);
        let (maps, env) = (&world.maps, &world.env);
        let held =
            maps.on(env, &mut world.cpu, tuning()).filemap_get_folio(file, 0).expect("it lives");
        assert_eq!(held, Some(folio));
        let used = env.free_pages();
        let stays = Migrated { moved: 0, failed: 4, bad_target: None };
        assert_eq!(move_one(&mut world, folio, how), stays);
        assert_eq!(states(&world, mm, 0..8), before);
        assert_eq!(world.env.free_pages(), used, "the target is given back");
        world.engine().release(folio, 1).expect("the caller has it");
        assert_eq!(move_one(&mut world, folio, how), moved(4));
        let guard = world.maps.folio(folio).expect("it lives").try_lock().expect("free");
        assert_eq!(move_one(&mut world, folio, how), stays);
        drop(guard);
        world.holds(mm, 0..8, 10);
        let counted =
            |counter| world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat().get(counter);
        assert_eq!(counted(Counter::PgmigrateSuccess), 4);
        assert_eq!(counted(Counter::PgmigrateFail), 8);
    }
}

fn what_is_swapped_out_in_part_moves_in_the_swap_cache<F: Format>(_: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let parent = world.process();
        world.anon_at(parent, 0..4, 0);
        world.fill(parent, 0..4, 10);
        assert_eq!(world.advise(parent, 0..4, Advice::PageOut), Ok(()));
        let child = world.fork(parent);
        // One of the two has brought it back, and the swap cache has it for the other.
        world.holds(child, 1..2, 10);
        let folio = world.folio_at(child, 1);
        assert!(world.flags(folio).contains(FolioFlags::SWAPCACHE));
        assert_eq!(move_one(&mut world, folio, how), moved(1));
        world.holds(parent, 0..4, 10);
        assert_eq!(world.folio_at(parent, 1), folio);
        world.exit(parent);
        world.holds(child, 0..4, 10);
        world.exit(child);
        world.all_is_free_but(0);
    }
}

fn what_is_known_of_use_goes_along<F: Format>(_: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file_of(0));
        world.vma(mm, 0..4, VmFlags::READ, file, 0);
        let lists = [LruList::ActiveFile, LruList::InactiveFile, LruList::Unevictable];
        (0..3).for_each(|number| _ = world.load(0, mm, number));
        let folios = [0, 1, 2].map(|number| world.folio_at(mm, number));
        world.engine().activate(folios[0]).expect("it lives");
        world.maps.folio(folios[1]).expect("it lives").note_use(Recency::REFERENCED, Recency::NONE);
        world.flag(folios[2], FolioFlags::MLOCKED);
        let locked = crate::world::pages::<F>(2..3);
        world.engine().mlock(mm, &locked).expect("a good range");
        for (folio, list) in folios.into_iter().zip(lists) {
            let before = world.maps.folio(folio).expect("it lives").recency();
            assert_eq!(move_one(&mut world, folio, how), moved(1));
            let state = world.maps.folio(folio).expect("it lives");
            assert_eq!((LruList::of(state), state.recency()), (list, before));
            assert!(state.lru().contains(LruFlags::LRU));
            assert_eq!(
                world.maps.lru_size_own(world.maps.memcg_of(state), list).expect("it is online"),
                1
            );
        }
    }
}

fn a_files_pmd_leaf_is_found_again_where_its_folio_went<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, F::TABLE_SHIFT as u8, 0);
    let (leaf, entries) = (n..2 * n, 2 * n..3 * n);
    let [leaf, entries] = [leaf, entries].map(|at| world.vma(mm, at, VmFlags::READ, file, 0));
    world.map_pmd(leaf, folio);
    world.map(entries, folio);
    list(&mut world, folio);
    let before = states(&world, mm, 2 * n..3 * n);
    let moves = Migrated { moved: n, failed: 0, bad_target: None };
    assert_eq!(move_one(&mut world, folio, tuning().unmapping), moves);
    assert_eq!(states(&world, mm, 2 * n..3 * n), before);
    assert_eq!(world.mapcount(folio), n as u32, "the leaf is taken out");
}

on_every_format!(
    shared_pages_move_under_both_processes,
    entries_keep_young_dirty_and_writable,
    memory_is_taken_away_once_nobody_uses_it,
    a_folio_referred_to_by_someone_else_stays,
    what_is_swapped_out_in_part_moves_in_the_swap_cache,
    what_is_known_of_use_goes_along,
    a_files_pmd_leaf_is_found_again_where_its_folio_went,
);

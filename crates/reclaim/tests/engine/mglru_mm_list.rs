//! The address spaces that walks visit, and the walk that opens a generation.

use crate::env::Moment;
use crate::mglru_walk::FILTERS;
use crate::world::{Arena, World, aging, pages, tuning};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::SmallX86;
use pageout_paging::walk::TableFrames;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{LockedTable, Sound};
use pageout_reclaim::{
    CpuCtx, Limits, MemcgBusy, MemcgId, MmId, NewVma, OutOfTable, TableKind, Tuning, VmFlags,
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

const ROOM: Limits = Limits { mappings: 8, ..FILTERS };

type Small<'a> = World<'a, SmallX86>;

/// Makes a process with a page to walk.
fn process(world: &mut Small<'_>) -> MmId {
    let (mm, file) = (world.process(), world.file());
    world.mapped(mm, file, 0, 0..1);
    mm
}

/// Ages the cgroup, and returns for each of the processes true if it was walked.
fn walked(world: &mut Small<'_>, memcg: MemcgId, seq: u64, force: bool, of: &[MmId]) -> Vec<bool> {
    world.forget();
    assert!(world.age_memcg(memcg, seq, 60, force, YoungAlgorithm::Line), "opens {}", seq + 1);
    of.iter().map(|mm| world.walked(*mm)).collect()
}

#[test]
fn walks_visit_what_ran_and_what_joined() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world = arena.world();
    world.use_generations();
    let root = MemcgId::ROOT;
    let [a, b, c] = [0; 3].map(|_| process(&mut world));
    assert_eq!(walked(&mut world, root, 3, false, &[a, b, c]), [true; 3], "all have joined");
    assert_eq!(walked(&mut world, root, 4, false, &[a, b, c]), [false; 3]);
    world.maps.lru_gen_use_mm(b).expect("it lives");
    let d = process(&mut world);
    assert_eq!(walked(&mut world, root, 5, false, &[a, b, c, d]), [false, true, false, true]);
    world.maps.lru_gen_use_mm(d).expect("it lives");
    assert_eq!(walked(&mut world, root, 6, false, &[a, b, c, d]), [false, false, false, true]);
    assert_eq!(walked(&mut world, root, 7, true, &[a, b, c, d]), [true; 4], "forced");
    assert_eq!(walked(&mut world, root, 8, false, &[a, b, c, d]), [false; 4]);
    let e = process(&mut world);
    world.exit(e);
    let f = process(&mut world);
    world.exit(b);
    assert_eq!(walked(&mut world, root, 9, false, &[a, c, d, f]), [false, false, false, true]);
    world.maps.mm(f).expect("it lives").set_exiting();
    assert_eq!(walked(&mut world, root, 10, true, &[a, c, d, f]), [true, true, true, false]);
}

#[test]
fn a_child_is_found_once_it_is_whole() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: Small<'_> = arena.world();
    world.use_generations();
    let parent = world.process();
    world.anon_at(parent, 2..4, 0);
    world.fill(parent, 2..4, 10);
    let table = world.pte_table(parent, 2);
    let mut tables = world.tables;
    let root = tables.take().expect("a root");
    let (maps, env, made) = (&world.maps, &world.env, tables.made());
    let listed = || maps.lru_gen_mms(MemcgId::ROOT).expect("it is online").collect::<Vec<_>>();
    // Its first entries cannot be copied while this lock of the parent's table is held.
    let held = LockedTable::lock(env, table);
    let child = thread::scope(|scope| {
        let fork = || maps.on(env, &mut CpuCtx::new(), tuning()).fork(parent, root, Asid(1));
        let forked = scope.spawn(fork);
        while tables.made() == made {
            thread::yield_now();
        }
        let found = listed();
        drop(held);
        assert_eq!(found, [parent]);
        forked.join().expect("no panic").expect("room for a child")
    });
    assert_eq!(listed(), [parent, child]);
}

#[test]
fn after_an_iteration_without_a_walk_all_count_as_new() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world = arena.world();
    world.use_generations();
    let mm = process(&mut world);
    assert_eq!(walked(&mut world, MemcgId::ROOT, 3, false, &[mm]), [true]);
    world.env.mmu.software_af.store(true, Relaxed);
    assert_eq!(walked(&mut world, MemcgId::ROOT, 4, true, &[mm]), [false]);
    world.env.mmu.software_af.store(false, Relaxed);
    assert_eq!(walked(&mut world, MemcgId::ROOT, 5, false, &[mm]), [true]);
    assert_eq!(walked(&mut world, MemcgId::ROOT, 6, false, &[mm]), [false]);
}

#[test]
fn a_process_is_walked_for_the_cgroup_it_is_in() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: Small<'_> = arena.world();
    world.use_generations();
    let memcg = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let [mm, other] = [0; 2].map(|_| process(&mut world));
    assert_eq!(walked(&mut world, memcg, 3, true, &[mm, other]), [false; 2]);
    world.engine().set_memcg(mm, memcg).expect("it lives");
    assert_eq!(walked(&mut world, memcg, 4, false, &[mm, other]), [true, false], "it joined");
    assert_eq!(walked(&mut world, MemcgId::ROOT, 3, true, &[mm, other]), [false, true]);
    let child = world.fork(mm);
    assert_eq!(world.maps.memcg_of_mm(child), Ok(memcg));
    assert_eq!(walked(&mut world, memcg, 5, false, &[mm, child]), [false, true]);
    let removed = world.engine().remove_memcg(memcg);
    assert_eq!(removed, Err(MemcgBusy::HasProcesses));
    world.exit(child);
    world.engine().set_memcg(mm, MemcgId::ROOT).expect("it lives");
    world.engine().remove_memcg(memcg).expect("it is empty");
    assert_eq!(walked(&mut world, MemcgId::ROOT, 4, false, &[mm, other]), [true, false]);
}

#[test]
fn filters_of_a_removed_cgroup_serve_another() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: Small<'_> = arena.world();
    world.use_generations();
    let file = world.file();
    for _ in 0..3 {
        let memcg = world.engine().add_memcg(MemcgId::ROOT).expect("room");
        let (mm, file) = (process(&mut world), file);
        world.engine().set_memcg(mm, memcg).expect("it lives");
        let vma = world.vma(mm, 64..66, VmFlags::READ, file, 0);
        let folio = world.folio(file, 1, 0);
        world.map(vma, folio);
        let mut found = Vec::new();
        for seq in 3..6 {
            world.maps.lru_gen_use_mm(mm).expect("it lives");
            assert!(world.age_memcg(memcg, seq, 60, false, YoungAlgorithm::Line));
            found.push(world.maps.mm_stats(memcg).expect("it is online").nonleaf_found);
        }
        // No young entry was found: with filters, only the first walk enters tables.
        assert_eq!(found, [2, 2, 2]);
        world.zap(vma, folio);
        world.exit(mm);
        world.engine().remove_memcg(memcg).expect("it is empty");
    }
}

#[test]
fn walks_at_once_share_an_iteration_and_one_opens_the_generation() {
    const WALKERS: usize = 3;
    const SEQS: u64 = 60;
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: Small<'_> = arena.world();
    world.use_generations();
    let mms = [0; 5].map(|_| process(&mut world));
    let (maps, env) = (&world.maps, &world.env);
    let opened = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..WALKERS {
            scope.spawn(|| {
                let cpu = &mut CpuCtx::new();
                for seq in 3..3 + SEQS {
                    mms.iter().for_each(|mm| maps.lru_gen_use_mm(*mm).expect("it lives"));
                    let aging = aging(YoungAlgorithm::Line);
                    if maps
                        .on(env, cpu, Tuning { aging, ..tuning() })
                        .try_to_inc_max_seq(MemcgId::ROOT, seq, 60, true)
                        .expect("it is online")
                    {
                        opened.fetch_add(1, Relaxed);
                    }
                    // A late walk waits for the others: generations are opened in order.
                    while opened.load(Relaxed) < seq - 2 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(opened.load(Relaxed), SEQS, "each generation is opened once");
    let found = maps.mm_stats(MemcgId::ROOT).expect("it is online").nonleaf_found;
    let most = mms.len() as u64 * SEQS;
    assert!(0 < found && found <= most, "{found}: each is walked once an iteration, at most");
}

#[test]
fn processes_end_while_a_walk_visits_them() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: Small<'_> = arena.world();
    world.use_generations();
    let file = world.file();
    let stop = AtomicU64::new(0);
    let World { maps, env, cpu, tables, .. } = &mut world;
    let (maps, env) = (&*maps, &*env);
    thread::scope(|scope| {
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            let mut seq = 3;
            while stop.load(Relaxed) == 0 {
                let aging = aging(YoungAlgorithm::Line);
                assert!(
                    maps.on(env, cpu, Tuning { aging, ..tuning() })
                        .try_to_inc_max_seq(MemcgId::ROOT, seq, 60, true)
                        .expect("it is online")
                );
                seq += 1;
            }
        });
        for round in 0..200 {
            let mut supply = *tables;
            let root = supply.take().expect("a table");
            let asid = Asid(round % 8);
            let mm = maps.on(env, cpu, tuning()).add_mm(root, asid).expect("room");
            let range = pages::<SmallX86>(0..4);
            let flags = VmFlags::READ;
            let new = NewVma { mm, range, flags, mapping: file, pgoff: 0 };
            maps.on(env, cpu, tuning()).mmap(&new).expect("room");
            maps.on(env, cpu, tuning()).exit_mm(mm).expect("it lives");
            supply.give_back(root);
        }
        stop.store(1, Relaxed);
    });
}

/// A walk that pauses does not keep the address space it is in, only its entry.
#[test]
fn an_address_space_ends_while_a_walk_of_it_pauses() {
    let mut arena = Arena::new::<SmallX86>(&Limits { mms: 1, ..ROOM });
    let mut world: Small<'_> = arena.world();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    for page in [3_u64, 450] {
        world.mapped(mm, file, 0, page..page + 1);
        world.touch(mm, page);
    }
    let root = world.maps.mm(mm).expect("it lives").root();
    world.env.mmu.need_resched.store(true, Relaxed);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let ended = AtomicU64::new(0);
    let pause = |moment| {
        if moment == Moment::Relaxes && ended.fetch_add(1, Relaxed) == 0 {
            let mut other = CpuCtx::new();
            let mut engine = maps.on(env, &mut other, tuning());
            engine.exit_mm(mm).expect("it lives");
            let again = engine.add_mm(root, Asid(1));
            assert_eq!(again.err(), Some(OutOfTable(TableKind::Mms)), "the walk has the entry");
        }
    };
    let ground = env.ruled::<Sound>(&pause);
    let aging = Tuning { aging: aging(YoungAlgorithm::Line), ..tuning() };
    assert!(
        maps.on(&ground, cpu, aging)
            .try_to_inc_max_seq(MemcgId::ROOT, 3, 60, true)
            .expect("it is online")
    );
    assert!(ended.into_inner() > 0, "the walk paused");
    let again = world.engine().add_mm(root, Asid(1)).expect("the walk has left the entry");
    world.engine().remove_mm(again).expect("it lives");
}

/// A walk that holds the mmap lock, for which the end of the address space waits, gives it up at
/// the next page table.
#[test]
fn a_walk_leaves_an_address_space_that_ends_at_the_next_table() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: Small<'_> = arena.world();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    let pages = [3_u64, 12, 20, 450];
    for page in pages {
        world.mapped(mm, file, 0, page..page + 1);
        world.touch(mm, page);
    }
    world.forget();
    let first = world.pte_table(mm, 3);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let at_a_table = |_| {
        if env.counts_of(first).locked.load(Relaxed) > 0 {
            maps.mm(mm).expect("it lives").set_exiting();
        }
    };
    let ground = env.ruled::<Sound>(&at_a_table);
    let aging = Tuning { aging: aging(YoungAlgorithm::Line), ..tuning() };
    assert!(
        maps.on(&ground, cpu, aging)
            .try_to_inc_max_seq(MemcgId::ROOT, 3, 60, true)
            .expect("it is online")
    );
    let walked = pages.map(|page| world.locked(world.pte_table(mm, page)) > 0);
    assert_eq!(walked, [true, false, false, false]);
}

//! Reclaim on two CPUs while a third maps and unmaps. Every wait ends, every young bit is counted
//! once, and the counts are right when all are done.

use crate::world::{Arena, LIMITS, World, aging, pages, tuning};
use pageout_paging::pte::{Arm64_4K, SmallArm4, SmallX86, X86_64};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Order, Pfn};
use pageout_reclaim::{
    CpuCtx, FolioFlags, FolioId, Limits, MapAs, MappingId, MappingKind, MmId, NewFolio, NewVma,
    Refs, Tuning, VmFlags,
};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const FOLIOS: u64 = 6;
const ROUNDS: usize = if cfg!(miri) { 3 } else { 300 };

/// The references that were found, and the number of results without an answer.
#[derive(Debug, Default)]
struct Found {
    references: u64,
    unknown: u64,
}

/// Checks all folios over and over.
fn reclaim<F: Format>(world: &Parts<'_, '_, F>, algorithm: YoungAlgorithm, rounds: usize) -> Found {
    let cpu = &mut CpuCtx::new();
    let mut found = Found::default();
    for _ in 0..rounds {
        for folio in world.folios {
            let contended = cpu.events().folio_lock_failed;
            let answer = world
                .maps
                .on(world.env, cpu, Tuning { aging: aging(algorithm), ..tuning() })
                .folio_referenced(*folio, None, None)
                .expect("it lives");
            let guessed = cpu.events().folio_lock_failed > contended;
            match answer.refs {
                Refs::Vmas(1) if guessed => assert_eq!(answer.vm_flags, VmFlags::empty()),
                Refs::Vmas(nr) => {
                    assert!(!guessed && nr <= 2, "two processes use the file, not {nr}");
                    let flags = if nr > 0 { VmFlags::READ } else { VmFlags::empty() };
                    assert_eq!(answer.vm_flags, flags);
                    found.references += u64::from(nr);
                }
                Refs::Unknown => found.unknown += 1,
            }
        }
    }
    assert_eq!(cpu.events().rmap_lock_failed, found.unknown);
    found
}

/// Maps the file into a process that never uses it, and unmaps it, over and over.
fn churn<F: Format>(world: &Parts<'_, '_, F>, done: &AtomicBool) {
    let cpu = &mut CpuCtx::new();
    let new = NewVma {
        mm: world.idle,
        range: pages::<F>(5..5 + 4 * FOLIOS),
        flags: VmFlags::READ | VmFlags::EXEC,
        mapping: world.file,
        pgoff: 0,
    };
    while !done.load(Relaxed) {
        let vma = world.maps.on(world.env, cpu, tuning()).mmap(&new).expect("room");
        for folio in world.folios {
            let none = &mut (Pfn::new(0)..Pfn::new(0));
            let mapped =
                world.maps.on(world.env, cpu, tuning()).map_folio(vma, *folio, MapAs::Ptes, none);
            mapped.expect("its tables are there");
        }
        for folio in world.folios {
            let zapped =
                world.maps.on(world.env, cpu, tuning()).zap_folio(vma, *folio).expect("it lives");
            assert_eq!(zapped.entries, 4);
        }
        world.maps.on(world.env, cpu, tuning()).munmap(vma).expect("it lives");
    }
}

/// The state that the CPUs share.
struct Parts<'w, 'a, F> {
    maps: &'w pageout_reclaim::MmState<'a>,
    env: &'w crate::env::TestEnv<'a, F>,
    folios: &'w [FolioId],
    file: MappingId,
    idle: MmId,
}

/// Makes a file of which two processes have used every folio, and the process that will only map
/// it.
fn used_file<F: Format>(world: &mut World<'_, F>) -> (MappingId, MmId, Vec<FolioId>) {
    let file = world.file();
    let folios: Vec<_> = (0..FOLIOS).map(|k| world.folio(file, 2, 4 * k)).collect();
    for at in [0, 3] {
        let mm = world.process();
        let vma = world.vma(mm, at..at + 4 * FOLIOS, VmFlags::READ, file, 0);
        for (folio, k) in folios.iter().zip(0..) {
            world.map(vma, *folio);
            world.touch(mm, at + 4 * k + k % 4);
        }
    }
    let idle = world.process();
    let vma = world.vma(idle, 5..5 + 4 * FOLIOS, VmFlags::READ, file, 0);
    for folio in &folios {
        world.map(vma, *folio);
    }
    for folio in &folios {
        world.zap(vma, *folio);
    }
    world.munmap(vma);
    (file, idle, folios)
}

fn reclaim_beside_a_process_that_comes_and_goes<F: Format>() {
    for algorithm in YoungAlgorithm::ALL {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (file, idle, folios) = used_file(&mut world);
        let parts = Parts { maps: &world.maps, env: &world.env, folios: &folios, file, idle };
        let done = AtomicBool::new(false);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| churn(&parts, &done));
            let cpus = [0; 2].map(|_| scope.spawn(|| reclaim(&parts, algorithm, ROUNDS)));
            let found = cpus.map(std::thread::ScopedJoinHandle::join);
            done.store(true, Relaxed);
            found.map(|found| found.expect("an answer that may be").references)
        });
        let late = reclaim(&parts, algorithm, 1);
        assert_eq!(late.unknown, 0, "no one holds a lock");
        let total = found.iter().sum::<u64>() + late.references;
        assert_eq!(total, 2 * FOLIOS, "each use is counted once, by {algorithm:?}");
        for folio in &folios {
            let folio = world.maps.folio(*folio).expect("it lives");
            assert_eq!((folio.mapcount(), folio.refs()), (8, 9));
        }
        assert_eq!(reclaim(&parts, algorithm, 1).references, 0);
    }
}

/// A CPU that finds a folio by its frame finds it initialised. Only a weakly ordered machine, or
/// Miri simulating one, can show otherwise.
#[test]
fn a_folio_found_by_its_frame_is_initialised() {
    let limits = Limits { frames: 16, folios: 1, vmas: 0, mms: 0, mappings: 1, ..Limits::NOTHING };
    for _ in 0..20 {
        let mut arena = Arena::new::<SmallX86>(&limits);
        let mut world = arena.world::<SmallX86>();
        let mapping = world.anon();
        let (maps, env) = (&world.maps, &world.env);
        let pfn = Pfn::new(8);
        let order = Order::new(3).expect("a small order");
        let new = NewFolio { pfn, order, mapping, index: 24, flags: FolioFlags::IDLE };
        let find = || loop {
            if let Some(id) = maps.folio_of(Pfn::new(15)) {
                let folio = maps.folio(id).expect("it lives");
                break (folio.pfn(), folio.nr_pages(), folio.index(), folio.flags());
            }
            std::thread::yield_now();
        };
        let found = std::thread::scope(|scope| {
            let finder = scope.spawn(find);
            maps.on(env, &mut CpuCtx::new(), tuning()).add_folio(new).expect("room");
            finder.join().expect("it is found")
        });
        let flags = FolioFlags::IDLE | MappingKind::Anon.folio_flags();
        assert_eq!(found, (pfn, 8, 24, flags));
    }
}

#[test]
fn reclaim_beside_a_process_that_comes_and_goes_on_small_x86() {
    reclaim_beside_a_process_that_comes_and_goes::<SmallX86>();
}

#[test]
fn reclaim_beside_a_process_that_comes_and_goes_on_small_arm64() {
    reclaim_beside_a_process_that_comes_and_goes::<SmallArm4>();
}

#[test]
fn reclaim_beside_a_process_that_comes_and_goes_on_x86_64() {
    reclaim_beside_a_process_that_comes_and_goes::<X86_64>();
}

#[test]
fn reclaim_beside_a_process_that_comes_and_goes_on_arm64_4k() {
    reclaim_beside_a_process_that_comes_and_goes::<Arm64_4K>();
}

//! The locks of the file index: those that faults on several pages and files take.

use crate::cpu::ROOM;
use crate::world::{Arena, World, page, tuning};
use pageout_paging::pte::X86_64;
use pageout_paging::{LockEvent, LockWord};
use pageout_reclaim::{Access, CpuCtx, Fault, FaultKind, Limits, MappingId, MmId, VmFlags};
use std::collections::HashSet;
use std::sync::Mutex;

const PAGES: u64 = if cfg!(miri) { 8 } else { 200 };

/// Room in which the buckets of the two files are apart.
const WIDE: Limits = Limits { frames: 4096, folios: 4096, ..ROOM };

/// The ranks of the locks under which a page is found by its place in a file or in swap.
const RANKS: [&str; 3] = ["places", "swap", "index"];

/// Returns two files, and for each a process that maps it and reads its pages by faults, each by
/// itself.
fn two_files(world: &mut World<'_, X86_64>) -> [(MappingId, MmId); 2] {
    [0, 1].map(|_| {
        let (file, mm) = (world.file_of(0), world.process());
        world.maps.mm(mm).expect("it lives").set_fault_around(0);
        world.vma(mm, 0..PAGES, VmFlags::READ, file, 0);
        (file, mm)
    })
}

/// Faults pages in, and returns the words of the locks of the page cache that each fault took.
fn words(world: &World<'_, X86_64>, mm: MmId, kind: FaultKind) -> Vec<HashSet<LockWord>> {
    (0..PAGES)
        .map(|number| {
            let taken = Mutex::new(HashSet::new());
            let note = |event, lock: LockWord| {
                if event == LockEvent::Hold && RANKS.contains(&lock.rank) {
                    taken.lock().unwrap().insert(lock);
                }
            };
            let (env, cpu) = (world.env.watched(&note), &mut CpuCtx::new());
            let at = page::<X86_64>(number);
            let done = world.maps.on(&env, cpu, tuning()).handle_fault(mm, at, Access::Read);
            assert_eq!(done, Fault::Done(kind));
            taken.into_inner().unwrap()
        })
        .collect()
}

#[test]
fn faults_on_cached_pages_meet_only_at_the_same_page() {
    let mut arena = Arena::new::<X86_64>(&WIDE);
    let mut world = arena.world();
    for (file, mm) in two_files(&mut world) {
        words(&world, mm, FaultKind::Major);
        let other = world.process();
        world.maps.mm(other).expect("it lives").set_fault_around(0);
        world.vma(other, 0..PAGES, VmFlags::READ, file, 0);
        let taken = words(&world, other, FaultKind::Minor);
        assert!(taken.iter().all(|of| of.len() == 1), "the bucket of its page: {taken:?}");
        let all: HashSet<_> = taken.into_iter().flatten().collect();
        assert_eq!(all.len() as u64, PAGES, "of each page its own");
    }
}

#[test]
fn faults_that_read_different_files_share_no_lock_of_the_index() {
    let mut arena = Arena::new::<X86_64>(&WIDE);
    let mut world = arena.world();
    let [one, other] = two_files(&mut world).map(|(_, mm)| -> HashSet<_> {
        words(&world, mm, FaultKind::Major).into_iter().flatten().collect()
    });
    assert!(one.len() > 1 && other.len() > 1, "the file's, and buckets");
    assert_eq!(one.intersection(&other).count(), 0);
}

#[test]
fn threads_that_fault_on_different_files_never_wait_for_the_index() {
    let mut arena = Arena::new::<X86_64>(&WIDE);
    let mut world = arena.world();
    let files = two_files(&mut world);
    let note = |event, lock: LockWord| {
        assert!(event != LockEvent::Wait || !RANKS.contains(&lock.rank), "waits for {lock:?}");
    };
    let (maps, env) = (&world.maps, &world.env.watched(&note));
    std::thread::scope(|scope| {
        for (_, mm) in files {
            scope.spawn(move || {
                for at in (0..PAGES).map(page::<X86_64>) {
                    let cpu = &mut CpuCtx::new();
                    let done = maps.on(env, cpu, tuning()).handle_fault(mm, at, Access::Read);
                    assert_eq!(done, Fault::Done(FaultKind::Major));
                }
            });
        }
    });
}

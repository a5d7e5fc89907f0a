//! `folio_referenced` and the locks it tries: its results without them, and their release.

use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World, aging, tuning};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Events, FolioFlags, FolioId, Lock, MappingId, MmId, Referenced, Refs, Tuning, VmFlags,
};
use std::cell::Cell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Makes a folio of two pages of a file, mapped by one process, with its second page young.
fn one_young_folio<F: Format>(world: &mut World<'_, F>) -> (MmId, MappingId, FolioId) {
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 1, 0);
    let vma = world.vma(mm, 4..6, VmFlags::READ, file, 0);
    world.map(vma, folio);
    world.touch(mm, 5);
    world.forget();
    (mm, file, folio)
}

const fn found(refs: Refs, vm_flags: VmFlags) -> Referenced {
    Referenced { refs, vm_flags }
}

fn an_unmapped_folio_has_no_reference_even_if_locked<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 1, 0);
    world.vma(mm, 4..6, VmFlags::READ, file, 0);
    let _held = world.maps.folio(folio).expect("it lives").try_lock();
    let nothing = found(Refs::Vmas(0), VmFlags::empty());
    assert_eq!(world.referenced(folio, algorithm), nothing);
    assert_eq!(world.cpu.events(), Events::default());
    assert!(!world.walked(mm));
}

fn a_folio_locked_by_another_counts_as_referenced_once<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, _, folio) = one_young_folio(&mut world);
    let held = world.maps.folio(folio).expect("it lives").try_lock();
    let once = found(Refs::Vmas(1), VmFlags::empty());
    assert_eq!(world.referenced(folio, algorithm), once);
    assert_eq!(world.cpu.events().folio_lock_failed, 1);
    assert!(!world.walked(mm));
    drop(held);
    let seen = found(Refs::Vmas(1), VmFlags::READ);
    assert_eq!(world.referenced(folio, algorithm), seen);
    assert_eq!(world.cpu.events().folio_lock_failed, 1);
}

fn a_caller_that_holds_the_folio_is_answered<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, _, folio) = one_young_folio(&mut world);
    let held = world.maps.folio(folio).expect("it lives").try_lock();
    let seen = world
        .tuned(Tuning { aging: aging(algorithm), ..tuning() })
        .folio_referenced(folio, held.as_ref(), None)
        .expect("it lives");
    assert_eq!(seen, found(Refs::Vmas(1), VmFlags::READ));
    assert_eq!(world.cpu.events(), Events::default());
    assert_eq!(world.young(mm, 4..6), []);
    assert!(world.maps.folio(folio).expect("it lives").try_lock().is_none(), "still the caller's");
    drop(held);
}

fn a_reverse_map_being_written_leaves_the_answer_unknown<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file, folio) = one_young_folio(&mut world);
    let unknown = found(Refs::Unknown, VmFlags::empty());
    let writer = world.maps.mapping(file).expect("it lives").lock().try_write();
    assert_eq!(world.referenced(folio, algorithm), unknown);
    assert_eq!(world.cpu.events().rmap_lock_failed, 1);
    assert!(!world.walked(mm));
    drop(writer);
    let reader = world.maps.mapping(file).expect("it lives").lock().try_read();
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.cpu.events().rmap_lock_failed, 1);
    drop(reader);
}

/// Whatever the result of the check, no lock stays taken.
fn every_lock_is_given_back<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file, folio) = one_young_folio(&mut world);
    let table = world.pte_table(mm, 4);
    let is_free = |world: &World<'_, F>| {
        assert!(world.maps.folio(folio).expect("it lives").try_lock().is_some());
        assert!(world.maps.mapping(file).expect("it lives").lock().try_write().is_some());
        assert!(world.env.hardware.tables.lock(table).try_write().is_some());
    };
    world.referenced(folio, algorithm);
    is_free(&world);
    let writer = world.maps.mapping(file).expect("it lives").lock().try_write();
    world.referenced(folio, algorithm);
    drop(writer);
    is_free(&world);
    let locked = world.process();
    let vma = world.vma(locked, 0..2, VmFlags::LOCKED, file, 0);
    world.map(vma, folio);
    let found = world.referenced(folio, algorithm);
    assert_eq!(found.vm_flags, VmFlags::LOCKED);
    is_free(&world);
}

fn the_tables_lock_is_taken_once_for_a_run<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 2, 0);
    let vma = world.vma(mm, 0..4, VmFlags::READ, file, 0);
    world.map(vma, folio);
    world.forget();
    world.referenced(folio, algorithm);
    assert_eq!(world.locked(world.pte_table(mm, 0)), 1);
}

/// A VMA that might map the folio, but does not: its table is read without its lock.
fn a_table_without_a_match_is_not_locked<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 1, 0);
    let (user, other) = (world.process(), world.process());
    let vmas = [user, other].map(|mm| world.vma(mm, 4..6, VmFlags::READ, file, 0));
    for vma in vmas {
        world.map(vma, folio);
    }
    world.touch(user, 5);
    let table = world.pte_table(other, 4);
    world.zap(vmas[1], folio);
    world.forget();
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
    assert!(world.walked(other), "the latest VMA is asked first");
    assert_eq!(world.locked(table), 0);
}

fn device_memory_is_refused_in_debug_builds<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (_, _, folio) = one_young_folio(&mut world);
    world.flag(folio, FolioFlags::ZONE_DEVICE);
    let ask = std::panic::AssertUnwindSafe(|| world.referenced(folio, algorithm));
    let answer = std::panic::catch_unwind(ask);
    if cfg!(debug_assertions) {
        assert!(answer.is_err(), "a warning");
    } else {
        assert_eq!(answer.unwrap().refs, Refs::Vmas(1), "as before");
    }
}

on_every_format!(
    an_unmapped_folio_has_no_reference_even_if_locked,
    a_folio_locked_by_another_counts_as_referenced_once,
    a_caller_that_holds_the_folio_is_answered,
    a_reverse_map_being_written_leaves_the_answer_unknown,
    every_lock_is_given_back,
    the_tables_lock_is_taken_once_for_a_run,
    a_table_without_a_match_is_not_locked,
    device_memory_is_refused_in_debug_builds,
);

#[test]
fn a_writer_excludes_and_readers_share() {
    let lock = Lock::default();
    let (one, two) = (lock.try_read(), lock.try_read());
    assert!(one.is_some() && two.is_some());
    assert!(lock.try_write().is_none());
    drop(one);
    assert!(lock.try_write().is_none(), "one reader is left");
    drop(two);
    let writer = lock.try_write();
    assert!(writer.is_some());
    assert!(lock.try_read().is_none() && lock.try_write().is_none());
    drop(writer);
    assert!(lock.try_read().is_some());
}

#[test]
fn whoever_waits_to_write_relaxes_between_tries() {
    let lock = Lock::default();
    let reader = Cell::new(lock.try_read());
    let relaxed = Cell::new(0);
    let writer = lock.write(|| {
        relaxed.set(relaxed.get() + 1);
        if relaxed.get() == 3 {
            drop(reader.take());
        }
    });
    assert_eq!(relaxed.get(), 3);
    drop(writer);
}

#[test]
fn a_writer_that_waits_is_not_overtaken_by_readers() {
    let lock = Lock::default();
    let inside = Cell::new(lock.try_read());
    let waits = Cell::new(0);
    let writer = lock.write(|| {
        waits.set(waits.get() + 1);
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
        inside.take();
    });
    assert_eq!(waits.get(), 1);
    assert!(lock.try_read().is_none());
    drop(writer);
    assert!(lock.try_read().is_some() && lock.try_write().is_some());
}

/// Two CPUs that reclaim folios of one file must not exclude each other.
#[test]
fn a_reader_is_refused_only_by_a_writer() {
    const ROUNDS: u64 = 1_000_000;
    let lock = Lock::default();
    let refused = AtomicU64::new(0);
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..ROUNDS {
                    if lock.try_read().is_none() {
                        refused.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(refused.load(Relaxed), 0, "refusals in {} tries", 2 * ROUNDS);
}

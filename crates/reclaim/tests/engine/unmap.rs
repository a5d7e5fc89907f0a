//! Unmapping of a folio: every entry, once, in batches or one by one, and the flush owed then.

use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::contig::Getter;
use pageout_paging::mmu::Invalidate;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level};
use pageout_reclaim::{
    FlushTiming, FolioFlags, FolioId, MmId, TlbBatch, Tuning, UnmapGranularity, Unmapped,
    Unmapping, VmFlags,
};
use std::sync::atomic::Ordering::Relaxed;

pub(crate) const ALL: [Unmapping; 5] = [
    how(UnmapGranularity::PerEntry, FlushTiming::Immediate),
    how(UnmapGranularity::PerEntry, FlushTiming::Deferred),
    how(UnmapGranularity::Batched, FlushTiming::Immediate),
    how(UnmapGranularity::Batched, FlushTiming::Deferred),
    Unmapping { read: Getter::Raw, ..how(UnmapGranularity::Batched, FlushTiming::Deferred) },
];

const fn how(by: UnmapGranularity, shootdown: FlushTiming) -> Unmapping {
    Unmapping { by, read: Getter::Contpte, shootdown }
}

/// Unmaps the folio, gives up its entries' references, and completes the flush owed.
fn unmap<F: Format>(world: &mut World<'_, F>, id: FolioId, how: Unmapping) -> Unmapped {
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let engine = &mut maps.on(env, cpu, Tuning { unmapping: how, ..tuning() });
    let mut tlb_batch = TlbBatch::new(engine);
    let guard = maps.folio(id).expect("it lives").try_lock().expect("no one holds the folio");
    let done = engine.try_to_unmap(&guard, &mut tlb_batch);
    drop(guard);
    if done.refs > 0 {
        tlb_batch.put_after(engine, id, done.refs).expect("it lives");
    }
    tlb_batch.finish(engine);
    assert_eq!(maps.dropped_tlb_batches(), 0);
    done
}

/// Makes two processes that map parts of a file's folio, with some entries dirty.
fn shared<F: Format>(world: &mut World<'_, F>, dirty: u32) -> ([MmId; 2], FolioId) {
    let (one, two, file) = (world.process(), world.process(), world.file());
    let folio = world.folio(file, 3, 0);
    let n = F::PTES as u64;
    for (mm, at, pgoff) in [(one, 0..8, 0), (two, n - 2..n + 3, 1)] {
        let pages = at.end - at.start;
        let vma = world.vma(mm, at.clone(), VmFlags::READ | VmFlags::WRITE, file, pgoff);
        world.map(vma, folio);
        for (k, number) in (0..pages).zip(at) {
            if dirty >> (k + pgoff) & 1 != 0 {
                world.change(mm, number, F::mkdirty);
            }
        }
    }
    ([one, two], folio)
}

fn all_entries_go_and_dirt_is_kept_whatever_the_way<F: Format>(_: YoungAlgorithm) {
    for dirty in [0, 1, 0x80, 0x18, 0xff] {
        for how in ALL {
            let mut arena = Arena::new::<F>(&LIMITS);
            let mut world = arena.world::<F>();
            let (mms, folio) = shared(&mut world, dirty);
            let done = unmap(&mut world, folio, how);
            assert_eq!(done, Unmapped { all: true, refs: 13 });
            let state = world.maps.folio(folio).expect("it lives");
            assert_eq!((state.mapcount(), state.refs()), (0, 1));
            assert_eq!(state.flags().contains(FolioFlags::DIRTY), dirty != 0);
            for mm in mms {
                let left = world.entries(mm, 0..2 * F::PTES as u64);
                assert!(left.iter().all(|pte| pte.is_none()));
            }
        }
    }
}

/// A VMA that is locked into memory keeps the folio. If munlock of another VMA took the mark away,
/// unmapping sets it again, as the count of references does.
fn what_a_locked_vma_maps_all_of_is_marked_again<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for (at, marked) in [(0..4, true), (0..3, false), (n - 2..n + 2, false)] {
        for how in ALL {
            let mut arena = Arena::new::<F>(&LIMITS);
            let mut world = arena.world::<F>();
            let (mm, file) = (world.process(), world.file());
            let folio = world.folio(file, 2, 0);
            let vma = world.vma(mm, at.clone(), VmFlags::LOCKED, file, 0);
            world.map(vma, folio);
            let done = unmap(&mut world, folio, how);
            assert_eq!(done, Unmapped { all: false, refs: 0 });
            let flags = world.maps.folio(folio).expect("it lives").flags();
            assert_eq!(flags.contains(FolioFlags::MLOCKED), marked, "{at:?}");
        }
    }
}

fn a_batch_is_invalidated_at_once_and_completed_as_the_variant_says<F: Format>(_: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let ([one, two], folio) = shared(&mut world, 0);
        world.forget();
        assert!(unmap(&mut world, folio, how).all);
        let told = world.env.mmu.invalidations();
        let completions = world.env.mmu.completions();
        let asid = |mm| world.maps.mm(mm).expect("it lives").asid();
        let of = |mm| {
            let mine = told.iter().filter(move |told| match told {
                Invalidate::Range { asid: a, level: Level::Pte, .. } => *a == asid(mm),
                other => panic!("{other:?}"),
            });
            mine.count()
        };
        if how.by == UnmapGranularity::Batched {
            // The second process's entries lie in two tables.
            assert_eq!((of(one), of(two)), (1, 2));
        } else if F::CONT_SHIFT == 0 {
            assert_eq!((of(one), of(two)), (8, 5));
        }
        match how.shootdown {
            FlushTiming::Deferred if how.by == UnmapGranularity::Batched => {
                assert_eq!(completions, 1);
            }
            FlushTiming::Deferred => assert!(completions < told.len() as u64 || told.len() == 1),
            _ => assert!(completions >= told.len() as u64),
        }
    }
}

fn interrupts_are_sent_once_for_all<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mms, folio) = shared(&mut world, 0);
    world.env.mmu.interrupts.store(true, Relaxed);
    world.forget();
    assert!(unmap(&mut world, folio, how(UnmapGranularity::Batched, FlushTiming::Deferred)).all);
    let deferred = world.env.mmu.deferred.lock().unwrap().clone();
    for mm in mms {
        assert!(
            deferred.contains(&world.maps.mm(mm).expect("it lives").asid()),
            "{mm:?} is flushed later"
        );
    }
    assert_eq!(world.env.mmu.invalidations(), [Invalidate::Everything]);
    assert_eq!(world.env.mmu.completions(), 1);
}

/// A limit makes a machine with too few CPUs act as with `Immediate`, and others as with
/// `Deferred`.
fn gates_go_by_the_number_of_cpus<F: Format>(_: YoungAlgorithm) {
    use FlushTiming::{Deferred, DeferredFrom, Immediate};
    let completions = |cpus: u16, when| {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (_, folio) = shared(&mut world, 0);
        world.env.mmu.cpus.store(cpus, Relaxed);
        world.forget();
        assert!(unmap(&mut world, folio, how(UnmapGranularity::Batched, when)).all);
        world.env.mmu.completions()
    };
    assert_ne!(completions(1, Immediate), completions(1, Deferred));
    for least in [4, 8] {
        let gate = DeferredFrom { cpus: least };
        for cpus in [1, 3, 4, 7, 8, 96] {
            let same = if cpus < least { Immediate } else { Deferred };
            assert_eq!(completions(cpus, gate), completions(cpus, same), "{gate:?}, {cpus} CPUs");
        }
    }
}

fn a_locked_reverse_map_or_vma_keeps_entries<F: Format>(_: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        let folio = world.folio(file, 2, 0);
        let vma = world.vma(mm, 0..4, VmFlags::READ, file, 0);
        world.map(vma, folio);
        let before = world.entries(mm, 0..4);
        {
            let maps = &world.maps;
            let held = maps.mapping(file).expect("it lives").lock().try_write().expect("free");
            let (env, cpu) = (&world.env, &mut world.cpu);
            let engine = &mut maps.on(env, cpu, Tuning { unmapping: how, ..tuning() });
            let mut tlb_batch = TlbBatch::new(engine);
            let guard = maps.folio(folio).expect("it lives").try_lock().expect("free");
            let done = engine.try_to_unmap(&guard, &mut tlb_batch);
            assert_eq!(done, Unmapped { all: false, refs: 0 });
            tlb_batch.finish(engine);
            drop(held);
        }
        let other = world.process();
        let locked = world.vma(other, 0..4, VmFlags::READ | VmFlags::LOCKED, file, 0);
        world.map(locked, folio);
        assert!(!unmap(&mut world, folio, how).all);
        assert_eq!(world.entries(other, 0..4), before);
    }
}

fn a_pmd_leaf_of_a_file_goes_whole<F: Format>(_: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        let folio = world.folio(file, F::TABLE_SHIFT as u8, 0);
        let n = F::PTES as u64;
        let vma = world.vma(mm, n..2 * n, VmFlags::READ | VmFlags::WRITE, file, 0);
        world.map_pmd(vma, folio);
        world.change(mm, n, F::mkdirty);
        assert_eq!(unmap(&mut world, folio, how), Unmapped { all: true, refs: 1 });
        assert!(world.flags(folio).contains(FolioFlags::DIRTY));
        assert!(world.entry(mm, n).is_none());
    }
}

on_every_format!(
    all_entries_go_and_dirt_is_kept_whatever_the_way,
    what_a_locked_vma_maps_all_of_is_marked_again,
    a_batch_is_invalidated_at_once_and_completed_as_the_variant_says,
    interrupts_are_sent_once_for_all,
    gates_go_by_the_number_of_cpus,
    a_locked_reverse_map_or_vma_keeps_entries,
    a_pmd_leaf_of_a_file_goes_whole,
);

//! The count of VMAs, not of entries; VMAs that are skipped, and VMAs that decide by themselves.

use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{FolioFlags, FolioId, MappingId, MmId, Recency, Refs, VmFlags};

/// Makes a process that maps a folio of four pages at its pages 0 to 3, none of them young.
fn mapper<F: Format>(
    world: &mut World<'_, F>,
    file: MappingId,
    folio: FolioId,
    flags: VmFlags,
) -> MmId {
    let mm = world.process();
    let vma = world.vma(mm, 0..4, flags, file, 0);
    world.map(vma, folio);
    mm
}

fn vmas_are_counted_not_entries<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    let young = mapper(&mut world, file, folio, VmFlags::READ);
    let old = mapper(&mut world, file, folio, VmFlags::READ);
    for page in 0..4 {
        world.touch(young, page);
    }
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.young(young, 0..4), []);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0), "clear by now");
    world.touch(young, 1);
    world.touch(old, 3);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(2));
}

fn flags_of_the_vmas_that_referenced_are_gathered<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    let exec = mapper(&mut world, file, folio, VmFlags::READ | VmFlags::EXEC);
    mapper(&mut world, file, folio, VmFlags::READ | VmFlags::WRITE);
    let plain = mapper(&mut world, file, folio, VmFlags::READ);
    world.touch(plain, 0);
    assert_eq!(world.referenced(folio, algorithm).vm_flags, VmFlags::READ);
    world.touch(exec, 0);
    world.touch(plain, 0);
    let found = world.referenced(folio, algorithm).vm_flags;
    assert_eq!(found, VmFlags::READ | VmFlags::EXEC, "not of the one left old");
}

fn vmas_without_recency_are_skipped<F: Format>(algorithm: YoungAlgorithm) {
    for no_recency in [VmFlags::SEQ_READ, VmFlags::RAND_READ, VmFlags::NOREUSE] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let file = world.file();
        let folio = world.folio(file, 2, 0);
        let skipped = mapper(&mut world, file, folio, no_recency | VmFlags::LOCKED);
        let asked = mapper(&mut world, file, folio, VmFlags::EXEC);
        world.attach(skipped, [1]);
        for mm in [skipped, asked] {
            world.touch(mm, 2);
        }
        world.forget();
        let found = world.referenced(folio, algorithm);
        assert_eq!((found.refs, found.vm_flags), (Refs::Vmas(1), VmFlags::EXEC));
        assert_eq!(world.young(skipped, 0..4), [2], "its young bits stay");
        assert_eq!(world.secondary(skipped).asked(), []);
        assert!(!world.flags(folio).contains(FolioFlags::MLOCKED));
        assert_eq!(world.cpu.events().vma_skipped, 1);
    }
}

/// Only VMAs that map a page of the folio are checked: others of the file are neither walked nor
/// skipped.
fn vmas_beside_the_folio_are_not_asked<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let (before, folio) = (world.folio(file, 2, 0), world.folio(file, 2, 4));
    let around: Vec<_> = [0, 8]
        .map(|pgoff| {
            let mm = world.process();
            world.vma(mm, 0..4, VmFlags::SEQ_READ, file, pgoff);
            mm
        })
        .into();
    let mm = world.process();
    let vma = world.vma(mm, 0..8, VmFlags::READ, file, 0);
    world.map(vma, before);
    world.map(vma, folio);
    world.touch(mm, 3);
    world.forget();
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0));
    assert_eq!(world.young(mm, 0..8), [3], "the other folio's");
    assert_eq!(world.cpu.events().vma_skipped, 0);
    assert!(around.iter().all(|mm| !world.walked(*mm)));
}

fn entries_that_map_another_folio_are_left_alone<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    // The pages are 1 to 4, so that no block is contiguous.
    let (folio, other) = (world.folio(file, 2, 0), world.folio(file, 2, 8));
    let (mm, peer) = (world.process(), world.process());
    for mm in [mm, peer] {
        let vma = world.vma(mm, 1..5, VmFlags::READ, file, 0);
        world.map(vma, folio);
    }
    // It is a private copy of the second page: a frame of another folio.
    let vma = world.vma(peer, 17..21, VmFlags::READ, file, 8);
    world.map(vma, other);
    let copy = world.entry(peer, 18);
    world.change(mm, 2, |_| F::mkyoung(copy));
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0));
    assert_eq!(world.young(mm, 1..5), [2]);
    world.touch(mm, 4);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.young(mm, 1..5), [2]);
}

fn an_exiting_process_leaves_its_own_memory_unknown<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let anon = world.anon();
    let folio = world.folio(anon, 2, 0);
    let mm = mapper(&mut world, anon, folio, VmFlags::WRITE);
    world.touch(mm, 0);
    world.maps.mm(mm).expect("it lives").set_exiting();
    let found = world.referenced(folio, algorithm);
    assert_eq!((found.refs, found.vm_flags), (Refs::Unknown, VmFlags::empty()));
    assert_eq!(world.young(mm, 0..4), [0]);
    assert_eq!(world.cpu.events().rmap_lock_failed, 0);
}

fn an_exiting_process_answers_for_what_others_may_use<F: Format>(algorithm: YoungAlgorithm) {
    let lazyfree = |world: &mut World<'_, F>| {
        let anon = world.anon();
        let folio = world.folio(anon, 2, 0);
        let guard = world.maps.folio(folio).expect("it lives").try_lock().expect("free");
        guard.test_and_clear(FolioFlags::SWAPBACKED);
        (anon, folio)
    };
    let shared = |world: &mut World<'_, F>| {
        let anon = world.anon();
        let folio = world.folio(anon, 2, 0);
        mapper(world, anon, folio, VmFlags::WRITE);
        (anon, folio)
    };
    let file = |world: &mut World<'_, F>| {
        let file = world.file();
        (file, world.folio(file, 2, 0))
    };
    let shmem = |world: &mut World<'_, F>| {
        let file = world.file();
        let folio = world.folio(file, 2, 0);
        world.flag(folio, FolioFlags::SWAPBACKED);
        (file, folio)
    };
    type Make<'f, F> = &'f dyn Fn(&mut World<'_, F>) -> (MappingId, FolioId);
    let kinds: [(&str, Make<'_, F>); 4] =
        [("lazyfree", &lazyfree), ("shared", &shared), ("file", &file), ("shmem", &shmem)];
    for (kind, make) in kinds {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mapping, folio) = make(&mut world);
        let mm = mapper(&mut world, mapping, folio, VmFlags::WRITE);
        world.touch(mm, 0);
        world.maps.mm(mm).expect("it lives").set_exiting();
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1), "{kind}");
        assert_eq!(world.young(mm, 0..4), [], "{kind}");
    }
}

fn a_reference_ends_idle_tracking_and_its_absence_does_not<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    let mm = mapper(&mut world, file, folio, VmFlags::READ);
    world.flag(folio, FolioFlags::IDLE);
    world.maps.folio(folio).expect("it lives").note_use(Recency::REFERENCED, Recency::NONE);
    world.referenced(folio, algorithm);
    assert_eq!(world.flags(folio), FolioFlags::IDLE);
    world.touch(mm, 3);
    world.referenced(folio, algorithm);
    assert_eq!(world.flags(folio), FolioFlags::empty());
    let recency = world.maps.folio(folio).expect("it lives").recency();
    assert_eq!(recency, Recency::REFERENCED, "left to the decision");
}

fn a_young_bit_that_idle_tracking_took_counts_once<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let file = world.file();
    let folio = world.folio(file, 2, 0);
    for _ in 0..2 {
        mapper(&mut world, file, folio, VmFlags::READ);
    }
    world.flag(folio, FolioFlags::YOUNG | FolioFlags::IDLE);
    let found = world.referenced(folio, algorithm);
    assert_eq!((found.refs, found.vm_flags), (Refs::Vmas(1), VmFlags::READ));
    assert_eq!(world.flags(folio), FolioFlags::IDLE, "idle ends with a real access only");
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0));
}

on_every_format!(
    vmas_are_counted_not_entries,
    flags_of_the_vmas_that_referenced_are_gathered,
    vmas_without_recency_are_skipped,
    vmas_beside_the_folio_are_not_asked,
    entries_that_map_another_folio_are_left_alone,
    an_exiting_process_leaves_its_own_memory_unknown,
    an_exiting_process_answers_for_what_others_may_use,
    a_reference_ends_idle_tracking_and_its_absence_does_not,
    a_young_bit_that_idle_tracking_took_counts_once,
);

//! Write-out of files' dirty pages, as flushers do.

use crate::cpu::{ROOM, RW};
use crate::crowd::Users;
use crate::formats::on_every_format;
use crate::migrate::Anywhere;
use crate::world::{Arena, World, tuning};
use pageout_paging::pte::SmallX86;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Pfn};
use pageout_reclaim::{
    CpuCtx, DirtyFolios, FolioFlags, FolioId, IoError, MappingId, Place, Submitted, TlbBatch,
    VmFlags,
};
use pageout_sim::Answer;

const SHARED: VmFlags = RW.union(VmFlags::SHARED);

fn what_is_stored_meanwhile_is_written_another_time<F: Format>(_: YoungAlgorithm) {
    for order in [0, 2] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let file = world.file_of(order);
        let sharers = [0, 1].map(|_| {
            let mm = world.process();
            world.vma(mm, 0..8, SHARED, file, 0);
            mm
        });
        for mm in sharers {
            world.fill(mm, 0..4, 100);
        }
        let folio = world.folio_at(sharers[0], 0);
        let pages = world.maps.folio(folio).expect("it lives").nr_pages() as u64;
        world.env.memory().storage.answers(Answer::Late);
        let written = world.engine().write_back(folio).expect("it lives");
        assert_eq!(written, Some(Submitted::Pending));
        for mm in sharers {
            for number in 0..pages {
                let entry = world.entry(mm, number);
                assert!(F::is_valid(entry) && !F::is_write(entry) && !F::is_dirty(entry));
            }
        }
        let again = world.engine().write_back(folio).expect("it lives");
        assert_eq!(again, None, "it is being written");
        {
            let maps = &world.maps;
            let engine = &mut maps.on(&world.env, &mut world.cpu, tuning());
            let guard = maps.folio(folio).expect("it lives").try_lock().expect("no one has it");
            let mut tlb_batch = TlbBatch::new(engine);
            assert_eq!(tlb_batch.write_out(&guard, folio), Ok(None), "it is being written");
            drop(guard);
            tlb_batch.finish(engine);
        }
        assert_eq!(world.finish_io(true), 1);
        let clean = FolioFlags::DIRTY | FolioFlags::WRITEBACK;
        assert!(!world.flags(folio).intersects(clean));
        assert_eq!(world.engine().write_back(folio).expect("it lives"), None, "it is clean");
        // A CPU that could store before has to read the entry again.
        world.fill(sharers[1], 0..1, 200);
        let written = world.engine().write_back(folio).expect("it lives");
        assert_eq!(written, Some(Submitted::Pending), "it is dirty again");
        assert_eq!(world.finish_io(true), 1);
        assert_eq!(world.env.memory().storage.content(Place::File(file, 0)), 200);
        world.holds(sharers[0], 0..1, 200);
        if pages > 1 {
            assert_eq!(world.env.memory().storage.content(Place::File(file, 1)), 101);
        }
        assert!(!world.env.mmu.wrote_too_early());
    }
}

fn a_write_that_fails_leaves_the_page_dirty<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(0));
    world.vma(mm, 0..4, SHARED, file, 0);
    world.fill(mm, 0..1, 7);
    let folio = world.folio_at(mm, 0);
    world.env.memory().storage.answers(Answer::Failure);
    let written = world.engine().write_back(folio).expect("it lives");
    assert_eq!(written, Some(Submitted::Failed(IoError::Device)));
    assert!(world.flags(folio).contains(FolioFlags::DIRTY | FolioFlags::ERROR));
    world.env.memory().storage.answers(Answer::Late);
    assert_eq!(world.engine().write_back(folio).expect("it lives"), Some(Submitted::Pending));
    assert_eq!(world.finish_io(false), 1);
    let mapping = world.maps.mapping(file).expect("it lives");
    let errors = [0; 3].map(|_| mapping.take_write_error());
    assert_eq!(errors, [Some(IoError::Device), None, None], "one for fsync, once");
    world.env.memory().storage.answers(Answer::AtOnce);
    let written = world.engine().write_back(folio).expect("it lives");
    assert_eq!(written, Some(Submitted::Done));
    assert_eq!(world.env.memory().storage.content(Place::File(file, 0)), 7);
}

/// Returns the folios that a flusher finds.
fn dirty<F: Format>(world: &mut World<'_, F>, file: MappingId) -> Vec<FolioId> {
    let mut walk = DirtyFolios::of(file);
    let mut found = Vec::new();
    while let Some(id) = world.engine().next_dirty(&mut walk).expect("it lives") {
        world.engine().release(id, 1).expect("it was given");
        found.push(id);
    }
    found
}

fn a_flusher_finds_what_was_stored_to_and_nothing_else<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file, other) = (world.process(), world.file_of(0), world.file_of(0));
    world.vma(mm, 0..8, SHARED, file, 0);
    world.vma(mm, 8..16, SHARED, other, 0);
    for page in 0..16 {
        assert!(world.load(0, mm, page).is_ok());
    }
    assert_eq!((dirty(&mut world, file), dirty(&mut world, other)), (vec![], vec![]));
    for page in [5, 2, 9] {
        world.fill(mm, page..page + 1, 7);
    }
    let at = |world: &mut World<'_, F>, page| world.folio_at(mm, page);
    let (second, fifth, ninth) = (at(&mut world, 2), at(&mut world, 5), at(&mut world, 9));
    assert_eq!(dirty(&mut world, file), [second, fifth], "by page");
    assert_eq!(dirty(&mut world, other), [ninth]);
    assert_eq!(world.engine().write_back(second).expect("it lives"), Some(Submitted::Done));
    world.env.memory().storage.answers(Answer::Failure);
    assert_eq!(
        world.engine().write_back(fifth).expect("it lives"),
        Some(Submitted::Failed(IoError::Device))
    );
    assert_eq!(dirty(&mut world, file), [fifth], "its write failed");
    world.env.memory().storage.answers(Answer::Late);
    assert_eq!(world.engine().write_back(fifth).expect("it lives"), Some(Submitted::Pending));
    assert_eq!(dirty(&mut world, file), []);
    world.fill(mm, 5..6, 8);
    assert_eq!(dirty(&mut world, file), [fifth], "it was stored to meanwhile");
    assert_eq!(world.engine().write_back(fifth).expect("it lives"), None, "it is being written");
    assert_eq!(world.finish_io(false), 1);
    assert_eq!(dirty(&mut world, file), [fifth]);
    assert_eq!(dirty(&mut world, other), [ninth]);
}

/// The pages of a sparse file are more than there are buckets of the index.
fn dirty_folios_of_a_sparse_file_are_found<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(0));
    let far = [0, 1 << 10, 3 << 10, 1 << 40];
    for (k, pgoff) in (0..).zip(far) {
        world.vma(mm, 2 * k..2 * k + 1, SHARED, file, pgoff);
        world.fill(mm, 2 * k..2 * k + 1, k);
    }
    let folios = [0, 2, 4, 6].map(|page| world.folio_at(mm, page));
    assert_eq!(dirty(&mut world, file).len(), 4);
    assert!(folios.iter().all(|id| dirty(&mut world, file).contains(id)));
    assert_eq!(world.engine().write_back(folios[1]).expect("it lives"), Some(Submitted::Done));
    assert!(!dirty(&mut world, file).contains(&folios[1]));
}

on_every_format!(
    a_flusher_finds_what_was_stored_to_and_nothing_else,
    dirty_folios_of_a_sparse_file_are_found,
    what_is_stored_meanwhile_is_written_another_time,
    a_write_that_fails_leaves_the_page_dirty,
);

/// A folio that is moving to other frames has no reference to add to: a flusher waits for it.
#[test]
fn flushers_keep_what_they_find_while_it_is_moved() {
    const ROUNDS: u64 = if cfg!(miri) { 10 } else { 20_000 };
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world = arena.world::<SmallX86>();
    let (mm, file) = (world.process(), world.file_of(0));
    world.vma(mm, 0..8, SHARED, file, 0);
    world.fill(mm, 0..8, 100);
    world.exit(mm);
    let (maps, env) = (&world.maps, &world.env);
    let users = Users::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (cpu, _user) = (&mut CpuCtx::new(), users.one());
            for _ in 0..ROUNDS {
                let (mut walk, engine) = (DirtyFolios::of(file), &mut maps.on(env, cpu, tuning()));
                while let Some(id) = engine.next_dirty(&mut walk).expect("it lives") {
                    engine.release(id, 1).expect("it was given");
                }
            }
        });
        let (cpu, all) = (&mut CpuCtx::new(), Pfn::new(0)..Pfn::new(ROOM.frames as u64));
        while users.are_running() {
            maps.on(env, cpu, tuning()).migrate_range(all.clone(), &mut Anywhere(env));
        }
    });
    let found = dirty(&mut world, file);
    assert_eq!(found.len(), 8, "all are dirty");
    for id in found {
        assert_eq!(world.maps.folio(id).expect("it lives").refs(), 1, "the index's");
    }
}

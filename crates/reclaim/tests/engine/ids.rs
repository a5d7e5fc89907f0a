//! Ids of what has ended, and calls made twice: each is an error, and changes nothing.

use crate::cpu::{ROOM, RW};
use crate::world::{Arena, World, page, pages};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::SmallX86;
use pageout_paging::walk::TableFrames;
use pageout_paging::{Order, Pfn};
use pageout_reclaim::{
    Access, Advice, BadId, Fault, FolioId, IoError, MappingId, MappingKind, MmId, MmapError,
    NewVma, ReleaseError, RemoveError, SpaceError, TableKind, Targets, TransferError,
    TruncateError, VmFlags,
};
use pageout_sim::Answer;

type W<'a> = World<'a, SmallX86>;

const NO_MM: BadId = BadId(TableKind::Mms);
const NO_MAPPING: BadId = BadId(TableKind::Mappings);

#[test]
fn an_address_space_ends_once() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (mm, other) = (world.process(), world.process());
    world.exit(mm);
    for _ in 0..2 {
        assert_eq!(world.engine().exit_mm(mm), Err(NO_MM));
        assert_eq!(world.engine().remove_mm(mm), Err(RemoveError::BadId(NO_MM)));
    }
    let born = [world.process(), world.process()];
    assert_ne!(born[0], born[1], "each has an entry of its own");
    assert!(!born.contains(&mm) && !born.contains(&other));
    assert_eq!(world.engine().exit_mm(mm), Err(NO_MM), "the entry is another's");
    assert_eq!(world.engine().exit_mm(born[0]), Ok(()));
}

#[test]
fn no_call_takes_an_address_space_that_ended() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (anon, gone) = (world.anon(), world.process());
    world.exit(gone);
    // The entry is in use again, so only the generation tells.
    let born = world.process();
    world.vma(born, 0..4, RW, anon, 0);
    assert_eq!(born.index(), gone.index());
    let root = world.tables.take().expect("a root table");
    let (at, bad) = (pages::<SmallX86>(0..4), SpaceError::BadId(NO_MM));
    let new = NewVma { mm: gone, range: at.clone(), flags: RW, mapping: anon, pgoff: 0 };
    let mut engine = world.engine();
    let fault = engine.handle_fault(gone, page::<SmallX86>(0), Access::Read);
    assert_eq!(fault, Fault::BadId(NO_MM));
    assert_eq!(engine.mmap(&new), Err(MmapError::BadId(NO_MM)));
    assert_eq!(engine.fork(gone, root, Asid(9)), Err(bad));
    let moved = pages::<SmallX86>(8..12);
    let refused = [
        engine.munmap_range(gone, &at),
        engine.mprotect(gone, &at, VmFlags::READ),
        engine.madvise(gone, &at, Advice::DontNeed),
        engine.mlock(gone, &at),
        engine.munlock(gone, &at),
        engine.mremap(gone, &at, &moved),
        engine.set_uffd_wp(gone, &at, true),
    ];
    assert_eq!(refused, [Err(bad); 7]);
    assert_eq!(engine.set_memcg(gone, pageout_reclaim::MemcgId::ROOT), Err(NO_MM));
    assert_eq!(engine.maps().lru_gen_use_mm(gone), Err(NO_MM));
    assert_eq!(engine.maps().mm(gone).err(), Some(NO_MM));
    world.holds(born, 0..1, 0);
}

#[test]
fn a_mapping_ends_once_and_no_call_takes_it_then() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    assert_eq!(world.engine().remove_mapping(file), Ok(()));
    for _ in 0..2 {
        assert_eq!(world.engine().remove_mapping(file), Err(RemoveError::BadId(NO_MAPPING)));
    }
    let born = [world.file(), world.file()];
    assert_ne!(born[0], born[1], "each has an entry of its own");
    let range = pages::<SmallX86>(0..4);
    let new = NewVma { mm, range, flags: RW, mapping: file, pgoff: 0 };
    let mut engine = world.engine();
    assert_eq!(engine.mmap(&new), Err(MmapError::BadId(NO_MAPPING)));
    assert_eq!(engine.truncate(file, 0), Err(TruncateError::BadId(NO_MAPPING)));
    assert_eq!(engine.filemap_get_folio(file, 0), Err(NO_MAPPING));
    assert_eq!(engine.maps().mapping_is_used(file), Err(NO_MAPPING));
    assert_eq!(engine.maps().mapping(file).err(), Some(NO_MAPPING));
    let folio = crate::tables::new_folio(0, 0, file);
    assert_eq!(world.add_folio(folio).err(), Some(NO_MAPPING.into()));
}

#[test]
fn shared_memory_ends_once_it_is_truncated() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (mm, shmem) = (world.process(), world.mapping(MappingKind::Shmem));
    world.vma(mm, 0..4, RW | VmFlags::SHARED, shmem, 0);
    world.fill(mm, 0..4, 1);
    world.exit(mm);
    assert_eq!(world.engine().remove_mapping(shmem), Err(RemoveError::HasPages));
    assert_eq!(world.engine().truncate(shmem, 0), Ok(()));
    assert_eq!(world.engine().remove_mapping(shmem), Ok(()));
    world.all_pages_free();
}

#[test]
fn a_transfer_ends_once() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    world.vma(mm, 0..4, RW | VmFlags::SHARED, file, 0);
    world.env.memory().storage.answers(Answer::Late);
    let fault = world.engine().handle_fault(mm, page::<SmallX86>(0), Access::Read);
    let Fault::Pending(folio) = fault else { panic!("{fault:?} of a page that is read late") };
    assert_eq!(world.engine().write_done(folio, Ok(())), Err(TransferError::NotPending));
    assert_eq!(world.finish_io(true), 1);
    let refs = world.maps.folio(folio).expect("it lives").refs();
    for result in [Ok(()), Err(IoError::Device)] {
        assert_eq!(world.engine().read_done(folio, result), Err(TransferError::NotPending));
        assert_eq!(world.engine().write_done(folio, result), Err(TransferError::NotPending));
    }
    assert_eq!(
        world.maps.folio(folio).expect("it lives").refs(),
        refs,
        "no reference was given up"
    );
    world.fill(mm, 0..1, 7);
    assert!(world.engine().write_back(folio).is_ok_and(|begun| begun.is_some()));
    assert_eq!(world.finish_io(true), 1);
    assert_eq!(world.engine().write_done(folio, Ok(())), Err(TransferError::NotPending));
    world.holds(mm, 0..1, 7);
}

#[test]
fn a_reference_is_given_up_once() {
    for order in [0, 4] {
        let mut arena = Arena::new::<SmallX86>(&ROOM);
        let mut world: W<'_> = arena.world();
        let (mm, file) = (world.process(), world.file_of(order));
        world.vma(mm, 0..1 << order, RW, file, 0);
        world.load(0, mm, 0).expect("it is mapped");
        let folio = world.engine().filemap_get_folio(file, 0).expect("it lives").expect("it is");
        assert_eq!(world.engine().release(folio, 2), Err(ReleaseError::TooMany));
        assert_eq!(world.engine().release(folio, 1), Ok(()));
        for refs in [1, 2, u32::MAX] {
            assert_eq!(world.engine().release(folio, refs), Err(ReleaseError::TooMany));
        }
        world.load(0, mm, 0).expect("it is mapped");
        world.exit(mm);
        assert_eq!(world.engine().truncate(file, 0), Ok(()));
        assert!(world.engine().release(folio, 1).is_err(), "it is freed");
        world.all_pages_free();
    }
}

/// Gives the targets that a test chose, in turn.
struct Chosen(Vec<Pfn>);

impl Targets for Chosen {
    fn take(&mut self, _: Order) -> Option<Pfn> {
        self.0.pop()
    }

    fn give_back(&mut self, pfn: Pfn, _: Order) {
        self.0.insert(0, pfn);
    }
}

#[test]
fn a_target_that_is_none_moves_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let mm = world.process();
    world.anon_at(mm, 0..4, 2);
    world.fill(mm, 0..4, 10);
    let from = world.maps.folio(world.folio_at(mm, 0)).expect("it lives").pfn();
    let range = from..from.add(4);
    let past = Pfn::new(ROOM.frames as u64);
    for to in [past, past.add(4), Pfn::new(u64::MAX - 3), Pfn::new(1 << 40), from, from.add(9)] {
        let done = world.engine().migrate_range(range.clone(), &mut Chosen(vec![to]));
        assert_eq!((done.moved, done.failed, done.bad_target), (0, 4, Some(to)), "{to:?}");
        world.holds(mm, 0..4, 10);
    }
    world.exit(mm);
    world.all_pages_free();
}

/// The steps of the test of random calls, unless `CALLS` sets them.
fn calls() -> u64 {
    std::env::var("CALLS").map_or(10_000, |n| n.parse().expect("a number of calls"))
}

/// The ids that a random history got: those that live, and those that have ended.
#[derive(Default)]
struct Ids {
    mms: [Vec<MmId>; 2],
    files: [Vec<MappingId>; 2],
    folios: Vec<FolioId>,
}

/// Returns one of `of`, if there is one.
fn pick<T: Copy>(of: &[T], random: u64) -> Option<T> {
    (!of.is_empty()).then(|| of[random as usize % of.len()])
}

/// Makes one call, with an id that lives or one that has ended.
fn step(world: &mut W<'_>, ids: &mut Ids, random: u64) {
    let (what, ended, at) = (random % 16, random >> 8 & 1 == 1, random >> 16);
    let (mms, files) = (&ids.mms[usize::from(ended)], &ids.files[usize::from(ended)]);
    let (mm, file, folio) = (pick(mms, at), pick(files, at >> 8), pick(&ids.folios, at >> 4));
    let range = pages::<SmallX86>(0..4);
    match (what, mm, file, folio) {
        (0, ..) if ids.mms[0].len() < 3 => {
            let live = |asid: &Asid| {
                ids.mms[0].iter().any(|mm| world.maps.mm(*mm).map(|mm| mm.asid()) == Ok(*asid))
            };
            let asid = (0..3).map(Asid).find(|asid| !live(asid)).expect("two live at most");
            let root = world.tables.take().expect("a root table");
            ids.mms[0].push(world.engine().add_mm(root, asid).expect("room"));
        }
        (1, ..) if ids.files[0].len() < 3 => ids.files[0].push(world.file()),
        (2, Some(mm), ..) => {
            let root = world.maps.mm(mm).map(|mm| mm.root());
            assert_eq!(world.engine().exit_mm(mm), root.map(|_| ()));
            if let Ok(root) = root {
                world.tables.give_back(root);
                ids.mms[0].retain(|live| *live != mm);
                ids.mms[1].push(mm);
            }
        }
        (3, _, Some(file), _) => {
            let cut = world.engine().truncate(file, 0);
            assert_eq!(cut.is_ok(), !ended);
            match world.engine().remove_mapping(file) {
                Ok(()) => {
                    ids.files[0].retain(|live| *live != file);
                    ids.files[1].push(file);
                }
                Err(RemoveError::Mapped) => assert!(!ended),
                Err(error) => assert!(ended && error == RemoveError::BadId(NO_MAPPING)),
            }
        }
        (4..8, Some(mm), Some(mapping), _) => {
            let new = NewVma { mm, range, flags: RW, mapping, pgoff: 0 };
            let made = world.engine().mmap(&new);
            assert!(matches!(made, Err(MmapError::BadId(_))) == ended, "{made:?}");
        }
        (8..11, Some(mm), ..) => {
            let fault = world.engine().handle_fault(mm, page::<SmallX86>(at % 4), Access::Write);
            assert_eq!(matches!(fault, Fault::BadId(_)), ended, "{fault:?}");
            assert_eq!(world.maps.lru_gen_use_mm(mm).is_err(), ended);
        }
        (11, Some(mm), ..) => {
            let done = world.engine().munmap_range(mm, &range);
            assert_eq!(done == Err(SpaceError::BadId(NO_MM)), ended, "{done:?}");
        }
        (12, _, Some(file), _) => match world.engine().filemap_get_folio(file, at % 4) {
            Err(bad) => assert!(ended && bad == NO_MAPPING),
            Ok(None) => {}
            Ok(Some(id)) => {
                assert_eq!(world.engine().release(id, 2), Err(ReleaseError::TooMany));
                assert_eq!(world.engine().release(id, 1), Ok(()));
                ids.folios.push(id);
            }
        },
        (13, .., Some(folio)) => assert!(world.engine().release(folio, 1).is_err()),
        (14, .., Some(folio)) => assert!(world.engine().read_done(folio, Ok(())).is_err()),
        (15, .., Some(folio)) => assert!(world.engine().write_done(folio, Ok(())).is_err()),
        _ => {}
    }
}

#[test]
fn random_calls_with_ids_that_ended_are_refused_and_leak_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (mut ids, mut random) = (Ids::default(), 1_u64);
    for _ in 0..calls() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        step(&mut world, &mut ids, random >> 20);
    }
    for mm in std::mem::take(&mut ids.mms[0]) {
        world.exit(mm);
    }
    for file in std::mem::take(&mut ids.files[0]) {
        world.engine().truncate(file, 0).expect("no transfer goes on");
        world.engine().remove_mapping(file).expect("nothing maps it");
    }
    world.all_is_free_but(0);
}

#[test]
fn an_error_of_swap_is_no_files() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (mm, anon) = (world.process(), world.anon());
    world.vma(mm, 0..4, RW, anon, 0);
    world.fill(mm, 0..4, 1);
    world.env.memory().storage.answers(Answer::Late);
    assert_eq!(world.engine().madvise(mm, &pages::<SmallX86>(0..4), Advice::PageOut), Ok(()));
    world.exit(mm);
    assert_eq!(world.engine().remove_mapping(anon), Ok(()));
    let file = world.file();
    assert_eq!(file.index(), anon.index());
    assert!(world.finish_io(false) > 0);
    let error = world.maps.mapping(file).expect("it lives").take_write_error();
    assert_eq!(error, None, "nothing of the file was written");
}

#[test]
fn an_address_space_marked_after_its_end_is_not_given_out_twice() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let made: Vec<MmId> = (0..3).map(|_| world.process()).collect();
    // The OOM reaper found the address space before it ended.
    let mm = world.maps.mm(made[2]).expect("it lives");
    world.exit(made[2]);
    mm.set_exiting();
    let born = [world.process(), world.process()];
    let mut all = [made[0].index(), made[1].index(), born[0].index(), born[1].index()];
    all.sort_unstable();
    assert!(all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
}

#[test]
fn a_failed_device_comes_before_a_full_one() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    world.vma(mm, 0..4, RW | VmFlags::SHARED, file, 0);
    world.fill(mm, 0..2, 1);
    world.env.memory().storage.answers(Answer::Late);
    for (page, error) in [(0, IoError::NoSpace), (1, IoError::Device)] {
        let folio = world.folio_at(mm, page);
        assert!(world.engine().write_back(folio).is_ok_and(|begun| begun.is_some()));
        assert_eq!(world.engine().write_done(folio, Err(error)), Ok(()));
    }
    let error = world.maps.mapping(file).expect("it lives").take_write_error();
    assert_eq!(error, Some(IoError::Device), "as filemap_check_errors: EIO overwrites ENOSPC");
}

#[test]
fn a_process_that_ends_while_it_changes_its_cgroup_is_on_no_list() {
    use crate::world::tuning;
    use pageout_reclaim::{CpuCtx, MemcgId};
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let root = world.tables.take().expect("a root table");
    let other = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let (now, stop) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut stale = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut ctx = CpuCtx::new();
            let mut engine = maps.on(env, &mut ctx, tuning());
            while stop.load(SeqCst) == 0 {
                if let Some(mm) = MmId::from_bits(now.load(SeqCst)) {
                    for memcg in [other, MemcgId::ROOT] {
                        let _ = engine.set_memcg(mm, memcg);
                    }
                }
            }
        });
        let mut engine = maps.on(env, cpu, tuning());
        for k in 0..200_000_u64 {
            let mm = engine.add_mm(root, Asid(1)).expect("room");
            now.store(mm.to_bits(), SeqCst);
            for _ in 0..k % 64 {
                std::hint::spin_loop();
            }
            engine.exit_mm(mm).expect("it lives");
            let listed = [MemcgId::ROOT, other]
                .map(|id| maps.lru_gen_mms(id).expect("it is online").take(9).count());
            if listed != [0, 0] {
                stale = k + 1;
                break;
            }
        }
        stop.store(1, SeqCst);
    });
    assert_eq!(stale, 0, "an address space that has ended is listed");
}

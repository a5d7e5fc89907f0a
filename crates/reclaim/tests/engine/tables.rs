//! The caller's tables: the errors of full ones, after which nothing is changed, and the reuse of
//! entries that were given back.

use crate::world::{Arena, LIMITS, World, page, pages, tuning};
use pageout_paging::pte::{Arm64_4K, SmallX86};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Order, Pfn, VirtAddr};
use pageout_reclaim::mglru::BloomFilter;
use pageout_reclaim::{
    AddFolioError, BadId, Folio, FolioFlags, FolioId, Limits, Lruvec, MapAs, Mapping, MappingId,
    MappingKind, Memcg, MemcgId, Memory, MemoryError, Mm, MmState, MmapError, NewFolio, NewVma,
    Node, NodeId, OutOfTable, Recency, Refs, RemoveError, ShadowEntry, Sizes, Slot, TableKind,
    VmFlags, Vma,
};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

type W<'a> = World<'a, SmallX86>;

const TWO: Limits =
    Limits { frames: 16, folios: 2, vmas: 2, mms: 2, mappings: 2, ..Limits::NOTHING };

pub(crate) fn new_folio(pfn: u64, order: u8, mapping: MappingId) -> NewFolio {
    NewFolio {
        pfn: Pfn::new(pfn),
        order: Order::new(order).expect("a small order"),
        mapping,
        index: pfn,
        flags: FolioFlags::empty(),
    }
}

fn folios_of(world: &W<'_>) -> Vec<Option<FolioId>> {
    (0..18).map(|pfn| world.maps.folio_of(Pfn::new(pfn))).collect()
}

fn full<T, E: From<OutOfTable>>(kind: TableKind) -> Result<T, E> {
    Err(OutOfTable(kind).into())
}

fn remove_folio(world: &mut W<'_>, id: FolioId) {
    world.engine().remove_folio(id).expect("nothing else uses it");
}

#[test]
fn sizes_are_what_the_slices_take() {
    let sizes = Sizes::for_limits(&LIMITS);
    let of = |len: usize, size: usize| len * size;
    let bytes = of(sizes.frames, size_of::<AtomicU32>())
        + of(sizes.folios, size_of::<Folio>())
        + of(sizes.tags, size_of::<AtomicU64>())
        + of(sizes.vmas, size_of::<Vma>())
        + of(sizes.mms, size_of::<Mm>())
        + of(sizes.mappings, size_of::<Mapping>())
        + of(sizes.pages, size_of::<AtomicU8>())
        + of(sizes.memcgs, size_of::<Memcg>())
        + of(sizes.nodes, size_of::<Node>())
        + of(sizes.lruvecs, size_of::<Lruvec>())
        + of(sizes.shadows, size_of::<ShadowEntry>())
        + of(sizes.slots, size_of::<Slot>())
        + of(sizes.filters, size_of::<BloomFilter>());
    assert_eq!(sizes.bytes(), bytes);
    // These are the sizes in their documentation.
    let each = [size_of::<Folio>(), size_of::<Vma>(), size_of::<Mm>(), size_of::<Mapping>()];
    assert_eq!(each, [64, 112, 64, 64]);
}

#[test]
fn an_engine_without_room_refuses_everything() {
    let none = Limits { frames: 0, folios: 0, vmas: 0, mms: 0, mappings: 0, ..Limits::NOTHING };
    let mut arena = Arena::new::<SmallX86>(&none);
    let mut world: W<'_> = arena.world();
    assert_eq!(world.try_process(), full(TableKind::Mms));
    assert_eq!(world.try_mapping(MappingKind::File), full(TableKind::Mappings));
    assert_eq!(world.maps.folio_of(Pfn::new(0)), None);
}

#[test]
fn memory_is_overwritten() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    for _ in 0..2 {
        let mut world: W<'_> = arena.world();
        let (mm, file) = (world.process(), world.file());
        let folio = world.folio(file, 2, 0);
        world.maps.folio(folio).expect("it lives").note_use(Recency::REFERENCED, Recency::NONE);
        let vma = world.vma(mm, 0..4, VmFlags::READ, file, 0);
        assert_eq!((mm.index(), file.index(), folio.index(), vma.index()), (0, 0, 0, 0));
        assert_eq!(folios_of(&world).iter().flatten().count(), 4);
    }
}

/// Cgroups and nodes that an engine used before are as new for the next.
#[test]
fn cgroups_and_nodes_are_overwritten() {
    let mut memcgs: Vec<_> = (0..3).map(|_| Memcg::default()).collect();
    let mut lruvecs: Vec<_> = (0..3).map(|_| Lruvec::default()).collect();
    let mut nodes = [Node::default()];
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let world: W<'_> = arena.world();
    let mut before = Vec::new();
    for _ in 0..2 {
        let memory = Memory {
            frames: &mut [],
            folios: &mut [],
            tags: &mut [],
            vmas: &mut [],
            mms: &mut [],
            mappings: &mut [],
            pages: &mut [],
            memcgs: &mut memcgs,
            nodes: &mut nodes,
            lruvecs: &mut lruvecs,
            shadows: &mut [],
            slots: &mut [],
            filters: &mut [],
        };
        let maps = MmState::new(memory, Pfn::new(0)).expect("small tables");
        let visited: Vec<_> = maps.lru_gen_memcgs(NodeId(0)).expect("a node").collect();
        assert_eq!(visited, [MemcgId::ROOT]);
        assert!(before.iter().all(|id| maps.memcg(*id).is_err()), "{before:?} ended");
        let cpu = &mut pageout_reclaim::CpuCtx::new();
        let mut engine = maps.on(&world.env, cpu, tuning());
        before = (0..2).map(|_| engine.add_memcg(MemcgId::ROOT).expect("room")).collect();
    }
}

#[test]
fn frames_past_the_last_number_are_refused() {
    const FEW: Limits = Limits { frames: 16, ..Limits::NOTHING };
    let made = |base: u64| {
        let mut bytes = vec![MaybeUninit::uninit(); Memory::bytes_for(&FEW)];
        let memory = Memory::carve(&mut bytes, &FEW).expect("as many bytes as they take");
        MmState::new(memory, Pfn::new(base)).map(|_| ())
    };
    assert_eq!(made((1 << 44) - 16), Ok(()));
    for base in [(1 << 44) - 15, 1 << 44, u64::MAX] {
        assert_eq!(made(base), Err(MemoryError::TooLong(TableKind::Frames)));
    }
}

#[test]
fn frames_are_numbered_from_the_base() {
    let limits = Sizes::for_limits(&TWO);
    let mut frames: Vec<_> = (0..limits.frames).map(|_| AtomicU32::new(7)).collect();
    let mut folios: Vec<_> = (0..limits.folios).map(|_| Folio::default()).collect();
    let mut mappings = [Mapping::default()];
    let mut tags: Vec<_> = (0..limits.tags).map(|_| AtomicU64::new(7)).collect();
    let memory = Memory {
        frames: &mut frames,
        folios: &mut folios,
        tags: &mut tags,
        vmas: &mut [],
        mms: &mut [],
        mappings: &mut mappings,
        pages: &mut [],
        memcgs: &mut [Memcg::default()],
        nodes: &mut [Node::default()],
        lruvecs: &mut [Lruvec::default()],
        shadows: &mut [],
        slots: &mut [],
        filters: &mut [],
    };
    let maps = MmState::new(memory, Pfn::new(64)).expect("small tables");
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let world: W<'_> = arena.world();
    let (env, cpu) = (&world.env, &mut pageout_reclaim::CpuCtx::new());
    let file = maps.on(env, cpu, tuning()).add_mapping(MappingKind::File).expect("room");
    let last = maps.on(env, cpu, tuning()).add_folio(new_folio(76, 2, file));
    assert_eq!(maps.folio_of(Pfn::new(79)), last.ok());
    for outside in [60, 80, u64::MAX - 3] {
        let refused = maps.on(env, cpu, tuning()).add_folio(new_folio(outside, 2, file));
        assert_eq!(refused, full(TableKind::Frames), "{outside}");
        assert_eq!(maps.folio_of(Pfn::new(outside)), None);
    }
}

#[test]
fn a_folio_over_frames_that_do_not_fit_is_refused() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let file = world.file();
    for (pfn, order) in [(16, 0), (8, 4), (14, 2), (2, 2), (1, 1), (0, 5), (u64::MAX, 0)] {
        let refused = world.add_folio(new_folio(pfn, order, file));
        assert_eq!(refused, full(TableKind::Frames), "{pfn} order {order}");
    }
    assert_eq!(folios_of(&world), [None; 18]);
    for pfn in [0, 8] {
        world.add_folio(new_folio(pfn, 3, file)).expect("both folios are still free");
    }
}

#[test]
fn a_full_table_of_folios_refuses_until_one_is_removed() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let file = world.file();
    let one = world.add_folio(new_folio(0, 2, file)).expect("room");
    world.add_folio(new_folio(4, 0, file)).expect("room");
    let before = folios_of(&world);
    assert_eq!(world.add_folio(new_folio(8, 2, file)), full(TableKind::Folios));
    assert_eq!(folios_of(&world), before);
    remove_folio(&mut world, one);
    assert_eq!(folios_of(&world).iter().flatten().count(), 1);
    let again = world.add_folio(new_folio(8, 2, file)).expect("room again");
    let folio = world.maps.folio(again).expect("it lives");
    assert_eq!((folio.pfn(), folio.index(), folio.nr_pages()), (Pfn::new(8), 8, 4));
    assert_eq!((folio.mapcount(), folio.refs()), (0, 1));
}

#[test]
fn a_frame_that_belongs_to_a_folio_is_not_given_away() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let file = world.file();
    let one = world.add_folio(new_folio(3, 0, file)).expect("room");
    let before = folios_of(&world);
    assert_eq!(world.add_folio(new_folio(0, 2, file)), Err(AddFolioError::FrameInUse));
    assert_eq!(folios_of(&world), before);
    remove_folio(&mut world, one);
    for pfn in [0, 4] {
        world.add_folio(new_folio(pfn, 2, file)).expect("no folio was lost");
    }
}

#[test]
fn a_folio_in_use_is_not_removed() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 2, 0);
    let vma = world.vma(mm, 0..1, VmFlags::READ, file, 0);
    world.map(vma, folio);
    let before = folios_of(&world);
    let early = AssertUnwindSafe(|| remove_folio(&mut world, folio));
    assert!(catch_unwind(early).is_err());
    assert_eq!(folios_of(&world), before);
    world.zap(vma, folio);
    remove_folio(&mut world, folio);
    assert_eq!(folios_of(&world), [None; 18]);
}

#[test]
fn full_tables_of_processes_and_files_refuse_until_one_is_removed() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let (one, _) = (world.file(), world.anon());
    let (left, stays) = (world.process(), world.process());
    assert_eq!(world.try_mapping(MappingKind::File), full(TableKind::Mappings));
    assert_eq!(world.try_process(), full(TableKind::Mms));
    world.engine().remove_mapping(one).expect("it lives");
    let again = world.try_mapping(MappingKind::Anon).expect("room again");
    assert_eq!(world.maps.mapping(again).map(|mapping| mapping.kind()), Ok(MappingKind::Anon));
    assert_eq!(again.index(), one.index());
    assert_eq!(world.maps.mapping(one).err(), Some(BadId(TableKind::Mappings)));
    world.maps.mm(left).expect("it lives").set_exiting();
    world.engine().remove_mm(left).expect("it lives");
    assert!(!world.maps.mm(stays).expect("it lives").is_exiting());
    let born = world.process();
    assert_eq!(born.index(), left.index());
    assert_eq!(world.maps.mm(left).err(), Some(BadId(TableKind::Mms)));
    assert!(!world.maps.mm(born).expect("it lives").is_exiting(), "a new life");
}

#[test]
fn a_mapping_with_a_vma_is_not_removed() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    let vma = world.vma(mm, 0..1, VmFlags::READ, file, 0);
    assert_eq!(world.engine().remove_mapping(file), Err(RemoveError::Mapped));
    assert_eq!(world.engine().remove_mm(mm), Err(RemoveError::Mapped));
    world.munmap(vma);
    world.engine().remove_mapping(file).expect("it lives");
}

#[test]
fn bad_ranges_are_refused() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    let (one, two) = (page::<SmallX86>(1), page::<SmallX86>(2));
    let odd = |addr: VirtAddr| addr.add(8);
    let cases = [
        (one..one, 0),
        (two..one, 0),
        (odd(one)..two, 0),
        (one..odd(one), 0),
        (one..odd(two), 0),
        (one..two, u64::MAX),
        (one..page::<SmallX86>(5), u64::MAX - 3),
    ];
    for (range, pgoff) in cases {
        let flags = VmFlags::READ;
        let new = NewVma { mm, range, flags, mapping: file, pgoff };
        let refused = world.engine().mmap(&new);
        assert_eq!(refused, Err(MmapError::BadRange), "{new:?}");
    }
    for at in [1..2, 2..3] {
        world.vma(mm, at, VmFlags::READ, file, u64::MAX - 1);
    }
}

#[test]
fn a_full_table_of_vmas_refuses_until_one_is_unmapped() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 2, 0);
    let vmas = [0..4, 4..8].map(|at| world.vma(mm, at, VmFlags::READ, file, 0));
    for vma in vmas {
        world.map(vma, folio);
    }
    let new = NewVma {
        mm,
        range: pages::<SmallX86>(8..12),
        flags: VmFlags::READ,
        mapping: file,
        pgoff: 0,
    };
    let refused = world.engine().mmap(&new);
    assert_eq!(refused, Err(MmapError::OutOfTable(OutOfTable(TableKind::Vmas))));
    for page in [1, 5] {
        world.touch(mm, page);
    }
    assert_eq!(
        world.referenced(folio, YoungAlgorithm::Line).refs,
        Refs::Vmas(2),
        "both are listed"
    );
    world.zap(vmas[0], folio);
    world.munmap(vmas[0]);
    let again = world.engine().mmap(&new).expect("room again");
    world.map(again, folio);
    for page in [5, 9] {
        world.touch(mm, page);
    }
    assert_eq!(world.referenced(folio, YoungAlgorithm::Line).refs, Refs::Vmas(2));
}

/// A VMA that is unmapped twice would be in the free list twice.
#[test]
fn unmapping_a_vma_that_is_not_mapped_panics() {
    let mut arena = Arena::new::<SmallX86>(&TWO);
    let mut world: W<'_> = arena.world();
    let (mm, file) = (world.process(), world.file());
    let vma = world.vma(mm, 0..1, VmFlags::READ, file, 0);
    world.munmap(vma);
    assert!(catch_unwind(AssertUnwindSafe(|| world.munmap(vma))).is_err());
}

#[test]
fn flags_of_a_folio_are_its_own_and_its_mappings() {
    let mut arena = Arena::new::<Arm64_4K>(&TWO);
    let mut world = arena.world::<Arm64_4K>();
    let (file, anon) = (world.file(), world.anon());
    let shmem = NewFolio { flags: FolioFlags::SWAPBACKED, ..new_folio(0, 0, file) };
    let shmem = world.add_folio(shmem).expect("room");
    assert_eq!(world.flags(shmem), FolioFlags::SWAPBACKED);
    let own = world.add_folio(new_folio(1, 0, anon)).expect("room");
    assert_eq!(world.flags(own), FolioFlags::SWAPBACKED | FolioFlags::ANON);
    let mm = world.process();
    let vma = world.vma(mm, 0..2, VmFlags::READ, anon, 1);
    assert_eq!(world.try_map(vma, own, MapAs::Ptes), Ok(()));
}

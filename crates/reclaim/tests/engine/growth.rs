//! Tables that grow while the engine runs.

use crate::cpu::{ROOM, RW};
use crate::world::{Arena, World};
use pageout_paging::pte::SmallX86;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Chunk, GrowError, Growth, Limits, MappingKind, MemoryError, MmapError, OutOfTable, Refs,
    TableKind,
};
use std::mem::MaybeUninit;

type W<'a> = World<'a, SmallX86>;

const SMALL: Limits = Limits { vmas: 3, mms: 2, mappings: 1, ..ROOM };

fn bytes(len: usize) -> &'static mut [MaybeUninit<u8>] {
    Box::leak(Box::new_uninit_slice(len))
}

fn grow(world: &mut W<'_>, growth: &Growth) -> Result<(), GrowError> {
    let chunk = Chunk::carve(bytes(Chunk::bytes_for(growth)), growth).expect("as many as needed");
    world.engine().grow(chunk)
}

fn full<T, E: From<OutOfTable>>(kind: TableKind) -> Result<T, E> {
    Err(OutOfTable(kind).into())
}

#[test]
fn a_chunk_that_does_not_fit_is_refused() {
    let growth = Growth { vmas: 3, mms: 2, mappings: 1 };
    let needed = Chunk::bytes_for(&growth);
    for found in [0, needed / 2] {
        let error = Chunk::carve(bytes(found), &growth).err();
        assert_eq!(error, Some(MemoryError::TooShort { found, needed }));
    }
    for skip in 0..64 {
        let bytes = &mut bytes(needed + 64)[skip..skip + needed];
        assert!(Chunk::carve(bytes, &growth).is_ok(), "whatever the alignment: {skip}");
    }
}

/// Runs out of each table, lets it grow, and goes on. What uses new entries works as with old ones.
#[test]
fn what_was_full_goes_on_after_growth() {
    let mut arena = Arena::new::<SmallX86>(&Limits { mms: 8, ..SMALL });
    let mut world: W<'_> = arena.world();
    let anon = world.anon();
    assert_eq!(world.try_mapping(MappingKind::File), full(TableKind::Mappings));
    assert_eq!(grow(&mut world, &Growth { mappings: 2, ..Growth::default() }), Ok(()));
    let file = world.file();
    assert_eq!(file.index(), 1, "new entries are numbered after the old ones");
    let mm = world.process();
    for k in 0..3 {
        world.vma(mm, 8 * k..8 * k + 4, RW, anon, 8 * k);
    }
    let fourth = |world: &mut W<'_>| {
        let range = crate::world::pages::<SmallX86>(24..28);
        let new = pageout_reclaim::NewVma { mm, range, flags: RW, mapping: file, pgoff: 0 };
        world.engine().mmap(&new)
    };
    assert_eq!(fourth(&mut world), Err(MmapError::OutOfTable(OutOfTable(TableKind::Vmas))));
    assert_eq!(grow(&mut world, &Growth { vmas: 20, ..Growth::default() }), Ok(()));
    let vma = fourth(&mut world).expect("room for it");
    assert_eq!(vma.index(), 3);
    // Faults, reclaim and the reverse map find the pages of all of them.
    for page in (0..28).filter(|page| page % 8 < 4) {
        assert_eq!(world.store(0, mm, page, 100 + page), Ok(()));
    }
    let child = world.fork(mm);
    let referenced = world.folio_at(mm, 25);
    world.touch(mm, 25);
    let found = world.referenced(referenced, YoungAlgorithm::Batched).refs;
    assert_eq!(found, Refs::Vmas(1), "by the new VMA");
    while world.engine().try_to_free_pages() > 0 {}
    for of in [mm, child] {
        for page in (0..28).filter(|page| page % 8 < 4) {
            world.holds(of, page..page + 1, 100);
        }
    }
    assert_eq!(world.unmap_range(mm, 24..28), Ok(()));
    assert!(world.maps.vma(vma).is_err(), "an id of a new entry ends as others do");
    world.exit(child);
    world.exit(mm);
}

#[test]
fn address_spaces_grow() {
    let mut arena = Arena::new::<SmallX86>(&Limits { mms: 8, ..ROOM });
    let mut world: W<'_> = arena.world();
    let mms: Vec<_> = (0..8).map(|_| world.process()).collect();
    assert_eq!(world.try_process(), full(TableKind::Mms));
    assert_eq!(grow(&mut world, &Growth { mms: 1, ..Growth::default() }), Ok(()));
    world.exit(mms[3]);
    let again: Vec<_> = (0..2).map(|_| world.try_process()).collect();
    assert!(again.iter().all(Result::is_ok), "{again:?}");
    assert_eq!(world.try_process(), full(TableKind::Mms));
}

#[test]
fn a_table_grows_sixteen_times() {
    let mut arena = Arena::new::<SmallX86>(&SMALL);
    let mut world: W<'_> = arena.world();
    let one = Growth { mappings: 1, ..Growth::default() };
    for _ in 0..16 {
        assert_eq!(grow(&mut world, &one), Ok(()));
    }
    assert_eq!(grow(&mut world, &one), Err(GrowError::Parts(TableKind::Mappings)));
    let both = Growth { vmas: 1, ..one };
    assert_eq!(grow(&mut world, &both), Err(GrowError::Parts(TableKind::Mappings)));
    assert_eq!(grow(&mut world, &Growth { mappings: 0, ..both }), Ok(()), "each by itself");
    let made = (0..20).filter(|_| world.try_mapping(MappingKind::File).is_ok()).count();
    assert_eq!(made, 17);
}

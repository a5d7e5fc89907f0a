//! The call mremap: content moves with its place in the mapping.

use crate::cpu::ROOM;
use crate::formats::on_every_format;
use crate::world::Arena;
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{Fault, OutOfMemory, SpaceError};

fn what_moves_is_found_where_it_went<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for order in 0..4 {
        for shift in 0..5 {
            let mut arena = Arena::new::<F>(&ROOM);
            let mut world = arena.world::<F>();
            let mm = world.process();
            world.anon_at(mm, 0..16, order);
            world.fill(mm, 0..16, 10);
            let to = 3 * n - 3 + shift;
            assert_eq!(world.remap(mm, 2..13, to..to + 11), Ok(()));
            for k in 0..11 {
                assert_eq!(world.load(1, mm, to + k), Ok(12 + k));
                assert_eq!(world.load(0, mm, 2 + k), Err(Fault::BadAddress));
            }
            world.fill(mm, to..to + 11, 20);
            world.holds(mm, to..to + 11, 20);
            world.holds(mm, 0..2, 10);
            world.holds(mm, 13..16, 10);
            // Back in its old place the block is whole again.
            assert_eq!(world.remap(mm, to..to + 11, 2..13), Ok(()));
            for k in 0..11 {
                assert_eq!(world.load(1, mm, 2 + k), Ok(20 + to + k));
            }
            assert_eq!(world.unmap_range(mm, 0..16), Ok(()));
            world.exit(mm);
            world.all_is_free_but(0);
        }
    }
}

fn a_mapping_shrinks_and_grows<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..8, 2);
    world.fill(mm, 0..8, 10);
    assert_eq!(world.remap(mm, 0..8, 0..5), Ok(()));
    assert_eq!(world.load(0, mm, 5), Err(Fault::BadAddress));
    assert_eq!(world.remap(mm, 0..5, 0..12), Ok(()));
    world.holds(mm, 0..5, 10);
    assert_eq!(world.load(0, mm, 5), Ok(0), "what was cut off is lost");
    assert_eq!(world.remap(mm, 0..12, 20..23), Ok(()), "moved and shrunk");
    assert_eq!(world.load(0, mm, 22), Ok(12));
    assert_eq!(world.load(0, mm, 23), Err(Fault::BadAddress));
    assert_eq!(world.remap(mm, 20..23, 30..40), Ok(()), "moved and grown");
    assert_eq!((world.load(0, mm, 32), world.load(0, mm, 33)), (Ok(12), Ok(0)));
    world.exit(mm);
    world.all_is_free_but(0);
}

fn what_is_in_the_way_refuses<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..4, 0);
    world.anon_at(mm, 6..8, 0);
    world.fill(mm, 0..4, 10);
    assert_eq!(world.remap(mm, 0..4, 2..6), Err(SpaceError::Overlap), "itself");
    assert_eq!(world.remap(mm, 0..4, 0..7), Err(SpaceError::Overlap), "another");
    assert_eq!(world.remap(mm, 0..2, 0..3), Err(SpaceError::Overlap), "its own rest");
    assert_eq!(world.remap(mm, 0..4, 7..11), Err(SpaceError::Overlap));
    assert_eq!(world.remap(mm, 3..7, 20..24), Err(SpaceError::NotMapped));
    let file = world.file();
    world.vma(mm, 40..41, pageout_reclaim::VmFlags::READ, file, u64::MAX - 2);
    assert_eq!(world.remap(mm, 40..41, 40..44), Err(SpaceError::BadRange), "past the last offset");
    assert_eq!(world.remap(mm, 40..41, 50..54), Err(SpaceError::BadRange));
    world.tables.set_left(Some(0));
    let far = 4 * F::PTES as u64;
    assert_eq!(
        world.remap(mm, 0..4, far..far + 4),
        Err(SpaceError::OutOfMemory(OutOfMemory::PageTables))
    );
    world.tables.set_left(None);
    world.holds(mm, 0..4, 10);
    world.exit(mm);
    world.all_is_free_but(0);
}

fn a_moved_page_is_still_the_childs<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let parent = world.process();
    world.anon_at(parent, 0..8, 2);
    world.fill(parent, 0..8, 10);
    let child = world.fork(parent);
    assert_eq!(world.remap(parent, 0..8, 16..24), Ok(()));
    for k in 0..8 {
        assert_eq!(world.store(0, parent, 16 + k, 50), Ok(()));
    }
    world.holds(child, 0..8, 10);
    world.exit(parent);
    world.exit(child);
    world.all_is_free_but(0);
}

on_every_format!(
    what_moves_is_found_where_it_went,
    a_mapping_shrinks_and_grows,
    what_is_in_the_way_refuses,
    a_moved_page_is_still_the_childs,
);

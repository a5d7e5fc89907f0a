//! Copy on write: visibility of stores.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::Arena;
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::VmFlags;
use pageout_sim::pristine;

fn a_private_store_leaves_the_file_alone<F: Format>(_: YoungAlgorithm) {
    for loaded in [false, true] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let file = world.file_of(2);
        let (writer, reader) = (world.process(), world.process());
        world.vma(writer, 0..8, RW, file, 0);
        world.vma(reader, 0..8, VmFlags::READ, file, 0);
        if loaded {
            for number in 0..8 {
                world.load(1, writer, number).expect("read");
            }
        }
        for number in [1, 4, 7] {
            assert_eq!(world.store(0, writer, number, 50 + number), Ok(()));
        }
        for number in 0..8 {
            let own = [1, 4, 7].contains(&number);
            let content = if own { 50 + number } else { pristine(file, number) };
            assert_eq!(world.load(1, writer, number), Ok(content));
            assert_eq!(world.load(1, reader, number), Ok(pristine(file, number)));
        }
        world.exit(writer);
        world.exit(reader);
        world.all_is_free_but(8);
    }
}

fn parent_and_child_see_their_own_stores_only<F: Format>(_: YoungAlgorithm) {
    for order in 0..4 {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let parent = world.process();
        world.anon_at(parent, 0..16, order);
        world.fill(parent, 0..16, 10);
        let child = world.fork(parent);
        world.holds(child, 0..16, 10);
        world.fill(parent, 0..5, 20);
        world.fill(child, 3..11, 30);
        world.holds(parent, 0..5, 20);
        world.holds(parent, 5..16, 10);
        world.holds(child, 0..3, 10);
        world.holds(child, 3..11, 30);
        world.holds(child, 11..16, 10);
        world.exit(parent);
        world.fill(child, 0..16, 40);
        world.holds(child, 0..16, 40);
        world.exit(child);
        world.all_is_free_but(0);
    }
}

fn a_page_left_to_one_process_is_not_copied<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let parent = world.process();
    world.anon_at(parent, 0..4, 0);
    world.fill(parent, 0..4, 10);
    let before: Vec<_> = (0..4).map(|number| world.folio_at(parent, number)).collect();
    world.fill(parent, 0..4, 11);
    let child = world.fork(parent);
    world.exit(child);
    world.fill(parent, 0..4, 20);
    let after: Vec<_> = (0..4).map(|number| world.folio_at(parent, number)).collect();
    assert_eq!(before, after);
    world.holds(parent, 0..4, 20);
    world.exit(parent);
    world.all_is_free_but(0);
}

on_every_format!(
    a_private_store_leaves_the_file_alone,
    parent_and_child_see_their_own_stores_only,
    a_page_left_to_one_process_is_not_copied,
);

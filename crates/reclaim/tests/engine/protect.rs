//! The calls mprotect and munmap on parts, and userfaultfd's write protection.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::{Arena, pages};
use pageout_paging::Format;
use pageout_paging::pte::Riscv64Base;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{Fault, Limits, OutOfMemory, SpaceError, VmFlags};

/// Runs a rule for every part of 0..8, in folios of 1 to 8 pages. The rest must stay as it was.
fn each_part(mut rule: impl FnMut(u8, u64, u64)) {
    for order in 0..4 {
        for start in 0..8 {
            for end in start + 1..=8 {
                rule(order, start, end);
            }
        }
    }
}

fn a_part_can_be_made_read_only_and_writable_again<F: Format>(_: YoungAlgorithm) {
    each_part(|order, start, end| {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..8, order);
        world.fill(mm, 0..8, 10);
        assert_eq!(world.protect(mm, start..end, VmFlags::READ), Ok(()));
        for number in 0..8 {
            let part = (start..end).contains(&number);
            let expected = if part { Err(Fault::BadAddress) } else { Ok(()) };
            assert_eq!(world.store(0, mm, number, 20 + number), expected);
        }
        world.holds(mm, start..end, 10);
        assert_eq!(world.protect(mm, start..end, RW), Ok(()));
        world.fill(mm, start..end, 30);
        world.holds(mm, 0..start, 20);
        world.holds(mm, start..end, 30);
        world.holds(mm, end..8, 20);
        world.exit(mm);
        world.all_is_free_but(0);
    });
}

fn a_part_can_be_made_inaccessible<F: Format>(_: YoungAlgorithm) {
    each_part(|order, start, end| {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..8, order);
        world.fill(mm, 0..8, 10);
        assert_eq!(world.protect(mm, start..end, VmFlags::empty()), Ok(()));
        for number in start..end {
            assert_eq!(world.load(1, mm, number), Err(Fault::BadAddress));
        }
        world.holds(mm, 0..start, 10);
        world.holds(mm, end..8, 10);
        assert_eq!(world.protect(mm, 0..8, RW), Ok(()));
        world.holds(mm, 0..8, 10);
        world.fill(mm, 0..8, 20);
        world.holds(mm, 0..8, 20);
        world.exit(mm);
        world.all_is_free_but(0);
    });
}

fn permission_to_write_is_no_way_around_copy_on_write<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let parent = world.process();
    world.anon_at(parent, 0..8, 2);
    world.fill(parent, 0..8, 10);
    let child = world.fork(parent);
    assert_eq!(world.protect(child, 0..8, VmFlags::READ), Ok(()));
    assert_eq!(world.protect(child, 0..8, RW), Ok(()));
    world.fill(child, 0..8, 20);
    world.holds(parent, 0..8, 10);
    world.holds(child, 0..8, 20);
    world.exit(parent);
    world.exit(child);
    world.all_is_free_but(0);
}

fn a_part_can_be_unmapped<F: Format>(_: YoungAlgorithm) {
    each_part(|order, start, end| {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..8, order);
        world.fill(mm, 0..8, 10);
        world.holds(mm, 0..8, 10);
        assert_eq!(world.unmap_range(mm, start..end), Ok(()));
        for number in start..end {
            assert_eq!(world.load(1, mm, number), Err(Fault::BadAddress));
        }
        world.fill(mm, 0..start, 20);
        world.fill(mm, end..8, 20);
        world.holds(mm, 0..start, 20);
        world.holds(mm, end..8, 20);
        world.exit(mm);
        world.all_is_free_but(0);
    });
}

fn without_a_vma_for_the_rest_nothing_changes<F: Format>(_: YoungAlgorithm) {
    for vmas in 1..3 {
        let limits = Limits { vmas, ..ROOM };
        let mut arena = Arena::new::<F>(&limits);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..8, 2);
        world.fill(mm, 0..8, 10);
        let refused = world.unmap_range(mm, 3..5);
        assert!(matches!(refused, Err(SpaceError::OutOfMemory(OutOfMemory::Table(_)))));
        let refused = world.protect(mm, 3..5, VmFlags::READ);
        assert!(matches!(refused, Err(SpaceError::OutOfMemory(OutOfMemory::Table(_)))));
        world.fill(mm, 0..8, 20);
        world.holds(mm, 0..8, 20);
        let one = world.protect(mm, 0..8, VmFlags::READ);
        assert_eq!(one, Ok(()), "one VMA again: what was split is whole");
        world.exit(mm);
        world.all_is_free_but(0);
    }
}

fn holes_and_odd_ranges_are_refused<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..2, 0);
    world.anon_at(mm, 3..4, 0);
    assert_eq!(world.protect(mm, 0..4, VmFlags::READ), Err(SpaceError::NotMapped));
    assert_eq!(world.protect(mm, 1..1, VmFlags::READ), Err(SpaceError::BadRange));
    assert_eq!(world.unmap_range(mm, 1..1), Err(SpaceError::BadRange));
    assert_eq!(world.unmap_range(mm, 0..9), Ok(()), "holes are no error of munmap");
    world.exit(mm);
    world.all_is_free_but(0);
}

#[test]
fn a_format_without_userfaultfds_mark_refuses_it() {
    let mut arena = Arena::new::<Riscv64Base>(&ROOM);
    let mut world = arena.world::<Riscv64Base>();
    let mm = world.process();
    world.anon_at(mm, 0..8, 0);
    world.fill(mm, 0..8, 10);
    let range = pages::<Riscv64Base>(0..8);
    assert_eq!(world.engine().set_uffd_wp(mm, &range, true), Err(SpaceError::NoMark));
    assert_eq!(world.engine().set_uffd_wp(mm, &range, false), Ok(()));
    world.fill(mm, 0..8, 20);
    world.exit(mm);
    world.all_is_free_but(0);
}

fn userfaultfd_is_told_of_stores<F: Format>(_: YoungAlgorithm) {
    each_part(|order, start, end| {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..8, order);
        world.fill(mm, 0..8, 10);
        let range = pages::<F>(start..end);
        let on = world.engine().set_uffd_wp(mm, &range, true);
        assert_eq!(on, Ok(()));
        for number in 0..8 {
            let part = (start..end).contains(&number);
            let expected = if part { Err(Fault::WriteProtected) } else { Ok(()) };
            assert_eq!(world.store(0, mm, number, 20 + number), expected);
        }
        world.holds(mm, start..end, 10);
        let off = world.engine().set_uffd_wp(mm, &range, false);
        assert_eq!(off, Ok(()));
        world.fill(mm, 0..8, 30);
        world.holds(mm, 0..8, 30);
        world.exit(mm);
        world.all_is_free_but(0);
    });
}

on_every_format!(
    a_part_can_be_made_read_only_and_writable_again,
    a_part_can_be_made_inaccessible,
    permission_to_write_is_no_way_around_copy_on_write,
    a_part_can_be_unmapped,
    without_a_vma_for_the_rest_nothing_changes,
    holes_and_odd_ranges_are_refused,
    userfaultfd_is_told_of_stores,
);

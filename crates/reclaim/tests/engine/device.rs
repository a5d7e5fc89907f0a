//! Pages lent to a device: their entries are not present, but map a page all the same.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::{Arena, World};
use pageout_paging::Format;
use pageout_paging::pte::{SwapEntry, SwapKind};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{FolioId, MmId, VmFlags};

const KINDS: [SwapKind; 2] = [SwapKind::DevicePrivate, SwapKind::DeviceExclusive];

/// Replaces the entry of a page by one of a device.
fn lend<F: Format>(world: &World<'_, F>, mm: MmId, number: u64, kind: SwapKind) {
    world.change(mm, number, |pte| {
        F::swap(SwapEntry::new(kind, F::pfn(pte).get()).expect("a frame"))
    });
}

/// Makes a process of four anonymous pages, one of which is lent.
fn lent<F: Format>(world: &mut World<'_, F>, kind: SwapKind) -> (MmId, FolioId) {
    let mm = world.process();
    world.anon_at(mm, 0..4, 0);
    world.fill(mm, 0..4, 10);
    let folio = world.folio_at(mm, 2);
    lend(world, mm, 2, kind);
    (mm, folio)
}

/// The payload of the entry has no bits of a mapping.
fn write_back_leaves_a_page_that_is_lent<F: Format>(_: YoungAlgorithm) {
    for kind in KINDS {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file_of(2));
        // The VMA is not aligned: no block is contiguous.
        world.vma(mm, 1..5, RW | VmFlags::SHARED, file, 0);
        world.fill(mm, 1..5, 100);
        let folio = world.folio_at(mm, 1);
        lend(&world, mm, 1, kind);
        let before = world.entry(mm, 1);
        let _ = world.engine().write_back(folio).expect("it lives");
        assert_eq!(world.entry(mm, 1), before, "{kind:?}");
    }
}

fn munmap_takes_a_page_that_is_lent<F: Format>(_: YoungAlgorithm) {
    for kind in KINDS {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, folio) = lent(&mut world, kind);
        let mapped = world.mapcount(folio);
        world.attach(mm, []);
        assert_eq!(world.unmap_range(mm, 2..3), Ok(()));
        assert!(!world.secondary(mm).asked().is_empty(), "{kind:?}: the device is told");
        if mapped > 1 {
            assert_eq!(world.mapcount(folio), mapped - 1, "{kind:?}");
        }
        world.exit(mm);
        world.all_pages_free();
    }
}

fn exit_takes_a_page_that_is_lent<F: Format>(_: YoungAlgorithm) {
    for kind in KINDS {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, _) = lent(&mut world, kind);
        world.exit(mm);
        world.all_pages_free();
    }
}

/// The entry changes to permit less, or moves elsewhere.
fn the_device_is_told_when_its_page_s_entry_changes<F: Format>(_: YoungAlgorithm) {
    for kind in KINDS {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, _) = lent(&mut world, kind);
        world.attach(mm, []);
        let told = |world: &World<'_, F>| !world.secondary(mm).asked().is_empty();
        assert_eq!(world.protect(mm, 2..3, VmFlags::READ), Ok(()));
        assert!(told(&world), "{kind:?}: mprotect");
        assert_eq!(world.remap(mm, 2..3, 8..9), Ok(()));
        assert!(told(&world), "{kind:?}: mremap");
        world.exit(mm);
        world.all_pages_free();
    }
}

/// A page of the device's own memory gets one more mapping. A page that was lent comes back first.
fn fork_counts_a_page_that_is_lent<F: Format>(_: YoungAlgorithm) {
    for kind in KINDS {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let (mm, folio) = lent(&mut world, kind);
        let mapped = world.mapcount(folio);
        let child = world.fork(mm);
        let of_folio = (0..4).filter(|number| {
            *number == 2
                || (F::is_present(world.entry(mm, *number)) && world.folio_at(mm, *number) == folio)
        });
        assert_eq!(world.mapcount(folio), mapped + of_folio.count() as u32, "{kind:?}");
        let back = kind == SwapKind::DeviceExclusive;
        for mm in [mm, child] {
            assert_eq!(F::is_present(world.entry(mm, 2)), back, "{kind:?}");
        }
        world.exit(mm);
        world.exit(child);
        world.all_pages_free();
    }
}

on_every_format!(
    write_back_leaves_a_page_that_is_lent,
    munmap_takes_a_page_that_is_lent,
    exit_takes_a_page_that_is_lent,
    the_device_is_told_when_its_page_s_entry_changes,
    fork_counts_a_page_that_is_lent,
);

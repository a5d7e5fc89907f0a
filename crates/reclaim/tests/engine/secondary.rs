//! Secondary MMUs: always checked, or-ed in, and the only source where the primary entry is not
//! present.

use crate::cpu::ROOM;
use crate::env::{Asked, Secondary};
use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World, page, pages, tuning};
use pageout_paging::mmu::Invalidate;
use pageout_paging::pte::{SwapEntry, SwapKind, YoungClear};
use pageout_paging::tlb::forget_secondary;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level, Notifier, Pfn};
use pageout_reclaim::{
    Advice, FolioId, MmId, Refs, Subscribers, Tuning, UnmapGranularity, Unmapping, VmFlags,
};
use std::ops::Range;

/// Makes a folio of four pages at pages 1 to 4 of a process, which a secondary MMU mirrors. No
/// block is contiguous there.
fn mirrored<F: Format>(world: &mut World<'_, F>) -> (MmId, FolioId) {
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 2, 0);
    let vma = world.vma(mm, 1..5, VmFlags::READ, file, 0);
    world.map(vma, folio);
    world.attach(mm, []);
    world.forget();
    (mm, folio)
}

fn clear_flush<F: Format>(range: Range<u64>) -> Asked {
    Asked::ClearFlush(pages::<F>(range))
}

fn a_page_that_only_the_secondary_used_is_referenced<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, folio) = mirrored(&mut world);
    for used in 1..5 {
        world.attach(mm, [used]);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0), "it was cleared");
    }
    world.attach(mm, [0, 5]);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0), "beside the folio");
}

fn the_secondary_is_asked_though_the_primary_is_young<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, folio) = mirrored(&mut world);
    world.attach(mm, [2]);
    world.touch(mm, 1);
    world.touch(mm, 2);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1), "one VMA");
    let asked = match algorithm {
        YoungAlgorithm::PerEntry => (1..5).map(|one| clear_flush::<F>(one..one + 1)).collect(),
        YoungAlgorithm::Batched | YoungAlgorithm::Line => vec![clear_flush::<F>(1..5)],
    };
    assert_eq!(world.secondary(mm).asked(), asked);
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0));
}

/// For several entries of an upper level, all the pages that they map are invalidated.
fn what_several_pmd_entries_map_is_forgotten_whole<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, _) = mirrored(&mut world);
    let leaf = F::nr_pages(Level::Pmd) as u64;
    for (level, nr, range) in [(Level::Pte, 3, leaf..leaf + 3), (Level::Pmd, 3, leaf..4 * leaf)] {
        world.attach(mm, [leaf - 1, leaf, range.end - 1, range.end]);
        let asid = world.maps.mm(mm).expect("it lives").asid();
        forget_secondary(&world.env, asid, page::<F>(leaf), nr, level);
        assert_eq!(world.secondary(mm).asked(), [Asked::Invalidate(pages::<F>(range.clone()))]);
        let used: Vec<_> = world.secondary(mm).young.lock().unwrap().iter().copied().collect();
        assert_eq!(used, [leaf - 1, range.end].map(page::<F>));
    }
}

fn the_secondary_alone_costs_no_flush_of_the_primary<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, folio) = mirrored(&mut world);
    world.attach(mm, [2]);
    world.referenced(folio, algorithm);
    assert_eq!(world.env.mmu.invalidations(), []);
    world.touch(mm, 2);
    world.referenced(folio, algorithm);
    let asid = world.maps.mm(mm).expect("it lives").asid();
    let (start, nr) = match (algorithm, F::CLEAR) {
        // Merged x86 and riscv code loops over the single check, which flushes its page.
        (YoungAlgorithm::Line, _) | (YoungAlgorithm::Batched, YoungClear::CompareAndSwap) => {
            (page::<F>(1), 4)
        }
        _ => (page::<F>(2), 1),
    };
    let level = Level::Pte;
    let range = Invalidate::Range { asid, start, nr, level };
    assert_eq!(world.env.mmu.invalidations(), [range]);
    assert_eq!(world.env.mmu.completions(), 1);
}

/// A page lent to a device has no present entry. It counts as a mapping, and only the secondary MMU
/// can have used it.
fn a_page_lent_to_a_device_is_asked_of_the_secondary<F: Format>(algorithm: YoungAlgorithm) {
    for kind in [SwapKind::DeviceExclusive, SwapKind::DevicePrivate] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mm, folio) = mirrored(&mut world);
        let pfn = F::pfn(world.entry(mm, 3)).get();
        let lent = F::swap(SwapEntry::new(kind, pfn).expect("a frame"));
        world.change(mm, 3, |_| lent);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0));
        let asked: Vec<_> = match algorithm {
            YoungAlgorithm::PerEntry => (1..5).map(|one| clear_flush::<F>(one..one + 1)).collect(),
            YoungAlgorithm::Batched | YoungAlgorithm::Line => {
                [1..3, 3..4, 4..5].map(clear_flush::<F>).into()
            }
        };
        assert_eq!(world.secondary(mm).asked(), asked);
        world.attach(mm, [3]);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
        assert_eq!(world.entry(mm, 3), lent, "its payload has no young bit");
        assert_eq!(world.env.mmu.invalidations(), []);
    }
}

/// The entry is one of the folio's mappings: without it, mappings would be left, and the walk would
/// go on.
fn a_page_lent_to_a_device_is_taken_off_the_mapcount<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, folio) = mirrored(&mut world);
    let pfn = F::pfn(world.entry(mm, 3)).get();
    let lent = SwapEntry::new(SwapKind::DeviceExclusive, pfn).expect("a frame");
    world.change(mm, 3, |_| F::swap(lent));
    let last = world.process();
    let file = world.maps.mapping_of(world.maps.folio(folio).expect("it lives"));
    world.vma(last, 0..1, VmFlags::READ, file, 1);
    world.forget();
    world.referenced(folio, algorithm);
    assert!(!world.walked(last));
    world.change(mm, 3, |_| pageout_paging::Pte::NONE);
    world.referenced(folio, algorithm);
    assert!(world.walked(last), "a mapping that was not found");
}

fn other_entries_that_are_not_present_are_no_mapping<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, folio) = mirrored(&mut world);
    let pfn = F::pfn(world.entry(mm, 3)).get();
    let stranger = SwapEntry::new(SwapKind::DeviceExclusive, pfn + 64).expect("a frame");
    let kinds = [SwapKind::Device(0), SwapKind::Migration, SwapKind::Hwpoison];
    let entries = kinds.map(|kind| SwapEntry::new(kind, pfn.max(1)).expect("an offset"));
    for entry in entries.into_iter().chain([stranger]) {
        world.change(mm, 3, |_| F::swap(entry));
        world.attach(mm, [3]);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0), "{entry:?}");
        assert_eq!(world.entry(mm, 3), F::swap(entry));
    }
}

fn pages_without_access_rights_are_still_asked<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, folio) = mirrored(&mut world);
    for number in 1..5 {
        let none = pageout_paging::pte::Prot::NONE;
        let change = |pte| F::mkyoung(F::leaf(Level::Pte, F::pfn(pte), none));
        world.change(mm, number, change);
    }
    assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1));
    assert_eq!(world.young(mm, 1..5), []);
    let frames: Vec<_> = world.entries(mm, 1..5).into_iter().map(F::pfn).collect();
    assert_eq!(frames, [0, 1, 2, 3].map(Pfn::new));
}

/// Returns true if page `number` was invalidated in the secondary since the last call.
fn told<F: Format>(world: &World<'_, F>, mm: MmId, number: u64) -> bool {
    world.secondary(mm).asked().iter().any(|asked| match asked {
        Asked::Invalidate(range) => range.contains(&page::<F>(number)),
        _ => false,
    })
}

/// Every operation that takes entries out, or makes them permit less, invalidates the secondary
/// too.
fn the_secondary_forgets_what_the_primary_no_longer_maps<F: Format>(_: YoungAlgorithm) {
    type Operation<F> = fn(&mut World<'_, F>, MmId);
    let operations: [(&str, Operation<F>); 6] = [
        ("munmap", |world, mm| assert_eq!(world.unmap_range(mm, 1..3), Ok(()))),
        ("mprotect", |world, mm| assert_eq!(world.protect(mm, 1..3, VmFlags::READ), Ok(()))),
        ("mremap", |world, mm| {
            assert_eq!(world.remap(mm, 1..3, 6..8), Ok(()));
        }),
        ("MADV_DONTNEED", |world, mm| {
            assert_eq!(world.advise(mm, 1..3, Advice::DontNeed), Ok(()));
        }),
        ("MADV_PAGEOUT", |world, mm| {
            assert_eq!(world.advise(mm, 0..4, Advice::PageOut), Ok(()));
        }),
        ("fork", |world, mm| {
            world.fork(mm);
        }),
    ];
    for (name, operation) in operations {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..4, 0);
        world.fill(mm, 0..4, 10);
        world.attach(mm, []);
        world.secondary(mm).asked();
        operation(&mut world, mm);
        assert!(told::<F>(&world, mm, 2), "{name}");
    }
}

/// Reclaim notifies it once, whatever way it takes entries out, and however many runs they are.
fn reclaim_tells_the_secondary_once_of_a_folio<F: Format>(_: YoungAlgorithm) {
    for by in [UnmapGranularity::PerEntry, UnmapGranularity::Batched] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let mm = world.process();
        world.anon_at(mm, 0..4, 2);
        world.fill(mm, 0..4, 10);
        world.attach(mm, []);
        world.secondary(mm).asked();
        let unmapping = Unmapping { by, ..tuning().unmapping };
        let tuning = Tuning { unmapping, ..tuning() };
        let done = world.tuned(tuning).madvise(mm, &pages::<F>(0..4), Advice::PageOut);
        assert_eq!(done, Ok(()));
        let asked = world.secondary(mm).asked();
        let told: Vec<_> =
            asked.iter().filter(|asked| matches!(asked, Asked::Invalidate(_))).collect();
        assert_eq!(told, [&Asked::Invalidate(pages::<F>(0..4))], "{by:?}");
    }
}

fn a_copy_on_write_takes_the_old_page_from_the_secondary<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..4, 0);
    world.fill(mm, 0..4, 10);
    world.fork(mm);
    world.attach(mm, []);
    world.secondary(mm).asked();
    world.fill(mm, 2..3, 20);
    assert!(told::<F>(&world, mm, 2));
}

on_every_format!(
    what_several_pmd_entries_map_is_forgotten_whole,
    a_page_that_only_the_secondary_used_is_referenced,
    the_secondary_is_asked_though_the_primary_is_young,
    the_secondary_alone_costs_no_flush_of_the_primary,
    a_page_lent_to_a_device_is_asked_of_the_secondary,
    a_page_lent_to_a_device_is_taken_off_the_mapcount,
    other_entries_that_are_not_present_are_no_mapping,
    pages_without_access_rights_are_still_asked,
    the_secondary_forgets_what_the_primary_no_longer_maps,
    reclaim_tells_the_secondary_once_of_a_folio,
    a_copy_on_write_takes_the_old_page_from_the_secondary,
);

#[test]
fn clears_visit_every_subscriber_and_the_test_stops_at_the_first() {
    let addr = pageout_paging::VirtAddr::new(0);
    let range = addr..addr.add(4096);
    let (one, two) = (Secondary::default(), Secondary::default());
    let both: [&dyn Notifier; 2] = [&one, &two];
    let subscribers = Subscribers(&both);
    for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
        let fill = || {
            for (secondary, young) in [(&one, first), (&two, second)] {
                let mut pages = secondary.young.lock().unwrap();
                pages.clear();
                pages.extend(young.then_some(addr));
            }
        };
        fill();
        assert_eq!(subscribers.test_young(addr), first | second);
        assert_eq!(one.asked(), [Asked::Test(addr)]);
        assert_eq!(two.asked().is_empty(), first, "asked only if the first says old");
        assert_eq!(subscribers.clear_young(range.clone()), first | second);
        fill();
        assert_eq!(subscribers.clear_flush_young(range.clone()), first | second);
        let cleared = [Asked::Clear(range.clone()), Asked::ClearFlush(range.clone())];
        assert_eq!([one.asked(), two.asked()], [cleared.clone(), cleared]);
    }
    let no_one = Subscribers(&[]);
    assert!(!no_one.clear_young(range.clone()) && !no_one.test_young(addr));
}

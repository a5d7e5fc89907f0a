//! Mapping of folios into an address space and unmapping: the errors, and the state they leave.

use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World, page};
use pageout_paging::mmu::Invalidate;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level, Pfn};
use pageout_reclaim::{FolioId, MapAs, MapError, MappingId, MmId, Refs, VmFlags, Zapped};

/// Checks that nothing maps the folio, and this address space in particular does not.
fn is_unmapped<F: Format>(world: &World<'_, F>, mm: MmId, folio: FolioId) {
    let state = world.maps.folio(folio).expect("it lives");
    assert_eq!((state.mapcount(), state.refs()), (0, 1));
    let entries = world.entries(mm, 0..3 * F::PTES as u64);
    assert!(entries.iter().all(|pte| pte.is_none()));
}

/// Makes a folio of a PMD's size from the file's page 0 on.
fn huge<F: Format>(world: &mut World<'_, F>) -> (MmId, MappingId, FolioId) {
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, F::TABLE_SHIFT as u8, 0);
    (mm, file, folio)
}

fn new_entries_are_old_clean_and_as_the_vma_permits<F: Format>(_: YoungAlgorithm) {
    for flags in [VmFlags::READ, VmFlags::READ | VmFlags::WRITE, VmFlags::READ | VmFlags::EXEC] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mm, file, folio) = huge(&mut world);
        let n = F::PTES as u64;
        for (at, as_leaf) in [(1..n + 1, false), (2 * n..3 * n, true)] {
            let vma = world.vma(mm, at.clone(), flags, file, 0);
            if as_leaf {
                world.map_pmd(vma, folio);
            } else {
                world.map(vma, folio);
            }
            for (number, k) in at.zip(0..) {
                let pte = world.entry(mm, number);
                assert!(!F::is_young(pte) && !F::is_dirty(pte));
                assert_eq!(F::is_write(pte), flags.contains(VmFlags::WRITE));
                assert_eq!(F::is_exec(pte), flags.contains(VmFlags::EXEC));
                let pfn = if as_leaf { 0 } else { k };
                assert_eq!(F::pfn(pte), Pfn::new(pfn));
            }
        }
        assert_eq!(world.mapcount(folio), n as u32 + 1);
        assert_eq!(world.maps.folio(folio).expect("it lives").refs(), n as u32 + 2);
    }
}

fn blocks_are_contiguous_where_addresses_and_frames_agree<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file, folio) = huge(&mut world);
    for (at, aligned) in [(0..n, true), (n + 1..2 * n + 1, false)] {
        let vma = world.vma(mm, at.clone(), VmFlags::READ, file, 0);
        world.map(vma, folio);
        let entries = world.entries(mm, at);
        let blocks = aligned && F::CONT_SHIFT > 0;
        assert!(entries.into_iter().all(|pte| F::is_cont(pte) == blocks));
    }
}

fn a_vma_beside_the_folio_maps_nothing<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 2, 4);
    for (at, pgoff) in [(0..4, 0), (4..8, 8)] {
        let made = world.tables.made();
        let vma = world.vma(mm, at, VmFlags::READ, file, pgoff);
        for map_as in [MapAs::Ptes, MapAs::PmdLeaf] {
            assert_eq!(world.try_map(vma, folio, map_as), Err(MapError::Outside));
        }
        assert_eq!(world.zap(vma, folio), Zapped::default());
        assert_eq!(world.tables.made(), made);
        is_unmapped(&world, mm, folio);
    }
}

fn without_a_table_what_was_mapped_before_stays_and_is_counted<F: Format>(
    algorithm: YoungAlgorithm,
) {
    let n = F::PTES as u64;
    // There are two upper tables, and the PTE tables come one by one.
    for (tables, mapped) in [(0, 0), (1, 0), (2, 0), (3, 3), (4, 8)] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        let folio = world.folio(file, 3, 0);
        let vma = world.vma(mm, n - 3..n + 5, VmFlags::READ, file, 0);
        world.tables.set_left(Some(tables));
        let done = world.try_map(vma, folio, MapAs::Ptes);
        let expected = if mapped < 8 { Err(MapError::NoTable) } else { Ok(()) };
        assert_eq!(done, expected);
        let state = world.maps.folio(folio).expect("it lives");
        assert_eq!((state.mapcount(), state.refs()), (mapped, 1 + mapped));
        let last = u64::from(mapped).saturating_sub(1) + n - 3;
        if mapped > 0 {
            world.touch(mm, last);
        }
        let refs = Refs::Vmas(u32::from(mapped > 0));
        assert_eq!(world.referenced(folio, algorithm).refs, refs);
        let zapped = Zapped { entries: mapped, ..Zapped::default() };
        assert_eq!(world.zap(vma, folio), zapped);
        is_unmapped(&world, mm, folio);
        world.tables.set_left(None);
        world.map(vma, folio);
    }
}

fn an_entry_in_use_is_not_replaced<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let (folio, other) = (world.folio(file, 2, 0), world.folio(file, 0, 9));
    let there = world.vma(mm, n + 1..n + 2, VmFlags::READ, file, 9);
    world.map(there, other);
    world.munmap(there); // too early: its entry stays
    let vma = world.vma(mm, n - 2..n + 2, VmFlags::READ, file, 0);
    let before = world.entry(mm, n + 1);
    assert_eq!(world.try_map(vma, folio, MapAs::Ptes), Err(MapError::Busy));
    assert_eq!(world.entry(mm, n + 1), before);
    assert!(world.entry(mm, n).is_none(), "a table's part is set whole or not at all");
    assert_eq!(world.mapcount(folio), 2, "what was set in the table before");
    assert_eq!(world.try_map(vma, folio, MapAs::Ptes), Err(MapError::Busy), "by itself now");
    assert_eq!(world.mapcount(folio), 2);
    assert_eq!(world.zap(vma, folio).entries, 2);
    assert_eq!((world.mapcount(folio), world.mapcount(other)), (0, 1));
}

fn entries_are_not_put_under_a_leaf<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file, folio) = huge(&mut world);
    let vma = world.vma(mm, 0..n, VmFlags::READ, file, 0);
    world.map_pmd(vma, folio);
    let before = world.entry(mm, 0);
    for map_as in [MapAs::Ptes, MapAs::PmdLeaf] {
        assert_eq!(world.try_map(vma, folio, map_as), Err(MapError::Busy));
        assert_eq!((world.entry(mm, 0), world.mapcount(folio)), (before, 1));
    }
}

fn a_leaf_is_not_put_over_entries<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file, folio) = huge(&mut world);
    let vma = world.vma(mm, 0..n, VmFlags::READ, file, 0);
    world.map(vma, folio);
    let before = world.entries(mm, 0..n);
    assert_eq!(world.try_map(vma, folio, MapAs::PmdLeaf), Err(MapError::Busy));
    assert_eq!(world.entries(mm, 0..n), before);
    assert_eq!(world.mapcount(folio), n as u32);
}

fn only_a_whole_aligned_pmd_sized_folio_is_mapped_by_a_leaf<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file, folio) = huge(&mut world);
    let small = world.folio(file, F::TABLE_SHIFT as u8 - 1, n);
    let cases = [
        (folio, 0..n - 1, 0),
        (folio, n..2 * n - 1, 1),
        (folio, 2 * n + 1..3 * n + 1, 0),
        (small, 4 * n..5 * n, n),
    ];
    for (folio, at, pgoff) in cases {
        let vma = world.vma(mm, at, VmFlags::READ, file, pgoff);
        let made = world.tables.made();
        assert_eq!(world.try_map(vma, folio, MapAs::PmdLeaf), Err(MapError::NotPmdSized));
        assert_eq!(world.tables.made(), made);
        is_unmapped(&world, mm, folio);
        world.munmap(vma);
    }
    let vma = world.vma(mm, 0..n, VmFlags::READ, file, 0);
    world.tables.set_left(Some(1));
    assert_eq!(world.try_map(vma, folio, MapAs::PmdLeaf), Err(MapError::NoTable));
    is_unmapped(&world, mm, folio);
    // The VMA begins before the folio and ends past it.
    world.tables.set_left(None);
    let file = world.file();
    let inner = world.folio(file, F::TABLE_SHIFT as u8, n);
    let wide = world.vma(mm, 5 * n - 2..6 * n + 2, VmFlags::READ, file, n - 2);
    world.map_pmd(wide, inner);
    assert_eq!(world.mapcount(inner), 1);
}

fn taking_out_invalidates_each_entry_and_tells_of_dirt<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for dirty in [None, Some(n - 1), Some(n)] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        let folio = world.folio(file, 1, 0);
        let flags = VmFlags::READ | VmFlags::WRITE;
        let vma = world.vma(mm, n - 1..n + 1, flags, file, 0);
        world.map(vma, folio);
        if let Some(number) = dirty {
            world.change(mm, number, F::mkdirty);
        }
        world.forget();
        let zapped = Zapped { entries: 2, dirty: dirty.is_some(), young: false };
        assert_eq!(world.zap(vma, folio), zapped);
        is_unmapped(&world, mm, folio);
        let asid = world.maps.mm(mm).expect("it lives").asid();
        let level = Level::Pte;
        let range = |number| {
            let start = page::<F>(number);
            Invalidate::Range { asid, start, nr: 1, level }
        };
        assert_eq!(world.env.mmu.invalidations(), [range(n - 1), range(n)]);
        assert_eq!(world.env.mmu.completions(), 2);
        assert_eq!(world.zap(vma, folio), Zapped::default());
        assert_eq!(world.env.mmu.invalidations(), []);
    }
}

fn taking_out_a_leaf<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file, folio) = huge(&mut world);
    let flags = VmFlags::READ | VmFlags::WRITE;
    let vma = world.vma(mm, n..2 * n, flags, file, 0);
    world.map_pmd(vma, folio);
    world.change(mm, n, F::mkdirty);
    world.forget();
    let zapped = Zapped { entries: 1, dirty: true, young: false };
    assert_eq!(world.zap(vma, folio), zapped);
    is_unmapped(&world, mm, folio);
    let (asid, start) = (world.maps.mm(mm).expect("it lives").asid(), page::<F>(n));
    let level = Level::Pmd;
    let leaf = Invalidate::Range { asid, start, nr: 1, level };
    assert_eq!(world.env.mmu.invalidations(), [leaf]);
    world.map_pmd(vma, folio);
}

fn only_the_folios_own_entries_are_taken_out<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folios: Vec<_> = (0..3).map(|k| world.folio(file, 2, 4 * k)).collect();
    let vma = world.vma(mm, 1..13, VmFlags::READ, file, 0);
    for folio in &folios {
        world.map(vma, *folio);
    }
    assert_eq!(world.zap(vma, folios[1]).entries, 4);
    let left = world.entries(mm, 1..13).into_iter().filter(|pte| !pte.is_none());
    assert_eq!(left.count(), 8);
    assert_eq!([0, 1, 2].map(|k| world.mapcount(folios[k])), [4, 0, 4]);
}

/// As after a VMA was cut inside a block: the rest of the block stays, entry by entry.
fn the_rest_of_a_block_stays_mapped<F: Format>(_: YoungAlgorithm) {
    let n = if F::CONT_SHIFT > 0 { F::CONT_PTES as u64 } else { 4 };
    for at in [0..n - 1, n - 1..n, 1..n] {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        let folio = world.folio(file, n.ilog2() as u8, 0);
        let whole = world.vma(mm, 0..n, VmFlags::READ, file, 0);
        world.map(whole, folio);
        world.munmap(whole);
        world.touch(mm, n / 2);
        let part = world.vma(mm, at.clone(), VmFlags::READ, file, at.start);
        let zapped = world.zap(part, folio);
        assert_eq!(u64::from(zapped.entries), at.end - at.start);
        assert!(zapped.young || F::CONT_SHIFT == 0 && !at.contains(&(n / 2)));
        for number in 0..n {
            let entry = world.entry(mm, number);
            assert_eq!(entry.is_none(), at.contains(&number), "page {number}");
            assert!(!F::is_cont(entry));
        }
        assert_eq!(u64::from(world.mapcount(folio)), n - (at.end - at.start));
    }
}

on_every_format!(
    new_entries_are_old_clean_and_as_the_vma_permits,
    blocks_are_contiguous_where_addresses_and_frames_agree,
    a_vma_beside_the_folio_maps_nothing,
    without_a_table_what_was_mapped_before_stays_and_is_counted,
    an_entry_in_use_is_not_replaced,
    entries_are_not_put_under_a_leaf,
    a_leaf_is_not_put_over_entries,
    only_a_whole_aligned_pmd_sized_folio_is_mapped_by_a_leaf,
    taking_out_invalidates_each_entry_and_tells_of_dirt,
    taking_out_a_leaf,
    only_the_folios_own_entries_are_taken_out,
    the_rest_of_a_block_stays_mapped,
);

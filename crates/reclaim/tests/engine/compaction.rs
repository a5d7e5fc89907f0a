//! Compaction: free memory that is fragmented comes together for large folios.

use crate::cpu::RW;
use crate::formats::on_every_format;
use crate::world::{Arena, World, page, tuning};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Access, Compacted, Counter, Fault, FaultKind, Frames, FreeBlocks, Limits, MemcgId, MmId, Thp,
    Tuning,
};
use std::sync::atomic::Ordering::Relaxed;

/// The number of blocks of pages.
const BLOCKS: u64 = 8;

const HUGE: Tuning = Tuning { thp: Thp::Always, ..tuning() };

fn limits<F: Format>(slots: usize) -> Limits {
    let frames = BLOCKS as usize * F::PTES;
    Limits { frames, folios: frames, vmas: 64, mms: 3, mappings: 4, slots, ..Limits::NOTHING }
}

/// Makes a process that fills memory with single pages, of which `left` of each block are left, and
/// another with room for large folios.
fn fragmented<F: Format>(world: &mut World<'_, F>, left: u64) -> [MmId; 2] {
    let n = F::PTES as u64;
    let [small, large] = [world.process(), world.process()];
    world.anon_at(small, 0..BLOCKS * n, 0);
    world.fill(small, 0..BLOCKS * n, 10);
    for block in 0..BLOCKS {
        assert_eq!(world.unmap_range(small, block * n..(block + 1) * n - left), Ok(()));
    }
    let anon = world.anon();
    world.vma(large, 0..4 * n, RW, anon, 0);
    world.env.task.compacts.store(true, Relaxed);
    [small, large]
}

fn store<F: Format>(world: &mut World<'_, F>, mm: MmId, number: u64, tuning: Tuning) {
    let (env, cpu) = (&world.env, &mut world.cpu);
    let fault = world.maps.on(env, cpu, tuning).handle_fault(mm, page::<F>(number), Access::Write);
    assert_eq!(fault, Fault::Done(FaultKind::Minor));
    assert!(cpu.is_idle());
}

fn count<F: Format>(world: &World<'_, F>, counter: Counter) -> u64 {
    world.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat().get(counter)
}

fn size_at<F: Format>(world: &World<'_, F>, mm: MmId, number: u64) -> usize {
    world.maps.folio(world.folio_at(mm, number)).expect("it lives").nr_pages()
}

/// Checks that the pages left of the first process hold the values stored.
fn intact<F: Format>(world: &mut World<'_, F>, mm: MmId, left: u64) {
    let n = F::PTES as u64;
    for block in 1..=BLOCKS {
        world.holds(mm, block * n - left..block * n, 10);
    }
}

fn a_first_access_compacts_for_a_folio_of_a_table<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    for left in [1, n / 4] {
        let mut arena = Arena::new::<F>(&limits::<F>(0));
        let mut world = arena.world::<F>();
        let [small, large] = fragmented(&mut world, left);
        store(&mut world, large, 1, tuning());
        assert_eq!(size_at(&world, large, 1), 1, "none is asked for");
        assert_eq!(count(&world, Counter::CompactStall), 0);
        store(&mut world, large, n + 1, HUGE);
        assert_eq!(size_at(&world, large, n + 1), F::PTES);
        let folio = world.folio_at(large, n);
        assert_eq!((folio, world.mapcount(folio)), (world.folio_at(large, 2 * n - 1), n as u32));
        assert_eq!(
            [Counter::CompactStall, Counter::CompactSuccess, Counter::ThpFaultAlloc]
                .map(|counter| count(&world, counter)),
            [1; 3]
        );
        assert!(count(&world, Counter::PgmigrateSuccess) >= left);
        assert_eq!(count(&world, Counter::PgmigrateFail), 0);
        assert_eq!(world.load(0, large, n), Ok(0));
        store(&mut world, large, 2, HUGE);
        assert_eq!(size_at(&world, large, 2), 1, "its neighbour is in the way");
        intact(&mut world, small, left);
        world.fill(small, n - left..n, 20);
        world.fill(large, n..2 * n, 30);
        intact_but_first(&mut world, small, left);
        world.holds(large, n..2 * n, 30);
    }
}

fn intact_but_first<F: Format>(world: &mut World<'_, F>, mm: MmId, left: u64) {
    let n = F::PTES as u64;
    world.holds(mm, n - left..n, 20);
    for block in 2..=BLOCKS {
        world.holds(mm, block * n - left..block * n, 10);
    }
}

fn all_of_memory_is_packed_at_its_top<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>(0));
    let mut world = arena.world::<F>();
    let [small, _] = fragmented(&mut world, n / 4);
    let done = world.engine().compact_memory();
    assert_eq!(done, Compacted::Complete);
    intact(&mut world, small, n / 4);
    // A quarter of memory is in use. The block where the scanners meet is left as it is.
    let whole = (0..BLOCKS).filter(|k| {
        let at = pageout_paging::Pfn::new(k * n);
        (0..n).all(|k| !world.env.memory().frame(at.add(k)).used)
    });
    assert!(whole.count() as u64 >= BLOCKS * 3 / 4 - 1);
    assert_eq!(count(&world, Counter::CompactStall), 0, "no one waited for it");
}

/// A page with an unknown reference stays, and keeps blocks from coming together. Failures put off
/// the next tries.
fn pages_that_stay_make_it_fail_and_put_off_the_next<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>(0));
    let mut world = arena.world::<F>();
    let [small, large] = fragmented(&mut world, 1);
    let held: Vec<_> = (1..=BLOCKS)
        .map(|block| {
            let folio = world.maps.folio(world.folio_at(small, block * n - 1)).expect("it lives");
            folio.try_lock().expect("no one holds the folio")
        })
        .collect();
    let mut stalls = Vec::new();
    for k in 0..3 {
        store(&mut world, large, k * n, HUGE);
        assert_eq!(size_at(&world, large, k * n), 1);
        stalls.push(count(&world, Counter::CompactStall));
    }
    // Each fault asks twice, before and after it looks for more free memory. After one failure,
    // one request is left out; after two, three.
    assert_eq!(stalls, [1, 2, 2]);
    assert_eq!(count(&world, Counter::CompactFail), 2);
    assert_eq!(count(&world, Counter::ThpFaultFallback), 3);
    assert!(count(&world, Counter::PgmigrateFail) > 0);
    drop(held);
    intact(&mut world, small, 1);
}

fn what_is_short_of_memory_reclaims_first<F: Format>(_: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&limits::<F>(4 * F::PTES));
    let mut world = arena.world::<F>();
    let [small, large] = fragmented(&mut world, n - 1);
    assert!(world.env.free_pages() < 2 * F::PTES);
    store(&mut world, large, 0, HUGE);
    assert_eq!(size_at(&world, large, 0), F::PTES);
    assert!(count(&world, Counter::PgstealDirect) > 0);
    intact(&mut world, small, n - 1);
}

fn a_supply_without_blocks_is_not_compacted<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&limits::<F>(0));
    let mut world = arena.world::<F>();
    let [_, large] = fragmented(&mut world, 1);
    world.env.task.compacts.store(false, Relaxed);
    let done = world.engine().compact_memory();
    assert_eq!(done, Compacted::Skipped);
    store(&mut world, large, 0, HUGE);
    assert_eq!(size_at(&world, large, 0), 1);
    assert!(world.env.has_block(pageout_paging::Order::default()));
}

on_every_format!(
    a_first_access_compacts_for_a_folio_of_a_table,
    all_of_memory_is_packed_at_its_top,
    pages_that_stay_make_it_fail_and_put_off_the_next,
    what_is_short_of_memory_reclaims_first,
    a_supply_without_blocks_is_not_compacted,
);

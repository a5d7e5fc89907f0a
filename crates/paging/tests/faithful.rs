//! The work of each algorithm on a table, counted: kernels' "before" and "after", and ours.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{Counts, Decode, FIRST_TABLE, Ground, Layout, World};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::walk::{Hit, LockWhen, MappedWalk, Match, RmapTarget};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, Format, Level, Pfn, Pte, Sound, Table, VirtAddr, contig};

/// The index of the folio in its table, aligned to a contiguous block.
const FIRST: usize = 32;

/// The counts of one rmap walk over a folio, in its two parts.
struct Pass {
    walk: Counts,
    check: Counts,
    calls: u64,
    young: bool,
}

/// Makes a folio of `nr` pages, contiguous if the format can, all young or all old, and clean.
fn folio<F: Decode>(nr: usize, young: bool) -> World<F> {
    let world = World::<F>::new(4);
    let cont = if nr >= F::CONT_PTES { u64::MAX } else { 0 };
    let case = Layout::folio(cont).case::<F>(FIRST..FIRST + nr, |_| young);
    let entries: Vec<Pte> = case.entries.iter().map(|pte| F::mkclean(*pte)).collect();
    for (level, above) in (1..).zip([Level::Pmd, Level::Pud, Level::Pgd]) {
        let below = FIRST_TABLE.add(level - 1);
        let i = F::index(above, VirtAddr::new(0));
        world.table(FIRST_TABLE.add(level)).set(i, F::table(below));
    }
    world.reset(&entries);
    world
}

/// Makes one rmap walk that checks the folio as the algorithm does.
fn pass<F: Decode>(world: &World<F>, nr: usize, algorithm: YoungAlgorithm) -> Pass {
    let env = Ground::<Sound, F>::new(world);
    let check = YoungCheck { env: &env, algorithm, flush: FlushPolicy::ARM64, asid: Asid(1) };
    let addr = |i: usize| VirtAddr::new((i as u64) << F::PAGE_SHIFT);
    let mut walk = MappedWalk::new(
        &env,
        RmapTarget {
            root: FIRST_TABLE.add(3),
            range: addr(FIRST)..addr(FIRST + nr),
            pfn: F::pfn(world.entry(FIRST)),
            nr_pages: nr,
            matches: Match::Mapped,
            lock: LockWhen::Plausible,
            getter: algorithm.getter(),
        },
    );
    let mut pass =
        Pass { walk: Counts::default(), check: Counts::default(), calls: 0, young: false };
    loop {
        let before = world.counts();
        let hit = walk.next_hit();
        let between = world.counts();
        pass.walk = pass.walk + (between - before);
        let Some(Hit::Pte(at, pte)) = hit else { break };
        let left = FIRST + nr - F::index(Level::Pte, at);
        let (done, young) = check.clear_flush_young_run(walk.locked(), at, pte, left);
        pass.check = pass.check + (world.counts() - between);
        pass.calls += 1;
        pass.young |= young;
        walk.skip(done);
    }
    pass
}

/// The number of reads that find the table (three levels) and the first entry that may match.
const DESCENT: u64 = 4;
/// The number of pages of an order-4 folio, which on arm64 with 4K pages is one contiguous block.
const NR: usize = 16;

#[test]
fn before_batching_a_young_arm64_block_is_visited_256_times_twice() {
    let world = folio::<Arm64_4K>(NR, true);
    let pass = pass(&world, NR, YoungAlgorithm::PerEntry);
    assert!(pass.young);
    assert_eq!(pass.calls, 16);
    // The getter makes one load for each entry to find the contiguous bit, then the block's
    // sixteen.
    let bit_looks = 16;
    assert_eq!(pass.walk.loads - DESCENT - bit_looks, 16 * 16);
    assert_eq!(pass.walk.atomics(), 0);
    // Each call clears the whole block, young or not, by one compare-and-swap for each entry.
    assert_eq!(pass.check.swaps, 256);
    assert_eq!(pass.check.atomics(), 256);
    // Its reads are the bit, the entry as both ends of its run, and the sixteen; and once for the
    // one flush.
    assert_eq!(pass.check.loads, 16 * (1 + 1 + 16) + 1);
    assert_eq!(pass.check.stores, 0);
}

#[test]
fn before_batching_an_old_arm64_block_costs_as_many_swaps() {
    let world = folio::<Arm64_4K>(NR, false);
    let pass = pass(&world, NR, YoungAlgorithm::PerEntry);
    assert!(!pass.young);
    assert_eq!(pass.check.swaps, 256);
    assert_eq!(pass.walk.loads - DESCENT - 16, 256);
}

#[test]
fn batched_an_arm64_block_takes_one_gather_and_16_swaps() {
    for young in [true, false] {
        let world = folio::<Arm64_4K>(NR, young);
        let pass = pass(&world, NR, YoungAlgorithm::Batched);
        assert_eq!((pass.calls, pass.young), (1, young));
        assert_eq!(pass.walk.loads - DESCENT, 1 + 16);
        assert_eq!(pass.check.swaps, 16);
        assert_eq!(pass.check.atomics(), 16);
        assert_eq!(pass.check.stores, 0);
    }
}

#[test]
fn line_takes_atomics_only_for_young_entries() {
    for (young, atomics) in [(true, 16), (false, 0)] {
        let world = folio::<Arm64_4K>(NR, young);
        let pass = pass(&world, NR, YoungAlgorithm::Line);
        assert_eq!((pass.calls, pass.young), (1, young));
        assert_eq!(pass.walk.loads - DESCENT, 1);
        assert_eq!(pass.check.atomics(), atomics);
        assert_eq!(pass.check.stores, 0);
    }
}

#[test]
fn line_takes_no_atomic_for_an_old_page_of_its_own() {
    for (young, atomics) in [(true, 1), (false, 0)] {
        let world = folio::<Arm64_4K>(1, young);
        let pass = pass(&world, 1, YoungAlgorithm::Line);
        assert_eq!((pass.calls, pass.young), (1, young));
        assert_eq!(pass.check.atomics(), atomics);
    }
}

#[test]
fn kernels_swap_for_an_old_arm64_page_of_its_own() {
    for algorithm in [YoungAlgorithm::PerEntry, YoungAlgorithm::Batched] {
        let world = folio::<Arm64_4K>(1, false);
        assert_eq!(pass(&world, 1, algorithm).check.swaps, 1, "{algorithm:?}");
    }
}

#[test]
fn x86_takes_an_atomic_for_each_young_entry_in_every_algorithm() {
    for algorithm in YoungAlgorithm::ALL {
        for (young, atomics) in [(true, 16), (false, 0)] {
            let world = folio::<X86_64>(NR, young);
            let pass = pass(&world, NR, algorithm);
            assert_eq!(pass.young, young);
            assert_eq!(pass.check.atomics(), atomics, "{algorithm:?}");
            assert_eq!(pass.walk.loads - DESCENT, pass.calls, "{algorithm:?}");
        }
    }
}

#[test]
fn the_getter_stops_once_young_and_dirty_are_found() {
    let world = folio::<Arm64_4K>(NR, true);
    let env = Ground::<Sound, Arm64_4K>::new(&world);
    let table = env.table(FIRST_TABLE);
    let dirty = Arm64_4K::hardware_dirty(world.entry(FIRST + 2)).expect("writable");
    let mut entries: Vec<Pte> = (0..Arm64_4K::PTES).map(|i| world.entry(i)).collect();
    entries[FIRST + 2] = dirty;
    world.reset(&entries);
    let found = contig::gather::<Arm64_4K, _>(table, FIRST + 9);
    assert_eq!(world.counts().loads, 1 + 3);
    assert!(Arm64_4K::is_young(found) && Arm64_4K::is_dirty(found));
    assert_eq!(Arm64_4K::pfn(found), Pfn::new(0x8_0000 + 41));
}

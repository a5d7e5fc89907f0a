//! Flush policies other than those for a run of PTEs, PMD leaves, and the secondary MMUs' part in
//! the result.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{Decode, Event, FIRST_TABLE, Ground, Layout, World};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::{Arm64_4K, Prot, Riscv64, SmallArm4, SmallX86, X86_64};
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Format, Level, LockedTable, Pfn, Pte, Rules, Sound, Table, VirtAddr};

const ASID: Asid = Asid(9);

fn check<'e, 'w, F: Format>(
    env: &'e Ground<'w, Sound, F>,
    algorithm: YoungAlgorithm,
    flush: FlushPolicy,
) -> YoungCheck<'e, Ground<'w, Sound, F>> {
    YoungCheck { env, algorithm, flush, asid: ASID }
}

/// Checks that an entry that leads to a table is young again after each walk through it, and still
/// leads there when it is old.
fn table_entry<F: Decode>() {
    let world = World::<F>::new(1);
    let env = Ground::<Sound, F>::new(&world);
    let (below, addr) = (Pfn::new(77), VirtAddr::new(3 << F::shift(Level::Pmd)));
    world.table(FIRST_TABLE).set(3, F::table(below));
    for algorithm in YoungAlgorithm::ALL {
        let check = check(&env, algorithm, FlushPolicy::GENERIC);
        let pt = LockedTable::lock(&env, FIRST_TABLE);
        for young in [true, false] {
            assert_eq!(check.pmdp_test_and_clear_young(&pt, addr), young, "{algorithm:?}");
            assert!(F::is_table(world.entry(3)) && !F::is_young(world.entry(3)));
            assert_eq!(F::pfn(world.entry(3)), below);
        }
        pt.table().set(3, F::mkyoung_table(world.entry(3)));
        assert_eq!(world.entry(3), F::table(below));
    }
}

#[test]
fn young_bits_of_table_entries() {
    table_entry::<X86_64>();
    table_entry::<Arm64_4K>();
    assert_eq!(Riscv64::mkyoung_table(Riscv64::table(Pfn::new(1))), Riscv64::table(Pfn::new(1)));
}

#[test]
fn an_old_table_entry_speaks_for_its_table_only_where_nothing_else_could() {
    fn speaks<F: Format>() -> [bool; 3] {
        let caps = Caps { nonleaf_af: true, ..Caps::IDEAL };
        [
            Sound::old_table_is_unused::<F>(caps, false),
            Sound::old_table_is_unused::<F>(caps, true),
            Sound::old_table_is_unused::<F>(Caps::IDEAL, false),
        ]
    }
    assert_eq!(speaks::<X86_64>(), [true, false, false]);
    assert_eq!(speaks::<Arm64_4K>(), [true, false, false]);
    assert_eq!(speaks::<Riscv64>(), [false; 3]);
}

fn page(number: usize) -> VirtAddr {
    VirtAddr::new((number as u64) << 12)
}

/// Returns all events except locks and clears.
fn maintenance<F: Format>(world: &World<F>) -> Vec<Event> {
    let mut events = world.events();
    events.retain(|event| !matches!(event, Event::Lock(_) | Event::Unlock(_) | Event::Cleared(_)));
    events
}

/// Makes a table of eight, in which entry `young` is young.
fn one_young<F: Decode>(young: usize) -> World<F> {
    let world = World::<F>::new(1);
    let case = Layout::folio(0).case::<F>(0..8, |i| i == young);
    world.reset(&case.entries);
    world
}

#[test]
fn kernels_defaults() {
    let rows = [
        (FlushPolicy::GENERIC, YoungFlush::Sync),
        (FlushPolicy::X86, YoungFlush::None),
        (FlushPolicy::ARM64, YoungFlush::Nosync),
        (FlushPolicy::RISCV, YoungFlush::None),
    ];
    for (policy, pte) in rows {
        assert_eq!(policy.at(Level::Pte), pte);
        assert_eq!(policy.at(Level::Pmd), YoungFlush::Sync);
    }
    for flush in [YoungFlush::Sync, YoungFlush::Nosync, YoungFlush::None] {
        let forced = FlushPolicy::uniform(flush);
        assert_eq!((forced.at(Level::Pte), forced.at(Level::Pmd)), (flush, flush));
    }
}

#[test]
fn a_range_past_the_limit_flushes_the_address_space_and_waits() {
    for flush in [YoungFlush::Sync, YoungFlush::Nosync] {
        for (nr, whole) in [(5, false), (6, true), (8, true)] {
            let world = one_young::<SmallArm4>(2);
            world.set_range_limit(6);
            let env = Ground::<Sound, SmallArm4>::new(&world);
            let pt = LockedTable::lock(&env, FIRST_TABLE);
            let check = check(&env, YoungAlgorithm::Line, FlushPolicy::uniform(flush));
            assert!(check.clear_flush_young_ptes(&pt, page(0), nr));
            let range = Invalidate::Range { asid: ASID, start: page(0), nr, level: Level::Pte };
            let what = if whole { Invalidate::AddressSpace(ASID) } else { range };
            let mut expected = vec![Event::Barrier(Barrier::Publish), Event::Invalidate(what)];
            if whole || flush == YoungFlush::Sync {
                expected.push(Event::Barrier(Barrier::Complete));
            }
            assert_eq!(maintenance(&world), expected, "{nr} entries, {flush:?}");
        }
    }
    let world = one_young::<SmallArm4>(2);
    world.set_range_limit(1);
    let env = Ground::<Sound, SmallArm4>::new(&world);
    let pt = LockedTable::lock(&env, FIRST_TABLE);
    let check = check(&env, YoungAlgorithm::Line, FlushPolicy::uniform(YoungFlush::None));
    assert!(check.clear_flush_young_ptes(&pt, page(0), 8));
    assert_eq!(maintenance(&world), []);
}

/// Makes a PMD table whose entry 3 is a leaf.
fn pmd_leaf(young: bool) -> World<SmallX86> {
    let leaf = SmallX86::leaf(Level::Pmd, Pfn::new(0x800), Prot::WRITE);
    let mut entries = [Pte::NONE; 8];
    entries[3] = if young { SmallX86::mkyoung(leaf) } else { leaf };
    let world = World::new(1);
    world.reset(&entries);
    world
}

#[test]
fn a_pmd_leaf_is_cleared_and_flushed_as_one() {
    let inside = page(3 * 8 + 5);
    for algorithm in YoungAlgorithm::ALL {
        for young in [true, false] {
            let world = pmd_leaf(young);
            let env = Ground::<Sound, SmallX86>::new(&world);
            let pt = LockedTable::lock(&env, FIRST_TABLE);
            let check = check(&env, algorithm, FlushPolicy::X86);
            assert_eq!(check.pmdp_clear_flush_young(&pt, inside), young);
            let what =
                Invalidate::Range { asid: ASID, start: page(3 * 8), nr: 1, level: Level::Pmd };
            let flush = [
                Event::Barrier(Barrier::Publish),
                Event::Invalidate(what),
                Event::Barrier(Barrier::Complete),
            ];
            let expected = if young { &flush[..] } else { &[] };
            assert_eq!(maintenance(&world), expected);
            assert!(!SmallX86::is_young(world.entry(3)));
        }
        let world = pmd_leaf(true);
        let env = Ground::<Sound, SmallX86>::new(&world);
        let pt = LockedTable::lock(&env, FIRST_TABLE);
        let check = check(&env, algorithm, FlushPolicy::X86);
        assert!(check.pmdp_test_and_clear_young(&pt, inside));
        assert_eq!(maintenance(&world), []);
    }
}

/// Makes a notifying check by `ask` for every combination of the primary's and the secondary's
/// result. The result is their or, and the secondary is always called, once, for exactly `pages`.
fn asked_always(
    pages: std::ops::Range<usize>,
    flush: bool,
    ask: impl for<'e, 'w> Fn(
        &YoungCheck<'e, Ground<'w, Sound, SmallArm4>>,
        &LockedTable<'e, Ground<'w, Sound, SmallArm4>>,
    ) -> bool,
) {
    for algorithm in YoungAlgorithm::ALL {
        for (primary, secondary) in [(false, false), (false, true), (true, false), (true, true)] {
            let world = World::<SmallArm4>::new(1);
            // With contiguous blocks, the notifier's range is not widened to them.
            let case = Layout::folio(0b11).case::<SmallArm4>(2..5, |i| primary && i == 2);
            world.reset(&case.entries);
            world.set_secondary(Some(secondary));
            let env = Ground::<Sound, SmallArm4>::new(&world);
            let check = check(&env, algorithm, FlushPolicy::uniform(YoungFlush::None));
            let pt = LockedTable::lock(&env, FIRST_TABLE);
            assert_eq!(ask(&check, &pt), primary || secondary, "{algorithm:?}");
            let range = page(pages.start)..page(pages.end);
            let asked = Event::Notified { range, flush };
            assert_eq!(maintenance(&world), [asked], "{algorithm:?}");

            world.reset(&case.entries);
            world.set_secondary(None);
            assert_eq!(ask(&check, &pt), primary, "{algorithm:?} without a secondary");
            assert_eq!(maintenance(&world), []);
        }
    }
}

#[test]
fn the_secondary_is_asked_always_about_exactly_the_pages() {
    asked_always(2..3, false, |check, pt| check.ptep_test_and_clear_young_notify(pt, page(2)));
    asked_always(2..3, true, |check, pt| check.ptep_clear_flush_young_notify(pt, page(2)));
    asked_always(2..5, false, |check, pt| check.test_and_clear_young_ptes_notify(pt, page(2), 3));
    asked_always(2..5, true, |check, pt| check.clear_flush_young_ptes_notify(pt, page(2), 3));
}

#[test]
fn a_run_asks_the_secondary_about_what_it_did() {
    for algorithm in YoungAlgorithm::ALL {
        for young in [true, false] {
            let world = World::<SmallArm4>::new(1);
            let case = Layout::folio(0b11).case::<SmallArm4>(2..5, |_| false);
            world.reset(&case.entries);
            world.set_secondary(Some(young));
            let env = Ground::<Sound, SmallArm4>::new(&world);
            let check = check(&env, algorithm, FlushPolicy::ARM64);
            let pt = LockedTable::lock(&env, FIRST_TABLE);
            let (nr, any) = check.clear_flush_young_run(&pt, page(2), case.entries[2], 3);
            assert_eq!(nr, if algorithm == YoungAlgorithm::PerEntry { 1 } else { 3 });
            assert_eq!(any, young);
            let range = page(2)..page(2 + nr);
            assert_eq!(maintenance(&world), [Event::Notified { range, flush: true }]);
        }
    }
}

#[test]
fn a_pmd_leaf_asks_the_secondary_about_all_its_pages() {
    for (primary, secondary) in [(false, false), (false, true), (true, false), (true, true)] {
        for flush in [false, true] {
            let world = pmd_leaf(primary);
            world.set_secondary(Some(secondary));
            let env = Ground::<Sound, SmallX86>::new(&world);
            let check = check(&env, YoungAlgorithm::Line, FlushPolicy::uniform(YoungFlush::None));
            let pt = LockedTable::lock(&env, FIRST_TABLE);
            let inside = page(3 * 8 + 5);
            let young = match flush {
                true => check.pmdp_clear_flush_young_notify(&pt, inside),
                false => check.pmdp_test_and_clear_young_notify(&pt, inside),
            };
            assert_eq!(young, primary || secondary);
            let range = page(3 * 8)..page(4 * 8);
            assert_eq!(maintenance(&world), [Event::Notified { range, flush }]);
        }
    }
}

#[test]
fn a_page_lent_to_a_device_asks_the_secondary_alone() {
    let world = one_young::<SmallX86>(2);
    world.set_secondary(Some(true));
    let env = Ground::<Sound, SmallX86>::new(&world);
    let check = check(&env, YoungAlgorithm::Line, FlushPolicy::X86);
    assert!(check.clear_flush_young_secondary(page(2)));
    assert!(SmallX86::is_young(world.entry(2)));
    let range = page(2)..page(3);
    assert_eq!(maintenance(&world), [Event::Notified { range, flush: true }]);
}

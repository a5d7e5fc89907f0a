//! The recipes for embedders do what they are for, and print the text that the book shows.

#[path = "../examples/recipes/main.rs"]
mod recipes;

use pageout_paging::pte::{Arm64_4K, Prot, Riscv64Base};
use pageout_paging::{Format, Level, Notifier, Pfn, VirtAddr};
use pageout_reclaim::Access;
use recipes::guest_tables::{self, BLOCK, ROM, SecondStage};
use recipes::no_hardware_bits::{self, Counts, HANDLERS};
use recipes::numa_demotion::{self, Round};
use recipes::stage2::Stage2;
use recipes::system::START;
use recipes::userfault_young::{self, Asks};
use recipes::{RECIPES, proactive_reclaim, second_stage};

/// The texts that the book shows, in the order of [`RECIPES`].
const SHOWN: [&str; 5] = [
    include_str!("../examples/recipes/no-hardware-bits.txt"),
    include_str!("../examples/recipes/userfault-young.txt"),
    include_str!("../examples/recipes/second-stage.txt"),
    include_str!("../examples/recipes/numa-demotion.txt"),
    include_str!("../examples/recipes/proactive-reclaim.txt"),
];

#[test]
fn each_recipe_prints_what_the_book_shows() {
    for ((name, text), shown) in RECIPES.into_iter().zip(SHOWN) {
        let write = format!("cargo run -p pageout-reclaim --example recipes {name}");
        assert_eq!(text(), shown, "{write} > crates/reclaim/examples/recipes/{name}.txt");
    }
    recipes::main();
}

#[test]
fn a_young_first_entry_saves_a_fault_for_each_page_that_is_mapped() {
    let [old, young, around, declared] = HANDLERS.map(|(_, how)| how);
    let counts = [old, young, around].map(no_hardware_bits::run::<Riscv64Base>);
    assert_eq!(counts, [old, young, around].map(no_hardware_bits::run::<Arm64_4K>));
    let [old, young, around] = counts;
    assert_eq!(old, Counts { faults: old.faults, for_flags: old.for_flags, ..young });
    let mapped = young.faults - young.for_flags;
    assert_eq!(old.faults - old.for_flags, mapped, "the same pages are mapped");
    assert_eq!(old.for_flags - young.for_flags, mapped, "and each costs one fault less");
    assert!(young.for_flags > 0, "reclaim makes entries old, and the next use faults");
    assert!(around.faults < young.faults && around.evicted > young.evicted);
    let wrong = no_hardware_bits::run::<Arm64_4K>(declared);
    assert!(wrong.for_flags > 3 * young.for_flags, "{wrong:?}: entries around are old");
    assert_eq!(no_hardware_bits::run::<Riscv64Base>(declared), around, "this format has none");
    let ahead = [false, true].map(no_hardware_bits::faults_ahead::<Riscv64Base>);
    assert_eq!(ahead, [12, 0], "one for each page that the caller mapped old");
}

#[test]
fn a_guest_that_is_sampled_keeps_the_pages_it_uses() {
    for order in [0, 2] {
        let asks = [Asks::Never, Asks::AtReclaim, Asks::EachRound];
        let [never, reclaim, each] = asks.map(|asks| userfault_young::run(asks, order));
        assert_eq!([never.samples, each.hot_reads], [0, 0]);
        assert!(never.hot_reads > 5 * reclaim.hot_reads, "{never:?}, {reclaim:?}");
        assert!(0 < reclaim.samples && reclaim.samples < each.samples, "{reclaim:?}, {each:?}");
        assert_eq!(never.other_reads, each.other_reads, "no sampling saves those");
    }
    let samples = [0, 2].map(|order| userfault_young::run(Asks::EachRound, order).samples);
    assert_eq!(samples[0], 4 * samples[1], "a fault a folio");
}

#[test]
fn a_guest_loses_no_page_that_its_second_stage_shows_in_use() {
    let [monitor, guest] = [false, true].map(second_stage::run);
    assert_eq!([monitor.young, guest.young], [0, 12 * 16], "the hot blocks");
    assert_eq!(guest.evicted_hot, 0);
    assert_eq!(monitor.evicted_hot, monitor.evicted, "the hot pages are the oldest");
    for counts in [monitor, guest] {
        assert_eq!(counts.invalidations, [0, counts.evicted / 16], "one a block");
        assert_eq!(counts.blocks as u64, (512 - counts.evicted) / 16, "no block was unfolded");
    }
}

#[test]
fn a_second_stage_has_young_bits_of_blocks_and_permissions_of_its_own() {
    let entries = guest_tables::entries();
    let stage = SecondStage::new(&entries, true);
    let host = |page: u64| VirtAddr::new((START + page) << Stage2::PAGE_SHIFT);
    let first = 2 * BLOCK;
    assert!(!ROM.contains(&first));
    stage.map(0, Pfn::new(64));
    stage.map(first + 3, Pfn::new(128));
    let allowed = |page, accesses: [Access; 3]| accesses.map(|one| stage.walk(page, one).is_some());
    let accesses = [Access::Read, Access::Write, Access::Exec];
    assert_eq!(allowed(5, accesses), [true, false, true], "memory that is only read");
    assert!(!stage.test_young(host(first)), "no one used it yet");
    assert_eq!(allowed(first + 5, accesses), [true, true, false]);
    assert_eq!(stage.walk(first + 5, Access::Read), Some(Pfn::new(128 + 5)));
    // Hardware set the flag in one entry, and it is the block's.
    assert!(stage.test_young(host(first)) && stage.test_young(host(first + 15)));
    assert!(stage.clear_flush_young(host(first)..host(first + 1)));
    assert_eq!(stage.invalidations.replace(0), 1, "one for the block");
    assert!(!stage.clear_young(host(first)..host(first + BLOCK)), "it was cleared");
    // A part of a block goes, and the rest stays, no longer contiguous.
    stage.invalidate(host(first)..host(first + 1));
    assert_eq!(stage.walk(first, Access::Read), None);
    assert_eq!(stage.walk(first + 1, Access::Write), Some(Pfn::new(128 + 1)));
    assert!(!Stage2::is_cont(stage.entry(first + 1)) && Stage2::is_cont(stage.entry(0)));
}

#[test]
fn entries_of_a_second_stage_keep_what_was_stored() {
    for prot in [Prot::READ, Prot::WRITE, Prot::EXEC] {
        let new = Stage2::leaf(Level::Pte, Pfn::new(77), prot);
        assert!(Stage2::is_valid(new) && !Stage2::is_young(new) && !Stage2::is_dirty(new));
        assert_eq!((Stage2::pfn(new), Stage2::is_exec(new)), (Pfn::new(77), prot.exec));
        assert_eq!(Stage2::hardware_dirty(new).is_some(), prot.write);
        let stored = Stage2::hardware_dirty(Stage2::mkwrite(new)).expect("it permits stores");
        for dirty in [stored, Stage2::mkdirty(new)] {
            let kept = Stage2::wrprotect(dirty);
            assert!(Stage2::is_dirty(dirty) && Stage2::is_dirty(kept) && !Stage2::is_write(kept));
            assert!(Stage2::is_dirty(Stage2::mkwrite(kept)));
            assert!(!Stage2::is_dirty(Stage2::mkclean(dirty)));
        }
    }
}

#[test]
fn hot_pages_stay_on_the_fast_node_and_cold_ones_leave_it() {
    let rounds = numa_demotion::run();
    let half = rounds.len() / 2;
    assert_eq!(rounds[0], Round { hot: [24, 24], cold: [40, 40], moved: [0, 0] });
    for last in [half, rounds.len() - 1] {
        assert_eq!(rounds[last], Round { hot: [48, 0], cold: [0, 80], moved: [0, 0] });
    }
    let moved = |round: &Round| round.moved.iter().sum::<u64>();
    assert_eq!(rounds[..=half].iter().map(moved).sum::<u64>(), 40 + 24, "each page once");
    assert_eq!(rounds[half + 1..].iter().map(moved).sum::<u64>(), 2 * 40, "those that changed");
}

#[test]
fn backing_off_refaults_less_and_leaves_each_cgroup_what_it_uses() {
    let [always, backs_off] = [false, true].map(proactive_reclaim::run);
    for (always, backs_off) in always.iter().zip(&backs_off) {
        assert!(backs_off.refaults < always.refaults, "{backs_off:?}, {always:?}");
        assert!(backs_off.usage >= backs_off.hot * 9 / 10, "{backs_off:?}");
    }
    assert!(always[1].usage < always[1].hot, "{:?}: a part of what it uses", always[1]);
    assert!(backs_off[0].usage < 1024 / 4, "{:?}: most is cold", backs_off[0]);
    assert!(5 * backs_off[2].refaults < always[2].refaults, "nothing is cold");
}

//! Exhaustion of each of the caller's tables: the caller gets an error, nothing is lost, and the
//! engine's counts are right. Shadows degrade instead: a refault looks like a first access.

use crate::memory::{self, ROOM, TABLES};
use crate::model::{Ended, Model};
use crate::steps::{self, Op, Span, leafy, machine, step};
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::{Format, Sound};
use pageout_reclaim::{Counter, Limits, MemcgId, SwapSlot};
use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

type Test<'g, 'm, F> = Model<'g, 'm, F, Sound>;

/// Runs random scenarios in a world that has too little of one resource.
fn too_little<F: Format>(limits: Limits, tables: usize) {
    let scenario = (machine(), 0..steps::TUNINGS, vec(step(true), 1..200));
    let config = Config { cases: 25, failure_persistence: None, ..Config::default() };
    let held = TestRunner::new(config).run(&scenario, |(machine, variant, steps)| {
        memory::with::<F, Sound, _>(&limits, tables, |model| {
            model.hold((machine, variant), &steps);
        });
        Ok(())
    });
    held.unwrap_or_else(|error| panic!("{error}"));
}

fn with<F: Format>(limits: Limits, tables: usize, test: impl FnOnce(&Test<'_, '_, F>)) {
    memory::with::<F, Sound, _>(&limits, tables, |model| {
        model.begin();
        test(model);
        model.audit();
    });
}

macro_rules! on_both {
    ($($name:ident: $limits:expr, $tables:expr;)*) => {$(
        #[test]
        fn $name() {
            too_little::<SmallX86>($limits, $tables);
            too_little::<SmallArm4>($limits, $tables);
        }
    )*};
}

on_both! {
    frames_run_out: Limits { frames: 20, ..ROOM }, TABLES;
    folios_run_out: Limits { folios: 12, ..ROOM }, TABLES;
    vmas_run_out: Limits { vmas: 5, ..ROOM }, TABLES;
    address_spaces_run_out: Limits { mms: 2, ..ROOM }, TABLES;
    mappings_run_out: Limits { mappings: 7, ..ROOM }, TABLES;
    cgroups_run_out: Limits { memcgs: 1, ..ROOM }, TABLES;
    shadows_run_out: Limits { shadows: 1, ..ROOM }, TABLES;
    no_shadow_fits: Limits { shadows: 0, ..ROOM }, TABLES;
    slots_run_out: Limits { slots: 5, ..ROOM }, TABLES;
    there_is_no_swap: Limits { slots: 0, ..ROOM }, TABLES;
    page_tables_run_out: ROOM, 9;
}

/// With so few slots, large folios find none in a row, so that they are split, and leaves before
/// them. The scenarios are chosen for that.
fn large_folios_are_split<F: Format>() {
    let limits = Limits { slots: 13, folios: 96, ..ROOM };
    let variants = steps::LEAVES..steps::TUNINGS;
    let scenario = (machine(), variants, vec(leafy(), 1..400));
    let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
    let counters = [Counter::ThpSplitPage, Counter::ThpSplitPmd];
    let counted = Cell::new([0; 2]);
    let held = TestRunner::new(config).run(&scenario, |(machine, variant, steps)| {
        memory::with::<F, Sound, _>(&limits, TABLES, |model| {
            model.hold((machine, variant), &steps);
            let vmstat = model.maps.memcg(MemcgId::ROOT).expect("it is online").vmstat();
            let now = counters.map(|counter| vmstat.get(counter));
            counted.set([counted.get()[0] + now[0], counted.get()[1] + now[1]]);
        });
        Ok(())
    });
    held.unwrap_or_else(|error| panic!("{error}"));
    println!("pages and leaves split: {:?}", counted.get());
    assert!(counted.get().iter().all(|nr| *nr > 100), "{:?}", counted.get());
}

#[test]
fn what_finds_no_slots_in_a_row_is_split() {
    large_folios_are_split::<SmallX86>();
    large_folios_are_split::<SmallArm4>();
}

/// Stores to anonymous pages until there is no room. Returns the number of stores that succeeded.
fn fill<F: Format>(model: &Test<'_, '_, F>) -> u64 {
    let all = Span::new(0, 0, steps::SPACE);
    model.run(&Op::MapAnonymous { span: all, order: 0 });
    (0..steps::SPACE).take_while(|page| model.reach(0, *page, true) == Ended::Done).count() as u64
}

#[test]
fn without_frames_or_folios_or_slots_a_store_is_out_of_memory() {
    // There is room in memory and in swap, and for one page in between.
    let small = Limits { frames: 16, slots: 8, ..ROOM };
    with::<SmallX86>(small, TABLES, |model| assert!((16..=24).contains(&fill(model))));
    let small = Limits { folios: 10, slots: 0, ..ROOM };
    with::<SmallX86>(small, TABLES, |model| assert_eq!(fill(model), 10));
    // With swap a folio's entry becomes free again.
    let small = Limits { folios: 10, ..ROOM };
    with::<SmallX86>(small, TABLES, |model| assert_eq!(fill(model), steps::SPACE));
    let small = Limits { frames: 16, slots: 0, ..ROOM };
    with::<SmallArm4>(small, TABLES, |model| assert_eq!(fill(model), 16));
}

#[test]
fn without_page_tables_a_store_is_out_of_memory() {
    // There are a root, one table of each level below it, and two of the last.
    with::<SmallX86>(ROOM, 5, |model| assert_eq!(fill(model), 16));
}

#[test]
fn a_slot_named_by_as_many_entries_as_can_be_counted_refuses_a_child() {
    with::<SmallX86>(ROOM, TABLES, |model| {
        let one = Span::new(0, 0, 1);
        model.run(&Op::MapAnonymous { span: one, order: 0 });
        model.run(&Op::Store { process: 0, page: 0 });
        model.run(&Op::Advise { span: one, advice: pageout_reclaim::Advice::PageOut });
        let slots = (0..ROOM.slots as u32).map(SwapSlot);
        let slot = slots.into_iter().find(|slot| model.maps.slot_entries(*slot) == Ok(1));
        let slot = slot.expect("the page is swapped out");
        model.with_engine(|engine| while engine.swap_dup_entries(slot, 1).is_ok() {});
        assert_eq!(model.maps.slot_entries(slot), Ok(u32::from(u16::MAX)));
        model.run(&Op::Fork { process: 0 });
        assert!(model.alive(1).is_none(), "there is no child");
        assert_eq!(model.maps.slot_entries(slot), Ok(u32::from(u16::MAX)), "nothing is counted");
        model.with_engine(|engine| {
            for _ in 1..u16::MAX {
                engine.swap_put_entries(slot, 1).expect("it lives");
            }
        });
        assert_eq!(model.reach(0, 0, false), Ended::Done);
    });
}

//! Each exhibit fails the checks that the engine passes, with a counterexample that names it.

use pageout_exhibits::harness::{
    Call, Counterexample, Decode, Engine, Op, Subject, World, check_call, each_small_case,
    try_every_access,
};
use pageout_exhibits::{ByteLength, FirstEntryAlone, LoadAndStore};
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallX86};
use pageout_paging::tlb::YoungFlush;
use pageout_paging::young::Family;

const FAMILIES: [Family; 3] = [Family::PerEntry, Family::Batched, Family::Line];

fn call(family: Family) -> Call {
    Call { op: Op::TestAndClear, family, flush: YoungFlush::None }
}

/// The first small case, hardware standing still, on which the family fails.
fn still<S: Subject, F: Decode>(family: Family) -> Result<u64, Box<Counterexample>> {
    let world = World::<F>::new(1);
    each_small_case::<F>(|case, expected| check_call::<S, F>(&world, case, expected, call(family)))
}

/// The first small case and access of hardware's on which the family fails.
fn moving<S: Subject, F: Decode>(family: Family) -> Result<u64, Box<Counterexample>> {
    let world = World::<F>::new(1);
    each_small_case::<F>(|case, expected| {
        // Four patterns of young bits are enough here: none, the first entry, all but it, all.
        let young = case.entries.iter().filter(|pte| F::is_young(**pte)).count();
        if !matches!(young, 0 | 1 | 7 | 8) {
            return Ok(());
        }
        try_every_access::<S, F>(&world, case, expected, call(family)).map(|_| ())
    })
}

#[test]
fn the_engine_passes_what_the_exhibits_fail() {
    for family in FAMILIES {
        for passed in [
            still::<Engine, SmallX86>(family),
            still::<Engine, SmallArm2>(family),
            still::<Engine, SmallArm4>(family),
            moving::<Engine, SmallX86>(family),
            moving::<Engine, SmallArm4>(family),
        ] {
            assert!(passed.unwrap_or_else(|wrong| panic!("{wrong}")) > 0);
        }
    }
}

#[test]
fn the_first_entry_alone_misses_a_trailing_block() {
    // Per entry there is no such decision to get wrong: each call looks at its own entry.
    assert!(still::<FirstEntryAlone, SmallX86>(Family::Batched).is_ok());
    for family in [Family::Batched, Family::Line] {
        for found in [
            still::<FirstEntryAlone, SmallArm2>(family),
            still::<FirstEntryAlone, SmallArm4>(family),
        ] {
            let wrong = found.expect_err("the exhibit is found");
            assert_eq!(wrong.property, "nothing is cleared beyond block edges", "{wrong}");
        }
    }
}

#[test]
fn a_byte_length_leaves_the_table() {
    for family in FAMILIES {
        for found in
            [still::<ByteLength, SmallArm2>(family), still::<ByteLength, SmallArm4>(family)]
        {
            let wrong = found.expect_err("the exhibit is found");
            assert_eq!(wrong.property, "only the table's entries are used", "{wrong}");
        }
    }
}

#[test]
fn a_load_and_store_loses_a_write() {
    for family in FAMILIES {
        assert!(still::<LoadAndStore, SmallArm4>(family).is_ok());
        for found in [
            moving::<LoadAndStore, SmallX86>(family),
            moving::<LoadAndStore, SmallArm2>(family),
            moving::<LoadAndStore, SmallArm4>(family),
        ] {
            let wrong = found.expect_err("the exhibit is found");
            assert_eq!(wrong.property, "no dirty bit is lost and no other bit changes", "{wrong}");
            let write = |step: &String| step.contains("hardware writes");
            assert!(wrong.steps.iter().any(write), "{wrong}");
        }
    }
}

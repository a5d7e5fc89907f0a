//! Each exhibit fails the checks that the engine passes, with a counterexample that names it.

use pageout_exhibits::harness::{
    Call, Case, Counterexample, Decode, Expected, Layout, Op, World, check_call, each_small_case,
    try_every_access,
};
use pageout_exhibits::{Bug, Faulty};
use pageout_paging::pte::{Arm64_4K, SmallArm2, SmallArm4, SmallX86};
use pageout_paging::tlb::YoungFlush;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Rules, Sound};

fn call(algorithm: YoungAlgorithm) -> Call {
    Call { op: Op::TestAndClear, algorithm, flush: YoungFlush::None }
}

/// Returns the first small case, while hardware stands still, on which the algorithm fails.
fn still<R: Rules, F: Decode>(
    bug: Option<Bug>,
    algorithm: YoungAlgorithm,
) -> Result<u64, Box<Counterexample>> {
    let world = World::<F>::new(1);
    let call = call(algorithm);
    let each = || each_small_case::<F>(|case, of| check_call::<R, F>(&world, case, of, call));
    Bug::during(bug, each)
}

/// Returns the first small case and hardware access on which the algorithm fails.
fn moving<R: Rules, F: Decode>(
    bug: Option<Bug>,
    algorithm: YoungAlgorithm,
) -> Result<u64, Box<Counterexample>> {
    let world = World::<F>::new(1);
    let each = || {
        each_small_case::<F>(|case, expected| {
            // Four patterns of young bits are enough here: none, the first entry, all but it, all.
            let young = case.entries.iter().filter(|pte| F::is_young(**pte)).count();
            if !matches!(young, 0 | 1 | 7 | 8) {
                return Ok(());
            }
            try_every_access::<R, F>(&world, case, expected, call(algorithm)).map(|_| ())
        })
    };
    Bug::during(bug, each)
}

#[test]
fn the_engine_passes_what_the_exhibits_fail() {
    for algorithm in YoungAlgorithm::ALL {
        for passed in [
            still::<Sound, SmallX86>(None, algorithm),
            still::<Sound, SmallArm2>(None, algorithm),
            still::<Sound, SmallArm4>(None, algorithm),
            moving::<Sound, SmallX86>(None, algorithm),
            moving::<Sound, SmallArm4>(None, algorithm),
        ] {
            assert!(passed.unwrap_or_else(|wrong| panic!("{wrong}")) > 0);
        }
    }
}

/// Returns the algorithms whose calls decide on a run of several entries. Per entry, a run's first
/// entry is its last.
fn of_runs() -> impl Iterator<Item = YoungAlgorithm> {
    YoungAlgorithm::ALL.into_iter().filter(|algorithm| *algorithm != YoungAlgorithm::PerEntry)
}

#[test]
fn the_first_entry_alone_is_found_wherever_runs_are_decided_on() {
    assert!(
        still::<Faulty, SmallArm2>(Some(Bug::FirstEntryAlone), YoungAlgorithm::PerEntry).is_ok()
    );
    assert!(
        still::<Faulty, SmallArm4>(Some(Bug::FirstEntryAlone), YoungAlgorithm::PerEntry).is_ok()
    );
    for algorithm in of_runs() {
        assert!(
            still::<Faulty, SmallX86>(Some(Bug::FirstEntryAlone), algorithm).is_ok(),
            "{algorithm:?}: no blocks"
        );
        assert!(
            still::<Faulty, SmallArm2>(Some(Bug::FirstEntryAlone), algorithm).is_err(),
            "{algorithm:?}"
        );
        assert!(
            still::<Faulty, SmallArm4>(Some(Bug::FirstEntryAlone), algorithm).is_err(),
            "{algorithm:?}"
        );
    }
}

/// Checks that the engine passes `case` in every check, and that [`FirstEntryAlone`] fails each
/// check of the run as a whole, with the given property and finding.
fn only_the_engine_passes<F: Decode>(case: &Case, property: &str, found: &str) {
    let world = World::<F>::new(1);
    let expected = Expected::of::<F>(case);
    for engine in Call::all(YoungFlush::Nosync) {
        let held = check_call::<Sound, F>(&world, case, &expected, engine);
        held.unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    for algorithm in of_runs() {
        let check = || check_call::<Faulty, F>(&world, case, &expected, call(algorithm));
        let failed = Bug::during(Some(Bug::FirstEntryAlone), check);
        let wrong = failed.expect_err("the exhibit is found");
        assert_eq!(wrong.property, property, "{wrong}");
        assert!(wrong.found.starts_with(found), "{wrong}");
    }
}

/// David Hildenbrand's case: single entries, then the first entry of a block. Hardware marked the
/// access in the block's last entry, past the run's end.
#[test]
fn a_first_entry_not_contiguous_loses_the_access_in_a_trailing_block() {
    fn lost<F: Decode>() {
        let block = F::CONT_PTES;
        let case = Layout::folio(0b10).case::<F>(0..block + 1, |i| i == 2 * block - 1);
        only_the_engine_passes::<F>(
            &case,
            "the answer is the or of all young bits",
            "answered false",
        );
    }
    lost::<SmallArm2>();
    lost::<SmallArm4>();
    lost::<Arm64_4K>();
}

/// The other way round: a block, then single entries, the last of them past the run's end.
#[test]
fn a_first_entry_contiguous_clears_single_entries_past_the_run() {
    fn cleared<F: Decode>() {
        let (block, last) = (F::CONT_PTES, 2 * F::CONT_PTES - 1);
        let case = Layout::folio(0b01).case::<F>(0..block + 1, |i| i == 0 || i == last);
        let found = format!("entry {last}: ");
        only_the_engine_passes::<F>(&case, "nothing is cleared beyond block edges", &found);
    }
    cleared::<SmallArm2>();
    cleared::<SmallArm4>();
    cleared::<Arm64_4K>();
}

#[test]
fn a_byte_length_leaves_the_table() {
    for algorithm in YoungAlgorithm::ALL {
        for found in [
            still::<Faulty, SmallArm2>(Some(Bug::ByteLength), algorithm),
            still::<Faulty, SmallArm4>(Some(Bug::ByteLength), algorithm),
        ] {
            let wrong = found.expect_err("the exhibit is found");
            assert_eq!(wrong.property, "only the table's entries are used", "{wrong}");
        }
    }
}

#[test]
fn a_load_and_store_loses_a_write() {
    for algorithm in YoungAlgorithm::ALL {
        assert!(still::<Faulty, SmallArm4>(Some(Bug::LoadAndStore), algorithm).is_ok());
        for found in [
            moving::<Faulty, SmallX86>(Some(Bug::LoadAndStore), algorithm),
            moving::<Faulty, SmallArm2>(Some(Bug::LoadAndStore), algorithm),
            moving::<Faulty, SmallArm4>(Some(Bug::LoadAndStore), algorithm),
        ] {
            let wrong = found.expect_err("the exhibit is found");
            assert_eq!(wrong.property, "no dirty bit is lost and no other bit changes", "{wrong}");
            let write = |step: &String| step.contains("hardware writes");
            assert!(wrong.steps.iter().any(write), "{wrong}");
        }
    }
}

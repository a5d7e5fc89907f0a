//! The property, on several formats.

use crate::memory::{ROOM, TABLES, with};
use crate::model::{Machine, Model};
use crate::steps::{self, Step, crowded, leafy, machine, sharing, step};
use pageout_paging::pte::{Arm64_4K, SmallArm4, SmallRiscv, SmallX86};
use pageout_paging::{Format, Rules, Sound};
use proptest::collection::vec;
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{Config, TestError, TestRng, TestRunner};
use std::cell::Cell;
use std::ops::Range;
use std::panic;
use std::sync::Once;

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// Runs a scenario. Panics at the first step after which something is lost or a count is wrong.
    pub(crate) fn hold(&self, (machine, variant): (Machine, usize), steps: &[Step]) {
        self.machine.set(machine);
        self.tuning.set(steps::tuning(variant));
        self.begin();
        self.audit();
        let slots = self.maps.free_slots();
        for step in steps {
            self.step(step);
            self.audit();
        }
        self.read_back();
        self.audit();
        (0..steps::PROCESSES).for_each(|process| self.run(&steps::Op::Exit { process }));
        self.audit();
        // With so little swap, generations of anonymous memory are not evicted.
        self.run(&steps::Op::SwitchLruGen { caps: 0 });
        (0..4).for_each(|_| self.run(&steps::Op::ReclaimAll));
        self.end_shmem();
        self.audit();
        assert_eq!(self.maps.free_slots(), slots, "no slot is left in use");
    }
}

pub(crate) fn hold<F: Format, R: Rules>(machine: Machine, variant: usize, steps: &[Step]) {
    with::<F, R, _>(&ROOM, TABLES, |model| model.hold((machine, variant), steps));
}

/// The mean number of steps of a scenario.
const STEPS: usize = 250;

/// Returns the number of scenarios of a format: 10⁵ steps in all, unless `PROPTEST_CASES` sets it.
fn scenarios() -> u32 {
    std::env::var("PROPTEST_CASES").map_or(100, |n| n.parse().expect("a number of scenarios"))
}

/// Returns the number of scenarios tried to shorten one that fails, unless
/// `PROPTEST_MAX_SHRINK_ITERS` sets it.
fn shrinking() -> u32 {
    let asked = std::env::var("PROPTEST_MAX_SHRINK_ITERS");
    asked.map_or(5_000, |n| n.parse().expect("a number of scenarios"))
}

/// A scenario in which something is lost, shortened, and the message of its failure.
pub(crate) struct Failure {
    what: String,
    scenario: Scenario,
}

type Scenario = (Machine, usize, Vec<Step>);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (machine, variant, steps) = &self.scenario;
        writeln!(f, "{}\n{machine:?}, variant {variant}", self.what)?;
        steps.iter().try_for_each(|step| writeln!(f, "{step:?},"))
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` without messages of panics, which are caught, counted as failures and shrunk.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let done = work();
    QUIET.set(false);
    done
}

/// Searches for a scenario of such steps, that begins with one of such variants, in which something
/// is lost.
pub(crate) fn search<F: Format, R: Rules>(
    (step, variants): (BoxedStrategy<Step>, Range<usize>),
    scenarios: u32,
    rng: TestRng,
) -> Option<Failure> {
    let scenario = (machine(), variants, vec(step, 1..2 * STEPS));
    let config = Config {
        cases: scenarios,
        max_shrink_iters: shrinking(),
        failure_persistence: None,
        ..Config::default()
    };
    let found = quietly(|| {
        TestRunner::new_with_rng(config, rng).run(&scenario, |(machine, variant, steps)| {
            hold::<F, R>(machine, variant, &steps);
            Ok(())
        })
    });
    match found {
        Ok(()) => None,
        Err(TestError::Fail(why, scenario)) => Some(Failure { what: why.to_string(), scenario }),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

fn property<F: Format>() {
    let (all, leaves) = (0..steps::TUNINGS, steps::LEAVES..steps::TUNINGS);
    let everywhere = [step(true), crowded(), sharing()].map(|step| (step, all.clone()));
    for step in everywhere.into_iter().chain([(leafy(), leaves)]) {
        let rng = TestRunner::default().new_rng();
        if let Some(failure) = search::<F, Sound>(step, scenarios(), rng) {
            panic!("{failure}");
        }
    }
}

#[test]
fn nothing_is_lost_on_small_x86() {
    property::<SmallX86>();
}

#[test]
fn nothing_is_lost_on_small_arm64() {
    property::<SmallArm4>();
}

#[test]
fn nothing_is_lost_on_small_riscv() {
    property::<SmallRiscv>();
}

#[test]
fn nothing_is_lost_on_arm64_4k() {
    property::<Arm64_4K>();
}

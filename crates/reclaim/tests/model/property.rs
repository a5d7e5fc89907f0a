//! The property, on several formats.

use crate::memory::{Arena, ROOM, TABLES};
use crate::model::Machine;
use crate::steps::{self, Step, machine, step};
use pageout_paging::pte::{Arm64_4K, SmallArm4, SmallRiscv, SmallX86};
use pageout_paging::{Format, Rules, Sound};
use proptest::collection::vec;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::cell::Cell;
use std::panic;
use std::sync::Once;

/// Runs a scenario; panics at the first step after which something is lost or does not add up.
pub(crate) fn hold<F: Format, R: Rules>(machine: Machine, variant: usize, steps: &[Step]) {
    let mut arena = Arena::new::<F>(&ROOM, TABLES);
    arena.with::<F, R, _>(|model| {
        model.machine.set(machine);
        model.tuning.set(steps::tuning(variant));
        model.begin();
        for step in steps {
            model.step(step);
            model.audit();
        }
        model.read_back();
        model.audit();
        (0..steps::PROCESSES).for_each(|process| model.run(&steps::Op::Exit { process }));
        model.audit();
        assert_eq!(model.maps.free_slots(), ROOM.slots, "no slot is left in use");
    });
}

/// Steps of a scenario in the mean, and scenarios of a format: 10⁵ steps in all.
const STEPS: usize = 250;
const SCENARIOS: u32 = 100;

/// A scenario under which something is lost, as short as it was found, and what is lost.
pub(crate) struct Failure {
    pub(crate) what: String,
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

/// Panics are caught, counted as failures and shrunk: only the last one is worth a message.
fn quieten() {
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
}

/// Looks for a scenario under which something is lost.
pub(crate) fn search<F: Format, R: Rules>(scenarios: u32) -> Option<Failure> {
    let scenario = (machine(), 0..steps::TUNINGS, vec(step(true), 1..2 * STEPS));
    let config = Config {
        cases: scenarios,
        max_shrink_iters: 5_000,
        failure_persistence: None,
        ..Config::default()
    };
    quieten();
    let found = TestRunner::new(config).run(&scenario, |(machine, variant, steps)| {
        hold::<F, R>(machine, variant, &steps);
        Ok(())
    });
    QUIET.set(false);
    match found {
        Ok(()) => None,
        Err(TestError::Fail(why, scenario)) => Some(Failure { what: why.to_string(), scenario }),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

fn property<F: Format>() {
    if let Some(failure) = search::<F, Sound>(SCENARIOS) {
        panic!("{failure}");
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

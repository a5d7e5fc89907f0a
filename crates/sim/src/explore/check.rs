//! Searches that are run and reported: the engine in every scenario and format, and each exhibit
//! where it must be found.

use super::counterexample::{Counterexample, choices};
use super::format::Small;
use super::scenario::Scenario;
use super::schedule::{Deviation, Stacks};
use super::search::{Bounds, Next, Searched, search};
use super::stage::{Outcome, perform};
use super::story;
use pageout_exhibits::harness::Subject;
use std::time::{Duration, Instant};

type Perform = fn(&Scenario, &mut Stacks, &[Deviation], bool) -> Outcome;

/// What runs a scenario: the engine or an exhibit, in one format.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The format.
    pub format: &'static str,
    perform: Perform,
}

impl Stage {
    /// `S` in the format `F`.
    pub const fn of<S: Subject, F: Small>() -> Self {
        Self { format: F::LABEL, perform: perform::<S, F> }
    }
}

/// What a search showed.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was searched.
    pub searched: Searched,
    /// How long it took.
    pub elapsed: Duration,
    /// How it failed, if it did.
    pub failure: Option<Counterexample>,
}

/// Failing executions of one bound that are looked at for the one told in the fewest steps.
const COMPARED: usize = 100;

/// Searches a scenario. It ends with the first bound at which executions fail, and shows the one of
/// them with the fewest steps. `command` is how the search is named on the command line.
pub fn explore(stage: Stage, scenario: &Scenario, bounds: Bounds, command: &str) -> Report {
    let begun = Instant::now();
    let mut stacks = Stacks::new(scenario.agents.len());
    let mut shortest: Option<Counterexample> = None;
    let mut failures = 0;
    let searched = search(bounds, |deviations| {
        let outcome = (stage.perform)(scenario, &mut stacks, deviations, false);
        if outcome.violation.is_none() {
            return (outcome.trace, Next::GoOn);
        }
        failures += 1;
        let told = tell(stage, scenario, &mut stacks, deviations, command);
        let told = told.expect("an execution fails each time it is repeated");
        if shortest.as_ref().is_none_or(|best| told.steps.len() < best.steps.len()) {
            shortest = Some(told);
        }
        let enough = failures == COMPARED;
        (outcome.trace, if enough { Next::Stop } else { Next::StopAfterLevel })
    });
    Report { searched, elapsed: begun.elapsed(), failure: shortest }
}

/// Executes given choices once, and tells what fails.
pub fn replay(
    stage: Stage,
    scenario: &Scenario,
    deviations: &[Deviation],
    command: &str,
) -> Option<Counterexample> {
    let mut stacks = Stacks::new(scenario.agents.len());
    tell(stage, scenario, &mut stacks, deviations, command)
}

fn tell(
    stage: Stage,
    scenario: &Scenario,
    stacks: &mut Stacks,
    deviations: &[Deviation],
    command: &str,
) -> Option<Counterexample> {
    let told = (stage.perform)(scenario, stacks, deviations, true);
    Some(Counterexample::of_schedule(
        &told.violation?,
        format!("{} in {}", scenario.about, stage.format),
        told.start,
        story::lines(&told.story, &scenario.agents_named()),
        format!("{command} --format {} --replay {}", stage.format, choices(deviations)),
    ))
}

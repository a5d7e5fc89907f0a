//! Searches and their reports: of the engine in every scenario and format, and of each injected bug
//! where it must be found.

use super::counterexample::{Counterexample, MissedChoice, choices};
use super::engine::{COMPARISONS, Compare, Comparison, ENGINE, FAULTY, FAULTY_COMPARISONS};
use super::event_log;
use super::exhibit::{Exhibit, Finding};
use super::property::Property;
use super::scenario::Scenario;
use super::scenarios::SCENARIOS;
use super::schedule::{Deviation, Stacks};
use super::search::{Bounds, Next, Searched, search};
use super::stage::{Outcome, Stage};
use pageout_exhibits::Bug;
use std::time::{Duration, Instant};

/// A search.
#[derive(Clone, Debug)]
pub struct Task {
    /// The property that the search is for.
    pub property: Property,
    /// The format.
    pub format: &'static str,
    /// The subject of the search: a scenario, or [`EVERY_CASE`].
    pub what: &'static str,
    work: Work,
    /// The bug of the engine; `None`: it is sound.
    bug: Option<Bug>,
    /// The arguments that select it on the command line.
    command: String,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Schedules(Stage, &'static Scenario),
    Cases(Compare),
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// The number of executions and states; a case is an execution.
    pub searched: Searched,
    /// The time the search took.
    pub elapsed: Duration,
    /// The counterexample, if the search failed.
    pub failure: Option<Counterexample>,
}

/// The value of [`Task::what`] if every small case is compared.
pub const EVERY_CASE: &str = "every small case";

/// The number of failing executions of one bound that are compared for the fewest steps.
const COMPARED: usize = 100;

impl Task {
    /// Returns the tasks of the engine: all scenarios and comparisons.
    pub fn of_engine() -> Vec<Self> {
        let schedules = SCENARIOS.iter().flat_map(|scenario| {
            ENGINE.iter().map(move |stage| {
                let command = format!("pageout check {}", scenario.name);
                Self::schedules(*stage, scenario, command)
            })
        });
        schedules.chain(COMPARISONS.iter().map(Self::cases)).collect()
    }

    /// Returns the tasks of an injected bug: every search that must find it.
    ///
    /// # Panics
    /// If it names an unknown scenario or format.
    pub fn of_exhibit(exhibit: &Exhibit) -> Vec<Self> {
        let task = |format: &str| match exhibit.finding {
            Finding::Schedule(name) => {
                let scenario = Scenario::named(name).expect("an exhibit's scenario exists");
                let stage = FAULTY.iter().find(|stage| stage.format == format);
                let stage = stage.expect("an exhibit's format exists");
                let command = format!("pageout check --exhibit {}", exhibit.name);
                Self::schedules(*stage, scenario, command)
            }
            Finding::Cases(property) => {
                let is_asked = |of: &&Comparison| (of.property, of.format) == (property, format);
                let comparison = FAULTY_COMPARISONS.iter().find(is_asked);
                Self::cases(comparison.expect("an exhibit's format exists"))
            }
        };
        let bug = Some(exhibit.bug);
        exhibit.formats.iter().map(|(format, _)| Self { bug, ..task(format) }).collect()
    }

    fn schedules(stage: Stage, scenario: &'static Scenario, command: String) -> Self {
        let command = format!("{command} --format {}", stage.format);
        let work = Work::Schedules(stage, scenario);
        let property = scenario.property;
        let (format, what) = (stage.format, scenario.name);
        Self { property, format, what, work, bug: None, command }
    }

    fn cases(comparison: &Comparison) -> Self {
        let Comparison { property, format, compare } = *comparison;
        let (what, work, command) = (EVERY_CASE, Work::Cases(compare), String::new());
        Self { property, format, what, work, bug: None, command }
    }

    /// Returns true if the task searches schedules, which can be replayed.
    pub fn has_schedules(&self) -> bool {
        matches!(self.work, Work::Schedules(..))
    }

    /// Runs the search. It ends with the first bound at which executions fail, and returns the
    /// failing execution with the fewest steps.
    pub fn run(&self, bounds: Bounds) -> Report {
        let begun = Instant::now();
        let (searched, failure) = Bug::during(self.bug, || match self.work {
            Work::Schedules(stage, scenario) => self.explore(stage, scenario, bounds),
            Work::Cases(compare) => {
                let (executions, failure) = match compare() {
                    Ok(cases) => (cases, None),
                    Err(case) => (0, Some(Counterexample::of_case(self.property, &case))),
                };
                (Searched { executions, exhausted: true, ..Searched::default() }, failure)
            }
        });
        Report { searched, elapsed: begun.elapsed(), failure }
    }

    fn explore(
        &self,
        stage: Stage,
        scenario: &Scenario,
        bounds: Bounds,
    ) -> (Searched, Option<Counterexample>) {
        let mut stacks = Stacks::new(scenario.agents.len());
        let mut shortest: Option<Counterexample> = None;
        let mut failures = 0;
        let searched = search(bounds, |deviations| {
            let outcome = (stage.perform)(scenario, &mut stacks, deviations, false);
            if outcome.violation.is_none() {
                return (outcome.trace, Next::GoOn);
            }
            failures += 1;
            let told = (stage.perform)(scenario, &mut stacks, deviations, true);
            let told = self.counterexample(stage, scenario, deviations, told);
            let told = told.expect("an execution fails each time it is repeated");
            if shortest
                .as_ref()
                .is_none_or(|best| told.happened.steps.len() < best.happened.steps.len())
            {
                shortest = Some(told);
            }
            let enough = failures == COMPARED;
            (outcome.trace, if enough { Next::Stop } else { Next::StopAfterLevel })
        });
        (searched, shortest)
    }

    /// Executes given choices once, and returns the failure, if any. Precondition: the task has
    /// schedules.
    ///
    /// # Errors
    /// [`MissedChoice`] names the first choice that the execution does not have.
    ///
    /// # Panics
    /// If it has no schedules.
    pub fn replay(&self, deviations: &[Deviation]) -> Result<Option<Counterexample>, MissedChoice> {
        let Work::Schedules(stage, scenario) = self.work else {
            panic!("only schedules are replayed");
        };
        let mut stacks = Stacks::new(scenario.agents.len());
        let perform = || (stage.perform)(scenario, &mut stacks, deviations, true);
        let told = Bug::during(self.bug, perform);
        let choices = &told.trace.choices;
        match told.trace.missed {
            Some(of) => Err(match choices.get(of.step as usize) {
                Some(choice) => MissedChoice::Option { of, last: choice.options - 1 },
                None => MissedChoice::Step { of, steps: choices.len() },
            }),
            None => Ok(self.counterexample(stage, scenario, deviations, told)),
        }
    }

    /// Returns the failure of a logged execution.
    fn counterexample(
        &self,
        stage: Stage,
        scenario: &Scenario,
        deviations: &[Deviation],
        told: Outcome,
    ) -> Option<Counterexample> {
        Some(Counterexample::of_schedule(
            &told.violation?,
            format!("{} ({})", scenario.about, stage.format),
            event_log::steps(&told.log, &scenario.agents_named(), told.start),
            format!("{} --replay {}", self.command, choices(deviations)),
        ))
    }
}

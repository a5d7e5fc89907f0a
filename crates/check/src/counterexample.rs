//! The failure of a property, in steps that a person can follow.

use super::property::Violation;
use super::schedule::Deviation;
use pageout_exhibits::harness;
use pageout_record::schema::{Sequence, Step, StepKind};
use std::fmt;

/// A failing execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The name of the property.
    pub property: &'static str,
    /// The property, in words.
    pub says: &'static str,
    /// The state that violates it.
    pub found: String,
    /// The scenario or the call, and the format.
    pub place: String,
    /// The state at the start, and the steps up to the failure.
    pub happened: Sequence,
    /// The command that replays it, if it is a schedule.
    pub replay: Option<String>,
}

impl Counterexample {
    /// Returns the counterexample of a failing schedule.
    pub fn of_schedule(
        violation: &Violation,
        place: String,
        happened: Sequence,
        replay: String,
    ) -> Self {
        Self {
            property: violation.property.name(),
            says: violation.property.says(),
            found: violation.found.clone(),
            place,
            happened,
            replay: Some(replay),
        }
    }

    /// Returns the steps, with the violation as the last one.
    pub fn sequence(&self) -> Sequence {
        let mut sequence = self.happened.clone();
        let actor = sequence.steps.last().map_or(0, |step| step.actor);
        let text = format!("{}: {}", self.property, self.found);
        sequence.steps.push(Step { actor, text, after: Vec::new(), kind: StepKind::Violation });
        sequence
    }

    /// Returns the counterexample of a failing case of an exhaustive comparison.
    pub fn of_case(property: super::property::Property, case: &harness::Counterexample) -> Self {
        Self {
            property: property.name(),
            says: case.property,
            found: case.found.clone(),
            place: format!("{} ({})", case.call, case.format),
            happened: of_one_caller(case),
            replay: None,
        }
    }
}

/// Returns the steps of a case, in which one caller acts.
fn of_one_caller(case: &harness::Counterexample) -> Sequence {
    let step = |text: &String| Step {
        actor: 0,
        text: text.clone(),
        after: Vec::new(),
        kind: StepKind::Step,
    };
    Sequence {
        actors: vec!["caller".to_owned()],
        start: case.table.clone(),
        watched: Vec::new(),
        steps: case.steps.iter().map(step).collect(),
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}; at the start:", self.place)?;
        let Sequence { actors, start, steps, .. } = &self.happened;
        for line in start {
            writeln!(f, "      {line}")?;
        }
        writeln!(f, "  then:")?;
        for (number, Step { actor, text, .. }) in (1..).zip(steps) {
            match &actors[..] {
                [_] => writeln!(f, "  {number:>2}. {text}")?,
                actors => writeln!(f, "  {number:>2}. {}: {text}", actors[*actor])?,
            }
        }
        writeln!(f, "  {}: {}.", self.property, self.found)?;
        writeln!(f, "  It should hold that {}.", self.says)?;
        match &self.replay {
            // The command is printed as a shell takes it, in lines that a terminal does not break.
            Some(replay) => {
                let lines = replay.replace(" --format", " \\\n      --format");
                writeln!(f, "  Replay:\n    {lines}")
            }
            None => Ok(()),
        }
    }
}

/// Returns the choices as on a command line: `17:1,30:2`, or `default` for none.
pub fn choices(deviations: &[Deviation]) -> String {
    if deviations.is_empty() {
        return "default".to_owned();
    }
    let word = |d: &Deviation| format!("{}:{}", d.step, d.option);
    deviations.iter().map(word).collect::<Vec<_>>().join(",")
}

/// A given choice that the execution does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MissedChoice {
    /// The step has fewer options.
    #[error("choice {}:{}: that step has options 0 to {last}", .of.step, .of.option)]
    Option {
        /// The given choice.
        of: Deviation,
        /// The last option of that step.
        last: u8,
    },
    /// The execution ends before.
    #[error("choice {}:{}: the execution has only {steps} steps", .of.step, .of.option)]
    Step {
        /// The given choice.
        of: Deviation,
        /// The number of steps.
        steps: usize,
    },
}

/// The error for text that is not a list of choices.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("choices `{0}`: expected STEP:OPTION with rising steps, separated by commas, or default")]
pub struct ChoicesError(String);

/// Parses the output of [`choices`].
///
/// # Errors
/// [`ChoicesError`] for anything else.
pub fn parse_choices(text: &str) -> Result<Vec<Deviation>, ChoicesError> {
    if text == "default" {
        return Ok(Vec::new());
    }
    let wrong = || ChoicesError(text.to_owned());
    let word = |word: &str| {
        let (step, option) = word.split_once(':')?;
        Some(Deviation { step: step.parse().ok()?, option: option.parse().ok()? })
    };
    let deviations: Option<Vec<_>> = text.split(',').map(word).collect();
    let deviations = deviations.ok_or_else(wrong)?;
    let rising = deviations.windows(2).all(|pair| pair[0].step < pair[1].step);
    if rising { Ok(deviations) } else { Err(wrong()) }
}

//! How a property fails, in steps a person can follow.

use super::property::Violation;
use super::schedule::Deviation;
use pageout_exhibits::harness;
use pageout_record::schema::{Sequence, Step, StepKind};
use std::fmt;

/// One failing execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The property's name, and what it says.
    pub property: &'static str,
    /// See above.
    pub says: &'static str,
    /// What was found instead.
    pub found: String,
    /// Where: the scenario, or the call, and the format.
    pub place: String,
    /// How things stood at the start, and what happened, up to what was found.
    pub happened: Sequence,
    /// The command that replays it, where it is a schedule.
    pub replay: Option<String>,
}

impl Counterexample {
    /// A failing schedule.
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

    /// What happened, with what was found as the last step.
    pub fn sequence(&self) -> Sequence {
        let mut sequence = self.happened.clone();
        let actor = sequence.steps.last().map_or(0, |step| step.actor);
        let text = format!("{}: {}", self.property, self.found);
        sequence.steps.push(Step { actor, text, after: Vec::new(), kind: StepKind::Violation });
        sequence
    }

    /// A failing case of an exhaustive comparison.
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

/// The steps of a case, in which one caller acts.
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
            // As a shell takes it, in lines that a terminal does not break.
            Some(replay) => {
                let lines = replay.replace(" --format", " \\\n      --format");
                writeln!(f, "  Replay:\n    {lines}")
            }
            None => Ok(()),
        }
    }
}

/// The choices as a command line has them: `17:1,30:2`, or `default` for none.
pub fn choices(deviations: &[Deviation]) -> String {
    if deviations.is_empty() {
        return "default".to_owned();
    }
    let word = |d: &Deviation| format!("{}:{}", d.step, d.option);
    deviations.iter().map(word).collect::<Vec<_>>().join(",")
}

/// A choice that an execution does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MissedChoice {
    /// The step has fewer options.
    #[error("choice {}:{}: that step has options 0 to {last}", .of.step, .of.option)]
    Option {
        /// What was asked for.
        of: Deviation,
        /// The last option there is.
        last: u8,
    },
    /// The execution ends before.
    #[error("choice {}:{}: the execution has only {steps} steps", .of.step, .of.option)]
    Step {
        /// What was asked for.
        of: Deviation,
        /// Steps there are.
        steps: usize,
    },
}

/// Choices that are no choices.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("choices `{0}`: expected STEP:OPTION with rising steps, separated by commas, or default")]
pub struct ChoicesError(String);

/// Reads what [`choices`] writes.
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

//! How ours comes about: a closed set of methods, and their answers.

use super::figure::Figure;
use super::figures::CARMEL;
use super::material::{Material, Step};
use super::patterns::Ask;
use super::shootdowns::Asked;
use super::thpscale::Told;
use pageout_experiment::metrics::NS_PER_PAGE;
use pageout_machine::platform::Platform;
use pageout_model::interval;
use pageout_record::schema::{Basis, Ground};
use pageout_record::stats::Interval;

/// How a line of ours comes about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Scenario `reclaim-file` on the figure's modelled machine.
    Modelled(Steps),
    /// The same of the state after alone, for a figure that is one number.
    ModelledAfter(Steps),
    /// The lab's instructions alone.
    Counted(Steps),
    /// The instructions that go, as a share of those before: what goes took at least as much.
    CountedShare(Steps),
    /// Time of the engine on this machine.
    Host(Steps),
    /// The share of walks and young checks in it.
    HostShare(Steps, Whose),
    /// Follows from the thread's own numbers.
    Computed(Arithmetic),
    /// A row of scenario `thpscale` on the modelled machine.
    Thpscale(Told),
    /// Scenarios `pageout-shared` and `fork-heavy` there.
    Shootdowns(Asked),
    /// S3's tests on the modelled machine.
    Patterns(Ask),
    /// Nothing here can say, and why.
    Not(&'static str),
}

/// What was changed of reclaim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steps {
    /// Classic lists: young bits batched.
    ClassicYoung,
    /// Classic lists: unmapping batched too.
    ClassicUnmap,
    /// Generations: young bits batched, with unmapping batched before.
    MglruYoung,
}

impl Steps {
    /// Before and after.
    pub(super) const fn ends(self) -> [Step; 2] {
        match self {
            Self::ClassicYoung => [Step::Stock, Step::Young],
            Self::ClassicUnmap => [Step::Young, Step::Unmap],
            Self::MglruYoung => [Step::MglruUnmap, Step::Mglru],
        }
    }
}

/// One of the two that were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// Before.
    Before,
    /// After.
    After,
}

/// What follows from the thread's own numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// 1 − (35/36)^36, in per cent.
    FalsePositive,
    /// 4 KiB for each entry of the platform's second TLB level.
    Reach,
}

/// What a line of ours is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    /// Time on this machine, which is not the thread's.
    Measured,
    /// Events of a real kernel or of the engine.
    Counted,
    /// Counts times prices that no benchmark was fitted on.
    Predicted,
    /// It says which side, not how much.
    DirectionOnly,
}

impl Label {
    /// Its name in records and tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Counted => "counted",
            Self::Predicted => "predicted",
            Self::DirectionOnly => "direction only",
        }
    }
}

/// One number of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Quantity {
    /// Before, after, ratio (before over after), saved or value.
    pub(super) name: &'static str,
    /// Its unit.
    pub(super) unit: &'static str,
    /// Samples; one, at nominal prices, for a prediction.
    pub(super) values: Vec<f64>,
    /// Of draws, for a prediction.
    pub(super) interval: Option<Interval>,
}

/// A line of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Answer {
    /// Where it comes from.
    pub(super) ground: Ground,
    /// What it is worth.
    pub(super) label: Label,
    /// How the values came to be.
    pub(super) basis: Basis,
    /// In words.
    pub(super) how: &'static str,
    /// The numbers.
    pub(super) quantities: Vec<Quantity>,
}

impl Answer {
    /// What a scenario on a modelled machine predicts.
    pub(super) const fn modelled(how: &'static str, quantities: Vec<Quantity>) -> Self {
        let (ground, basis) = (Ground::Model, Basis::Modelled);
        Self { ground, label: Label::Predicted, basis, how, quantities }
    }
}

/// Cost before over cost after.
pub(super) const RATIO: &str = "ratio";
pub(super) const TIMES: &str = "times";
const INSTRUCTIONS: &str = "instructions/4K page";
const PERCENT: &str = "%";

impl Method {
    /// What it says of the figure.
    ///
    /// # Errors
    /// Why nothing can be said.
    pub(super) fn answer(self, figure: &Figure, material: &Material) -> Result<Answer, String> {
        match self {
            Self::Modelled(steps) => material.reclaim.answer(steps, figure),
            Self::ModelledAfter(steps) => {
                let mut answer = material.reclaim.answer(steps, figure)?;
                answer.quantities.retain(|quantity| quantity.name == "after");
                answer.quantities.iter_mut().for_each(|quantity| quantity.name = "value");
                Ok(answer)
            }
            Self::Counted(steps) => counted(figure, steps, material),
            Self::CountedShare(steps) => {
                let [before, after] = material.instructions(figure, steps.ends())?;
                let share = 100.0 * (before - after) / before;
                Ok(Answer {
                    ground: Ground::Linux,
                    label: Label::DirectionOnly,
                    basis: Basis::Counted,
                    how: "instructions that go: the share was this or more",
                    quantities: vec![one("value", PERCENT, share)],
                })
            }
            Self::Host(steps) => host(figure, steps, material),
            Self::HostShare(steps, whose) => {
                let shares = material.shares(figure, steps.ends()[whose as usize])?;
                Ok(Answer {
                    ground: Ground::Host,
                    label: Label::Measured,
                    basis: Basis::Measured,
                    how: "rmap walk and young check of the engine",
                    quantities: vec![samples("value", PERCENT, shares)],
                })
            }
            Self::Computed(arithmetic) => Ok(computed(figure, arithmetic)),
            Self::Thpscale(told) => material.thpscale.answer(told),
            Self::Shootdowns(asked) => material.shootdowns.answer(asked, figure),
            Self::Patterns(ask) => material.patterns(figure)?.answer(ask, figure),
            Self::Not(why) => Err(why.to_owned()),
        }
    }

    /// Whether it needs the engine measured here.
    pub(super) const fn needs_host(self) -> bool {
        matches!(self, Self::Host(_) | Self::HostShare(..))
    }

    /// Whether it needs scenario `reclaim-file` modelled.
    pub(super) const fn needs_reclaim(self) -> bool {
        matches!(self, Self::Modelled(_) | Self::ModelledAfter(_))
    }
}

pub(super) fn one(name: &'static str, unit: &'static str, value: f64) -> Quantity {
    samples(name, unit, vec![value])
}

fn samples(name: &'static str, unit: &'static str, values: Vec<f64>) -> Quantity {
    Quantity { name, unit, values, interval: None }
}

/// The nominal value, with the interval of the draws, if there are any.
pub(super) fn drawn(
    name: &'static str,
    unit: &'static str,
    nominal: f64,
    draws: &[f64],
) -> Quantity {
    Quantity { name, unit, values: vec![nominal], interval: interval(draws) }
}

/// Cost before over cost after: at nominal prices, and with the prices of each draw, if there are
/// any.
pub(super) fn ratio_of(before: &(f64, Vec<f64>), after: &(f64, Vec<f64>)) -> Quantity {
    let nominal = before.0 / after.0;
    let draws: Vec<_> =
        before.1.iter().zip(&after.1).map(|(before, after)| before / after).collect();
    drawn(RATIO, TIMES, nominal, &draws)
}

fn counted(figure: &Figure, steps: Steps, material: &Material) -> Result<Answer, String> {
    let [before, after] = material.instructions(figure, steps.ends())?;
    Ok(Answer {
        ground: Ground::Linux,
        label: Label::Counted,
        basis: Basis::Counted,
        how: "instructions of Linux 6.12.117, order 4, process asleep",
        quantities: vec![
            one("before, instructions", INSTRUCTIONS, before),
            one("after, instructions", INSTRUCTIONS, after),
            one(RATIO, TIMES, before / after),
        ],
    })
}

fn host(figure: &Figure, steps: Steps, material: &Material) -> Result<Answer, String> {
    let [before, after] = steps.ends();
    let (before, after) = (material.times(figure, before)?, material.times(figure, after)?);
    let pairs = || before.iter().zip(&after);
    Ok(Answer {
        ground: Ground::Host,
        label: Label::Measured,
        basis: Basis::Measured,
        how: "the engine on this machine, no TLB to maintain",
        quantities: vec![
            samples("saved", NS_PER_PAGE, pairs().map(|(before, after)| before - after).collect()),
            samples(RATIO, TIMES, pairs().map(|(before, after)| before / after).collect()),
        ],
    })
}

fn computed(figure: &Figure, arithmetic: Arithmetic) -> Answer {
    let (how, unit, value) = match arithmetic {
        Arithmetic::FalsePositive => {
            ("1 - (35/36)^36", PERCENT, { 100.0 * (1.0 - (35.0_f64 / 36.0).powi(36)) })
        }
        Arithmetic::Reach => {
            let platform = Platform::named(figure.platform.unwrap_or(CARMEL));
            let tlb = platform.expect("a shipped platform").shape().tlb;
            let level = tlb.l2.unwrap_or(tlb.l1);
            let entries = f64::from(level.sets) * f64::from(level.ways);
            ("4 KiB for each entry of the second level of the platform", "MiB", entries / 256.0)
        }
    };
    Answer {
        ground: Ground::Model,
        label: Label::Counted,
        basis: Basis::Counted,
        how,
        quantities: vec![one("value", unit, value)],
    }
}

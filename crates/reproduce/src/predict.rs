//! The answers of each method to a figure.

use super::answer::{Answer, Label, RATIO, TIMES, one, samples};
use super::condition;
use super::figure::{Figure, Theirs};
use super::figures::all;
use super::material::Material;
use super::method::{Arithmetic, Method, Steps};
use super::platforms::CARMEL;
use super::split;
use pageout_experiment::metrics::NS_PER_PAGE;
use pageout_machine::platform::Platform;
use pageout_record::schema::{Basis, Ground};

const INSTRUCTIONS: &str = "instructions/4K page";
const PERCENT: &str = "%";

impl Method {
    /// Returns the method's answer to the figure.
    ///
    /// # Errors
    /// The reason why there is no answer.
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
            Self::Shootdowns(asked) => material.shootdowns.answer(asked, figure),
            Self::Needed(test, policies) => condition::of_test(test, policies, figure, material),
            Self::NeededInSlots(threads) => condition::of_slots(threads, figure, material),
            Self::NotIdentified => Err(split::why(figure.id).to_owned()),
            Self::Not(why) => Err(why.to_owned()),
        }
    }

    /// Returns predictions that each change one setting which the thread leaves open.
    pub(super) fn otherwise(
        self,
        figure: &Figure,
        material: &Material,
    ) -> Vec<(&'static str, Answer)> {
        match self {
            Self::Modelled(steps) => material.reclaim.otherwise(steps, figure),
            _ => Vec::new(),
        }
    }
}

fn counted(figure: &Figure, steps: Steps, material: &Material) -> Result<Answer, String> {
    let [before, after] = material.instructions(figure, steps.ends())?;
    Ok(Answer {
        ground: Ground::Linux,
        label: Label::Counted,
        basis: Basis::Counted,
        how: "instructions of Linux 7.3.4, order 4, process asleep",
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
    let value = |unit, value| vec![one("value", unit, value)];
    let (how, quantities) = match arithmetic {
        Arithmetic::FalsePositive => {
            ("1 - (35/36)^36", value(PERCENT, 100.0 * (1.0 - (35.0_f64 / 36.0).powi(36))))
        }
        Arithmetic::Reach => {
            let platform = Platform::named(figure.platform.unwrap_or(CARMEL));
            let tlb = platform.expect("a shipped platform").shape().tlb;
            let level = tlb.l2.unwrap_or(tlb.l1);
            let entries = f64::from(level.sets) * f64::from(level.ways);
            let how = "4 KiB for each entry of the second level of the platform";
            (how, value("MiB", entries / 256.0))
        }
        Arithmetic::BusyCpus => {
            let [user, system, elapsed] =
                ["user", "system", "elapsed"].map(|part| duration(&format!("s2-thpscale-{part}")));
            let busy = |of: fn([f64; 2]) -> f64| (of(user) + of(system)) / of(elapsed);
            let (before, after) = (busy(|[before, _]| before), busy(|[_, after]| after));
            let quantities = vec![
                one("before, CPUs busy", "CPUs", before),
                one("after, CPUs busy", "CPUs", after),
            ];
            ("user and system time over the time elapsed", quantities)
        }
    };
    Answer { ground: Ground::Model, label: Label::Counted, basis: Basis::Counted, how, quantities }
}

/// Returns the costs of a figure before and after.
fn duration(id: &str) -> [f64; 2] {
    let figure = all().find(|figure| figure.id == id).expect("a figure that there is");
    match figure.theirs {
        Theirs::Costs { before, after, .. } => [before, after],
        _ => panic!("{id} has a cost before and after"),
    }
}

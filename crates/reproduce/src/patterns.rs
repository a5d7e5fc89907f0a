//! What scenario `access-patterns` says of S3's six tests: means, and how much runs vary.

use super::answer::{Answer, Quantity, RATIO, TIMES, drawn};
use super::figure::{Figure, Side, Theirs};
use super::method::{Ask, Policy, Test};
use pageout_experiment::scenarios::Compared;
use pageout_experiment::spread::host_threads;
use pageout_machine::platform::Platform;
use pageout_model::Model;
use pageout_model::access_patterns::{AccessPatterns, Times};
use pageout_record::stats::{Mean, variation};

/// How thorough to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runs {
    /// Bytes of memory; the file has twice as many.
    pub memory: u64,
    /// Runs with nominal prices.
    pub nominal: u32,
    /// Draws of prices.
    pub draws: u32,
    /// Runs with each.
    pub each: u32,
}

const WRITES: [Test; 3] = [Test::SeqWrite, Test::RandomWrite, Test::HotWrite];
const SIX: [Test; 6] = [
    Test::SeqRead,
    Test::RandomRead,
    Test::HotRead,
    Test::SeqWrite,
    Test::RandomWrite,
    Test::HotWrite,
];

impl Ask {
    /// Whose runs they are; docs/model.md has what the size of memory changes.
    const fn how(self) -> &'static str {
        match self {
            Self::Means(_, before, after) | Self::Variations(_, before, after) => {
                match (before, after) {
                    (Policy::Sync, Policy::Nosync) => "access-patterns, sync over nosync",
                    (Policy::Sync, Policy::None) => "access-patterns, sync over none",
                    (Policy::Nosync, Policy::Sync) => "access-patterns, nosync over sync",
                    (Policy::Nosync, Policy::None) => "access-patterns, nosync over none",
                    (Policy::None, Policy::Sync) => "access-patterns, none over sync",
                    (Policy::None, Policy::Nosync) => "access-patterns, none over nosync",
                    _ => "access-patterns, a policy over itself",
                }
            }
            Self::Variation(..) => "access-patterns, one policy",
            Self::Writes => "access-patterns, all writes",
            Self::Worst(_) => "access-patterns, the six tests",
        }
    }
}

/// All runs.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    /// By test and policy.
    times: Vec<Times>,
    draws: usize,
}

const VARIATION: &str = "% of the mean";

impl Patterns {
    /// Runs the scenario on the platform.
    pub(super) fn run(runs: Runs, platform: &Platform) -> Self {
        let mut all = AccessPatterns::six_tests(runs.memory, platform);
        let half_hot = all[Test::HotRead as usize].clone().with_hot(50);
        all.push(half_hot);
        let model = Model {
            platform: Some(platform.clone()),
            cores: None,
            draws: runs.draws,
            runs: runs.nominal,
            seed: 1,
            threads: host_threads(),
        };
        let times = AccessPatterns::times(&all, &Compared::POLICIES, &model, runs.each);
        Self { times, draws: runs.draws as usize }
    }

    fn of(&self, test: Test, policy: Policy) -> &Times {
        &self.times[test as usize * Compared::POLICIES.len() + policy as usize]
    }

    /// Something of the runs, with nominal prices and with each draw.
    fn over(&self, of: impl Fn(&dyn Fn(Test, Policy) -> Vec<f64>) -> f64) -> (f64, Vec<f64>) {
        let nominal = of(&|test, policy| self.of(test, policy).nominal.clone());
        let draw = |k: usize| of(&|test, policy| self.of(test, policy).drawn[k].clone());
        (nominal, (0..self.draws).map(draw).collect())
    }

    /// What they say of the figure.
    ///
    /// # Errors
    /// Why nothing can be said.
    pub(super) fn answer(&self, ask: Ask, figure: &Figure) -> Result<Answer, String> {
        type Values<'v> = &'v dyn Fn(Test, Policy) -> Vec<f64>;
        let average = |of: Values<'_>, test, policy| mean(&of(test, policy)).unwrap_or(f64::NAN);
        let varies = |of: Values<'_>, test, policy| {
            variation(&of(test, policy)).map_or(f64::NAN, |part| 100.0 * part)
        };
        let quantities = match ask {
            Ask::Means(test, before, after) => {
                let of = |of: Values<'_>| average(of, test, before) / average(of, test, after);
                vec![quantity(RATIO, TIMES, self.over(of))?]
            }
            Ask::Variations(test, before, after) => {
                let ratio = self.over(|of| varies(of, test, before) / varies(of, test, after));
                let mut quantities = Vec::new();
                if let Theirs::Value { unit, side, .. } = figure.theirs {
                    let shown = |ratio: f64| match (unit == TIMES, side) {
                        (true, Side::Worse) => 1.0 / ratio,
                        (true, _) => ratio,
                        (false, _) => 100.0 * ratio,
                    };
                    let draws = ratio.1.iter().map(|ratio| shown(*ratio)).collect();
                    quantities.push(quantity("value", unit, (shown(ratio.0), draws))?);
                }
                quantities.push(quantity(RATIO, TIMES, ratio)?);
                quantities
            }
            Ask::Variation(test, policy) => {
                vec![quantity("value", VARIATION, self.over(|of| varies(of, test, policy)))?]
            }
            Ask::Writes => {
                let of = |of: Values<'_>| {
                    let each = WRITES.map(|test| EACH.map(|policy| varies(of, test, policy)));
                    mean(each.as_flattened()).unwrap_or(f64::NAN)
                };
                vec![quantity("value", VARIATION, self.over(of))?]
            }
            Ask::Worst(policy) => {
                let of = |of: Values<'_>| {
                    SIX.iter().map(|test| varies(of, *test, policy)).fold(0.0, f64::max)
                };
                vec![quantity("value", VARIATION, self.over(of))?]
            }
        };
        Ok(Answer::modelled(ask.how(), quantities))
    }
}

const EACH: [Policy; 3] = [Policy::Sync, Policy::Nosync, Policy::None];

fn quantity(
    name: &'static str,
    unit: &'static str,
    (nominal, draws): (f64, Vec<f64>),
) -> Result<Quantity, String> {
    let told = draws.iter().chain([&nominal]).all(|value| value.is_finite());
    if told { Ok(drawn(name, unit, nominal, &draws)) } else { Err("runs do not vary".to_owned()) }
}

/// The mean of these values; `None` if there are none.
fn mean(values: &[f64]) -> Option<f64> {
    Mean::of(values).map(|of| of.mean)
}

//! Answers to S4's figures by scenario `pageout-shared`.

use super::answer::{Answer, Quantity, drawn, ratio_of};
use super::effort::Effort;
use super::figure::{Figure, Theirs};
use super::method::SharedQuantity;
use super::platforms::{self, KUNPENG, SNAPDRAGON};
use pageout_experiment::fields::FieldError;
use pageout_experiment::metrics::NS_PER_PAGE;
use pageout_experiment::scenarios::{Compared, PageoutSharedLists};
use pageout_experiment::spread::spread;
use pageout_model::scenarios::pageout_shared::PageoutShared;
use pageout_model::{Model, Scenario};

/// A value at nominal prices, and its values at the prices of draws.
type Values = (f64, Vec<f64>);

/// The results of the scenarios with immediate and with deferred shootdowns.
#[derive(Debug, Default)]
pub(super) struct Runs {
    micro: Vec<(&'static str, Micro)>,
}

/// The results of the microbenchmark on a platform.
#[derive(Debug)]
struct Micro {
    time: [Values; 2],
    flushing: [Values; 2],
    unmapping: Values,
}

/// 4K pages of a repetition.
const PAGES: f64 = 256.0;
/// The number of repetitions; few are enough, because all are alike.
const TIMES: u32 = 3;

impl Runs {
    /// Runs the program on both platforms.
    ///
    /// # Errors
    /// [`FieldError`] if a platform has no such entries.
    pub(super) fn gather(
        effort: Effort,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, FieldError> {
        let mut runs = Self::default();
        for platform in [SNAPDRAGON, KUNPENG] {
            let model = platforms::model(platform, effort.draws);
            let all = PageoutShared::all(&micro(&model), &model)?;
            let ends = outcomes(&all[0], &model, progress);
            let of = |f: fn(&_) -> f64| ends.each_ref().map(|end| values(end, f));
            let [unmapping, _] = of(pageout_model::scenarios::pageout_shared::Outcome::unmap_share);
            let time = of(pageout_model::scenarios::pageout_shared::Outcome::repetition);
            let flushing = of(pageout_model::scenarios::pageout_shared::Outcome::flushing);
            runs.micro.push((platform, Micro { time, flushing, unmapping }));
        }
        Ok(runs)
    }

    /// Returns the answer of these runs to a figure.
    ///
    /// # Errors
    /// If they did not run on its platform.
    pub(super) fn answer(&self, asked: SharedQuantity, figure: &Figure) -> Result<Answer, String> {
        let not_run = || "the scenario was not run".to_owned();
        let micro = || {
            let found = self.micro.iter().find(|(name, _)| figure.platform == Some(name));
            found.map(|(_, micro)| micro).ok_or_else(not_run)
        };
        let (how, quantity) = match asked {
            SharedQuantity::Share => {
                let (nominal, draws) = &micro()?.unmapping;
                (HOW, drawn("value", "%", *nominal, draws))
            }
            SharedQuantity::Gone => (HOW, ratio(&micro()?.flushing)),
            SharedQuantity::Time => {
                return Ok(Answer::modelled(HOW, times(&micro()?.time, figure)));
            }
        };
        Ok(Answer::modelled(how, vec![quantity]))
    }
}

const HOW: &str = "scenario pageout-shared, shootdown immediate and deferred; few draws";

fn micro(model: &Model) -> PageoutSharedLists {
    PageoutSharedLists { format: model.formats(), times: vec![TIMES], ..Default::default() }
}

/// Returns the outcomes with immediate and with deferred shootdowns: at nominal prices first, then
/// with each draw.
fn outcomes<S: Scenario>(
    scenario: &S,
    model: &Model,
    progress: &mut dyn FnMut(usize, usize),
) -> [Vec<S::Outcome>; 2] {
    let runs = model.all_runs();
    let [at_once, deferred] = Compared::SHOOTDOWN;
    let mut all = spread(2 * runs.len(), model.threads, progress, |k| {
        let variant = if k < runs.len() { at_once } else { deferred };
        scenario.run(model, variant, runs[k % runs.len()])
    });
    let last = all.split_off(runs.len());
    [all, last]
}

fn values<O>(outcomes: &[O], of: fn(&O) -> f64) -> Values {
    (of(&outcomes[0]), outcomes[1..].iter().map(of).collect())
}

/// Returns the costs of a page before and after, if the thread gives costs, and their ratio.
fn times([before, after]: &[Values; 2], figure: &Figure) -> Vec<Quantity> {
    let a_page = |name, (nominal, draws): &Values| {
        let draws: Vec<_> = draws.iter().map(|repetition| repetition * 1e3 / PAGES).collect();
        drawn(name, NS_PER_PAGE, nominal * 1e3 / PAGES, &draws)
    };
    let costs = matches!(figure.theirs, Theirs::Costs { .. });
    let costs = costs.then(|| [a_page("before", before), a_page("after", after)]);
    costs.into_iter().flatten().chain([ratio_of(before, after)]).collect()
}

fn ratio([before, after]: &[Values; 2]) -> Quantity {
    ratio_of(before, after)
}

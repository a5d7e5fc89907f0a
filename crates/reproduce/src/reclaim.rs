//! Predictions of S0's and S1's figures by scenario `reclaim-file` on modelled machines.

use super::answer::{Answer, RATIO, TIMES, drawn, one, ratio_of};
use super::effort::Effort;
use super::figure::{Figure, Theirs};
use super::method::Steps;
use super::platforms::{ARM, X86, model};
use super::step::Step;
use pageout_experiment::fields::{FieldError, display_size};
use pageout_experiment::metrics::NS_PER_PAGE;
use pageout_experiment::scenarios::metrics::machine::BROADCASTS;
use pageout_experiment::scenarios::metrics::reclaim_file::{INSTRUCTIONS, WHOLE};
use pageout_model::Scenario as _;
use pageout_model::scenarios::reclaim_file::ReclaimFile;
use pageout_record::schema::Record;
use std::iter;

/// The scenario's records: one for each platform, setting and state of the kernel.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Run>);

/// A run of one state of the kernel.
#[derive(Debug)]
struct Run {
    platform: &'static str,
    /// The one field that differs from the assumed ones, if any.
    setting: Option<&'static str>,
    step: Step,
    record: Record,
}

impl Run {
    fn values(&self, name: &str) -> Option<&[f64]> {
        let found = self.record.metric(name);
        found.map(|metric| &*metric.values)
    }
}

/// Fields that the threads leave open, each with a value other than the assumed one.
pub(super) const SETTINGS: [&str; 9] = [
    "order=2",
    "order=3",
    "order=5",
    "order=6",
    "young=50%",
    "young=0%",
    "process=running",
    "processes=2",
    "reclaim=40%",
];

/// The cost of a reclaimed page.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cost {
    /// Nanoseconds at nominal prices, and at those of each draw.
    pub(super) time: (f64, Vec<f64>),
    /// Instructions of the kernel.
    pub(super) instructions: f64,
    /// Invalidations that were broadcast.
    pub(super) broadcasts: f64,
}

const HOW: &str = "scenario reclaim-file, order 4, process asleep";

impl Runs {
    /// Runs every state of the kernel on both platforms with the assumed fields, with draws of
    /// prices. If `settings` is true, also runs each of [`SETTINGS`] at nominal prices.
    ///
    /// # Errors
    /// [`FieldError`] if a platform has no such entries.
    pub(super) fn gather(
        effort: Effort,
        settings: bool,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, FieldError> {
        let others = if settings { &SETTINGS[..] } else { &[] };
        let mut runs = Vec::new();
        for platform in [ARM, X86] {
            for setting in iter::once(None).chain(others.iter().copied().map(Some)) {
                let draws = if setting.is_none() { effort.draws } else { 0 };
                let model = model(platform, draws);
                let all = ReclaimFile::parse(&arguments(effort.memory, setting), &model)?;
                let steps = Step::ALL.map(Step::variant);
                let records = ReclaimFile::records(&all, &steps, &model, progress);
                let of = |(step, record)| Run { platform, setting, step, record };
                runs.extend(Step::ALL.into_iter().zip(records).map(of));
            }
        }
        Ok(Self(runs))
    }

    /// Returns the cost of a page on the figure's platform in a state of the kernel.
    ///
    /// # Errors
    /// If it did not run there.
    pub(super) fn cost(&self, figure: &Figure, step: Step) -> Result<Cost, String> {
        let run = self.run(figure, None, step)?;
        let values = |name: &str| run.values(name).ok_or_else(|| format!("no {name}"));
        Ok(Cost {
            time: (values(WHOLE.name)?[0], values(&WHOLE.drawn_name())?.to_vec()),
            instructions: values(INSTRUCTIONS.name)?[0],
            broadcasts: values(BROADCASTS.name)?[0],
        })
    }

    /// Returns the answer of these runs to a figure.
    ///
    /// # Errors
    /// If they did not run on its platform.
    pub(super) fn answer(&self, steps: Steps, figure: &Figure) -> Result<Answer, String> {
        let [before, after] = steps.ends();
        let [before, after] = [self.cost(figure, before)?.time, self.cost(figure, after)?.time];
        let mut quantities = Vec::new();
        if !matches!(figure.theirs, Theirs::Ratio { .. }) {
            quantities.push(drawn("before", NS_PER_PAGE, before.0, &before.1));
            quantities.push(drawn("after", NS_PER_PAGE, after.0, &after.1));
        }
        quantities.push(ratio_of(&before, &after));
        Ok(Answer::modelled(HOW, quantities))
    }

    /// Returns cost before over cost after, with each of the [`SETTINGS`] that ran.
    pub(super) fn otherwise(&self, steps: Steps, figure: &Figure) -> Vec<(&'static str, Answer)> {
        let ratio = |setting| {
            let [before, after] = steps.ends().map(|step| {
                let run = self.run(figure, Some(setting), step).ok()?;
                run.values(WHOLE.name)?.first().copied()
            });
            let ratio = one(RATIO, TIMES, before? / after?);
            Some((setting, Answer::modelled(HOW, vec![ratio])))
        };
        SETTINGS.into_iter().filter_map(ratio).collect()
    }

    fn run(
        &self,
        figure: &Figure,
        setting: Option<&str>,
        step: Step,
    ) -> Result<&Run, &'static str> {
        let same = |run: &&Run| {
            figure.platform == Some(run.platform) && run.setting == setting && run.step == step
        };
        self.0.iter().find(same).ok_or("the scenario was not run")
    }
}

/// Returns the fields of a run: the assumed ones, except that `setting` replaces its field.
fn arguments(bytes: u64, setting: Option<&str>) -> Vec<String> {
    let assumed = ["order=4".to_owned(), format!("size={}", display_size(bytes))];
    let name = |field: &str| field.split_once('=').map(|(name, _)| name.to_owned());
    let kept = assumed.into_iter().filter(|field| setting.and_then(name) != name(field));
    kept.chain(setting.map(str::to_owned)).collect()
}

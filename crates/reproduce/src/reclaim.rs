//! What scenario `reclaim-file` on modelled machines says of S0's and S1's figures.

use super::answer::{Answer, drawn, ratio_of};
use super::effort::Effort;
use super::figure::{Figure, Theirs};
use super::method::Steps;
use super::platforms::{ARM, X86};
use super::step::Step;
use pageout_experiment::fields::FieldError;
use pageout_experiment::metrics::NS_PER_PAGE;
use pageout_experiment::scenarios::metrics::machine::BROADCASTS;
use pageout_experiment::scenarios::metrics::reclaim_file::{INSTRUCTIONS, WHOLE};
use pageout_experiment::scenarios::{self, ProcessesLists, ReclaimFileLists};
use pageout_experiment::spread::host_threads;
use pageout_machine::platform::Platform;
use pageout_model::reclaim_file::ReclaimFile;
use pageout_model::{Model, Scenario as _};
use pageout_record::schema::Record;

/// The scenario's records, of each platform and state of the kernel.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<(&'static str, Step, Record)>);

/// What a reclaimed page takes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cost {
    /// Nanoseconds at nominal prices, and with those of each draw.
    pub(super) time: (f64, Vec<f64>),
    /// Instructions of the kernel.
    pub(super) instructions: f64,
    /// Invalidations broadcast.
    pub(super) broadcasts: f64,
}

const HOW: &str = "scenario reclaim-file, order 4, process asleep";

impl Runs {
    /// Runs every state of the kernel on both platforms.
    ///
    /// # Errors
    /// [`FieldError`] if a platform has no such entries.
    pub(super) fn gather(
        effort: Effort,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, FieldError> {
        let mut runs = Vec::new();
        for platform in [ARM, X86] {
            let model = Model {
                platform: Some(Platform::named(platform).expect("a shipped platform")),
                cores: None,
                draws: effort.draws,
                runs: 1,
                seed: 1,
                threads: host_threads(),
            };
            let lists = ReclaimFileLists {
                orders: vec![scenarios::ReclaimFile::DEFAULT.orders],
                bytes: vec![effort.memory],
                ..ReclaimFile::lists(&model)
            };
            let all = ReclaimFile::all(&lists, &ProcessesLists::default(), &model)?;
            let records =
                ReclaimFile::records(&all, &Step::ALL.map(Step::variant), &model, progress);
            runs.extend(Step::ALL.into_iter().zip(records).map(|(step, of)| (platform, step, of)));
        }
        Ok(Self(runs))
    }

    /// What a page takes on the figure's platform in a state of the kernel.
    ///
    /// # Errors
    /// If it did not run there.
    pub(super) fn cost(&self, figure: &Figure, step: Step) -> Result<Cost, String> {
        let same = |(on, of, _): &&(_, _, _)| figure.platform == Some(*on) && *of == step;
        let (.., record) = self.0.iter().find(same).ok_or("the scenario was not run")?;
        let values = |name: &str| {
            let found = record.metrics.iter().find(|metric| metric.name == name);
            found.map(|metric| metric.values.clone()).ok_or_else(|| format!("no {name}"))
        };
        Ok(Cost {
            time: (values(WHOLE.name)?[0], values(&WHOLE.drawn_name())?),
            instructions: values(INSTRUCTIONS.name)?[0],
            broadcasts: values(BROADCASTS.name)?[0],
        })
    }

    /// What they say of a figure.
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
}

//! Scenario `faults`: tasks on cores of their own fault pages in at once, with or without reclaim
//! beside them. The engine's locks have prices here.

mod run;
mod setup;
#[cfg(test)]
mod tests;

pub use run::Outcome;

use crate::{Model, ModelRun, Modelled, OnMachine, Scenario};
use pageout_experiment::declare::Declared;
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::faults::FAULT;
use pageout_experiment::scenarios::{self, FaultsLists};
use pageout_experiment::variant::Variant;
use pageout_machine::Report;
use pageout_machine::platform::Platform;
use pageout_record::schema::{Labels, Metric};

/// The scenario on a modelled machine.
pub type Faults = OnMachine<scenarios::Faults>;

impl Modelled for scenarios::Faults {
    fn lists(model: &Model) -> FaultsLists {
        FaultsLists { format: model.formats(), ..Default::default() }
    }

    fn format(&self) -> FormatName {
        self.format
    }

    fn platform(&self, model: &Model) -> Result<Platform, FieldError> {
        model.cores.map_or(Ok(()), |cores| self.check_cores(cores))?;
        model.platform_for(self.format)
    }
}

impl Faults {
    /// Returns the settings with the machine's number of cores: the one asked for; otherwise the
    /// platform's, or one for each task if that is more.
    fn model(&self, model: &Model) -> Model {
        let cores = model.cores.unwrap_or(self.platform.shape().cores.max(self.cores()));
        Model { cores: Some(cores), ..model.clone() }
    }
}

impl Scenario for Faults {
    type Outcome = Outcome;
    const NAME: &'static str = scenarios::Faults::NAME;
    const WHOLE: MetricSpec = FAULT;

    fn platform(&self) -> &Platform {
        &self.platform
    }

    fn labels(&self, model: &Model) -> Labels {
        let mut all = Declared::labels(&**self);
        all.extend(self.model(model).labels(&self.platform));
        all
    }

    fn footprint(&self, _: &Model) -> Footprint {
        with_format!(self.format, F => {
            Footprint::of::<F>(&setup::limits::<F>(self), setup::tables::<F>(self))
        })
    }

    fn run(&self, model: &Model, variant: Variant, one: ModelRun) -> Outcome {
        let model = self.model(model);
        with_format!(self.format, F => run::run::<F>(self, &model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        run::metrics(nominal, drawn)
    }

    fn whole(outcome: &Outcome) -> f64 {
        outcome.fault()
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.between.after
    }
}

//! Scenario `thpscale`, after the benchmark of that name in mmtests: threads fragment memory, then
//! time what it takes to fill slots of 2 MiB, for which the kernel compacts and reclaims.
//!
//! Each of N threads of one process has an equal share of 80 % of memory: it maps and fills
//! anonymous memory of that size, unmaps the first half of every 2 MiB of it, maps a second area of
//! half the size, and reads a quarter of the size of a file. Once all have, each fills its second
//! area 2 MiB at a time: that is what is timed.

mod outcome;
mod run;
mod setup;
mod thread;

pub use outcome::Outcome;

use crate::{Model, Modelled, OnMachine, One, Scenario};
use pageout_experiment::declare::Declared;
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::scenarios::{self, ThpscaleLists};
use pageout_experiment::variant::Variant;
use pageout_machine::Report;
use pageout_record::schema::{Labels, Metric};
use run::run;

/// The scenario on a modelled machine.
pub type Thpscale = OnMachine<scenarios::Thpscale>;

impl Thpscale {
    /// All rows of the thread's table, with about so much memory each.
    ///
    /// # Errors
    /// [`FieldError`] if the model's platform has no huge pages of 2 MiB.
    pub fn rows_near(bytes: u64, model: &Model) -> Result<Vec<Self>, FieldError> {
        let all = Self::all(&scenarios::Thpscale::lists(model), model)?.into_iter();
        Ok(all.map(|one| Self::new(one.near(bytes), one.platform)).collect())
    }
}

impl Modelled for scenarios::Thpscale {
    /// Without a platform, the thread's format: arm64-4k.
    fn lists(model: &Model) -> ThpscaleLists {
        let lists = ThpscaleLists::default();
        let format = if model.platform.is_some() { model.formats() } else { lists.format };
        ThpscaleLists { format, ..lists }
    }

    fn format(&self) -> FormatName {
        self.format
    }
}

impl Scenario for Thpscale {
    type Outcome = Outcome;
    const NAME: &'static str = scenarios::Thpscale::NAME;

    fn labels(&self, model: &Model) -> Labels {
        let mut labels = Declared::labels(&**self);
        labels.extend(model.labels(&self.platform));
        labels
    }

    fn footprint(&self, _: &Model) -> Footprint {
        with_format!(self.format, F => {
            let (limits, tables) = self.limits::<F>();
            Footprint::of::<F>(&limits, tables)
        })
    }

    fn run(&self, model: &Model, variant: Variant, one: One) -> Outcome {
        with_format!(self.format, F => run::<F>(self, model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        outcome::metrics(nominal, drawn)
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.report
    }
}

#[cfg(test)]
mod tests;

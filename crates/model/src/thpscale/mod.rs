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

pub use outcome::{
    AMEAN, BASE, BOTH, DRAWN, ELAPSED, HUGE, HUGE_SHARE, Outcome, SYSTEM, USER, WAITING,
};

use crate::{Model, OnMachine, One, Scenario};
use pageout_experiment::declare::{Checked, Declared, read};
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::with_format;
use pageout_experiment::scenarios::{self, ThpscaleLists};
use pageout_experiment::variant::Variant;
use pageout_machine::Report;
use pageout_paging::tlb::YoungFlush;
use pageout_record::schema::{Labels, Metric};
use run::run;

/// The scenario on a modelled machine.
pub type Thpscale = OnMachine<scenarios::Thpscale>;

impl Thpscale {
    /// What kernels do, by the architecture's policy, against no invalidation after a young bit was
    /// cleared.
    pub const VARIANTS: [Variant; 2] =
        [Variant::BEFORE, Variant { flush: Some(YoungFlush::None), ..Variant::BEFORE }];

    /// Scenarios from `FIELD=VALUE` arguments. Without a platform or a format, the thread's:
    /// arm64-4k.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut lists = lists_for(model);
        read::<scenarios::Thpscale>(arguments, &mut lists)?;
        Self::each(scenarios::Thpscale::combined(&lists)?, |one| one.format, model)
    }

    /// All rows of the thread's table, with about so much memory each.
    ///
    /// # Errors
    /// [`FieldError`] if the model's platform has no huge pages of 2 MiB.
    pub fn rows_near(bytes: u64, model: &Model) -> Result<Vec<Self>, FieldError> {
        let all = scenarios::Thpscale::combined(&lists_for(model))?;
        let all = all.into_iter().map(|one| one.near(bytes)).collect();
        Self::each(all, |one| one.format, model)
    }
}

/// What is run where nothing is given.
fn lists_for(model: &Model) -> ThpscaleLists {
    let lists = ThpscaleLists::default();
    let format = if model.platform.is_some() { model.formats() } else { lists.format };
    ThpscaleLists { format, ..lists }
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

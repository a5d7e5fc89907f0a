//! Scenario `pageout-shared`: memory of one or several processes is read in from compressed swap
//! and paged out again, repeatedly. It is the microbenchmark of deferred shootdowns on arm64.

mod run;
#[cfg(test)]
mod tests;

pub use run::Outcome;

use crate::{Model, ModelRun, Modelled, OnMachine, Scenario};
use pageout_experiment::declare::Declared;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::pageout_shared::REPETITION;
use pageout_experiment::scenarios::{self, PageoutSharedLists};
use pageout_experiment::variant::Variant;
use pageout_host::layout::tables_of;
use pageout_machine::Report;
use pageout_machine::platform::Platform;
use pageout_reclaim::{Limits, MapAs};
use pageout_record::schema::{Labels, Metric};

/// The scenario on a modelled machine.
pub type PageoutShared = OnMachine<scenarios::PageoutShared>;

impl PageoutShared {
    fn pages<F: Arch>(&self) -> usize {
        (self.bytes >> F::PAGE_SHIFT) as usize
    }

    fn limits<F: Arch>(&self) -> Limits {
        let (pages, processes) = (self.pages::<F>(), self.processes as usize);
        Limits {
            // Room for pages that are being brought in, and for those that are not free yet.
            frames: 2 * pages,
            folios: 2 * pages,
            vmas: processes,
            mms: processes,
            mappings: 1,
            memcgs: 1,
            slots: 2 * pages,
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self) -> usize {
        tables_of::<F>(self.pages::<F>(), self.processes, MapAs::Ptes)
    }
}

impl Modelled for scenarios::PageoutShared {
    /// Returns the fields of the thread, except `times`, because all repetitions after the first
    /// are alike.
    fn lists(model: &Model) -> PageoutSharedLists {
        PageoutSharedLists { format: model.formats(), ..Default::default() }
    }

    fn format(&self) -> FormatName {
        self.format
    }
}

impl Scenario for PageoutShared {
    type Outcome = Outcome;
    const NAME: &'static str = scenarios::PageoutShared::NAME;
    const WHOLE: MetricSpec = REPETITION;

    fn platform(&self) -> &Platform {
        &self.platform
    }

    fn labels(&self, model: &Model) -> Labels {
        let mut all = Declared::labels(&**self);
        all.extend(model.labels(&self.platform));
        all
    }

    fn footprint(&self, _: &Model) -> Footprint {
        with_format!(self.format, F => Footprint::of::<F>(&self.limits::<F>(), self.tables::<F>()))
    }

    fn run(&self, model: &Model, variant: Variant, one: ModelRun) -> Outcome {
        with_format!(self.format, F => run::run::<F>(self, model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        run::metrics(nominal, drawn)
    }

    fn whole(outcome: &Outcome) -> f64 {
        outcome.repetition()
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.between.after
    }
}

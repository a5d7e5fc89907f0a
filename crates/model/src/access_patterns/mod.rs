//! Scenario `access-patterns`: a program uses a file larger than memory through a shared mapping,
//! in order or at random, and memory has to be reclaimed all the while. What follows a young bit
//! found is what its variants differ in.
//!
//! One thread on the first core; background reclaim on the second, a flusher on the third. Nothing
//! of it is timed on the host: it runs on ground `model` alone.

mod background;
mod measure;
mod order;
mod program;
mod setup;
mod summary;
#[cfg(test)]
mod tests;

pub use measure::{Outcome, Times};
pub use summary::table;

use crate::{Model, Modelled, OnMachine, One, Scenario};
use pageout_experiment::declare::{Checked, Declared, Lists};
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::scenarios::{self, AccessPatternsLists};
use pageout_experiment::variant::Variant;
use pageout_machine::Report;
use pageout_machine::platform::Platform;
use pageout_record::schema::{Labels, Metric};

/// The scenario on a modelled machine.
pub type AccessPatterns = OnMachine<scenarios::AccessPatterns>;

impl AccessPatterns {
    /// The six tests with so much memory, on the platform that answers to theirs.
    pub fn six_tests(memory: u64, platform: &Platform) -> Vec<Self> {
        let lists = AccessPatternsLists { memory: vec![memory], ..Default::default() };
        let all = lists.combinations().into_iter();
        all.map(|one| Self::new(one, platform.clone())).collect()
    }

    /// The same test where so many per cent of the uses are of the hot page.
    #[must_use]
    pub fn with_hot(self, hot_percent: u8) -> Self {
        Self::new(scenarios::AccessPatterns { hot_percent, ..*self }, self.platform)
    }

    /// The times of all scenarios under all variants: the runs of the model, and with each of its
    /// draws of prices `each` runs with seeds of their own.
    pub fn times(all: &[Self], variants: &[Variant], model: &Model, each: u32) -> Vec<Times> {
        measure::times(all, variants, model, each)
    }

    /// Pages of the file.
    fn pages(&self) -> u64 {
        self.file_bytes() >> self.format.page_shift()
    }
}

impl Scenario for AccessPatterns {
    type Outcome = Outcome;
    const NAME: &'static str = scenarios::AccessPatterns::NAME;

    fn labels(&self, model: &Model) -> Labels {
        let mut labels = self.record_labels();
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
        with_format!(self.format, F => self.run_as::<F>(model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        measure::metrics(nominal, drawn)
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.report
    }
}

impl Modelled for scenarios::AccessPatterns {
    fn lists(model: &Model) -> AccessPatternsLists {
        let lists = AccessPatternsLists::default();
        let format = if model.platform.is_some() { model.formats() } else { lists.format };
        AccessPatternsLists { format, ..lists }
    }

    fn format(&self) -> FormatName {
        self.format
    }

    /// The thread's, unless another is asked for.
    fn platform(&self, model: &Model) -> Result<Platform, FieldError> {
        match (&model.platform, self.format) {
            (None, FormatName::Arm64_4K | FormatName::Arm64_16K | FormatName::Arm64_64K) => {
                let thread_s = Platform::named("carmel-8-class");
                Ok(thread_s.expect("a platform that comes with the program"))
            }
            _ => model.platform_for(self.format),
        }
    }
}

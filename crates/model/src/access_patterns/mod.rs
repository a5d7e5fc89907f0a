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

pub use measure::{DRAWN, TIME, Times};
pub use summary::table;

use crate::{Model, OnMachine, check_memory};
use pageout_experiment::declare::{Checked, Declared, Lists, read};
use pageout_experiment::fields::FieldError;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::scenarios::{self, AccessPatternsLists};
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_machine::platform::Platform;
use pageout_paging::tlb::YoungFlush;
use pageout_paging::young::Family;
use pageout_reclaim::{ShootdownWhen, UnmapBy};
use pageout_record::schema::{Ground, Labels, Record};

/// The scenario on a modelled machine.
pub type AccessPatterns = OnMachine<scenarios::AccessPatterns>;

/// What kernels did in 2018, with each way to follow a young bit: every entry by itself, and waited
/// for when it is taken out.
pub const POLICIES: [Variant; 3] =
    [policy(YoungFlush::Sync), policy(YoungFlush::Nosync), policy(YoungFlush::None)];

const fn policy(flush: YoungFlush) -> Variant {
    Variant {
        young: Family::PerEntry,
        unmap: UnmapBy::PerEntry,
        shootdown: ShootdownWhen::Immediate,
        flush: Some(flush),
        lru: Lru::Classic,
    }
}

impl AccessPatterns {
    /// Scenarios from `FIELD=VALUE` arguments, each a value or several with commas between, of
    /// which every combination is one scenario.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut lists = AccessPatternsLists::default();
        if model.platform.is_some() {
            lists.format = model.formats();
        }
        read::<scenarios::AccessPatterns>(arguments, &mut lists)?;
        let all = scenarios::AccessPatterns::combined(&lists)?.into_iter();
        all.map(|one| Ok(Self::new(one, platform_for(one.format, model)?))).collect()
    }

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

    /// The scenario's fields as records carry them.
    fn labels(&self, model: &Model) -> Labels {
        let mut labels = self.record_labels();
        labels.extend(model.labels(&self.platform));
        labels
    }

    /// Runs every scenario under every variant: a record each.
    pub fn records(
        all: &[Self],
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Vec<Record> {
        let outcomes = measure::outcomes(all, variants, model, progress);
        let each = all.iter().flat_map(|one| variants.iter().map(move |variant| (one, *variant)));
        let record = |((one, variant), outcomes): ((&Self, Variant), &measure::Outcomes)| Record {
            scenario: scenarios::AccessPatterns::NAME.to_owned(),
            ground: Ground::Model,
            seed: model.seed,
            fields: one.labels(model),
            variant: variant.labels(Axes::Reclaim),
            metrics: measure::metrics(outcomes, model.runs as usize),
        };
        each.zip(&outcomes).map(record).collect()
    }

    /// Checks that memory is there for as many runs as there are at once.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    pub fn check_memory(all: &[Self], variants: usize, model: &Model) -> Result<(), FieldError> {
        let footprints = all.iter().map(|one| with_format!(one.format, F => one.footprint::<F>()));
        check_memory(scenarios::AccessPatterns::NAME, footprints, variants, model)
    }

    /// The times of all scenarios under all variants: the runs of the model, and with each of its
    /// draws of prices `each` runs with seeds of their own.
    pub fn times(all: &[Self], variants: &[Variant], model: &Model, each: u32) -> Vec<Times> {
        measure::times(all, variants, model, each)
    }

    /// Where the time of the first run goes, as folded stacks in nanoseconds.
    pub fn folded(&self, model: &Model, variant: Variant) -> String {
        measure::folded(self, model, variant)
    }

    /// Pages of the file.
    fn pages(&self) -> u64 {
        self.file_bytes() >> self.format.page_shift()
    }
}

/// The machine of the thread, unless another is asked for.
fn platform_for(format: FormatName, model: &Model) -> Result<Platform, FieldError> {
    match (&model.platform, format) {
        (None, FormatName::Arm64_4K | FormatName::Arm64_16K | FormatName::Arm64_64K) => {
            Ok(Platform::named("carmel-8-class").expect("a platform that comes with the program"))
        }
        _ => model.platform_for(format),
    }
}

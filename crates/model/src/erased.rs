//! What is asked for of a scenario on this ground, whatever its fields are.

use crate::memcg_trace::MemcgTrace;
use crate::pageout_shared::PageoutShared;
use crate::reclaim_file::ReclaimFile;
use crate::reclaim_shmem::ReclaimShmem;
use crate::{Model, Scenario, moved};
use pageout_experiment::fields::FieldError;
use pageout_experiment::scenarios;
use pageout_experiment::variant::Variant;
use pageout_host::residency::ReplayError;
use pageout_record::schema::Record;
use pageout_trace::source::TraceSource;

/// A scenario with several values of its fields.
pub trait Scenarios {
    /// How many there are: combinations of values.
    fn combinations(&self) -> usize;

    /// Checks that memory is there for as many runs as there are at once; of a trace that is known
    /// when it has been read.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    fn check_memory(&self, variants: usize, model: &Model) -> Result<(), FieldError>;

    /// Runs all of it under every variant: a record each.
    ///
    /// # Errors
    /// [`ReplayError`] of a trace.
    fn records(
        &self,
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, ReplayError>;

    /// Adds to the records, in their order, the whole along each price that can be moved, for the
    /// prices from which on the other variants gain more than so many per cent over the first. A
    /// trace has none: what is decided in it depends on the time.
    fn add_break_even(
        &self,
        variants: &[Variant],
        model: &Model,
        least_gain: f64,
        records: &mut [Record],
        progress: &mut dyn FnMut(usize, usize),
    );

    /// Where the time of the first run of the first combination goes, as folded stacks in
    /// nanoseconds.
    ///
    /// # Errors
    /// [`ReplayError`] of a trace.
    fn folded(&self, model: &Model, variant: Variant) -> Result<String, ReplayError>;
}

/// What `FIELD=VALUE` arguments ask for of a scenario; `trace` is for scenario `trace`.
///
/// # Errors
/// [`FieldError`] names the field, what was found and what is accepted.
///
/// # Panics
/// If the scenario does not run on this ground.
pub fn scenarios(
    of: scenarios::Scenario,
    fields: &[String],
    trace: &TraceSource,
    model: &Model,
) -> Result<Box<dyn Scenarios>, FieldError> {
    use scenarios::Scenario as Of;
    Ok(match of {
        Of::ReclaimFile => Box::new(ReclaimFile::parse(fields, model)?),
        Of::ReclaimShmem => Box::new(ReclaimShmem::parse(fields, model)?),
        Of::Trace => Box::new(MemcgTrace::parse(fields, trace, model)?),
        Of::PageoutShared => Box::new(PageoutShared::parse(fields, model)?),
        Of::AgeFile | Of::MadvFree | Of::AgingRounds => {
            unreachable!("{} is not declared for ground model", of.name())
        }
    })
}

impl<S: Scenario> Scenarios for Vec<S> {
    fn combinations(&self) -> usize {
        self.len()
    }

    fn check_memory(&self, variants: usize, model: &Model) -> Result<(), FieldError> {
        S::check_memory(self, variants, model)
    }

    fn records(
        &self,
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, ReplayError> {
        Ok(S::records(self, variants, model, progress))
    }

    fn add_break_even(
        &self,
        variants: &[Variant],
        model: &Model,
        least_gain: f64,
        records: &mut [Record],
        progress: &mut dyn FnMut(usize, usize),
    ) {
        moved::add(self, variants, model, least_gain, records, progress);
    }

    fn folded(&self, model: &Model, variant: Variant) -> Result<String, ReplayError> {
        Ok(self[0].folded(model, variant))
    }
}

impl Scenarios for Vec<MemcgTrace> {
    fn combinations(&self) -> usize {
        self.len()
    }

    fn check_memory(&self, _variants: usize, _model: &Model) -> Result<(), FieldError> {
        Ok(())
    }

    fn records(
        &self,
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, ReplayError> {
        MemcgTrace::records(self, variants, model, progress)
    }

    fn add_break_even(
        &self,
        _: &[Variant],
        _: &Model,
        _: f64,
        _: &mut [Record],
        _: &mut dyn FnMut(usize, usize),
    ) {
    }

    fn folded(&self, model: &Model, variant: Variant) -> Result<String, ReplayError> {
        self[0].folded(model, variant)
    }
}

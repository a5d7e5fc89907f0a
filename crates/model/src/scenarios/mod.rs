//! The scenarios on this ground, and their interface, which is independent of their fields.

pub mod faults;
pub mod memcg_trace;
pub mod pageout_shared;
pub mod reclaim_file;
pub mod reclaim_shmem;

use crate::{Model, Scenario, moved};
use faults::Faults;
use memcg_trace::MemcgTrace;
use pageout_experiment::fields::FieldError;
use pageout_experiment::scenarios as declared;
use pageout_experiment::variant::Variant;
use pageout_host::residency::ReplayError;
use pageout_record::schema::Record;
use pageout_shared::PageoutShared;
use pageout_trace::source::TraceSource;
use reclaim_file::ReclaimFile;
use reclaim_shmem::ReclaimShmem;

/// Scenarios made from several values of the fields.
pub trait Scenarios {
    /// Returns the number of combinations of values.
    fn combinations(&self) -> usize;

    /// Checks that there is memory for all runs that run at once. For a trace, the need is known
    /// only when the trace has been read.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    fn check_memory(&self, variants: usize, model: &Model) -> Result<(), FieldError>;

    /// Runs every combination under every variant, and returns a record for each.
    ///
    /// # Errors
    /// [`ReplayError`] of a trace.
    fn records(
        &self,
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, ReplayError>;

    /// Adds to the records, in their order, the whole at each value of each price that can be
    /// moved. From it follow the prices from which on the other variants gain more than
    /// `least_gain` per cent over the first. A trace adds nothing, because its decisions depend on
    /// the time.
    fn add_break_even(
        &self,
        variants: &[Variant],
        model: &Model,
        least_gain: f64,
        records: &mut [Record],
        progress: &mut dyn FnMut(usize, usize),
    );

    /// Returns where the time of the first run of the first combination goes, as folded stacks in
    /// nanoseconds.
    ///
    /// # Errors
    /// [`ReplayError`] of a trace.
    fn folded(&self, model: &Model, variant: Variant) -> Result<String, ReplayError>;
}

/// Reads the `FIELD=VALUE` arguments of a scenario. `trace` is for scenario `trace`.
///
/// # Errors
/// [`FieldError`] names the field, what was found and what is accepted.
///
/// # Panics
/// If the scenario does not run on this ground.
pub fn scenarios(
    of: declared::Scenario,
    fields: &[String],
    trace: &TraceSource,
    model: &Model,
) -> Result<Box<dyn Scenarios>, FieldError> {
    use declared::Scenario as Of;
    Ok(match of {
        Of::ReclaimFile => Box::new(ReclaimFile::parse(fields, model)?),
        Of::ReclaimShmem => Box::new(ReclaimShmem::parse(fields, model)?),
        Of::Trace => Box::new(MemcgTrace::parse(fields, trace, model)?),
        Of::PageoutShared => Box::new(PageoutShared::parse(fields, model)?),
        Of::Faults => Box::new(Faults::parse(fields, model)?),
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

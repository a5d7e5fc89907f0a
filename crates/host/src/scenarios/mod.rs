//! The scenarios on this ground, and their interface, which is independent of their fields.

pub mod age_file;
pub mod aging_rounds;
pub mod madv_free;
pub mod reclaim_file;
pub mod reclaim_shmem;
pub mod replay;

use crate::layout::Arena;
use crate::residency::ReplayError;
use crate::scenario::{HostScenario, RunOptions, check_bytes};
use pageout_experiment::declare::{Checked, Declared};
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::rounds::Cell;
use pageout_experiment::scenarios::{
    self as declared, AgeFile, AgingRounds, MadvFree, ReclaimFile, ReclaimShmem, TraceAged,
};
use pageout_experiment::variant::{Axes, Variant};
use pageout_paging::pte::X86_64;
use pageout_reclaim::Limits;
use pageout_record::schema::Labels;
use pageout_trace::source::TraceSource;
use replay::Replay;

/// A scenario with one value a field.
pub trait Scenario {
    /// Returns the scenario's name in records.
    fn name(&self) -> &'static str;

    /// Returns the scenario's fields as records have them.
    fn labels(&self) -> Labels;

    /// Returns the axes in which the scenario's variants may differ.
    fn axes(&self) -> Axes;

    /// Returns the memory that the scenario takes, table by table; `None` if that is known only
    /// once it has been played.
    fn footprint(&self) -> Option<Footprint>;

    /// Allocates memory for the scenario's cell.
    fn arena(&self) -> Arena;

    /// Sets the scenario up on its [`Scenario::arena`], ready to be measured under `variants`.
    ///
    /// # Errors
    /// [`ReplayError`] of a trace.
    fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        how: RunOptions,
    ) -> Result<Box<dyn Cell + 'a>, ReplayError>;

    /// Runs the scenario once under a variant of generations, then writes each of `commands` to
    /// `lru_gen` in a call of its own. Returns the final content of that file for the root and for
    /// its cgroup; `None` if the scenario leaves no generations.
    ///
    /// # Errors
    /// [`ReplayError`], also for the first command that is refused.
    fn generations(
        &self,
        variant: Variant,
        seed: u64,
        commands: &[String],
    ) -> Result<Option<String>, ReplayError>;
}

/// Returns the scenarios that `FIELD=VALUE` arguments select; `trace` is for scenario `trace`.
///
/// # Errors
/// [`FieldError`] names the field, the value found and the accepted values.
///
/// # Panics
/// If the scenario does not run on this ground.
pub fn scenarios(
    of: declared::Scenario,
    fields: &[String],
    trace: &TraceSource,
) -> Result<Vec<Box<dyn Scenario>>, FieldError> {
    use declared::Scenario as Of;
    match of {
        Of::ReclaimFile => ReclaimFile::parse(fields).map(boxed),
        Of::AgeFile => AgeFile::parse(fields).map(boxed),
        Of::ReclaimShmem => ReclaimShmem::parse(fields).map(boxed),
        Of::MadvFree => MadvFree::parse(fields).map(boxed),
        Of::AgingRounds => AgingRounds::parse(fields).map(boxed),
        Of::Trace => Replay::parse(fields, trace).map(boxed),
        Of::PageoutShared | Of::Faults => {
            unreachable!("{} is not declared for ground host", of.name())
        }
    }
}

/// Boxes the scenarios, which erases their type.
pub fn boxed<S: Scenario + 'static>(all: Vec<S>) -> Vec<Box<dyn Scenario>> {
    all.into_iter().map(|one| Box::new(one) as Box<dyn Scenario>).collect()
}

/// Checks that there is memory for all the scenarios at once, as far as it is known.
///
/// # Errors
/// [`FieldError::Together`] with the needed and the available memory.
pub fn check_memory<'s>(all: impl IntoIterator<Item = &'s dyn Scenario>) -> Result<(), FieldError> {
    let mut known = all.into_iter().filter_map(|one| Some((one.name(), one.footprint()?.bytes())));
    let Some((name, first)) = known.next() else { return Ok(()) };
    check_bytes(name, first + known.map(|(_, bytes)| bytes).sum::<u64>())
}

impl<S: HostScenario> Scenario for S {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn labels(&self) -> Labels {
        self.record_labels()
    }

    fn axes(&self) -> Axes {
        S::AXES
    }

    fn footprint(&self) -> Option<Footprint> {
        Some(HostScenario::footprint(self))
    }

    fn arena(&self) -> Arena {
        HostScenario::arena(self)
    }

    fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        how: RunOptions,
    ) -> Result<Box<dyn Cell + 'a>, ReplayError> {
        Ok(HostScenario::cell(self, arena, variants, how))
    }

    fn generations(
        &self,
        variant: Variant,
        seed: u64,
        commands: &[String],
    ) -> Result<Option<String>, ReplayError> {
        Ok(HostScenario::generations(self, variant, seed, commands).transpose()?)
    }
}

impl Scenario for Replay {
    fn name(&self) -> &'static str {
        TraceAged::NAME
    }

    fn labels(&self) -> Labels {
        self.labels()
    }

    fn axes(&self) -> Axes {
        self.axes()
    }

    fn footprint(&self) -> Option<Footprint> {
        None
    }

    /// Returns an empty arena: the scenario takes its memory as it plays the trace.
    fn arena(&self) -> Arena {
        Arena::new::<X86_64>(&Limits::NOTHING, 0)
    }

    fn cell<'a>(
        &self,
        _arena: &'a mut Arena,
        variants: &[Variant],
        _how: RunOptions,
    ) -> Result<Box<dyn Cell + 'a>, ReplayError> {
        self.clone().plan(variants)
    }

    fn generations(
        &self,
        variant: Variant,
        _seed: u64,
        commands: &[String],
    ) -> Result<Option<String>, ReplayError> {
        self.generations(variant, commands)
    }
}

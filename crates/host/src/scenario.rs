//! The interface of a scenario on this ground, on memory of its own.

use crate::generations::Refused;
use crate::layout::Arena;
use pageout_experiment::declare::Checked;
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::rounds::Cell;
use pageout_experiment::this_machine;
use pageout_experiment::variant::{Axes, Variant};
use pageout_reclaim::Limits;

/// The way in which scenarios are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// The seed of everything chosen at random.
    pub seed: u64,
    /// True to measure time by stage too, if the scenario can and there is a CPU for the sampler.
    pub by_stage: bool,
}

/// A declared scenario that runs on this ground.
pub trait HostScenario: Checked {
    /// The axes in which the scenario's variants may differ.
    const AXES: Axes = Axes::Reclaim;

    /// Returns the entry format of the scenario's page tables.
    fn format(&self) -> FormatName;

    /// Returns the limits that the engine must have room for.
    fn limits<F: Arch>(&self) -> Limits;

    /// Returns the number of page tables of all processes.
    fn tables<F: Arch>(&self) -> usize;

    /// Returns the memory that the scenario takes, table by table.
    fn footprint(&self) -> Footprint {
        with_format!(self.format(), F => {
            Footprint::of::<F>(&self.limits::<F>(), self.tables::<F>())
        })
    }

    /// Allocates memory for the scenario.
    fn arena(&self) -> Arena {
        with_format!(self.format(), F => Arena::new::<F>(&self.limits::<F>(), self.tables::<F>()))
    }

    /// Checks that there is memory for all the scenarios at once.
    ///
    /// # Errors
    /// [`FieldError::Together`] with the needed and the available memory.
    fn check_memory(all: &[Self]) -> Result<(), FieldError> {
        check_bytes(Self::NAME, all.iter().map(|one| one.footprint().bytes()).sum())
    }

    /// Sets the scenario up on the arena, ready to be measured under `variants`.
    fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        how: RunOptions,
    ) -> Box<dyn Cell + 'a>;

    /// Runs the scenario once under a variant of generations, then writes each of `commands` to
    /// `lru_gen` in a call of its own. Returns the final content of that file for the root and for
    /// its cgroup, or the first command that is refused. Returns `None` if the scenario leaves no
    /// generations.
    fn generations(
        &self,
        _variant: Variant,
        _seed: u64,
        _commands: &[String],
    ) -> Option<Result<String, Refused>> {
        None
    }
}

/// Checks that `needed` bytes are available for a scenario.
pub(crate) fn check_bytes(scenario: &'static str, needed: u64) -> Result<(), FieldError> {
    this_machine::check_memory(needed).map_err(|problem| FieldError::together(scenario, problem))
}

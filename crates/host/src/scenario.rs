//! What this ground needs of every scenario on memory of its own.

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

/// How scenarios are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How {
    /// The seed of everything chosen at random.
    pub seed: u64,
    /// Whether time is taken by stage too, where a scenario can and there is a CPU for the sampler.
    pub by_stage: bool,
}

/// A declared scenario that runs on this ground.
pub trait OnHost: Checked {
    /// The axes in which its variants may differ.
    const AXES: Axes = Axes::Reclaim;

    /// The entries of its page tables.
    fn format(&self) -> FormatName;

    /// What the engine is to have room for.
    fn limits<F: Arch>(&self) -> Limits;

    /// Page tables of all processes.
    fn tables<F: Arch>(&self) -> usize;

    /// What it takes, table by table.
    fn footprint(&self) -> Footprint {
        with_format!(self.format(), F => {
            Footprint::of::<F>(&self.limits::<F>(), self.tables::<F>())
        })
    }

    /// Memory for it.
    fn arena(&self) -> Arena {
        with_format!(self.format(), F => Arena::new::<F>(&self.limits::<F>(), self.tables::<F>()))
    }

    /// Checks that the scenarios' memory, all at once, is there.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    fn check_memory(all: &[Self]) -> Result<(), FieldError> {
        check_bytes(Self::NAME, all.iter().map(|one| one.footprint().bytes()).sum())
    }

    /// It on memory of its own, ready to be measured under `variants`.
    fn cell<'a>(&self, arena: &'a mut Arena, variants: &[Variant], how: How) -> Box<dyn Cell + 'a>;

    /// Runs it once under a variant of generations, then writes each of `commands` to `lru_gen` in
    /// a call of its own; what that says in the end of the root and of its cgroup, or the first
    /// command that is refused. `None` if it leaves no generations.
    fn generations(
        &self,
        _variant: Variant,
        _seed: u64,
        _commands: &[String],
    ) -> Option<Result<String, Refused>> {
        None
    }
}

/// Checks that so many bytes are there for a scenario.
pub(crate) fn check_bytes(scenario: &'static str, needed: u64) -> Result<(), FieldError> {
    this_machine::check_memory(needed).map_err(|problem| FieldError::together(scenario, problem))
}

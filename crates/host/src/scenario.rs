//! What this ground needs of every scenario on memory of its own.

use crate::layout::Arena;
use pageout_experiment::declare::Declared;
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::this_machine;
use pageout_reclaim::Limits;

/// A scenario that runs on this ground.
pub trait OnHost: Declared {
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
        check_bytes::<Self>(all.iter().map(|one| one.footprint().bytes()).sum())
    }
}

/// Checks that so many bytes are there for a scenario.
pub(crate) fn check_bytes<S: Declared>(needed: u64) -> Result<(), FieldError> {
    this_machine::check_memory(needed).map_err(|problem| FieldError::together(S::NAME, problem))
}

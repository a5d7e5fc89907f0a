//! What this ground needs of every scenario on memory of its own.

use crate::layout::Arena;
use pageout_experiment::declare::Declared;
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::this_machine;

/// A scenario that runs on this ground.
pub trait OnHost: Declared {
    /// What it takes, table by table.
    fn footprint(&self) -> Footprint;

    /// Memory for it.
    fn arena(&self) -> Arena;

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

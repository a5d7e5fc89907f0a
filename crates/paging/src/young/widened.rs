//! The entries that the check of a run visits.

use crate::env::Env;
use crate::pte::Format;
use crate::table::Table;
use crate::{Rules, Run};

/// Returns the run, widened by the rules to the edges of contiguous blocks.
#[inline]
pub(super) fn widened<E: Env>(table: E::Table, run: Run) -> Run {
    if E::Format::CONT_SHIFT == 0 {
        return run;
    }
    let first = table.load(run.first);
    let last = if run.nr == 1 { first } else { table.load(run.end() - 1) };
    E::Rules::extend_to_blocks::<E::Format>(run, first, last)
}

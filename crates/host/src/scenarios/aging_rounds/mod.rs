//! Scenario `aging-rounds`: a process reads a file that is larger than its cgroup's limit, then
//! uses a part of it again and again, and between rounds some memory is reclaimed. The work of
//! generations is counted; nothing is timed.
//!
//! The ideal walker sets young bits, one entry for each access, also in contiguous blocks. Faults
//! map 64 KiB around them, as kernels do. Reads are complete at once, but a CPU switches to the
//! process after each. There is no read-ahead. The process sleeps during `memory.reclaim`.

mod cell;
mod process;
#[cfg(test)]
mod tests;

use crate::generations::Refused;
use crate::layout::{Arena, tables_of};
use crate::scenario::{HostScenario, RunOptions};
use pageout_experiment::formats::{Arch, FormatName};
use pageout_experiment::rounds::Cell;
use pageout_experiment::scenarios::AgingRounds;
use pageout_experiment::variant::Variant;
use pageout_reclaim::{Limits, MapAs};

impl HostScenario for AgingRounds {
    fn format(&self) -> FormatName {
        self.format
    }

    fn limits<F: Arch>(&self) -> Limits {
        let pages = (self.bytes >> F::PAGE_SHIFT) as usize;
        let folios = pages >> self.order.in_format(self.format);
        Limits {
            frames: pages,
            folios,
            vmas: 1,
            mms: 1,
            mappings: 1,
            memcgs: 1,
            shadows: folios,
            // Each cgroup has two, the root included.
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self) -> usize {
        tables_of::<F>((self.bytes >> F::PAGE_SHIFT) as usize, 1, MapAs::Ptes)
    }

    fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        _: RunOptions,
    ) -> Box<dyn Cell + 'a> {
        Box::new(cell::RoundsCell::new(*self, arena, variants))
    }

    fn generations(
        &self,
        variant: Variant,
        _seed: u64,
        commands: &[String],
    ) -> Option<Result<String, Refused>> {
        Some(cell::generations(self, variant, commands))
    }
}

//! Scenario `reclaim-file`: a clean file mapped by processes, anonymous memory besides if
//! requested, and a part of both reclaimed through `memory.reclaim`.

mod cell;
mod generations;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{Setup, range, young_pages};

use crate::generations::Refused;
use crate::layout::{Arena, tables_of};
use crate::scenario::{HostScenario, RunOptions};
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::rounds::Cell;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::Variant;
use pageout_reclaim::Limits;
use setup::{folios, pages};

impl HostScenario for ReclaimFile {
    fn format(&self) -> FormatName {
        self.format
    }

    fn limits<F: Arch>(&self) -> Limits {
        let processes = self.processes as usize;
        let anon = pages::<F>(self.anon_bytes()) * processes;
        let anon_folios = folios::<F>(self, self.anon_bytes()) * processes;
        let folios = folios::<F>(self, self.file_bytes());
        Limits {
            frames: pages::<F>(self.file_bytes()) + anon,
            folios: folios + anon_folios,
            vmas: 2 * processes,
            mms: processes,
            // The file, and anonymous memory of each process.
            mappings: 1 + processes,
            memcgs: 1,
            nodes: 1,
            shadows: folios,
            slots: anon,
            // Each cgroup has two, the root included.
            filters: 4,
        }
    }

    fn tables<F: Arch>(&self) -> usize {
        // Both kinds of memory may end in the middle of a table of each level.
        let of = |bytes| tables_of::<F>(pages::<F>(bytes), self.processes, self.map);
        of(self.file_bytes()) + if self.anon_bytes() > 0 { of(self.anon_bytes()) } else { 0 }
    }

    fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        how: RunOptions,
    ) -> Box<dyn Cell + 'a> {
        with_format!(self.format, F => {
            Box::new(cell::ReclaimCell::<F>::new(*self, arena, variants, how))
        })
    }

    fn generations(
        &self,
        variant: Variant,
        seed: u64,
        commands: &[String],
    ) -> Option<Result<String, Refused>> {
        let left = with_format!(self.format, F => {
            generations::generations::<F>(self, variant, seed, commands)
        });
        Some(left)
    }
}

/// Sets the scenario up and reclaims; `around` runs the reclaim itself, as it is timed. Returns the
/// number of 4 KiB pages that were reclaimed.
pub(crate) fn once(
    scenario: &ReclaimFile,
    arena: &mut Arena,
    variant: Variant,
    seed: u64,
    around: &mut dyn FnMut(&mut dyn FnMut()),
) -> u64 {
    let how = RunOptions { seed, by_stage: false };
    with_format!(scenario.format, F => {
        cell::ReclaimCell::<F>::new(*scenario, arena, &[variant], how).once(variant, around)
    })
}

/// Returns the scenarios of the main table. Single pages are of a smaller file, which shows the
/// same in a tenth of the time.
pub fn main_table() -> Vec<ReclaimFile> {
    let of_format = |format| {
        ReclaimFile::ORDERS.map(|orders| {
            let single = orders == Orders::All(OrderName::Number(0));
            let bytes = if single { 1 << 30 } else { ReclaimFile::DEFAULT.bytes };
            ReclaimFile { format, orders, bytes, ..ReclaimFile::DEFAULT }
        })
    };
    FormatName::MAIN.into_iter().flat_map(of_format).collect()
}

/// Returns the scenarios of the main table for generations: the threads' folios in a smaller file,
/// which shows the same in a tenth of the time.
pub fn mglru_table() -> Vec<ReclaimFile> {
    let of_format = |format| ReclaimFile { format, bytes: 1 << 30, ..ReclaimFile::DEFAULT };
    FormatName::MAIN.map(of_format).to_vec()
}

/// Returns true if the main table shows the stages of a scenario.
pub fn shows_stages(one: &ReclaimFile) -> bool {
    one.orders == ReclaimFile::DEFAULT.orders
}

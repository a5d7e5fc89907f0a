//! The sweeps that come with the program: the cost of shootdowns over the number of cores.

use crate::cells::Cells;
use crate::error::QuestionError;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::machine::{BARRIERS, BROADCASTS, INTERRUPTS, ROUNDS};
use pageout_experiment::scenarios::metrics::pageout_shared::{CPU_SHARE, REPETITION};
use pageout_experiment::scenarios::metrics::reclaim_file::{FLUSHING, STOLEN, WHOLE};
use pageout_experiment::scenarios::{Compared, Scenario};
use pageout_record::schema::{Ground, Record, Run};
use pageout_sweep::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// The memory that is reclaimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swept {
    /// Single pages of a file. Processes use them on all other cores.
    File,
    /// Anonymous memory, which the processes read before each reclaim.
    Anon,
}

/// A sweep of the cost of shootdowns in reclaim over the number of cores, with a flush for each
/// page, or for a batch of folios.
#[derive(Clone, Debug)]
pub struct FlushSweep {
    /// The memory that is reclaimed.
    pub swept: Swept,
    /// The machines: names of platforms, or files.
    pub platforms: Vec<String>,
    /// The numbers of cores, in turn.
    pub cores: Vec<u16>,
    /// The numbers of processes that map the memory, in turn.
    pub processes: Vec<u32>,
    /// Bytes of the file, or of the memory.
    pub bytes: u64,
    /// The seed of every run.
    pub seed: u64,
}

/// The metrics that the sweep reports for each machine, in this order.
const REPORTED: [MetricSpec; 9] =
    [WHOLE, REPETITION, FLUSHING, STOLEN, CPU_SHARE, BROADCASTS, BARRIERS, ROUNDS, INTERRUPTS];

impl FlushSweep {
    /// Powers of two up to the most cores that a machine may have.
    pub const CORES: [u16; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
    /// A single process, and as many as a small server has.
    pub const PROCESSES: [u32; 2] = [1, 8];

    /// Runs the sweep on `threads` threads, and returns a record for each machine, number of
    /// processes and variant.
    ///
    /// # Errors
    /// [`QuestionError`] for a platform that cannot be read, a size that is none, and more memory
    /// than there is; all before any run.
    pub fn records(
        &self,
        this_run: fn() -> Run,
        threads: NonZeroUsize,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, QuestionError> {
        let mut cells = self.cells();
        let inputs = Cells::of(&mut cells, this_run)?;
        let plans = cells.iter().map(|cell| inputs.plan(cell, threads));
        let plans = plans.collect::<Result<Vec<_>, _>>()?;
        plans.iter().try_for_each(|plan| plan.check_memory(NonZeroUsize::MIN))?;
        let mut all = Vec::new();
        for (k, plan) in plans.iter().enumerate() {
            all.extend(plan.records(&mut |_, _| {})?.into_iter().map(only_reported));
            progress(k + 1, plans.len());
        }
        Ok(all)
    }

    /// Returns a cell for each machine and number of processes.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for platform in &self.platforms {
            for processes in &self.processes {
                cells
                    .extend(self.cores.iter().map(|cores| self.cell(platform, *processes, *cores)));
            }
        }
        cells
    }

    fn cell(&self, platform: &str, processes: u32, cores: u16) -> Cell {
        let (scenario, own) = match self.swept {
            Swept::File => {
                // With one core there is no other core to interrupt.
                let process = if cores == 1 { "asleep" } else { "running" };
                (Scenario::ReclaimFile, vec![("order", "0"), ("process", process)])
            }
            Swept::Anon => {
                let own = [("times", "3"), ("out", "memory.reclaim"), ("content", "mixed")];
                (Scenario::PageoutShared, own.to_vec())
            }
        };
        let mut fields: BTreeMap<String, String> =
            own.into_iter().map(|(field, value)| (field.to_owned(), value.to_owned())).collect();
        fields.insert("size".to_owned(), self.bytes.to_string());
        fields.insert("processes".to_owned(), processes.to_string());
        Cell {
            scenario: scenario.name().to_owned(),
            ground: Ground::Model,
            fields,
            variants: Compared::SHOOTDOWN.map(|variant| variant.to_string()).to_vec(),
            seed: self.seed,
            times: true,
            runs: None,
            draws: None,
            cores: Some(cores),
            platform: Some(platform.to_owned()),
            trace: None,
        }
    }
}

/// Returns the record with only the metrics that the sweep reports.
fn only_reported(record: Record) -> Record {
    let find = |of: &MetricSpec| record.metric(of.name).cloned();
    let metrics = REPORTED.iter().filter_map(find).collect();
    Record { metrics, ..record }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_experiment::this_machine::this_run;

    #[test]
    fn deferring_keeps_the_flush_from_growing_with_cores() {
        let sweep = FlushSweep {
            swept: Swept::File,
            platforms: ["x86-server-class", "kunpeng-920-class"].map(str::to_owned).to_vec(),
            cores: vec![1, 4, 16],
            processes: vec![1, 2],
            bytes: 2 << 20,
            seed: 1,
        };
        let mut steps = 0;
        let mut progress = |done, of| steps = done * 100 + of;
        let records = sweep.records(this_run, NonZeroUsize::MIN, &mut progress).expect("a size");
        assert_eq!((records.len(), steps), (2 * 3 * 2 * 2, 1212));
        let flushing = |record: &Record| {
            let found = record.metric(FLUSHING.name);
            found.expect("what flushes take is told").values[0]
        };
        let first = |record: &Record| record.metrics[0].name == WHOLE.name;
        assert!(records.iter().all(first), "the whole stands before its parts");
        // Interrupts wait for the batch; a broadcast is issued for each page either way.
        let saved = |record: &Record| match &record.fields["platform"][..] {
            "x86-server-class" => 3.0,
            _ => 1.2,
        };
        for machine in records.chunks(2 * 3) {
            let [.., few, _, many, deferred] = machine else { panic!("two variants of each") };
            assert!(flushing(many) > flushing(few), "a flush at once grows: {few:?} {many:?}");
            let saves = flushing(many) / flushing(deferred);
            assert!(saves > saved(many), "{saves} times: {deferred:?} {many:?}");
        }
    }

    /// The saving hardly depends on the number of processes: each adds to flushes and to
    /// instructions alike.
    #[test]
    fn deferring_saves_whether_memory_is_shared_or_not() {
        let sweep = FlushSweep {
            swept: Swept::Anon,
            platforms: vec!["kunpeng-920-class".to_owned()],
            cores: vec![1, 16],
            processes: vec![1, 4],
            bytes: 128 << 10,
            seed: 1,
        };
        let records = sweep.records(this_run, NonZeroUsize::MIN, &mut |_, _| ()).expect("a size");
        assert_eq!(records.len(), 2 * 2 * 2);
        let first = |record: &Record| record.metrics[0].name == REPETITION.name;
        assert!(records.iter().all(first), "the whole stands before its parts");
        let time = |record: &Record| {
            let found = record.metric(REPETITION.name);
            found.expect("repetitions are told").values[0]
        };
        let saved: Vec<_> = records.chunks(2).map(|pair| time(&pair[0]) / time(&pair[1])).collect();
        assert!(saved.iter().all(|times| *times > 1.0), "{saved:?}");
    }
}

//! Sweeps: the same question for many modelled machines.

use crate::scenarios::pageout_shared::PageoutShared;
use crate::scenarios::reclaim_file::ReclaimFile;
use crate::{Model, Scenario as _};
use pageout_experiment::fields::{FieldError, OrderName};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::machine::{BARRIERS, BROADCASTS, INTERRUPTS, ROUNDS};
use pageout_experiment::scenarios::metrics::pageout_shared::{CPU_SHARE, REPETITION};
use pageout_experiment::scenarios::metrics::reclaim_file::{FLUSHING, STOLEN, WHOLE};
use pageout_experiment::scenarios::{
    Compared, Content, Orders, Out, PageoutSharedLists, Process, ProcessesLists, ReclaimFileLists,
};
use pageout_machine::platform::Platform;
use pageout_record::schema::Record;
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
    /// The machines.
    pub platforms: Vec<Platform>,
    /// The numbers of cores, in turn.
    pub cores: Vec<u16>,
    /// The numbers of processes that map the memory, in turn.
    pub processes: Vec<u32>,
    /// Bytes of the file, or of the memory.
    pub bytes: u64,
    /// The seed of every run.
    pub seed: u64,
    /// The number of threads of this host.
    pub threads: NonZeroUsize,
}

/// The metrics that the sweep reports for each machine, in this order.
pub const REPORTED: [MetricSpec; 9] =
    [WHOLE, REPETITION, FLUSHING, STOLEN, CPU_SHARE, BROADCASTS, BARRIERS, ROUNDS, INTERRUPTS];

impl FlushSweep {
    /// Powers of two up to the most cores that a machine may have.
    pub const CORES: [u16; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
    /// A single process, and as many as a small server has.
    pub const PROCESSES: [u32; 2] = [1, 8];

    /// Runs the sweep, and returns a record for each machine, number of processes and variant.
    ///
    /// # Errors
    /// [`FieldError`] for a size that is none.
    pub fn records(
        &self,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, FieldError> {
        let machines = self.machines();
        for (platform, cores, processes) in &machines {
            self.check_memory(platform, *cores, *processes)?;
        }
        let steps = machines.len();
        let mut all = Vec::new();
        for (k, (platform, cores, processes)) in machines.into_iter().enumerate() {
            let model = self.model(platform, cores);
            let (variants, silent) = (Compared::SHOOTDOWN, &mut |_, _| {});
            let records = match self.swept {
                Swept::File => {
                    ReclaimFile::records(&self.file(&model, processes)?, &variants, &model, silent)
                }
                Swept::Anon => {
                    let all = self.anon(&model, processes)?;
                    PageoutShared::records(&all, &variants, &model, silent)
                }
            };
            all.extend(records.into_iter().map(only_reported));
            progress(k + 1, steps);
        }
        Ok(all)
    }

    /// Refuses, before any run, machines that need more memory than there is.
    fn check_memory(
        &self,
        platform: &Platform,
        cores: u16,
        processes: u32,
    ) -> Result<(), FieldError> {
        let model = self.model(platform, cores);
        let variants = Compared::SHOOTDOWN.len();
        match self.swept {
            Swept::File => {
                ReclaimFile::check_memory(&self.file(&model, processes)?, variants, &model)
            }
            Swept::Anon => {
                PageoutShared::check_memory(&self.anon(&model, processes)?, variants, &model)
            }
        }
    }

    fn machines(&self) -> Vec<(&Platform, u16, u32)> {
        let mut all = Vec::new();
        for platform in &self.platforms {
            for processes in &self.processes {
                all.extend(self.cores.iter().map(|cores| (platform, *cores, *processes)));
            }
        }
        all
    }

    fn model(&self, platform: &Platform, cores: u16) -> Model {
        let (seed, threads) = (self.seed, self.threads);
        let platform = Some(platform.clone());
        Model { platform, cores: Some(cores), draws: 0, runs: 1, seed, threads }
    }

    /// Returns the file's reclaim on such a machine.
    fn file(&self, model: &Model, processes: u32) -> Result<Vec<ReclaimFile>, FieldError> {
        let lists = ReclaimFileLists {
            orders: vec![Orders::All(OrderName::Number(0))],
            bytes: vec![self.bytes],
            processes: vec![processes],
            ..ReclaimFile::lists(model)
        };
        // With one core there is no other core to interrupt.
        let process = if model.cores == Some(1) { Process::Asleep } else { Process::Running };
        let added = ProcessesLists { process: vec![process], ..Default::default() };
        ReclaimFile::all(&lists, &added, model)
    }

    /// Returns the anonymous memory's scenario on such a machine.
    fn anon(&self, model: &Model, processes: u32) -> Result<Vec<PageoutShared>, FieldError> {
        let lists = PageoutSharedLists {
            format: model.formats(),
            bytes: vec![self.bytes],
            processes: vec![processes],
            times: vec![3],
            out: vec![Out::MemoryReclaim],
            content: vec![Content::Mixed],
        };
        PageoutShared::all(&lists, model)
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

    #[test]
    fn deferring_keeps_the_flush_from_growing_with_cores() {
        let named = |name| Platform::named(name).expect("a shipped platform");
        let sweep = FlushSweep {
            swept: Swept::File,
            platforms: vec![named("x86-server-class"), named("kunpeng-920-class")],
            cores: vec![1, 4, 16],
            processes: vec![1, 2],
            bytes: 2 << 20,
            seed: 1,
            threads: NonZeroUsize::MIN,
        };
        let mut steps = 0;
        let records = sweep.records(&mut |done, of| steps = done * 100 + of).expect("a size");
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
            platforms: vec![Platform::named("kunpeng-920-class").expect("a shipped platform")],
            cores: vec![1, 16],
            processes: vec![1, 4],
            bytes: 128 << 10,
            seed: 1,
            threads: NonZeroUsize::MIN,
        };
        let records = sweep.records(&mut |_, _| ()).expect("a size");
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

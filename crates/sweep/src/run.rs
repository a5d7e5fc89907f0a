//! Running a shard: what is done is left alone, what fails is told in the end.

use crate::cell::Cell;
use crate::directory::{Directory, DirectoryError, Failed};
use crate::node::{Node, NotExclusive};
use crate::plan::{Plan, Planned};
use crate::shard::Shard;
use pageout_experiment::spread::spread;
use pageout_record::schema::{Basis, Record, RecordSet, Run};
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Who pairs cells with what runs them.
pub trait Runner: Sync {
    /// A run that begins now, on this machine.
    fn this_run(&self) -> Run;

    /// Whether the cell's figures are times, so that it needs the machine for itself. A cell that
    /// cannot be run is not.
    fn is_timed(&self, cell: &Cell) -> bool;

    /// Whether memory is there for so many cells like this at once.
    fn fits(&self, cell: &Cell, at_once: NonZeroUsize) -> bool;

    /// Runs it on so many threads.
    ///
    /// # Errors
    /// Why not, in one line.
    fn run(&self, cell: &Cell, threads: NonZeroUsize) -> Result<Vec<Record>, String>;
}

/// What became of a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Cells of the shard.
    pub cells: usize,
    /// Those that had been done before.
    pub before: usize,
    /// Those that failed, in the order of the plan.
    pub failed: Vec<Failed>,
}

/// Why a shard was not run to its end. What was done stays.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Times may not be taken here.
    #[error(transparent)]
    NotExclusive(#[from] NotExclusive),
}

/// Runs what is left of a shard, and tells `progress` of each cell.
///
/// # Errors
/// [`RunError`]: nothing is run where cells are timed and the machine is not theirs alone; what
/// cannot be written ends the run.
pub fn run(
    plan: &Plan,
    directory: &Directory,
    shard: Shard,
    jobs: NonZeroUsize,
    runner: &impl Runner,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome, RunError> {
    let cells = plan.cells().iter().enumerate().filter(|(place, _)| shard.has(*place));
    let cells: Vec<&Planned> = cells.map(|(_, planned)| planned).collect();
    let mut left = Vec::new();
    for one in &cells {
        if !directory.has(&one.id)? {
            left.push(*one);
        }
    }
    let (cells, before) = (cells.len(), cells.len() - left.len());
    let timed = |one: &&Planned| runner.is_timed(&one.cell);
    let (timed, anywhere): (Vec<_>, Vec<_>) = left.iter().copied().partition(timed);
    let node = if timed.is_empty() { None } else { Some(Node::take()?) };
    let fits = |one: &&Planned| runner.fits(&one.cell, jobs);
    let (beside, alone): (Vec<_>, Vec<_>) = anywhere.into_iter().partition(fits);

    let bench = Bench { directory, runner, failed: Mutex::default() };
    let all = left.len();
    let stopped = Mutex::new(None);
    let stop = || stopped.lock().expect("no cell panics holding it");
    // A thread each: cells are many.
    let one = |nr: usize| {
        if stop().is_none()
            && let Err(error) = bench.cell(beside[nr], NonZeroUsize::MIN, None)
        {
            *stop() = Some(error);
        }
    };
    spread(beside.len(), jobs, &mut |done, _| progress(done, all), one);
    if let Some(error) = stopped.into_inner().expect("no cell panics holding it") {
        return Err(error.into());
    }
    let mut done = beside.len();
    let alone = alone.into_iter().map(|one| (one, None));
    for (one, node) in alone.chain(timed.into_iter().map(|one| (one, node.as_ref()))) {
        bench.cell(one, jobs, node)?;
        done += 1;
        progress(done, all);
    }
    let mut failed = bench.failed.into_inner().expect("no cell panics holding it");
    let place = |id| left.iter().position(|one| one.id == id);
    failed.sort_by_key(|one| place(one.id.clone()));
    Ok(Outcome { cells, before, failed })
}

/// What every cell is run with.
struct Bench<'r, R> {
    directory: &'r Directory,
    runner: &'r R,
    failed: Mutex<Vec<Failed>>,
}

impl<R: Runner> Bench<'_, R> {
    /// Runs a cell, and keeps what it comes to, or why it failed.
    fn cell(
        &self,
        Planned { id, cell }: &Planned,
        threads: NonZeroUsize,
        node: Option<&Node>,
    ) -> Result<(), DirectoryError> {
        let done = self.records(cell, threads, node).and_then(|mut records| {
            // What is measured again is another run; all else is the same one.
            let mut run = self.runner.this_run();
            if node.is_none() {
                keep_repeatable(&mut records);
                run.id = id.run();
            }
            RecordSet::new(run, records).to_json().map_err(|error| error.to_string())
        });
        match done {
            Ok(json) => self.directory.keep(id, &json),
            Err(error) => {
                self.directory.fail(id, &error)?;
                let failed = Failed { id: id.clone(), cell: cell.to_string(), error };
                self.failed.lock().expect("no cell panics holding it").push(failed);
                Ok(())
            }
        }
    }

    fn records(
        &self,
        cell: &Cell,
        threads: NonZeroUsize,
        node: Option<&Node>,
    ) -> Result<Vec<Record>, String> {
        let watch = node.map(Node::watch).transpose().map_err(|error| error.to_string())?;
        let ran = catch_unwind(AssertUnwindSafe(|| self.runner.run(cell, threads)));
        let records = ran.unwrap_or_else(|panic| Err(told(&*panic)))?;
        let watched = watch.map_or(Ok(()), super::node::Watch::end);
        watched.map_err(|error| error.to_string())?;
        Ok(records)
    }
}

/// Leaves out what is measured: all else is the same on every machine.
fn keep_repeatable(records: &mut Vec<Record>) {
    for record in &mut *records {
        record.metrics.retain(|metric| metric.basis != Basis::Measured);
    }
    records.retain(|record| !record.metrics.is_empty());
}

/// What a panic said.
fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("nothing");
    format!("it panicked, which is a bug: {}", text.replace('\n', " "))
}

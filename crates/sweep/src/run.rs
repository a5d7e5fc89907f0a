//! Runs a shard: cells that are done are skipped, and failures are reported at the end.

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

/// The connection of cells with the code that runs them.
pub trait Runner: Sync {
    /// Returns the description of a run that begins now, on this machine.
    fn this_run(&self) -> Run;

    /// Returns true if the cell's figures are times, so that it needs the machine for itself.
    /// Returns false for a cell that cannot be run.
    fn is_timed(&self, cell: &Cell) -> bool;

    /// Returns true if there is memory for `at_once` cells like this at the same time.
    fn fits(&self, cell: &Cell, at_once: NonZeroUsize) -> bool;

    /// Runs the cell on `threads` threads.
    ///
    /// # Errors
    /// The reason, in one line.
    fn run(&self, cell: &Cell, threads: NonZeroUsize) -> Result<Vec<Record>, String>;
}

/// The outcome of a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The number of cells of the shard.
    pub cells: usize,
    /// The number of cells that had been done before.
    pub before: usize,
    /// The cells that failed, in the order of the plan.
    pub failed: Vec<Failed>,
}

/// The reason why a shard was not run to its end. Finished cells keep their results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Times may not be measured here.
    #[error(transparent)]
    NotExclusive(#[from] NotExclusive),
}

/// Runs the rest of a shard, and calls `progress` for each cell.
///
/// # Errors
/// [`RunError`]: nothing is run if cells are timed while the machine has other work; a result that
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
    // Each cell has one thread, since there are many cells.
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

/// The context that every cell runs in.
struct Bench<'r, R> {
    directory: &'r Directory,
    runner: &'r R,
    failed: Mutex<Vec<Failed>>,
}

impl<R: Runner> Bench<'_, R> {
    /// Runs a cell, and stores its result or its error.
    fn cell(
        &self,
        Planned { id, cell }: &Planned,
        threads: NonZeroUsize,
        node: Option<&Node>,
    ) -> Result<(), DirectoryError> {
        let done = self.records(cell, threads, node).and_then(|mut records| {
            // Measuring again makes another run; all other results stay the same.
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

/// Removes measured metrics: all others are the same on every machine.
fn keep_repeatable(records: &mut Vec<Record>) {
    for record in &mut *records {
        record.metrics.retain(|metric| metric.basis != Basis::Measured);
    }
    records.retain(|record| !record.metrics.is_empty());
}

/// Returns the message of a panic.
fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("nothing");
    format!("it panicked, which is a bug: {}", text.replace('\n', " "))
}

//! The time of invalidations on other cores: `mprotect`, compared with `membarrier`, which
//! interrupts the same cores but invalidates nothing.

use super::area::{lone_area, page_size, store_to_each_page};
use super::figure::median;
use super::rounds::Rounds;
use super::target::{Running, Targets};
use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};
use std::io;
use std::time::{Duration, Instant};

/// The pages of the measured ranges: one; some, invalidated page by page; about the most that x86
/// invalidates page by page, and one more; those of a table.
pub(super) const RANGES: [usize; 5] = [1, 16, 33, 34, 512];

/// The number of operations in a repetition. A repetition's value is their median.
const OPERATIONS: usize = 15;

/// The maximum number of tries of a repetition in which a thread that should spin does not run.
const TRIES: usize = 8;

/// The time for which a thread is watched, interrupted or not.
const WATCH: Duration = Duration::from_micros(500);

/// A measured operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// `mprotect` of this many written pages to read-only, which has to invalidate them.
    Protect(usize),
    /// `mprotect` of this many pages back to writable.
    Permit(usize),
    /// `membarrier`, private and expedited.
    Barrier,
}

/// Nanoseconds, round by round; `None` for a round in which a thread that should spin did not run.
type ByRound = Vec<Option<f64>>;

/// The measured times of operations that interrupt other CPUs' threads.
#[derive(Debug)]
pub(super) struct Shootdowns {
    /// The numbers of spinning threads that were measured.
    threads: Vec<usize>,
    /// The times of each operation with a number of spinning threads.
    took: Vec<(Operation, usize, ByRound)>,
    /// The time that one operation takes from a spinning thread.
    taken: Vec<(Operation, ByRound)>,
}

impl Shootdowns {
    /// Returns the numbers of spinning threads: from 0 up to one for each CPU.
    pub(super) fn threads(&self) -> &[usize] {
        &self.threads
    }

    /// Returns the times of an operation with `threads` spinning threads; empty if it was not
    /// measured.
    pub(super) fn took(&self, operation: Operation, threads: usize) -> &[Option<f64>] {
        let found = self.took.iter().find(|(o, t, _)| *o == operation && *t == threads);
        found.map_or(&[], |(.., values)| values)
    }

    /// Returns the times that an operation takes from a spinning thread; empty if it was not
    /// measured.
    pub(super) fn taken(&self, operation: Operation) -> &[Option<f64>] {
        let found = self.taken.iter().find(|(o, _)| *o == operation);
        found.map_or(&[], |(_, values)| values)
    }
}

/// Measures with numbers of spinning threads up to one for each other CPU.
///
/// # Errors
/// The kernel's error, if it refuses memory, or a thread its CPU.
pub(super) fn measure(others: &[usize], rounds: Rounds<'_>) -> io::Result<Shootdowns> {
    let mut seen = Shootdowns::new(others.len());
    Targets::with(others, |running| {
        for _ in rounds {
            for (operation, threads, values) in &mut seen.took {
                running.spin(*threads)?;
                values.push(among(running, *operation)?);
            }
            if !seen.taken.is_empty() {
                running.spin(1)?;
            }
            for (operation, values) in &mut seen.taken {
                values.push(taken(running, *operation)?);
            }
        }
        Ok(())
    })?;
    Ok(seen)
}

/// Returns the numbers of threads to let spin, up to `most`: all of them if they are few.
fn counts(most: usize) -> Vec<usize> {
    if most <= 8 {
        return (0..=most).collect();
    }
    let powers = (0..).map(|n| 1 << n).take_while(|n| *n < most);
    std::iter::once(0).chain(powers).chain([most]).collect()
}

impl Shootdowns {
    /// Lists the measurements with at most `most` threads, still without values.
    fn new(most: usize) -> Self {
        use Operation::{Barrier, Permit, Protect};
        let has_barrier = membarrier_query().contains(MembarrierQuery::PRIVATE_EXPEDITED)
            && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
        let (mut took, threads) = (Vec::new(), counts(most));
        for &threads in &threads {
            let ranges = if threads <= 1 { &RANGES[..] } else { &RANGES[..1] };
            took.extend(ranges.iter().map(|pages| (Protect(*pages), threads, Vec::new())));
            took.push((Permit(1), threads, Vec::new()));
            if has_barrier && most > 0 {
                took.push((Barrier, threads, Vec::new()));
            }
        }
        let taken = [has_barrier.then_some(Barrier), Some(Protect(1)), Some(Protect(16))];
        let taken = taken.into_iter().flatten().chain([Protect(34)]).filter(|_| most > 0);
        Self { threads, took, taken: taken.map(|operation| (operation, Vec::new())).collect() }
    }
}

/// Returns the median of some operations; `None` if in no try all threads that should spin ran.
fn among(running: &Running<'_, '_>, operation: Operation) -> io::Result<Option<f64>> {
    for _ in 0..TRIES {
        running.wait();
        let before = running.turns();
        let mut took = Vec::with_capacity(OPERATIONS);
        repeat(operation, |ns| {
            took.push(ns);
            took.len() < OPERATIONS
        })?;
        if running.went_on(&before) {
            return Ok(Some(median(&took)));
        }
    }
    Ok(None)
}

/// Repeats an operation, and calls `go_on` with the nanoseconds of each, until `go_on` returns
/// false.
fn repeat(operation: Operation, mut go_on: impl FnMut(f64) -> bool) -> io::Result<()> {
    match operation {
        Operation::Barrier => loop {
            let since = Instant::now();
            membarrier(MembarrierCommand::PrivateExpedited)?;
            if !go_on(nanoseconds(since.elapsed())) {
                return Ok(());
            }
        },
        Operation::Protect(pages) | Operation::Permit(pages) => {
            let mut memory = lone_area(pages * page_size())?;
            loop {
                store_to_each_page(&mut memory);
                let begun = Instant::now();
                let protected = memory.make_read_only()?;
                let between = Instant::now();
                memory = protected.make_mut()?;
                let ended = Instant::now();
                let took = match operation {
                    Operation::Permit(_) => ended - between,
                    _ => between - begun,
                };
                if !go_on(nanoseconds(took)) {
                    return Ok(());
                }
            }
        }
    }
}

/// Returns the time that an operation takes from the first thread, computed from the turns that the
/// thread makes less while it is interrupted; `None` if in no try it ran all the time.
fn taken(running: &Running<'_, '_>, operation: Operation) -> io::Result<Option<f64>> {
    for _ in 0..TRIES {
        running.wait();
        if let Some(ns) = taken_once(running, operation)? {
            return Ok(Some(ns));
        }
    }
    Ok(None)
}

fn taken_once(running: &Running<'_, '_>, operation: Operation) -> io::Result<Option<f64>> {
    let quiet = |_| Ok(0);
    let disturbed = |since: Instant| {
        let mut count = 0;
        repeat(operation, |_| {
            count += 1;
            since.elapsed() < WATCH
        })?;
        Ok(count)
    };
    let preemptions = running.preemptions()?;
    let before = watch(running, quiet)?;
    let during = watch(running, disturbed)?;
    let after = watch(running, quiet)?;
    // The host of a virtual machine may take CPUs away unnoticed; then the rates differ.
    let (slow, fast) = (before.rate().min(after.rate()), before.rate().max(after.rate()));
    let ran = slow > 0.9 * fast && running.preemptions()? == preemptions;
    let lost = during.ns - during.turns as f64 / f64::midpoint(slow, fast);
    Ok(ran.then_some(lost / during.operations as f64))
}

/// The counts of a thread that was watched for a time.
struct Watched {
    ns: f64,
    turns: u64,
    operations: usize,
}

impl Watched {
    fn rate(&self) -> f64 {
        self.turns as f64 / self.ns
    }
}

fn watch(
    running: &Running<'_, '_>,
    work: impl FnOnce(Instant) -> io::Result<usize>,
) -> io::Result<Watched> {
    let before = running.turns()[0];
    let since = Instant::now();
    let operations = work(since)?;
    while since.elapsed() < WATCH {}
    let turns = running.turns()[0] - before;
    Ok(Watched { ns: nanoseconds(since.elapsed()), turns, operations })
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_rise_to_all_of_them() {
        assert_eq!(counts(0), [0]);
        assert_eq!(counts(1), [0, 1]);
        assert_eq!(counts(3), [0, 1, 2, 3]);
        assert_eq!(counts(31), [0, 1, 2, 4, 8, 16, 31]);
        assert_eq!(counts(32), [0, 1, 2, 4, 8, 16, 32]);
    }

    #[test]
    fn operations_repeat_until_told_to_stop() {
        for operation in [Operation::Protect(3), Operation::Permit(1)] {
            let mut count = 0;
            repeat(operation, |ns| {
                assert!(ns > 0.0);
                count += 1;
                count < 4
            })
            .unwrap();
            assert_eq!(count, 4, "{operation:?}");
        }
    }
}

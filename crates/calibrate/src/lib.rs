//! What a program can learn without any privilege of the machine it runs on: prices for a platform
//! file, and what stale translations hide from young bits.
#![forbid(unsafe_code)]

mod area;
mod cpus;
mod figure;
mod file;
mod kernel;
mod lines;
mod loads;
mod observe;
mod prices;
mod proc_files;
mod shootdown;
mod target;

pub use cpus::cores;
pub use figure::Figure;
pub use file::{Like, LikeError, architecture, file};
pub use observe::{Between, Flush, Observation, ObserveError, PAGES, observe};
pub use prices::{Priced, Seen};

use pageout_experiment::this_machine;
use pageout_machine::platform::{Architecture, Prices};
use std::io;
use std::time::{Duration, Instant};

/// How much to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Repetitions of everything,
    rounds: usize,
    /// or as many as begin within the time, for each kind of measurement.
    budget: Duration,
    /// Memory over which loads are far.
    far_bytes: usize,
    /// Pages touched where each has a line of page tables for itself; they take address space, and
    /// memory for their tables.
    sparse_entries: usize,
    /// Memory cleared, and as much copied.
    copied_bytes: usize,
}

impl Effort {
    /// Enough for a platform file: about a minute, two where the machine is busy.
    pub const FULL: Self = Self {
        rounds: 201,
        budget: Duration::from_secs(20),
        far_bytes: 1 << 30,
        sparse_entries: 1 << 19,
        copied_bytes: 128 << 20,
    };

    /// A look, in a few seconds: large caches still hold what should be far.
    pub const QUICK: Self = Self {
        rounds: 7,
        budget: Duration::from_secs(2),
        far_bytes: 64 << 20,
        sparse_entries: 1 << 16,
        copied_bytes: 16 << 20,
    };
}

/// The numbers of the repetitions of one kind of measurement; taking one tells of progress.
type Rounds<'a> = &'a mut dyn Iterator<Item = usize>;

/// At least so many repetitions, however long they take.
const AT_LEAST: usize = 5;

/// Gives out the repetitions of one kind of measurement after another.
struct Repeat<'a> {
    effort: Effort,
    kind: usize,
    done: usize,
    since: Instant,
    progress: &'a mut dyn FnMut(usize, usize),
}

impl<'a> Repeat<'a> {
    fn new(effort: Effort, progress: &'a mut dyn FnMut(usize, usize)) -> Self {
        Self { effort, kind: 0, done: 0, since: Instant::now(), progress }
    }

    /// The repetitions of a kind, from now on.
    fn kind(&mut self, kind: usize) -> &mut Self {
        (self.kind, self.done, self.since) = (kind, 0, Instant::now());
        self
    }
}

impl Iterator for Repeat<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let (rounds, round) = (self.effort.rounds, self.done);
        let over = round >= AT_LEAST && self.since.elapsed() > self.effort.budget;
        if round == rounds || over {
            return None;
        }
        (self.progress)(self.kind * rounds + round, KINDS * rounds);
        self.done += 1;
        Some(round)
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Calibration {
    /// The CPU's name, as the kernel tells it.
    pub cpu: String,
    /// On how many cores it was measured.
    pub cores: usize,
    /// Prices.
    pub prices: Vec<Priced>,
    /// What else was seen and is no price of the model.
    pub seen: Vec<Seen>,
    /// Pages whose translations each level of the TLB holds, as far as it shows.
    pub reach: [Option<usize>; 2],
    /// Prices that could be measured and were not, with the reason.
    pub left_out: Vec<(&'static str, String)>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[error("cannot measure {what}")]
pub struct CalibrateError {
    what: &'static str,
    source: io::Error,
}

/// Kinds of measurement, each of so many rounds.
const KINDS: usize = 4;

/// Measures on the given CPUs, the first of which this thread takes meanwhile, what is a price of
/// the architecture; tells `progress` the steps done and how many there are.
///
/// # Errors
/// What the kernel refused: memory, or a CPU.
///
/// # Panics
/// If no CPU is given.
pub fn calibrate(
    effort: Effort,
    cpus: &[usize],
    architecture: Architecture,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Calibration, CalibrateError> {
    let (own, others) = cpus.split_first().expect("a CPU to measure on");
    let effort = effort.within_memory();
    let mut rounds = Repeat::new(effort, progress);
    let failed = |what| move |source| CalibrateError { what, source };

    let _pinned = cpus::Pinned::to(*own).map_err(failed("on the first CPU"))?;
    let loads = loads::measure(&effort, rounds.kind(0)).map_err(failed("loads"))?;
    let lines = lines::measure(others, rounds.kind(1)).map_err(failed("other cores' lines"))?;
    let kernel = kernel::measure(&effort, *own, rounds.kind(2)).map_err(failed("the kernel"))?;
    let shootdowns = shootdown::measure(others, rounds.kind(3)).map_err(failed("invalidations"))?;

    let cpu = this_machine::cpu();
    let raw = prices::Raw { effort, loads, lines, kernel, shootdowns };
    let (mut prices, mut left_out) = raw.prices();
    let has = |name| Prices::names(architecture).any(|(own, _)| own == name);
    prices.retain(|price| has(price.name));
    left_out.retain(|(name, _)| has(name));
    let (seen, reach) = (raw.seen(), raw.reach());
    Ok(Calibration { cpu, cores: cpus.len(), prices, seen, reach, left_out })
}

impl Effort {
    /// No more than a part of the memory that is there.
    fn within_memory(mut self) -> Self {
        let available = this_machine::available_memory().unwrap_or(u64::MAX);
        let quarter = usize::try_from(available / 4).unwrap_or(usize::MAX);
        // Whole mebibytes, of which there is always one.
        let bytes = |bytes: usize| (bytes.min(quarter) >> 20 << 20).max(1 << 20);
        self.far_bytes = bytes(self.far_bytes);
        self.copied_bytes = bytes(self.copied_bytes / 2 * 2);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(effort: Effort) -> (usize, Vec<(usize, usize)>) {
        let mut told = Vec::new();
        let mut progress = |done, most| told.push((done, most));
        let mut repeat = Repeat::new(effort, &mut progress);
        let first = repeat.kind(0).count();
        assert_eq!(repeat.kind(1).count(), first);
        (first, told)
    }

    #[test]
    fn repetitions_end_with_their_number_or_their_time() {
        let effort = Effort { rounds: 9, budget: Duration::MAX, ..Effort::QUICK };
        let (count, told) = repeated(effort);
        assert_eq!(count, 9);
        assert_eq!((told[0], told[9], told[17]), ((0, 36), (9, 36), (17, 36)));
        let (count, told) = repeated(Effort { budget: Duration::ZERO, ..effort });
        assert_eq!((count, told[5]), (AT_LEAST, (9, 36)));
    }
}

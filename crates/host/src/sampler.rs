//! Time by stage: the engine's thread stores the stage that it enters, with a plain store; a thread
//! on another CPU reads it every microsecond or so. A stage's time is its share of these looks.
//!
//! While the engine's thread waits for its CPU, all looks would see the stage it stopped in. So
//! looks at a stage that does not change for longer than any stage lasts are dropped.

use pageout_paging::{Observer, Stage};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The share of the work that has to be covered by looks: its composition may change from its
/// beginning to its end.
const COVERED: f64 = 0.5;

/// The longest time without a change of stage: batches are 32 pages, or one folio.
const STOPPED: Duration = Duration::from_micros(500);

/// The stage that the engine is in, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct StageCell(AtomicU8);

impl Default for StageCell {
    fn default() -> Self {
        Self(AtomicU8::new(Stage::Other as u8))
    }
}

impl Observer for &StageCell {
    #[inline]
    fn enter(&self, stage: Stage) {
        self.0.store(stage as u8, Relaxed);
    }
}

/// The looks of the sampler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Looks {
    /// The number of looks that saw each stage, in [`Stage::ALL`]'s order.
    stages: [u64; Stage::ALL.len()],
    /// The time for which the engine's thread was seen to move.
    covered: Duration,
}

impl Looks {
    /// Returns the stages' shares of work that took `ns` nanoseconds, in [`Stage::ALL`]'s order;
    /// `None` if the looks cover less than half of it.
    pub fn shares(&self, ns: f64) -> Option<[f64; Stage::ALL.len()]> {
        let all = self.all();
        let enough = all > 0 && self.covered.as_nanos() as f64 >= COVERED * ns;
        enough.then(|| self.stages.map(|looks| looks as f64 / all as f64))
    }

    /// Returns the standard error of the share that has the largest, treating looks as independent.
    pub fn error(&self) -> f64 {
        let all = self.all() as f64;
        let error = |looks: &u64| {
            let share = *looks as f64 / all;
            (share * (1.0 - share) / all).sqrt()
        };
        self.stages.iter().map(error).fold(0.0, f64::max)
    }

    /// Adds `seen` looks that saw one stage for a time without another stage in between.
    fn add(&mut self, stage: u8, seen: u64, lasting: Duration) {
        if lasting < STOPPED {
            self.stages[usize::from(stage)] += seen;
            self.covered += lasting;
        }
    }

    fn all(&self) -> u64 {
        self.stages.iter().sum()
    }
}

/// Returns true if there is a CPU for the sampler besides that of the engine's thread.
pub fn is_possible() -> bool {
    thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1)
}

/// Runs `work`, which enters stages on the cell, while a thread on another CPU looks at it, at
/// times that the seed determines.
pub fn sampled<R>(seed: u64, work: impl FnOnce(&StageCell) -> R) -> (R, Looks) {
    let (cell, begun, done) =
        (StageCell::default(), AtomicBool::new(false), AtomicBool::new(false));
    let apart = Apart::new();
    thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            apart.take(&apart.others);
            begun.store(true, Relaxed);
            look_until(seed, &done, &cell)
        });
        while !begun.load(Relaxed) {
            thread::yield_now();
        }
        apart.take(&apart.one);
        let result = work(&cell);
        apart.take(&apart.all);
        done.store(true, Relaxed);
        (result, sampler.join().expect("the sampler only counts"))
    })
}

/// The CPUs that this process may use, in two parts. Otherwise two threads on a busy machine may
/// share one CPU in turn, and never see each other run.
struct Apart {
    all: Option<CpuSet>,
    one: Option<CpuSet>,
    others: Option<CpuSet>,
}

impl Apart {
    fn new() -> Self {
        let all = sched_getaffinity(None).ok().filter(|all| all.count() > 1);
        let here = sched_getcpu();
        let one = all.map(|_| {
            let mut one = CpuSet::new();
            one.set(here);
            one
        });
        let others = all.map(|mut others| {
            others.unset(here);
            others
        });
        Self { all, one, others }
    }

    /// Restricts this thread to a part, if that is permitted.
    fn take(&self, part: &Option<CpuSet>) {
        if let Some(part) = part {
            let _ = sched_setaffinity(None, part);
        }
    }
}

fn look_until(seed: u64, done: &AtomicBool, cell: &StageCell) -> Looks {
    let mut looks = Looks::default();
    // The steps are irregular, so that they cannot match the rhythm of a stage.
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut stage, mut seen, mut since) = (Stage::Other as u8, 0, Instant::now());
    while !done.load(Relaxed) {
        let now = cell.0.load(Relaxed);
        if now != stage {
            looks.add(stage, seen, since.elapsed());
            (stage, seen, since) = (now, 0, Instant::now());
        }
        seen += 1;
        for _ in 0..random.u8(4..32) {
            spin_loop();
        }
    }
    looks.add(stage, seen, since.elapsed());
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(time: Duration) {
        let since = Instant::now();
        while since.elapsed() < time {
            spin_loop();
        }
    }

    #[test]
    fn a_stage_is_seen_as_often_as_it_lasts() {
        let short = Duration::from_micros(50);
        let ((), looks) = sampled(1, |cell| {
            for _ in 0..400 {
                cell.enter(Stage::Unmap);
                spend(short * 3);
                cell.enter(Stage::Free);
                spend(short);
            }
        });
        // If the machine is too busy to run both threads, the test checks nothing.
        let work = short * 4 * 400;
        let Some(shares) = looks.shares(work.as_nanos() as f64) else { return };
        assert!((shares[Stage::Unmap as usize] - 0.75).abs() < 0.2, "{looks:?}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(looks.error() < 0.03, "{looks:?}");
    }

    #[test]
    fn a_stage_in_which_nothing_moves_is_not_looked_at() {
        let mut looks = Looks::default();
        looks.add(Stage::Young as u8, 3000, STOPPED);
        looks.add(Stage::Unmap as u8, 1000, STOPPED / 10);
        let shares = looks.shares(1e4).expect("looks enough");
        assert_eq!((shares[Stage::Young as usize], shares[Stage::Unmap as usize]), (0.0, 1.0));
        assert_eq!(looks.shares(1e6), None, "most of the work was not seen");
    }
}

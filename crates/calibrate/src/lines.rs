//! Locked operations, and lines that another core changed.

use super::cpus::pin;
use super::loads::own_ns;
use super::rounds::Rounds;
use std::hint::{black_box, spin_loop};
use std::io;
use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::Instant;

/// The number of lines that go back and forth: few enough for any first cache.
const LINES: usize = 128;

/// The number of operations in a repetition on lines that the core already holds.
const OPERATIONS: usize = 4096;

/// The maximum number of partner cores. Their distances differ, which the spread shows.
const PARTNERS: usize = 8;

/// The times of operations on lines, a value for each round, in nanoseconds for each operation.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// A locked read-modify-write in the first cache.
    pub(super) rmw: Vec<f64>,
    /// A load of a line that another core changed.
    pub(super) transfer: Vec<f64>,
    /// A locked read-modify-write of such a line.
    pub(super) rmw_elsewhere: Vec<f64>,
    /// A turn of a loop that waits.
    pub(super) relax: Vec<f64>,
}

/// A line; in fact two, since some CPUs fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// Lines, and the requests to change them.
struct Shared {
    lines: Vec<Line>,
    /// The order in which the measuring side accesses them, which no CPU can predict.
    order: Vec<usize>,
    /// The number of requests to the partner; [`STOP`] ends it.
    asked: AtomicUsize,
    /// The number of requests that the partner has fulfilled.
    done: AtomicUsize,
}

/// The value of `asked` that ends the partner.
const STOP: usize = usize::MAX;

impl Shared {
    fn new() -> Self {
        let mut order: Vec<_> = (0..LINES).collect();
        fastrand::Rng::with_seed(3).shuffle(&mut order);
        let lines = (0..LINES).map(|_| Line::default()).collect();
        Self { lines, order, asked: AtomicUsize::new(0), done: AtomicUsize::new(0) }
    }

    /// Changes every line at each request. No value becomes so large that its highest bit is set.
    fn partner(&self) {
        loop {
            let asked = self.asked.load(Acquire);
            if asked == STOP {
                return;
            }
            if asked == self.done.load(Relaxed) {
                spin_loop();
                continue;
            }
            for line in &self.lines {
                line.0.fetch_add(2, Relaxed);
            }
            self.done.store(asked, Release);
        }
    }

    /// Asks the partner to change every line, and waits until it did.
    fn send_away(&self) {
        let asked = self.asked.load(Relaxed) + 1;
        self.asked.store(asked, Release);
        while self.done.load(Acquire) != asked {
            spin_loop();
        }
    }

    /// Loads each line; the address of each load depends on the value of the load before.
    #[inline(never)]
    fn load_all(&self) -> f64 {
        let since = Instant::now();
        let mut loaded: u64 = 0;
        for line in &self.order {
            loaded = self.lines[*line + (loaded >> 63) as usize].0.load(Relaxed);
        }
        black_box(loaded);
        per(since, LINES)
    }

    #[inline(never)]
    fn change_all(&self) -> f64 {
        let since = Instant::now();
        for line in &self.order {
            self.lines[*line].0.fetch_or(1, Relaxed);
        }
        per(since, LINES)
    }
}

/// Measures operations on lines. For lines of other cores, several cores are the partner in turn.
///
/// # Errors
/// The kernel's error, if a thread cannot have its CPU.
pub(super) fn measure(others: &[usize], rounds: Rounds<'_>) -> io::Result<Lines> {
    let mut lines = Lines::default();
    let partners = spread(others, PARTNERS);
    for round in rounds {
        alone(&mut lines);
        if let Some(cpu) = partners.get(round % partners.len().max(1)) {
            between(*cpu, &mut lines)?;
        }
    }
    Ok(lines)
}

/// Returns at most `most` of the CPUs, evenly spread over the list.
fn spread(cpus: &[usize], most: usize) -> Vec<usize> {
    let n = cpus.len().min(most);
    (0..n).map(|i| cpus[if n == 1 { 0 } else { i * (cpus.len() - 1) / (n - 1) }]).collect()
}

fn alone(lines: &mut Lines) {
    let line = Line::default();
    lines.rmw.push(own_ns(OPERATIONS, || {
        for _ in 0..OPERATIONS {
            black_box(&line).0.fetch_or(1, Relaxed);
        }
    }));
    lines.relax.push(own_ns(OPERATIONS, || {
        for _ in 0..OPERATIONS {
            spin_loop();
        }
    }));
}

fn between(cpu: usize, lines: &mut Lines) -> io::Result<()> {
    let shared = Shared::new();
    thread::scope(|scope| {
        let partner = scope.spawn(|| pin(cpu).map(|()| shared.partner()));
        while !partner.is_finished() && shared.asked.load(Relaxed) == 0 {
            shared.asked.store(1, Release);
        }
        while !partner.is_finished() && shared.done.load(Acquire) != 1 {
            spin_loop();
        }
        if !partner.is_finished() {
            // The first time is not measured: the lines fault, and the partner's CPU wakes up.
            shared.load_all();
            shared.send_away();
            lines.transfer.push(shared.load_all());
            shared.send_away();
            lines.rmw_elsewhere.push(shared.change_all());
            shared.asked.store(STOP, Release);
        }
        partner.join().expect("the partner only changes lines")
    })
}

/// Returns the nanoseconds of each of `count` operations since `since`, by wall-clock time.
pub(super) fn per(since: Instant, count: usize) -> f64 {
    since.elapsed().as_nanos() as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_are_spread_over_all() {
        assert_eq!(spread(&[1, 2, 3], 8), [1, 2, 3]);
        assert_eq!(spread(&[], 8), [0; 0]);
        assert_eq!(spread(&[4], 8), [4]);
        let many: Vec<_> = (1..100).collect();
        let some = spread(&many, 8);
        assert_eq!((some.len(), some[0], some[7]), (8, 1, 99));
    }

    #[test]
    fn the_partner_changes_lines_when_asked_and_ends() {
        let shared = Shared::new();
        thread::scope(|scope| {
            let partner = scope.spawn(|| shared.partner());
            for _ in 0..3 {
                shared.send_away();
                shared.change_all();
            }
            shared.asked.store(STOP, Release);
            partner.join().unwrap();
        });
        assert_eq!(shared.done.load(Relaxed), 3);
        for line in &shared.lines {
            assert_eq!(line.0.load(Relaxed), 7, "three times two, and one bit of ours");
        }
    }
}

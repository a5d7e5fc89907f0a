//! Thread CPU time: the cost of the software path, without other work of the machine.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;

/// CPU time of this thread so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Runs `work` and returns its result with the CPU time it took on this thread, in nanoseconds,
/// less what reading the clock takes.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let before = thread_cpu_ns();
    let result = work();
    let took = thread_cpu_ns() - before;
    (result, took.saturating_sub(reading_ns()))
}

/// Nanoseconds between two readings of the clock with nothing between: the least of many.
fn reading_ns() -> u64 {
    static LEAST: OnceLock<u64> = OnceLock::new();
    *LEAST.get_or_init(|| {
        let once = || {
            let before = thread_cpu_ns();
            thread_cpu_ns() - before
        };
        (0..1000).map(|_| once()).min().unwrap_or(0)
    })
}

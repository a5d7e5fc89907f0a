//! Thread CPU time: what the software path cost, without what else the machine did.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Runs `work` and returns its result with the CPU time it took on this thread, in nanoseconds.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let before = thread_cpu_ns();
    let result = work();
    (result, thread_cpu_ns() - before)
}

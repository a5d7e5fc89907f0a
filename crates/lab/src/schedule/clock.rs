//! The time that an emulator had: the host's, without that in which others had its CPUs.

use std::fs;
use std::time::{Duration, Instant};

/// A clock that stands while a process waits for a CPU, so that a busy host cuts nothing off.
pub(super) struct Clock {
    process: u32,
    since: Instant,
    waited: Duration,
}

impl Clock {
    /// Starts the clock of a process.
    pub(super) fn start(process: u32) -> Self {
        Self { process, since: Instant::now(), waited: waited(process) }
    }

    /// Returns the time since the start.
    pub(super) fn passed(&self) -> Duration {
        let waited = waited(self.process).saturating_sub(self.waited);
        self.since.elapsed().saturating_sub(waited)
    }
}

/// Returns the time that the thread of a process waited which waited longest; none where the
/// system does not tell.
fn waited(process: u32) -> Duration {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Duration::ZERO;
    };
    let told = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("schedstat")).ok();
    let waited = threads.flatten().filter_map(told).filter_map(|told| waited_by(&told));
    waited.max().unwrap_or_default()
}

/// Parses the kernel's text of a thread: nanoseconds on a CPU, nanoseconds waiting for one, turns.
fn waited_by(told: &str) -> Option<Duration> {
    told.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_of_a_thread_is_its_waiting() {
        assert_eq!(waited_by("7104 248 1924\n"), Some(Duration::from_nanos(248)));
        assert_eq!(waited_by(""), None);
        assert_eq!(waited(0), Duration::ZERO);
    }

    #[test]
    fn the_clock_of_a_process_is_never_ahead_of_the_hosts() {
        let since = Instant::now();
        let clock = Clock::start(std::process::id());
        let passed = clock.passed();
        assert!(passed <= since.elapsed(), "{passed:?}");
    }
}

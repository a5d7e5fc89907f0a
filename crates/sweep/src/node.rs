//! Decides if times may be measured on this machine now: only if no other process computes.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::Duration;

/// The share of the CPUs' time that others may take, in per cent.
const OTHERS_PERCENT: u64 = 5;
/// The time for which other processes are watched before anything is timed.
const LOOK: Duration = Duration::from_secs(1);
/// The minimum number of ticks that show a share.
const FEWEST_TICKS: u64 = 50;
/// The name that one sweep of a machine holds while it measures times. The system frees it when the
/// process ends, for whatever reason.
const NAME: &str = "pageout-sweep-times";

/// The exclusive use of a machine, as far as it can be checked, while this value exists.
#[derive(Debug)]
pub struct Node {
    _held: UnixListener,
}

/// The reason why times may not be measured.
#[derive(Debug, thiserror::Error)]
pub enum NotExclusive {
    /// Another sweep measures times.
    #[error("{NEEDED}: another sweep takes times here")]
    Held,
    /// Affinity or a quota excludes this process from some CPUs.
    #[error("{NEEDED}: this process may use {here} of {there} CPUs")]
    Cpus {
        /// The number of CPUs that it may use.
        here: usize,
        /// The number of CPUs that exist.
        there: usize,
    },
    /// Other processes compute.
    #[error("{NEEDED}: others took {percent}% of the CPUs' time, more than {OTHERS_PERCENT}%")]
    Others {
        /// Their share of the time of all CPUs, in per cent.
        percent: u64,
    },
    /// The use by others cannot be read.
    #[error("{NEEDED}: cannot find out whether others use this one")]
    Unknown(#[source] io::Error),
}

const NEEDED: &str = "cells that are timed need a machine of their own (or times = false)";

/// The time of all CPUs so far, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ticks {
    /// The number of ticks in which they were busy.
    busy: u64,
    /// The number of ticks in which they were busy for this process.
    own: u64,
    all: u64,
}

/// A span of time in which other processes are watched.
#[derive(Debug)]
pub struct Watch(Ticks);

impl Node {
    /// Takes the machine.
    ///
    /// # Errors
    /// [`NotExclusive`].
    pub fn take() -> Result<Self, NotExclusive> {
        let name = SocketAddr::from_abstract_name(NAME).map_err(NotExclusive::Unknown)?;
        let held = UnixListener::bind_addr(&name).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => NotExclusive::Held,
            _ => NotExclusive::Unknown(error),
        })?;
        let here = thread::available_parallelism().map_err(NotExclusive::Unknown)?.get();
        let stat = read("/proc/stat")?;
        let there = cpus(&stat);
        if here < there {
            return Err(NotExclusive::Cpus { here, there });
        }
        let node = Self { _held: held };
        let watch = node.watch()?;
        thread::sleep(LOOK);
        watch.end()?;
        Ok(node)
    }

    /// Starts to watch other processes.
    ///
    /// # Errors
    /// [`NotExclusive::Unknown`].
    pub fn watch(&self) -> Result<Watch, NotExclusive> {
        now().map(Watch)
    }
}

impl Watch {
    /// Checks the time that other processes took since.
    ///
    /// # Errors
    /// [`NotExclusive::Others`].
    pub fn end(self) -> Result<(), NotExclusive> {
        match others(self.0, now()?) {
            percent if percent > OTHERS_PERCENT => Err(NotExclusive::Others { percent }),
            _ => Ok(()),
        }
    }
}

/// Returns the share of the CPUs' time that others took between two moments, in per cent.
const fn others(from: Ticks, to: Ticks) -> u64 {
    let all = to.all.saturating_sub(from.all);
    let (busy, own) = (to.busy.saturating_sub(from.busy), to.own.saturating_sub(from.own));
    if all < FEWEST_TICKS { 0 } else { 100 * busy.saturating_sub(own) / all }
}

fn now() -> Result<Ticks, NotExclusive> {
    let unknown = || io::Error::new(io::ErrorKind::InvalidData, "/proc has no times of CPUs");
    let ticks = ticks(&read("/proc/stat")?, &read("/proc/self/stat")?);
    ticks.ok_or_else(|| NotExclusive::Unknown(unknown()))
}

fn read(path: &str) -> Result<String, NotExclusive> {
    fs::read_to_string(path).map_err(NotExclusive::Unknown)
}

/// Counts the CPUs that are online.
fn cpus(stat: &str) -> usize {
    let is_cpu = |line: &&str| {
        let name = line.split(' ').next().unwrap_or("");
        name.strip_prefix("cpu").is_some_and(|nr| nr.parse::<u32>().is_ok())
    };
    stat.lines().filter(is_cpu).count()
}

/// Returns the ticks of all CPUs, and of this process, from the kernel's files.
fn ticks(stat: &str, own: &str) -> Option<Ticks> {
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> =
        line.split_whitespace().take(8).map(|time| time.parse().ok()).collect::<Option<_>>()?;
    let all = times.iter().sum();
    let idle = times.get(3)? + times.get(4)?;
    // The fields after the name, which may hold anything but ends with the last bracket: user is
    // the twelfth, system the thirteenth.
    let (_, own) = own.rsplit_once(')')?;
    let own: Vec<&str> = own.split_whitespace().collect();
    let own = own.get(11)?.parse::<u64>().ok()? + own.get(12)?.parse::<u64>().ok()?;
    Some(Ticks { busy: all - idle, own, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 10 50 800 20 5 10 5 0 0\ncpu0 50 5 25 400 10 2 5 2 0 0\n\
        cpu1 50 5 25 400 10 3 5 3 0 0\nintr 12\n";

    #[test]
    fn times_are_read_as_the_kernel_writes_them() {
        let own = "17 (a) b (c)) R 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20";
        assert_eq!(ticks(STAT, own), Some(Ticks { busy: 180, own: 42, all: 1000 }));
        assert_eq!(cpus(STAT), 2);
        assert_eq!(ticks("cpu  1 2\n", own), None);
        assert_eq!(ticks(STAT, "17 (a"), None);
    }

    #[test]
    fn others_are_what_is_not_ours() {
        let from = Ticks { busy: 100, own: 10, all: 1000 };
        let after = |busy, own, all| others(from, Ticks { busy, own, all });
        assert_eq!(after(300, 210, 1200), 0, "all of it is ours");
        assert_eq!(after(200, 10, 1200), 50, "half of the CPUs' time");
        assert_eq!(after(300, 200, 1200), 5);
        assert_eq!(after(110, 10, 1010), 0, "too short to tell");
        assert_eq!(after(100, 60, 1200), 0, "ticks of two clocks may differ");
    }

    #[test]
    fn this_machine_can_be_read() {
        assert!(now().is_ok());
        assert!(cpus(&fs::read_to_string("/proc/stat").expect("Linux has it")) > 0);
    }
}

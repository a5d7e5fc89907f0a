//! The CPUs to measure on: one of each core that this process may use.

use pageout_experiment::this_machine::allowed_cpus;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::io;

/// Returns numbers of CPUs, ascending, one of each core: threads of a core share its caches and its
/// TLB.
///
/// # Errors
/// The kernel's error, if it does not list the CPUs.
pub fn cores() -> io::Result<Vec<usize>> {
    let allowed = allowed_cpus()?;
    let first_of_its_core = |cpu: &usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = fs::read_to_string(path).ok().and_then(|text| parse_list(&text));
        // If the kernel does not list the CPUs that share a core, none do.
        let siblings = siblings.unwrap_or_default();
        siblings.iter().filter(|sibling| allowed.contains(sibling)).all(|sibling| cpu <= sibling)
    };
    Ok(allowed.iter().copied().filter(first_of_its_core).collect())
}

/// Reads a list of CPUs, such as `0-3,8`, as the kernel writes them.
fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

/// Binds this thread to a CPU.
///
/// # Errors
/// The kernel's error, if the CPU is no longer there or no longer allowed.
pub(super) fn pin(cpu: usize) -> io::Result<()> {
    let mut one = CpuSet::new();
    one.set(cpu);
    Ok(sched_setaffinity(None, &one)?)
}

/// A guard that binds this thread to one CPU. Dropping it allows the earlier CPUs again.
#[derive(Debug)]
pub(super) struct Pinned(CpuSet);

impl Pinned {
    /// Binds this thread as [`pin`] does.
    pub(super) fn to(cpu: usize) -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        pin(cpu)?;
        Ok(Self(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The earlier CPUs may no longer be permitted; then the thread stays on this one.
        let _ = sched_setaffinity(None, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0\n"), Some(vec![0]));
        assert_eq!(parse_list("0,64\n"), Some(vec![0, 64]));
        assert_eq!(parse_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_list("\n"), None);
        assert_eq!(parse_list("0-"), None);
    }

    #[test]
    fn there_is_a_core_and_a_thread_keeps_to_it() {
        let cores = cores().unwrap();
        assert!(!cores.is_empty() && cores.is_sorted());
        let before = sched_getaffinity(None).unwrap();
        let last = *cores.last().unwrap();
        let pinned = Pinned::to(last).unwrap();
        assert_eq!(rustix::thread::sched_getcpu(), last);
        drop(pinned);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}

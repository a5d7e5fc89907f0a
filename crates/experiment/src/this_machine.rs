//! The machine and the build that a record comes from.

use pageout_record::schema::{Machine, Run};
use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs;
use std::io;

/// Returns a description of this process's run. The commit of the build is not known here.
pub fn this_run() -> Run {
    Run::new(concat!("pageout ", env!("CARGO_PKG_VERSION")), None, this_machine())
}

fn this_machine() -> Machine {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    Machine {
        cpu: cpu(),
        arch: std::env::consts::ARCH.to_owned(),
        cores: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        memory_mib: meminfo("MemTotal").unwrap_or(0) >> 20,
        os: release.map_or_else(
            |_| std::env::consts::OS.to_owned(),
            |release| format!("{} {}", std::env::consts::OS, release.trim()),
        ),
    }
}

/// Returns the CPU's name. If the kernel has none, returns the numbers of its implementer and its
/// part.
pub fn cpu() -> String {
    let told = |key| first("/proc/cpuinfo", key);
    let numbers = || {
        let (maker, design) = (told("CPU implementer")?, told("CPU part")?);
        Some(format!("implementer {maker} part {design}"))
    };
    told("model name").or_else(numbers).unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the numbers of the CPUs that this process may use, ascending.
///
/// # Errors
/// The kernel's error, if it does not list them.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// Bytes of address space that are left for stacks and for the allocator.
const SET_ASIDE: u64 = 32 << 20;

/// Returns the bytes of memory that this process can take now, if they are known: the lesser of the
/// machine's available memory and the address space that `ulimit -v` (`RLIMIT_AS`) leaves.
pub fn available_memory() -> Option<u64> {
    let available = meminfo("MemAvailable");
    match address_space_left() {
        Some(left) => Some(available.map_or(left, |available| available.min(left))),
        None => available,
    }
}

/// Returns the bytes that `RLIMIT_AS` leaves this process, if it is set.
fn address_space_left() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * page_size() as u64 + SET_ASIDE))
}

/// Returns an addition to messages on memory: the limit of this process, if one is set.
pub fn memory_limit_note() -> &'static str {
    if getrlimit(Resource::As).current.is_some() { " (`ulimit -v` counts)" } else { "" }
}

/// Checks that `needed` bytes of memory are available.
///
/// # Errors
/// The bytes that are needed and those that are available, in words.
pub fn check_memory(needed: u64) -> Result<(), String> {
    let available = available_memory();
    if available.is_none_or(|available| needed <= available) {
        return Ok(());
    }
    Err(format!(
        "page tables and metadata need {} MiB, and {} MiB are available{}; a smaller size, fewer \
         processes or fewer orders at once need less",
        needed >> 20,
        available.unwrap_or(0) >> 20,
        memory_limit_note()
    ))
}

/// Returns the value of a line of /proc/meminfo, in bytes.
fn meminfo(key: &str) -> Option<u64> {
    let line = first("/proc/meminfo", key)?;
    let kib: u64 = line.split(' ').next()?.parse().ok()?;
    Some(kib << 10)
}

/// Returns the value of the first line of a `key: value` file that begins with `key`.
fn first(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let (_, value) = line.split_once(':')?;
    Some(value.trim().to_owned())
}

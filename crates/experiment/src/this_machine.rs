//! What machine and which build a record comes from.

use pageout_record::schema::{Machine, Run};
use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use std::fs;

/// The run that this process makes, of a build whose commit is not known here.
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

/// The CPU's name, or where the kernel tells none the numbers of its maker and its design.
pub fn cpu() -> String {
    let told = |key| first("/proc/cpuinfo", key);
    let numbers = || {
        let (maker, design) = (told("CPU implementer")?, told("CPU part")?);
        Some(format!("implementer {maker} part {design}"))
    };
    told("model name").or_else(numbers).unwrap_or_else(|| "unknown".to_owned())
}

/// Address space that is left for stacks and for what the allocator sets aside, in bytes.
const SET_ASIDE: u64 = 32 << 20;

/// Bytes of memory that this process can take now, where the system says so: those that the machine
/// has, or those that `ulimit -v` (`RLIMIT_AS`) leaves, whichever are fewer.
pub fn available_memory() -> Option<u64> {
    let available = meminfo("MemAvailable");
    match address_space_left() {
        Some(left) => Some(available.map_or(left, |available| available.min(left))),
        None => available,
    }
}

/// Bytes that `RLIMIT_AS` leaves this process, where it is set.
fn address_space_left() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * page_size() as u64 + SET_ASIDE))
}

/// For messages on memory: the limit of this process that counts, where one is set.
pub fn memory_limit_note() -> &'static str {
    if getrlimit(Resource::As).current.is_some() { " (`ulimit -v` counts)" } else { "" }
}

/// Checks that so many bytes of memory are there to be taken.
///
/// # Errors
/// What is needed and what there is, in words.
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

/// A line of /proc/meminfo, in bytes.
fn meminfo(key: &str) -> Option<u64> {
    let line = first("/proc/meminfo", key)?;
    let kib: u64 = line.split(' ').next()?.parse().ok()?;
    Some(kib << 10)
}

/// The value of the first line of a `key: value` file that begins with `key`.
fn first(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let (_, value) = line.split_once(':')?;
    Some(value.trim().to_owned())
}

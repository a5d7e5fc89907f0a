//! The search: a run without turns, seeds side by side, and a failure made small.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::super::build::Built;
use super::super::cache::Cache;
use super::super::parallel;
use super::super::progress::{Progress, Task};
use super::layout::{Listed, Orders, Verdict};
use super::machine::{Machine, MachineError, Ran, printable};
use super::small::Failure;
use super::strategy::Strategy;
use super::symbols::calls;
use super::text::{Schedule, Turn};
use super::workload::Program;

/// The call that the compiler puts in.
const HOOK: &str = "__sanitizer_cov_trace_pc";
/// The beginning of the event of a workload that gives up.
const GAVE_UP: &str = "gave up: ";
/// The way in which a failure without turns is found.
const NO_TURNS: &str = "no turns";
/// The number of lines of a workload that ended early that its failure shows.
const LAST_WORDS: usize = 2;

/// A search to carry out.
#[derive(Clone, Debug)]
pub struct Search {
    /// The workload.
    pub workload: Program,
    /// The number of CPUs of the machine.
    pub cpus: u8,
    /// Seeds to try, in their order, until one fails.
    pub seeds: RangeInclusive<u64>,
    /// The choice of turns by a seed.
    pub strategy: Strategy,
    /// The only functions whose points count, if any are named.
    pub turns_in: Vec<String>,
    /// The machine's time after which a run hangs.
    pub hang: Duration,
    /// The host's time after which a run is cut off.
    pub limit: Duration,
    /// The maximum number of lists of turns that are tried to make a failure small.
    pub tries: usize,
    /// The host's time after which no further list is tried.
    pub shrinking: Duration,
    /// The number of runs of a failure, the first included, to see that it repeats.
    pub replays: usize,
    /// True if all seeds are run, also those after the first that fails.
    pub all_seeds: bool,
}

/// Reasons for which there was no search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A machine gave no result.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A workload that would find nothing.
    #[error("workload {0}: it checks nothing: no schedule_check() held or failed before its end")]
    NoCheck(String),
    /// A workload that cannot be run to its end.
    #[error("workload {workload}, kernel {kernel}, without turns: it gave up: {why}")]
    GaveUp {
        /// The workload.
        workload: String,
        /// The kernel's name.
        kernel: String,
        /// The reason that the workload gave.
        why: String,
    },
    /// A function without points.
    #[error("--turns-in {function}: kernel {kernel} has no such function with points{hint}")]
    NoFunction {
        /// The function.
        function: String,
        /// The kernel's name.
        kernel: String,
        /// Functions that may be meant.
        hint: String,
    },
    /// A kernel whose points are never passed.
    #[error("workload {workload}: it passes no point of kernel {kernel}")]
    NoPoints {
        /// The workload.
        workload: String,
        /// The kernel's name.
        kernel: String,
    },
}

/// The result of a kernel.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The kernel's name.
    pub kernel: String,
    /// The failure of the run without turns, if it failed.
    pub control: Option<String>,
    /// The number of points that the run without turns passed.
    pub points: u64,
    /// The number of checks that held in that run.
    pub checks: u64,
    /// The number of seeds that were run.
    pub tried: u64,
    /// Seeds whose workload gave up, although the kernel was right.
    pub gave_up: u64,
    /// The turns of each seed that failed.
    pub failed: Vec<Schedule>,
    /// Seconds that the seeds took.
    pub seconds: f64,
    /// Seconds until the first failure was known.
    pub first: Option<f64>,
    /// The first failure.
    pub failure: Option<Failure>,
}

/// A stored schedule on a kernel.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The kernel.
    pub kernel: String,
    /// The failure, if there was one.
    pub failure: Option<String>,
    /// The number of turns that were given up, and of those in the schedule.
    pub given: (u64, usize),
    /// The number of turns whose point was not there: the function's nearest one was taken.
    pub moved: usize,
    /// The functions of turns that the kernel does not have, or that have no points.
    pub missing: Vec<String>,
    /// True if the schedule was found on the same build.
    pub same_build: bool,
}

/// Returns the failure of a run, if it failed.
fn failure(ran: &Ran, limit: Duration) -> Option<String> {
    let name = ran.found.verdict.name();
    let last = ran.found.events.last().map(|event| event.text.clone()).unwrap_or_default();
    if ran.is_cut_off {
        return Some(format!("it did not end in {} s of the host's time", limit.as_secs()));
    }
    let serial = String::from_utf8_lossy(&ran.serial);
    if ran.found.verdict.is_failure() {
        return Some(format!("{name}: {last}{}", last_words(&last, &serial)));
    }
    let marks = ["BUG: ", "WARNING: "];
    let warned = serial.lines().find(|line| marks.iter().any(|mark| line.contains(mark)));
    warned.map(|line| format!("the kernel warned: {}", line.trim()))
}

/// Returns what the machine printed last, if the event is the workload's early end: a workload
/// prints its cause, and the kernel's own warning may come after it.
fn last_words(event: &str, serial: &str) -> String {
    let is_end = event.starts_with("the workload ended") || event.starts_with("the workload was");
    let lines: Vec<&str> =
        serial.lines().map(str::trim).filter(|line| is_end && !line.is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(LAST_WORDS)..];
    shown.iter().map(|line| format!("; {}", printable(line))).collect()
}

/// Returns the reason for which a workload gave up, if it did.
fn gave_up(ran: &Ran) -> Option<&str> {
    let last = ran.found.events.last().filter(|_| ran.found.verdict == Verdict::Passed);
    last.and_then(|event| event.text.strip_prefix(GAVE_UP))
}

/// A kernel's machine, and its search.
pub(super) struct At<'a> {
    pub(super) machine: Machine<'a>,
    pub(super) search: &'a Search,
    pub(super) built: &'a Built,
    ranges: Vec<[u64; 2]>,
    pub(super) jobs: usize,
    pub(super) stop: &'a AtomicBool,
}

impl<'a> At<'a> {
    /// Boots to the workload's beginning.
    pub(super) fn open(
        search: &'a Search,
        built: &'a Built,
        jobs: usize,
        context: (&Cache, &dyn Progress),
        stop: &'a AtomicBool,
    ) -> Result<Self, SearchError> {
        let Search { workload, cpus, limit, .. } = search;
        let machine = Machine::open(built, workload, *cpus, *limit, context, stop)?;
        let mut at = Self { machine, search, built, ranges: Vec::new(), jobs, stop };
        for function in &search.turns_in {
            if at.points_of(function)?.is_empty() {
                return Err(at.no_function(function));
            }
        }
        at.ranges = at.ranges_of(&search.turns_in);
        Ok(at)
    }

    /// Returns the name of the search's kernel.
    pub(super) fn kernel(&self) -> &str {
        &self.built.kernel.name
    }

    fn no_function(&self, function: &str) -> SearchError {
        let names = self.machine.symbols.names();
        let like = names
            .filter(|name| name.starts_with(&format!("{function}.")) || name.contains(function));
        let like: Vec<&str> = like.take(3).collect();
        let hint =
            if like.is_empty() { String::new() } else { format!("; there is {}", like.join(", ")) };
        let (function, kernel) = (function.to_owned(), self.built.kernel.name.clone());
        SearchError::NoFunction { function, kernel, hint }
    }

    /// Returns the addresses of those functions that the kernel has.
    fn ranges_of(&self, functions: &[String]) -> Vec<[u64; 2]> {
        functions.iter().filter_map(|function| self.machine.symbols.range(function)).collect()
    }

    /// Returns a function's points, in bytes from its beginning.
    fn points_of(&self, function: &str) -> Result<Vec<u64>, MachineError> {
        let symbols = &self.machine.symbols;
        let (Some(range), Some(hook)) = (symbols.range(function), symbols.address(HOOK)) else {
            return Ok(Vec::new());
        };
        Ok(calls(&self.machine.code(range)?, range[0], hook))
    }

    pub(super) fn run(&self, mut orders: Orders) -> Result<Ran, MachineError> {
        orders.limit = u64::try_from(self.search.hang.as_nanos()).unwrap_or(u64::MAX);
        if orders.ranges.is_empty() {
            orders.ranges.clone_from(&self.ranges);
        }
        self.machine.run(&orders)
    }

    /// Returns the orders of a seed.
    pub(super) fn orders(&self, seed: u64, points: u64) -> Orders {
        self.search.strategy.orders(seed, points, self.search.cpus)
    }

    /// Runs a list of turns, with the seed by which the workload may draw.
    pub(super) fn list(&self, seed: u64, listed: &[Listed]) -> Result<Ran, MachineError> {
        self.run(Orders { seed, listed: listed.to_vec(), ..Orders::default() })
    }

    pub(super) fn fails(&self, ran: &Ran) -> Option<String> {
        failure(ran, self.search.limit)
    }

    /// Runs without turns. If that passes, tries seed after seed. Makes the first failure small.
    pub(super) fn search(&self, task: &dyn Task) -> Result<Searched, SearchError> {
        task.tell(0, None, "no turns");
        let control = self.run(Orders::default())?;
        let (workload, kernel) = (self.search.workload.text(), self.built.kernel.name.clone());
        let failed = self.fails(&control);
        if let Some(why) = gave_up(&control).map(str::to_owned) {
            return Err(SearchError::GaveUp { workload, kernel, why });
        }
        if failed.is_none() && control.found.checks == 0 && self.search.workload.must_check() {
            return Err(SearchError::NoCheck(workload));
        }
        if failed.is_none() && control.found.points == 0 {
            return Err(SearchError::NoPoints { workload, kernel });
        }
        let points = control.found.points;
        let checks = control.found.checks;
        let mut searched = Searched {
            kernel,
            control: failed,
            points,
            checks,
            tried: 0,
            gave_up: 0,
            failed: Vec::new(),
            seconds: 0.0,
            first: None,
            failure: None,
        };
        // Every run fails then, so seeds would tell nothing.
        if searched.control.is_some() {
            let mut failure = self.small(&Orders::default(), &control, task)?;
            NO_TURNS.clone_into(&mut failure.schedule.found);
            searched.failure = Some(failure);
            return Ok(searched);
        }
        let since = Instant::now();
        let first = self.seeds(points, &mut searched, since, task)?;
        searched.seconds = since.elapsed().as_secs_f64();
        if let Some((seed, ran)) = first {
            searched.failure = Some(self.small(&self.orders(seed, points), &ran, task)?);
        }
        Ok(searched)
    }

    /// Tries the seeds, several at once, until one fails. Returns the first that failed, and its
    /// run.
    fn seeds(
        &self,
        points: u64,
        searched: &mut Searched,
        since: Instant,
        task: &dyn Task,
    ) -> Result<Option<(u64, Ran)>, MachineError> {
        let mut first = None;
        let mut seeds = self.search.seeds.clone();
        let total = seeds.end().saturating_sub(*seeds.start()).saturating_add(1);
        loop {
            let batch: Vec<u64> = seeds.by_ref().take(self.jobs).collect();
            if batch.is_empty() || (first.is_some() && !self.search.all_seeds) {
                return Ok(first);
            }
            self.machine.fill(batch.len())?;
            let ran = parallel::each(&batch, self.jobs, self.stop, |seed| {
                self.run(self.orders(*seed, points))
            })?;
            for (seed, ran) in batch.into_iter().zip(ran) {
                searched.tried += 1;
                searched.gave_up += u64::from(gave_up(&ran).is_some());
                if let Some(how) = self.fails(&ran) {
                    searched.failed.push(self.schedule(seed, &ran.listed(), how));
                    searched.first.get_or_insert_with(|| since.elapsed().as_secs_f64());
                    first.get_or_insert((seed, ran));
                }
            }
            let now = match searched.failed.first() {
                None => "none failed".to_owned(),
                Some(Schedule { seed, failure, .. }) => {
                    format!("{} failed, first seed {seed}: {failure}", searched.failed.len())
                }
            };
            task.tell(searched.tried, Some(total), &now);
        }
    }

    /// Runs a stored schedule, and returns its outcome.
    pub(super) fn replay(&self, schedule: &Schedule) -> Result<Replayed, MachineError> {
        let (mut listed, mut moved, mut missing) = (Vec::new(), 0, Vec::new());
        for turn in &schedule.turns {
            let points = self.points_of(&turn.place.function)?;
            let near = points.iter().min_by_key(|offset| offset.abs_diff(turn.place.offset));
            let start = self.machine.symbols.address(&turn.place.function);
            let (Some(offset), Some(start)) = (near, start) else {
                missing.push(turn.place.function.clone());
                continue;
            };
            moved += usize::from(*offset != turn.place.offset);
            let Turn { cpu, nth, hold, .. } = *turn;
            listed.push(Listed { point: start + offset, cpu, nth, hold });
        }
        let ranges = self.ranges_of(&schedule.turns_in);
        let ran = self.run(Orders { seed: schedule.seed, ranges, listed, ..Orders::default() })?;
        Ok(Replayed {
            kernel: self.built.kernel.name.clone(),
            failure: self.fails(&ran),
            given: (ran.found.turns, schedule.turns.len()),
            moved,
            missing,
            same_build: self.build() == schedule.build,
        })
    }

    /// Returns a part of the name of the kernel's build.
    pub(super) fn build(&self) -> String {
        let image = self.built.image();
        let place = image.parent().and_then(Path::file_name).unwrap_or_default();
        place.to_string_lossy().chars().take(16).collect()
    }
}

impl Searched {
    /// Returns true if a run failed, with turns or without.
    pub fn found(&self) -> bool {
        self.control.is_some() || self.failure.is_some()
    }

    /// Returns the schedule of the first failure, if it can be run again.
    pub(super) fn schedule(&self) -> Option<&Schedule> {
        let failure = self.failure.as_ref().filter(|failure| failure.is_listed);
        failure.map(|failure| &failure.schedule)
    }

    /// Returns the failures of seeds: of the first one also that of its fewest turns.
    pub fn failures(&self) -> impl Iterator<Item = &str> {
        let small = self.failure.iter().map(|failure| &failure.schedule);
        self.failed.iter().chain(small).map(|schedule| &*schedule.failure)
    }
}

/// Returns a failure's text without its numbers: failures of one kind differ only in these.
pub fn kind(failure: &str) -> String {
    let is_digit = |c: char| c.is_ascii_hexdigit() || c == 'x';
    let mut kind = String::new();
    let mut rest = failure;
    while let Some(first) = rest.chars().next() {
        let is_run = is_digit(first);
        let end = rest.find(|c| is_digit(c) != is_run).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        let is_number = is_run && run.contains(|c: char| c.is_ascii_digit());
        kind += if is_number { "N" } else { run };
        rest = after;
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::{kind, last_words};

    #[test]
    fn the_end_of_a_workload_has_its_cause() {
        let serial = "mounted\r\nline 313: pwrite(...): I/O error\r\n\r\nDirect I/O collision\r\n";
        assert_eq!(
            last_words("the workload ended with status 1", serial),
            "; line 313: pwrite(...): I/O error; Direct I/O collision"
        );
        assert_eq!(last_words("the workload was ended by signal 6", "a\x1bb"), "; ab");
        assert_eq!(last_words("the workload ended with status 1", "\n"), "");
        assert_eq!(last_words("stored 6, the disk has 5", serial), "");
    }

    #[test]
    fn failures_of_one_kind_differ_in_their_numbers() {
        let stored = "a check failed: stored 0x1f, after fsync() the disk has 3";
        assert_eq!(kind(stored), "a check failed: stored N, after fsync() the disk has N");
        let [one, other] = ["kernel BUG at mm/rmap.c:12!", "kernel BUG at mm/rmap.c:1234!"];
        assert_eq!(kind(one), kind(other));
        assert_ne!(kind(one), kind("kernel BUG at mm/swap.c:12!"));
        assert_eq!(kind(""), "");
    }
}

//! The search: a run without turns, seeds side by side, and a failure made small.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::super::build::Built;
use super::super::cache::Cache;
use super::super::parallel;
use super::super::progress::{Progress, Task};
use super::layout::{Listed, MAX_RANGES, Orders};
use super::lines::lines;
use super::machine::{Machine, MachineError, Ran};
use super::rows::{Row, What};
use super::shrink::{Shrunk, shrink};
use super::strategy::Strategy;
use super::symbols::{Place, calls};
use super::text::{Schedule, Turn};
use super::workload::Program;

/// The call that the compiler puts in.
const HOOK: &str = "__sanitizer_cov_trace_pc";

/// A search to carry out.
#[derive(Clone, Debug)]
pub struct Search {
    /// The workload.
    pub workload: Program,
    /// CPUs of the machine.
    pub cpus: u8,
    /// Seeds to try, in their order, until one fails.
    pub seeds: RangeInclusive<u64>,
    /// The choice of turns by a seed.
    pub strategy: Strategy,
    /// Functions that alone have points, if any are named.
    pub turns_in: Vec<String>,
    /// The machine's time after which a run hangs.
    pub hang: Duration,
    /// The host's time after which a run is cut off.
    pub limit: Duration,
    /// The most lists of turns that are tried to make a failure small.
    pub tries: usize,
    /// Runs of a failure in all, to see that it is the same.
    pub replays: usize,
    /// True to run the seeds behind the first that fails too.
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
    /// A function without points.
    #[error("--turns-in {function}: kernel {kernel} has no such function with points{hint}")]
    NoFunction {
        /// The function.
        function: String,
        /// Of which kernel.
        kernel: String,
        /// Functions that may be meant.
        hint: String,
    },
    /// A kernel none of whose points is passed.
    #[error("workload {workload}: it passes no point of kernel {kernel}")]
    NoPoints {
        /// The workload.
        workload: String,
        /// Of which kernel.
        kernel: String,
    },
}

/// The result of a kernel.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The kernel's name.
    pub kernel: String,
    /// The run without turns: how it failed, if it did, and how many points it passed.
    pub control: Option<String>,
    /// Points of the run without turns.
    pub points: u64,
    /// Checks that held in it.
    pub checks: u64,
    /// Seeds that were run.
    pub tried: u64,
    /// Seeds that failed.
    pub failed: Vec<u64>,
    /// Seconds that the seeds took.
    pub seconds: f64,
    /// Seconds until the first failure was known.
    pub first: Option<f64>,
    /// The first failure.
    pub failure: Option<Failure>,
}

/// A failure, made small.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Turns that the seed gave up until the run failed.
    pub turns: u64,
    /// Points that were passed until then.
    pub points: u64,
    /// Further runs of the seed that were equal to the byte, and how many there were.
    pub equal: (usize, usize),
    /// The same of the small one.
    pub small_equal: (usize, usize),
    /// Lists of turns that were tried.
    pub tries: usize,
    /// Seconds that they took.
    pub seconds: f64,
    /// The fewest turns; the seed's own where the list of them did not fail.
    pub schedule: Schedule,
    /// True where the list of turns fails without the seed.
    pub is_listed: bool,
    /// The text.
    pub rows: Vec<Row>,
}

/// A stored schedule on a kernel.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The kernel.
    pub kernel: String,
    /// The failure, if there was one.
    pub failure: Option<String>,
    /// Turns that were given up, of so many.
    pub given: (u64, usize),
    /// Turns whose point was not there, and for which the next of the function was taken.
    pub moved: usize,
    /// Turns whose function is not there, or has no points.
    pub missing: Vec<String>,
    /// True where the schedule was found on the same build.
    pub same_build: bool,
}

/// The failure of a run, if it failed.
fn failure(ran: &Ran, limit: Duration) -> Option<String> {
    let name = ran.found.verdict.name();
    let last = ran.found.events.last().map(|event| event.text.clone()).unwrap_or_default();
    if ran.is_cut_off {
        return Some(format!("it did not end in {} s of the host's time", limit.as_secs()));
    }
    if ran.found.verdict.is_failure() {
        return Some(format!("{name}: {last}"));
    }
    let serial = String::from_utf8_lossy(&ran.serial);
    let marks = ["BUG: ", "WARNING: "];
    let warned = serial.lines().find(|line| marks.iter().any(|mark| line.contains(mark)));
    warned.map(|line| format!("the kernel warned: {}", line.trim()))
}

/// A kernel's machine, and what it is searched for.
pub(super) struct At<'a> {
    pub(super) machine: Machine<'a>,
    search: &'a Search,
    built: &'a Built,
    ranges: Vec<[u64; 2]>,
    jobs: usize,
    stop: &'a AtomicBool,
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
        for function in search.turns_in.iter().take(MAX_RANGES) {
            let range = at.machine.symbols.range(function);
            let range = range.ok_or_else(|| at.no_function(function))?;
            if at.points_of(function)?.is_empty() {
                return Err(at.no_function(function));
            }
            at.ranges.push(range);
        }
        Ok(at)
    }

    /// The name of its kernel.
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

    /// A function's points, in bytes from its beginning.
    fn points_of(&self, function: &str) -> Result<Vec<u64>, MachineError> {
        let symbols = &self.machine.symbols;
        let (Some(range), Some(hook)) = (symbols.range(function), symbols.address(HOOK)) else {
            return Ok(Vec::new());
        };
        Ok(calls(&self.machine.code(range)?, range[0], hook))
    }

    fn run(&self, mut orders: Orders) -> Result<Ran, MachineError> {
        orders.limit = u64::try_from(self.search.hang.as_nanos()).unwrap_or(u64::MAX);
        orders.ranges.clone_from(&self.ranges);
        self.machine.run(&orders)
    }

    fn list(&self, listed: &[Listed]) -> Result<Ran, MachineError> {
        self.run(Orders { listed: listed.to_vec(), ..Orders::default() })
    }

    fn fails(&self, ran: &Ran) -> Option<String> {
        failure(ran, self.search.limit)
    }

    /// Runs without turns, then seed after seed, and makes the first failure small.
    pub(super) fn search(&self, task: &dyn Task) -> Result<Searched, SearchError> {
        task.tell(0, None, "no turns");
        let control = self.run(Orders::default())?;
        let (workload, kernel) = (self.search.workload.text(), self.built.kernel.name.clone());
        let failed = self.fails(&control);
        if failed.is_none() && control.found.checks == 0 {
            return Err(SearchError::NoCheck(workload));
        }
        if control.found.points == 0 {
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
            failed: Vec::new(),
            seconds: 0.0,
            first: None,
            failure: None,
        };
        let since = Instant::now();
        let first = self.seeds(points, &mut searched, since, task)?;
        searched.seconds = since.elapsed().as_secs_f64();
        if let Some((seed, ran)) = first {
            searched.failure = Some(self.small(seed, points, &ran, task)?);
        }
        Ok(searched)
    }

    /// Tries the seeds, several at once, until one fails: the first of them, and its run.
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
            let ran = parallel::each(&batch, self.jobs, self.stop, |seed| {
                self.run(self.search.strategy.orders(*seed, points))
            })?;
            for (seed, ran) in batch.into_iter().zip(ran) {
                searched.tried += 1;
                if self.fails(&ran).is_some() {
                    searched.failed.push(seed);
                    searched.first.get_or_insert_with(|| since.elapsed().as_secs_f64());
                    first.get_or_insert((seed, ran));
                }
            }
            let now = format!("{} failed", searched.failed.len());
            task.tell(searched.tried, Some(total), &now);
        }
    }

    /// The fewest turns of a seed that fail, and what happens then.
    fn small(
        &self,
        seed: u64,
        points: u64,
        ran: &Ran,
        task: &dyn Task,
    ) -> Result<Failure, MachineError> {
        let since = Instant::now();
        let again = || self.run(self.search.strategy.orders(seed, points));
        let equal = self.equal(ran, again)?;
        let listed: Vec<Listed> = ran.found.given.iter().map(|given| given.listed).collect();
        let as_list = self.list(&listed)?;
        let is_listed = self.fails(&as_list).is_some();
        let mut tries = 1;
        let mut kept = listed;
        if is_listed {
            let first = |candidates: &[Vec<Listed>]| self.first(candidates);
            let small = self.shrink_all(kept, first, task)?;
            (kept, tries) = (small.kept, tries + small.tries);
        }
        let last = if is_listed { self.list(&kept)? } else { ran.clone() };
        let small_equal = if is_listed { self.equal(&last, || self.list(&kept))? } else { equal };
        let turns: Vec<Turn> = kept.iter().map(|listed| self.turn(listed)).collect();
        let schedule = Schedule {
            workload: self.search.workload.text(),
            cpus: self.search.cpus,
            kernel: self.built.kernel.name.clone(),
            build: self.build(),
            found: format!("{} seed={seed}", self.search.strategy),
            failure: self.fails(&last).unwrap_or_default(),
            turns,
        };
        Ok(Failure {
            seed,
            turns: ran.found.turns,
            points: ran.found.points,
            equal,
            small_equal,
            tries,
            seconds: since.elapsed().as_secs_f64(),
            rows: self.rows(&last)?,
            schedule,
            is_listed,
        })
    }

    /// Leaves out turns, and then rounds of those that are left.
    fn shrink_all(
        &self,
        listed: Vec<Listed>,
        mut first: impl FnMut(&[Vec<Listed>]) -> Result<Option<usize>, MachineError>,
        task: &dyn Task,
    ) -> Result<Shrunk<Listed>, MachineError> {
        let mut tried = 0;
        let mut told = |candidates: &[Vec<Listed>]| {
            tried += candidates.len() as u64;
            let turns = candidates.iter().map(Vec::len).max().unwrap_or(0);
            task.tell(tried, None, &format!("shrinking, up to {turns} turns"));
            first(candidates)
        };
        let Shrunk { mut kept, mut tries } = shrink(listed, self.search.tries, &mut told)?;
        for place in 0..kept.len() {
            for hold in 1..kept[place].hold {
                let mut fewer = kept.clone();
                fewer[place].hold = hold;
                tries += 1;
                if told(std::slice::from_ref(&fewer))?.is_some() {
                    kept = fewer;
                    break;
                }
            }
        }
        Ok(Shrunk { kept, tries })
    }

    /// The first of several lists that fails; as many are tried at once as there are jobs.
    fn first(&self, candidates: &[Vec<Listed>]) -> Result<Option<usize>, MachineError> {
        for (batch, number) in candidates.chunks(self.jobs).zip(0..) {
            let ran = parallel::each(batch, self.jobs, self.stop, |listed| self.list(listed))?;
            let failed = ran.iter().position(|ran| self.fails(ran).is_some());
            if let Some(place) = failed {
                return Ok(Some(number * self.jobs + place));
            }
        }
        Ok(None)
    }

    /// The number of further runs that are equal to the byte, and of all of them.
    fn equal(
        &self,
        ran: &Ran,
        again: impl Fn() -> Result<Ran, MachineError> + Sync,
    ) -> Result<(usize, usize), MachineError> {
        let more: Vec<()> = vec![(); self.search.replays.saturating_sub(1).max(1)];
        let runs = parallel::each(&more, self.jobs, self.stop, |()| again())?;
        Ok((runs.iter().filter(|other| *other == ran).count(), more.len()))
    }

    /// Runs a stored schedule: whether it still fails.
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
        let ran = self.list(&listed)?;
        Ok(Replayed {
            kernel: self.built.kernel.name.clone(),
            failure: self.fails(&ran),
            given: (ran.found.turns, schedule.turns.len()),
            moved,
            missing,
            same_build: self.build() == schedule.build,
        })
    }

    /// A part of the name of the kernel's build.
    fn build(&self) -> String {
        let image = self.built.image();
        let place = image.parent().and_then(Path::file_name).unwrap_or_default();
        place.to_string_lossy().chars().take(16).collect()
    }

    fn turn(&self, listed: &Listed) -> Turn {
        let place: Place = self.machine.symbols.place(listed.point);
        Turn { cpu: listed.cpu, place, nth: listed.nth, hold: listed.hold }
    }

    /// All acts of a run, in their order.
    fn rows(&self, ran: &Ran) -> Result<Vec<Row>, MachineError> {
        let given = &ran.found.given;
        let points: Vec<u64> = given.iter().map(|given| given.listed.point).collect();
        let lines = lines(&self.built.linked(), &points)?;
        let turns = given.iter().zip(lines).map(|(given, line)| Row {
            cpu: given.listed.cpu,
            count: given.count,
            time: given.time,
            what: What::Turn(self.turn(&given.listed), line),
        });
        let mut rows: Vec<Row> =
            ran.found.events.iter().cloned().map(Row::from).chain(turns).collect();
        rows.sort_by_key(|row| row.time);
        Ok(rows)
    }
}

impl Searched {
    /// True where anything failed, with turns or without.
    pub fn found(&self) -> bool {
        self.control.is_some() || self.failure.is_some()
    }
}

//! A failure made small: the fewest turns that still fail, and the acts of that run.

use std::time::Instant;

use super::super::parallel;
use super::super::progress::Task;
use super::fewer::fewer;
use super::layout::{Listed, MAX_RANGES, Orders};
use super::lines::lines;
use super::machine::{MachineError, Ran};
use super::rows::{Row, What};
use super::search::At;
use super::shrink::shrink;
use super::strategy::Strategy;
use super::symbols::Place;
use super::text::{Schedule, Turn};

/// A failure, made small.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Turns that the seed gave up until the run failed.
    pub turns: u64,
    /// The number of points that were passed until then.
    pub points: u64,
    /// Further runs of the seed that were equal to the byte, and how many there were.
    pub equal: (usize, usize),
    /// Further runs of the small schedule that were equal to the byte, and how many there were.
    pub small_equal: (usize, usize),
    /// The number of lists of turns that were tried.
    pub tries: usize,
    /// The time that these tries took, in seconds.
    pub seconds: f64,
    /// The shortest list of turns found that still fails; the seed's own schedule if its list of
    /// turns did not fail.
    pub schedule: Schedule,
    /// True if the list of turns fails without the seed.
    pub is_listed: bool,
    /// The acts of the last run, in their order.
    pub rows: Vec<Row>,
}

/// Seeds of the search with fewer turns, for each number of them.
const DRAWS: u64 = 24;

/// Lists of turns tried to make a seed's failure small.
struct Trials<'a> {
    at: &'a At<'a>,
    seed: u64,
    task: &'a dyn Task,
    tried: usize,
    since: Instant,
}

impl Trials<'_> {
    /// Returns the fewest turns that were found to fail. Some turns are left out, then others take
    /// their place, then lists of fewer turns are drawn in the same functions, until none of these
    /// lists fails.
    fn fewest(&mut self, listed: Vec<Listed>) -> Result<Vec<Listed>, MachineError> {
        let mut kept = shrink(listed, |lists| self.first(lists))?;
        loop {
            let lists: Vec<Vec<Listed>> = fewer(&kept).take(self.left()).collect();
            let next = match self.first(&lists)? {
                Some(place) => Some(lists[place].clone()),
                None => self.drawn(&kept)?,
            };
            match next {
                Some(next) => kept = shrink(next, |lists| self.first(lists))?,
                None => return self.shortest(kept),
            }
        }
    }

    /// Returns the same turns, given up for the fewest rounds that fail.
    fn shortest(&mut self, mut kept: Vec<Listed>) -> Result<Vec<Listed>, MachineError> {
        for place in 0..kept.len() {
            let with = |hold| {
                let mut list = kept.clone();
                list[place].hold = hold;
                list
            };
            let lists: Vec<Vec<Listed>> = (1..kept[place].hold).map(with).collect();
            if let Some(first) = self.first(&lists)? {
                kept.clone_from(&lists[first]);
            }
        }
        Ok(kept)
    }

    /// Returns the index of the first list that fails, as long as there are tries left.
    fn first(&mut self, lists: &[Vec<Listed>]) -> Result<Option<usize>, MachineError> {
        let seed = self.seed;
        let fails = |at: &At<'_>, list: &Vec<Listed>| {
            Ok(at.fails(&at.list(seed, list)?).is_some().then_some(()))
        };
        let turns = lists.iter().map(Vec::len).max().unwrap_or(0);
        let first = self.each(lists, &format!("shrinking, up to {turns} turns"), fails)?;
        Ok(first.map(|(place, ())| place))
    }

    /// Returns the first of several items for which `find` finds something, as long as there are
    /// tries and time left. As many are tried at once as there are jobs.
    fn each<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        now: &str,
        find: impl Fn(&At<'_>, &T) -> Result<Option<R>, MachineError> + Sync,
    ) -> Result<Option<(usize, R)>, MachineError> {
        let at = self.at;
        let mut before = 0;
        for batch in items.chunks(at.jobs) {
            let batch = &batch[..batch.len().min(self.left())];
            if batch.is_empty() {
                break;
            }
            self.task.tell(self.tried as u64, None, now);
            at.machine.fill(batch.len())?;
            let found = parallel::each(batch, at.jobs, at.stop, |item| find(at, item))?;
            self.tried += batch.len();
            let mut found = found.into_iter().zip(before..);
            if let Some((found, place)) = found.find_map(|(r, place)| Some((r?, place))) {
                return Ok(Some((place, found)));
            }
            before += batch.len();
        }
        Ok(None)
    }

    /// Returns the number of lists that may still be tried.
    fn left(&self) -> usize {
        let search = self.at.search;
        if self.since.elapsed() < search.shrinking {
            search.tries.saturating_sub(self.tried)
        } else {
            0
        }
    }

    /// Returns fewer turns than these that fail, drawn from all points of their functions.
    fn drawn(&mut self, kept: &[Listed]) -> Result<Option<Vec<Listed>>, MachineError> {
        let at = self.at;
        let mut ranges: Vec<[u64; 2]> =
            kept.iter().filter_map(|turn| at.machine.symbols.around(turn.point)).collect();
        ranges.sort_unstable();
        ranges.dedup();
        if kept.len() < 2 || ranges.len() > MAX_RANGES || self.left() == 0 {
            return Ok(None);
        }
        let seed = self.seed;
        let control = at.run(Orders { seed, ranges: ranges.clone(), ..Orders::default() })?;
        let draws: Vec<(u64, u64)> =
            (1..kept.len() as u64).flat_map(|few| (0..DRAWS).map(move |n| (few, n))).collect();
        let fails = |at: &At<'_>, (few, draw): &(u64, u64)| {
            let orders = Strategy::Few(*few).orders(*draw, control.found.points, at.search.cpus);
            let ran = at.run(Orders { seed, ranges: ranges.clone(), ..orders })?;
            let list = ran.listed();
            let fails = at.fails(&ran).is_some() && at.fails(&at.list(seed, &list)?).is_some();
            Ok(fails.then_some(list))
        };
        Ok(self.each(&draws, "drawing fewer turns", fails)?.map(|(_, list)| list))
    }
}

impl At<'_> {
    /// Returns the fewest turns of a run that failed by these orders, and the acts of that run.
    pub(super) fn small(
        &self,
        orders: &Orders,
        ran: &Ran,
        task: &dyn Task,
    ) -> Result<Failure, MachineError> {
        let (since, seed) = (Instant::now(), orders.seed);
        task.tell(0, None, &format!("again {} times", self.more_runs()));
        let equal = self.equal(ran, || self.run(orders.clone()))?;
        let mut kept = ran.listed();
        let is_listed = self.fails(&self.list(seed, &kept)?).is_some();
        let mut trials = Trials { at: self, seed, task, tried: 1, since };
        if is_listed {
            kept = trials.fewest(kept)?;
        }
        let tries = trials.tried;
        let last = if is_listed { self.list(seed, &kept)? } else { ran.clone() };
        let small_equal =
            if is_listed { self.equal(&last, || self.list(seed, &kept))? } else { equal };
        let schedule = self.schedule(seed, &kept, self.fails(&last).unwrap_or_default());
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

    /// Returns these turns as a schedule to keep.
    pub(super) fn schedule(&self, seed: u64, kept: &[Listed], failure: String) -> Schedule {
        Schedule {
            workload: self.search.workload.text(),
            cpus: self.search.cpus,
            kernel: self.built.kernel.name.clone(),
            build: self.build(),
            turns_in: self.search.turns_in.clone(),
            found: self.search.strategy.to_string(),
            seed,
            failure,
            turns: kept.iter().map(|listed| self.turn(listed)).collect(),
        }
    }

    /// Returns the number of further runs of a failure.
    fn more_runs(&self) -> usize {
        self.search.replays.saturating_sub(1).max(1)
    }

    /// Returns the number of further runs that are equal to the byte, and of all further runs.
    fn equal(
        &self,
        ran: &Ran,
        again: impl Fn() -> Result<Ran, MachineError> + Sync,
    ) -> Result<(usize, usize), MachineError> {
        // An emulator's earlier runs must not matter.
        self.machine.renew();
        let more: Vec<()> = vec![(); self.more_runs()];
        self.machine.fill(more.len().min(self.jobs))?;
        let runs = parallel::each(&more, self.jobs, self.stop, |()| again())?;
        Ok((runs.iter().filter(|other| *other == ran).count(), more.len()))
    }

    fn turn(&self, listed: &Listed) -> Turn {
        let place: Place = self.machine.symbols.place(listed.point);
        Turn { cpu: listed.cpu, place, nth: listed.nth, hold: listed.hold }
    }

    /// Returns all acts of a run, in their order.
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

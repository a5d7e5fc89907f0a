//! Miss-ratio curves: one trace under many limits and replacement policies. The trace is decoded
//! once. The points are independent of each other, and spread over the host's threads.
//!
//! A *miss* is an access whose page was not in memory: the first use of each page and each refault.
//! Every policy sees the same accesses, those that the trace has.

use crate::memcg_trace::Surveyed;
use crate::residency::ReplayError;
use pageout_experiment::kinds::{Choice, Kind};
use pageout_experiment::metrics::labels;
use pageout_experiment::scenarios::MemoryLimit;
use pageout_experiment::scenarios::metrics::REFAULTS;
use pageout_experiment::scenarios::metrics::trace as of;
use pageout_experiment::spread::spread;
use pageout_experiment::this_machine;
use pageout_experiment::variant::{Lru, Variant};
use pageout_paging::pte::X86_64;
use pageout_paging::young::YoungAlgorithm;
use pageout_record::schema::{Ground, Metric, Record};
use pageout_trace::demand_min::DemandMin;
use pageout_trace::reference_string::ReferenceString;
use pageout_trace::replacement::{self, ReplacementPolicy};
use pageout_trace::room::NoRoom;
use pageout_trace::source::TraceSource;
use std::num::NonZeroUsize;

/// The scenario's name in records.
pub const SCENARIO: &str = "trace-curve";

/// The axis that distinguishes policies.
pub const AXIS: &str = "policy";

/// The field that distinguishes limits.
pub const LIMIT: &str = "limit";

/// The policy that chooses the pages to evict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The engine, on these lists, as scenario `trace` runs it under a limit.
    Engine(Lru),
    /// An algorithm that works page by page on demand.
    OnDemand(ReplacementPolicy),
    /// Demand MIN, which knows the future.
    Min,
}

impl Choice for Policy {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("classic", Self::Engine(Lru::Classic)),
        ("mglru", Self::Engine(Lru::Mglru)),
        ("lru", Self::OnDemand(ReplacementPolicy::Lru)),
        ("arc", Self::OnDemand(ReplacementPolicy::Arc)),
        ("s3fifo", Self::OnDemand(ReplacementPolicy::S3Fifo)),
        ("sieve", Self::OnDemand(ReplacementPolicy::Sieve)),
        ("min", Self::Min),
    ];
}

/// The parameters of curves.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The trace.
    pub source: TraceSource,
    /// The limits, at least one.
    pub limits: Vec<MemoryLimit>,
    /// The policies.
    pub policies: Vec<Policy>,
    /// The threads of this host to use: nothing in a record depends on their number.
    pub threads: NonZeroUsize,
}

/// Missing points, with their one cause.
#[derive(Debug)]
pub struct Missing {
    /// The limit and the policy of each, at least one.
    pub points: Vec<(MemoryLimit, Policy)>,
    /// The cause.
    pub error: ReplayError,
}

/// The result of one policy under one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point {
    refaults: u64,
    /// Faults that read from storage, if storage is modelled.
    major_faults: Option<u64>,
}

impl Curve {
    /// Returns a record for each limit and policy, in this order, except for points that could not
    /// be served.
    ///
    /// # Errors
    /// [`ReplayError`] if the trace cannot be read or there is too little memory.
    ///
    /// # Panics
    /// Without a limit.
    pub fn records(
        &self,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(Vec<Record>, Vec<Missing>), ReplayError> {
        assert!(!self.limits.is_empty(), "a curve has a limit");
        let trace = Surveyed::read::<X86_64>(&self.source, 0)?;
        if trace.string().pages().is_empty() {
            return Err(ReplayError::NoAccess);
        }
        let min = self.policies.contains(&Policy::Min).then(|| trace.min()).transpose()?;
        let threads = self.threads_that_fit(&trace)?;
        let policies = self.policies.len();
        let mut cells: Vec<usize> = (0..self.limits.len() * policies).collect();
        // The longest cells come first, so that no thread is left with one at the end.
        cells.sort_by_key(|cell| !matches!(self.policies[cell % policies], Policy::Engine(_)));
        let points = spread(cells.len(), threads, progress, |k| {
            let cell = cells[k];
            point(
                &trace,
                self.limits[cell / policies],
                self.policies[cell % policies],
                min.as_ref(),
            )
        });
        let mut points: Vec<_> = cells.into_iter().zip(points).collect();
        points.sort_by_key(|(cell, _)| *cell);
        let (mut records, mut missing, mut not_run) = (Vec::new(), Vec::new(), Vec::new());
        for (cell, point) in points {
            let (limit, policy) = (self.limits[cell / policies], self.policies[cell % policies]);
            match point {
                Ok(Some(point)) => {
                    let metrics = metrics(trace.string(), trace.frames(limit), point);
                    records.push(self.record(limit, policy, metrics));
                }
                Ok(None) => not_run.push((limit, policy)),
                Err(error) => missing.push(Missing { points: vec![(limit, policy)], error }),
            }
        }
        if !not_run.is_empty() {
            let error = trace.refused().expect("it is refused where it was not run");
            missing.push(Missing { points: not_run, error });
        }
        Ok((records, missing))
    }

    /// Returns the number of threads for which memory is available, with a point each.
    fn threads_that_fit(&self, trace: &Surveyed<'_>) -> Result<NonZeroUsize, ReplayError> {
        let Some(available) = this_machine::available_memory() else {
            return Ok(self.threads);
        };
        let of_limit = |limit| self.policies.iter().map(move |policy| bytes(trace, limit, *policy));
        let points = self.limits.iter().flat_map(|limit| of_limit(*limit));
        let points: Vec<u64> = points.collect::<Result<_, _>>()?;
        let needed = points.into_iter().max().unwrap_or(0).max(1);
        ReplayError::check_memory(needed, Some(available))?;
        let fit = usize::try_from(available / needed).unwrap_or(usize::MAX);
        Ok(NonZeroUsize::new(fit).map_or(NonZeroUsize::MIN, |fit| fit.min(self.threads)))
    }

    fn record(&self, limit: MemoryLimit, policy: Policy, metrics: Vec<Metric>) -> Record {
        Record {
            scenario: SCENARIO.to_owned(),
            ground: Ground::Host,
            seed: 0,
            fields: labels([
                ("trace", self.source.name().to_owned()),
                ("sha256", self.source.sha256()),
                (LIMIT, MemoryLimit::text(&limit)),
            ]),
            variant: labels([(AXIS, Policy::text(&policy))]),
            metrics,
        }
    }
}

/// Returns the bytes of memory that a point takes.
fn bytes(trace: &Surveyed<'_>, limit: MemoryLimit, policy: Policy) -> Result<u64, ReplayError> {
    let engine = || Ok(trace.under::<X86_64>(limit)?.map_or(0, |run| run.bytes::<X86_64>()));
    match policy {
        Policy::Engine(_) => engine(),
        Policy::OnDemand(_) => Ok(on_demand_bytes(trace.string())),
        Policy::Min => Ok(min_bytes(trace.string())),
    }
}

fn on_demand_bytes(string: &ReferenceString) -> u64 {
    string.nr_pages() as u64 * replacement::BYTES_A_PAGE
}

/// Returns the bytes of a bit for each access, and of those that summarise the bits.
fn min_bytes(string: &ReferenceString) -> u64 {
    string.pages().len() as u64 / 7
}

/// Returns a point; `None` if the engine cannot run the trace.
fn point(
    trace: &Surveyed<'_>,
    limit: MemoryLimit,
    policy: Policy,
    min: Option<&DemandMin<'_>>,
) -> Result<Option<Point>, ReplayError> {
    let (string, frames) = (trace.string(), trace.frames(limit));
    let (on_demand, needed) = match policy {
        Policy::Engine(lru) => {
            let Some(run) = trace.under::<X86_64>(limit)? else { return Ok(None) };
            let (decisions, _) = run.run::<X86_64>(Variant::of(YoungAlgorithm::Line).on(lru))?;
            let major_faults = Some(decisions.major_faults);
            return Ok(Some(Point { refaults: decisions.refaults(), major_faults }));
        }
        Policy::OnDemand(policy) => (policy.faults(string, frames), on_demand_bytes(string)),
        Policy::Min => {
            let min = min.expect("it is made where it is asked for");
            (min.faults(frames), min_bytes(string))
        }
    };
    let on_demand = on_demand.map_err(|NoRoom| ReplayError::no_room(needed))?;
    Ok(Some(Point { refaults: on_demand.refaults as u64, major_faults: None }))
}

fn metrics(string: &ReferenceString, frames: NonZeroUsize, point: Point) -> Vec<Metric> {
    let (pages, accesses) = (string.nr_pages() as u64, string.pages().len() as f64);
    let misses = pages + point.refaults;
    let counts = [
        (of::PAGE_MISSES, misses),
        (REFAULTS, point.refaults),
        (of::LIMIT, frames.get() as u64),
        (of::PAGES, pages),
    ];
    let ratio = of::MISS_RATIO.one(misses as f64 / accesses);
    let counts = counts.map(|(metric, value)| metric.one(value as f64));
    let major = point.major_faults.map(|faults| of::MAJOR_FAULTS.one(faults as f64));
    let all = [ratio].into_iter().chain(counts).chain([of::IN_TRACE.one(accesses)]);
    all.chain(major).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_trace::{FilterShape, ImportOptions, import};
    use std::fmt::Write;

    /// Returns the trace of a program that uses a few of its pages most.
    fn trace() -> TraceSource {
        let mut random = fastrand::Rng::with_seed(1);
        let mut log = String::new();
        for _ in 0..5_000 {
            let page = random.u64(1..40) * random.u64(1..40);
            let kind = if random.bool() { 'L' } else { 'S' };
            writeln!(log, " {kind} {page:x}000,8").expect("a string grows");
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.pgt");
        let options =
            ImportOptions { filter: Some(FilterShape::EVERY_PAGE), ..ImportOptions::default() };
        import(log.as_bytes(), &path, &options, &mut |_| {}).expect("a log");
        TraceSource::read(&path).expect("a trace")
    }

    fn curve(threads: usize) -> Curve {
        Curve {
            source: trace(),
            limits: [40, 60, 80, 100].map(MemoryLimit::Percent).to_vec(),
            policies: Policy::NAMES.iter().map(|(_, policy)| *policy).collect(),
            threads: NonZeroUsize::new(threads).expect("a thread"),
        }
    }

    #[test]
    fn points_are_in_order_on_any_number_of_threads() {
        let (one, missing) = curve(1).records(&mut |_, _| {}).expect("a curve");
        assert!(missing.is_empty(), "{missing:?}");
        let places = one.iter().map(|of| (&of.fields[LIMIT][..], &of.variant[AXIS][..]));
        let names: Vec<_> = Policy::NAMES.iter().map(|(name, _)| *name).collect();
        let expected = ["40%", "60%", "80%", "100%"];
        let expected =
            expected.iter().flat_map(|limit| names.iter().map(move |name| (*limit, *name)));
        assert!(places.eq(expected));
        let mut told = Vec::new();
        let three = curve(3).records(&mut |done, of| told.push((done, of))).expect("a curve");
        assert_eq!(three.0, one);
        assert_eq!(told.last(), Some(&(28, 28)));
    }

    /// With room for all pages, the first use of each is the only miss; and no policy has fewer
    /// misses than MIN.
    #[test]
    fn all_memory_leaves_first_uses_and_min_is_the_least() {
        let (records, _) = curve(2).records(&mut |_, _| {}).expect("a curve");
        let value = |of: &Record, name| {
            let metric = of.metric(name);
            metric.expect("it is told").values[0]
        };
        for of_limit in records.chunks(7) {
            let [.., min] = of_limit else { panic!("seven policies") };
            for point in of_limit {
                let misses = value(point, of::PAGE_MISSES.name);
                assert!(misses >= value(min, of::PAGE_MISSES.name), "{point:?}");
                let pages = value(point, of::PAGES.name);
                match &point.fields[LIMIT][..] {
                    "40%" => assert!(misses > pages, "{point:?}"),
                    "100%" => assert_eq!(misses, pages, "{point:?}"),
                    _ => assert!(misses >= pages, "{point:?}"),
                }
            }
        }
    }
}

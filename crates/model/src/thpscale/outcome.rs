//! What runs came to, as metrics.

use crate::interval;
use pageout_experiment::scenarios::metrics::machine::{
    BARRIERS, BROADCASTS, HIDDEN, HIDDEN_FOR, INTERRUPTS, MISSES, QUANTILES, ROUNDS,
};
use pageout_experiment::scenarios::metrics::thpscale::{
    AMEAN, BASE, BOTH, COUNTERS, ELAPSED, HUGE, HUGE_SHARE, SYSTEM, USER, WAITING,
};
use pageout_machine::{Report, Time};
use pageout_reclaim::VmStat;
use pageout_record::schema::Metric;

/// One slot filled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// From before its first store until it is full.
    pub(super) took: Time,
    /// Whether its first store got all of it.
    pub(super) huge: bool,
}

/// What one run came to.
#[derive(Debug)]
pub struct Outcome {
    samples: Vec<Sample>,
    user: Time,
    system: Time,
    waiting: Time,
    counters: [u64; COUNTERS.len()],
    pub(super) report: Report,
}

impl Outcome {
    pub(super) fn new(samples: Vec<Sample>, report: Report, vmstat: &VmStat) -> Self {
        let of = |whose: Whose| report.at(|path| whose_is(path) == Some(whose));
        let (user, system, waiting) = (of(Whose::User), of(Whose::System), of(Whose::Waiting));
        let counters = COUNTERS.map(|(counter, _)| vmstat.get(counter));
        Self { samples, user, system, waiting, counters, report }
    }

    /// Microseconds of all slots, or of those that were huge or were not.
    fn us(&self, huge: Option<bool>) -> impl Iterator<Item = f64> {
        let these = self.samples.iter();
        let these = these.filter(move |sample| huge.is_none_or(|huge| sample.huge == huge));
        these.map(|sample| sample.took.ns() / 1000.0)
    }

    fn amean(&self) -> f64 {
        self.us(None).sum::<f64>() / self.samples.len() as f64
    }

    fn counted(&self) -> Vec<Metric> {
        let named = COUNTERS.into_iter().zip(self.counters);
        let mut metrics: Vec<_> =
            named.map(|((_, metric), value)| metric.one(value as f64)).collect();
        let (counts, hidden) = (&self.report.counts, &self.report.hidden);
        for (metric, value) in [
            (BROADCASTS, counts.broadcasts),
            (BARRIERS, counts.barriers),
            (ROUNDS, counts.rounds),
            (INTERRUPTS, counts.interrupts),
            (MISSES, counts.walks),
            (HIDDEN, hidden.accesses),
        ] {
            metrics.push(metric.one(value as f64));
        }
        for (metric, part) in HIDDEN_FOR.iter().zip(QUANTILES) {
            if let Some(time) = hidden.quantile(part) {
                metrics.push(metric.one(time.ns() / 1000.0));
            }
        }
        metrics
    }
}

/// What a thread's time is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    /// The thread's own.
    User,
    /// The kernel's on its behalf.
    System,
    /// It waits for a lock.
    Waiting,
}

/// What names of threads begin with: by it their time is told from others'.
pub(super) const THREAD: &str = "thread ";

/// What the time of a place is: names from the task down. `None`: no thread's.
fn whose_is(path: &[&str]) -> Option<Whose> {
    let number = path[0].strip_prefix(THREAD)?;
    let is_thread = number.chars().all(|c| c.is_ascii_digit());
    is_thread.then_some(match path[1..] {
        [] | ["walk"] => Whose::User,
        [.., "spin"] => Whose::Waiting,
        _ => Whose::System,
    })
}

/// The metrics of one scenario under one variant.
pub(super) fn metrics(nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (metric, huge) in [(BOTH, None), (BASE, Some(false)), (HUGE, Some(true))] {
        let values: Vec<_> = nominal.iter().flat_map(|outcome| outcome.us(huge)).collect();
        if !values.is_empty() {
            metrics.push(metric.of(&values));
        }
    }
    let means = |outcomes: &[Outcome]| outcomes.iter().map(Outcome::amean).collect::<Vec<_>>();
    let mean = AMEAN.of(&means(nominal));
    metrics.push(Metric { interval: interval(&means(drawn)), ..mean });
    if !drawn.is_empty() {
        metrics.push(AMEAN.of_draws(&means(drawn)));
    }
    let slots = || nominal.iter().flat_map(|outcome| &outcome.samples);
    let share = slots().filter(|slot| slot.huge).count() as f64 / slots().count() as f64;
    metrics.push(HUGE_SHARE.one(100.0 * share));
    for (metric, time) in [
        (USER, (|outcome| outcome.user) as fn(&Outcome) -> Time),
        (SYSTEM, |outcome| outcome.system),
        (WAITING, |outcome| outcome.waiting),
        (ELAPSED, |outcome| outcome.report.end),
    ] {
        let seconds = |outcome: &Outcome| time(outcome).ns() / 1e9;
        let of = |outcomes: &[Outcome]| outcomes.iter().map(seconds).collect::<Vec<_>>();
        metrics.push(metric.of(&of(nominal)));
        if !drawn.is_empty() {
            metrics.push(metric.of_draws(&of(drawn)));
        }
    }
    metrics.extend(nominal[0].counted());
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_a_threads_own_unless_the_kernel_spends_it() {
        for (path, whose) in [
            ("thread 12", Some(Whose::User)),
            ("thread 3;walk", Some(Whose::User)),
            ("thread 3;trap", Some(Whose::System)),
            ("thread 3;fault", Some(Whose::System)),
            ("thread 3;fault;walk", Some(Whose::System)),
            ("thread 3;munmap;spin", Some(Whose::Waiting)),
            ("kswapd;kswapd;young", None),
        ] {
            let path: Vec<_> = path.split(';').collect();
            assert_eq!(whose_is(&path), whose, "{path:?}");
        }
    }
}

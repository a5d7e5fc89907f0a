//! What runs came to, as metrics.

use super::run::THREAD;
use super::thread::Sample;
use crate::interval;
use pageout_experiment::metrics::{counted, modelled};
use pageout_machine::{Report, Time};
use pageout_reclaim::{Counter, VmStat};
use pageout_record::schema::{Better, Metric};

/// The time of every slot, in the order in which they were filled.
pub const BOTH: &str = "fault-both";
/// Of those whose first store got a single page.
pub const BASE: &str = "fault-base";
/// Of those whose first store got all of the slot.
pub const HUGE: &str = "fault-huge";
/// The mean of `fault-both`, a value a run.
pub const AMEAN: &str = "fault-both, mean";
/// The same, a value a draw of prices, in the same order under every variant.
pub const DRAWN: &str = "fault-both, mean, drawn";
/// Slots of which the first store got all.
pub const HUGE_SHARE: &str = "slots huge";
/// Time of the threads outside of the kernel, all together.
pub const USER: &str = "user";
/// Time of the threads in the kernel, all together, but for what they wait for locks.
pub const SYSTEM: &str = "system";
/// Time in which threads wait for locks, all together: in Linux they would sleep for most of it.
pub const WAITING: &str = "waiting for locks";
/// From the first thread's begin to the last one's end.
pub const ELAPSED: &str = "elapsed";

const US: &str = "us";
const S: &str = "s";

/// The kernel's counters that are told.
const COUNTERS: [(Counter, Better); 15] = [
    (Counter::PgmigrateSuccess, Better::Lower),
    (Counter::PgmigrateFail, Better::Lower),
    (Counter::CompactStall, Better::Lower),
    (Counter::CompactSuccess, Better::Neither),
    (Counter::CompactFail, Better::Lower),
    (Counter::CompactMigrateScanned, Better::Lower),
    (Counter::CompactFreeScanned, Better::Lower),
    (Counter::Allocstall, Better::Lower),
    (Counter::Pageoutrun, Better::Lower),
    (Counter::PgscanDirect, Better::Lower),
    (Counter::PgscanKswapd, Better::Lower),
    (Counter::PgstealFile, Better::Lower),
    (Counter::PgstealAnon, Better::Lower),
    (Counter::Pgrefill, Better::Lower),
    (Counter::WorkingsetRefaultFile, Better::Lower),
];

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
        let mut metrics: Vec<_> = named
            .map(|((counter, better), value)| counted(counter.name(), "", value as f64, better))
            .collect();
        let (counts, hidden) = (&self.report.counts, &self.report.hidden);
        for (name, value) in [
            ("invalidations broadcast", counts.broadcasts),
            ("barriers", counts.barriers),
            ("interrupt rounds", counts.rounds),
            ("interrupts", counts.interrupts),
            ("TLB misses", counts.walks),
            ("hidden accesses", hidden.accesses),
        ] {
            metrics.push(counted(name, "", value as f64, Better::Lower));
        }
        let quantiles = [("P50", 0.5), ("P90", 0.9), ("P99", 0.99), ("max", 1.0)];
        for (name, part) in quantiles {
            if let Some(time) = hidden.quantile(part) {
                let name = format!("hidden for, {name}");
                metrics.push(modelled(&name, US, &[time.ns() / 1000.0]));
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
    for (name, huge) in [(BOTH, None), (BASE, Some(false)), (HUGE, Some(true))] {
        let values: Vec<_> = nominal.iter().flat_map(|outcome| outcome.us(huge)).collect();
        if !values.is_empty() {
            metrics.push(modelled(name, US, &values));
        }
    }
    let means = |outcomes: &[Outcome]| outcomes.iter().map(Outcome::amean).collect::<Vec<_>>();
    let mean = modelled(AMEAN, US, &means(nominal));
    metrics.push(Metric { interval: interval(&means(drawn)), ..mean });
    if !drawn.is_empty() {
        metrics.push(modelled(DRAWN, US, &means(drawn)));
    }
    let slots = || nominal.iter().flat_map(|outcome| &outcome.samples);
    let share = slots().filter(|slot| slot.huge).count() as f64 / slots().count() as f64;
    metrics.push(counted(HUGE_SHARE, "%", 100.0 * share, Better::Higher));
    for (name, time) in [
        (USER, (|outcome| outcome.user) as fn(&Outcome) -> Time),
        (SYSTEM, |outcome| outcome.system),
        (WAITING, |outcome| outcome.waiting),
        (ELAPSED, |outcome| outcome.report.end),
    ] {
        let seconds = |outcome: &Outcome| time(outcome).ns() / 1e9;
        let of = |outcomes: &[Outcome]| outcomes.iter().map(seconds).collect::<Vec<_>>();
        metrics.push(modelled(name, S, &of(nominal)));
        if !drawn.is_empty() {
            metrics.push(modelled(&format!("{name}, drawn"), S, &of(drawn)));
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

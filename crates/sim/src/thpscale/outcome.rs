//! What runs came to, as metrics.

use super::run::THREAD;
use super::thread::Sample;
use crate::metrics::{counted, modelled};
use crate::model::interval;
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
/// Time of the threads in the kernel, all together.
pub const SYSTEM: &str = "system";
/// From the first thread's begin to the last one's end.
pub const ELAPSED: &str = "elapsed";
/// Pages of the file that were reclaimed.
pub const RECLAIMED_FILE: &str = "pgsteal_file";

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
pub(super) struct Outcome {
    samples: Vec<Sample>,
    user: Time,
    system: Time,
    counters: [u64; COUNTERS.len()],
    pub(super) report: Report,
}

impl Outcome {
    pub(super) fn new(samples: Vec<Sample>, report: Report, vmstat: &VmStat) -> Self {
        let of = |user: bool| {
            let paths = report.folded.iter();
            let these = paths.filter(|(path, _)| is_user(path) == Some(user));
            these.map(|(_, time)| *time).sum()
        };
        let (user, system) = (of(true), of(false));
        let counters = COUNTERS.map(|(counter, _)| vmstat.get(counter));
        Self { samples, user, system, counters, report }
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

/// Whether the time of a path of the folded stacks is a thread's own, or the kernel's on its
/// behalf; `None`: no thread's.
fn is_user(path: &str) -> Option<bool> {
    let below = path.strip_prefix(THREAD)?.trim_start_matches(|c: char| c.is_ascii_digit());
    Some(matches!(below, "" | ";walk"))
}

/// The metrics of one scenario under one variant: `outcomes` are those of `runs` runs with nominal
/// prices, then one a draw.
pub(super) fn metrics(outcomes: &[Outcome], runs: usize) -> Vec<Metric> {
    let (nominal, drawn) = outcomes.split_at(runs);
    let mut metrics = Vec::new();
    for (name, huge) in [(BOTH, None), (BASE, Some(false)), (HUGE, Some(true))] {
        let values: Vec<_> = nominal.iter().flat_map(|outcome| outcome.us(huge)).collect();
        if !values.is_empty() {
            metrics.push(modelled(name, US, &values));
        }
    }
    let means = |outcomes: &[Outcome]| outcomes.iter().map(Outcome::amean).collect::<Vec<_>>();
    let mean = modelled(AMEAN, US, &means(nominal));
    let ends = interval(&mean, &means(drawn));
    metrics.push(mean);
    metrics.extend(ends);
    if !drawn.is_empty() {
        metrics.push(modelled(DRAWN, US, &means(drawn)));
    }
    let slots = || nominal.iter().flat_map(|outcome| &outcome.samples);
    let share = slots().filter(|slot| slot.huge).count() as f64 / slots().count() as f64;
    metrics.push(counted(HUGE_SHARE, "%", 100.0 * share, Better::Higher));
    for (name, time) in [
        (USER, (|outcome| outcome.user) as fn(&Outcome) -> Time),
        (SYSTEM, |outcome| outcome.system),
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
        for (path, user) in [
            ("thread 12", Some(true)),
            ("thread 3;walk", Some(true)),
            ("thread 3;trap", Some(false)),
            ("thread 3;fault", Some(false)),
            ("thread 3;fault;walk", Some(false)),
            ("kswapd;kswapd;young", None),
        ] {
            assert_eq!(is_user(path), user, "{path}");
        }
    }
}

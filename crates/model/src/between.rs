//! The activity of a machine between two of its reports.

use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::machine::{
    BARRIERS, BROADCASTS, CORES_INTERRUPTED, FAULTS, HIDDEN, HIDDEN_LONGEST, HIDDEN_P50,
    HIDDEN_P90, HIDDEN_P99, INTERRUPTS, LOCAL, LOCAL_FLUSHES, QUANTILES, ROUNDS, SPARED, SWITCHES,
};
use pageout_machine::{Report, Time};
use pageout_record::schema::Metric;

/// Two reports of one machine.
#[derive(Clone, Debug)]
pub struct Between {
    /// The report before.
    pub before: Report,
    /// The report after.
    pub after: Report,
}

/// The counts that become metrics, each with the machine's name for it.
const COUNTS: [(MetricSpec, &str); 9] = [
    (BROADCASTS, "broadcasts"),
    (BARRIERS, "barriers"),
    (ROUNDS, "rounds"),
    (INTERRUPTS, "interrupts"),
    (SPARED, "spared_lazy"),
    (LOCAL, "local_entries"),
    (LOCAL_FLUSHES, "local_full"),
    (FAULTS, "faults"),
    (SWITCHES, "switches"),
];

impl Between {
    /// Returns the number of times that an event was counted. `wanted` is the machine's name for
    /// it.
    /// # Panics
    /// If the machine has no such count.
    pub fn count(&self, wanted: &str) -> u64 {
        let of = |report: &Report| {
            let found = report.counts.named().find(|(name, _)| *name == wanted);
            found.unwrap_or_else(|| panic!("the machine counts {wanted}")).1
        };
        of(&self.after) - of(&self.before)
    }

    /// Returns the time of tasks at the places for which `wanted` returns true. A place is a path
    /// of names from the task down.
    pub fn time(&self, wanted: impl Fn(&[&str]) -> bool) -> Time {
        self.after.at(&wanted).since(self.before.at(&wanted))
    }

    /// Returns the time in which tasks invalidate, or wait for invalidations: anywhere, or at or
    /// below places named `place`.
    pub fn flushing(&self, place: Option<&str>) -> Time {
        self.time(|path| {
            let own = matches!(path.last(), Some(&"invalidate" | &"wait"));
            own && place.is_none_or(|place| path.contains(&place))
        })
    }

    /// Returns the time that interrupts and other cores' invalidations took from all cores.
    pub fn stolen(&self) -> Time {
        let of = |report: &Report| -> Time { report.cores.iter().map(|core| core.stolen).sum() };
        of(&self.after).since(of(&self.before))
    }

    /// Returns the counts, `per` an event of which there were `by`. It also returns hidden
    /// accesses, and how long they were hidden; these times are over the machine's whole life.
    pub fn metrics(&self, per: &'static str, by: f64) -> Vec<Metric> {
        let each =
            |(metric, of): (MetricSpec, &str)| metric.per(per).one(self.count(of) as f64 / by);
        let mut metrics: Vec<_> = COUNTS.into_iter().map(each).collect();
        let rounds = self.count("rounds") as f64;
        if rounds > 0.0 {
            let cores = self.count("interrupts") as f64 / rounds;
            metrics.push(CORES_INTERRUPTED.one(cores));
        }
        let accesses = self.after.hidden.accesses - self.before.hidden.accesses;
        metrics.push(HIDDEN.per(per).one(accesses as f64 / by));
        let hidden = &self.after.hidden;
        let quantiles = [HIDDEN_P50, HIDDEN_P90, HIDDEN_P99, HIDDEN_LONGEST];
        for (metric, part) in quantiles.into_iter().zip(QUANTILES) {
            if let Some(time) = hidden.quantile(part) {
                metrics.push(metric.one(time.ns() / 1e3));
            }
        }
        metrics
    }
}

//! Searches as records.

use pageout_record::schema::Basis::{Counted, Measured};
use pageout_record::schema::Better::{self, Higher, Lower, Neither};
use pageout_record::schema::{Basis, Ground, Metric, Record};

use super::rows::sequence;
use super::search::{Search, Searched};

/// The metric that has the steps of a failure.
const STEPS: &str = "failing run";

impl Searched {
    /// Returns the record of a kernel's search.
    pub fn record(&self, search: &Search) -> Record {
        let cpus = search.cpus.to_string();
        let [workload, strategy] = [search.workload.text(), search.strategy.to_string()];
        let fields = [("cpus", cpus), ("strategy", strategy), ("workload", workload)];
        let mut record = Record {
            scenario: "schedule".to_owned(),
            ground: Ground::Linux,
            seed: *search.seeds.start(),
            fields: fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
            variant: [("kernel".to_owned(), self.kernel.clone())].into(),
            metrics: Vec::new(),
        };
        let mut add = |name: &str, unit: &str, basis: Basis, better: Better, value: f64| {
            record.metrics.push(Metric::new(name, unit, basis, better, vec![value]));
        };
        add(
            "failures without turns",
            "",
            Counted,
            Lower,
            f64::from(u8::from(self.control.is_some())),
        );
        add("points without turns", "", Counted, Neither, self.points as f64);
        add("seeds", "", Counted, Neither, self.tried as f64);
        add("seeds that failed", "", Counted, Lower, self.failed.len() as f64);
        add("seeds that gave up", "", Counted, Neither, self.gave_up as f64);
        if self.tried > 0 && self.seconds > 0.0 {
            add("seeds a second", "1/s", Measured, Higher, self.tried as f64 / self.seconds);
        }
        if let Some(failure) = &self.failure {
            if self.control.is_none() {
                add("first seed that failed", "", Counted, Neither, failure.seed as f64);
                add("turns of the seed", "", Counted, Neither, failure.turns as f64);
            }
            add("turns", "", Counted, Neither, failure.schedule.turns.len() as f64);
            add("lists tried", "", Counted, Lower, failure.tries as f64);
            add("equal runs", "", Counted, Higher, failure.small_equal.0 as f64);
            add("further runs", "", Counted, Neither, failure.small_equal.1 as f64);
        }
        if let Some(first) = self.first {
            add("time to the first failure", "s", Measured, Lower, first);
        }
        let steps = self.failure.as_ref().and_then(|of| sequence(&of.rows, search.cpus));
        record.metrics.extend(steps.map(|steps| Metric {
            sequence: Some(steps.into()),
            ..Metric::new(STEPS, "", Counted, Neither, Vec::new())
        }));
        record
    }
}

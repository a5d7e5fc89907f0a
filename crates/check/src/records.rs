//! Results of searches as records.

use super::check::{Report, Task};
use super::counterexample::Counterexample;
use super::exhibit::Exhibit;
use pageout_experiment::metrics::{counted, labels, measured};
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record};

/// The name of these records' scenario.
pub const SCENARIO: &str = "check";
/// The name of the metric that has a counterexample.
pub const COUNTEREXAMPLE: &str = "counterexample";

/// Returns the record of a search, of the engine or of an injected bug: executions, states,
/// seconds, and the counterexample, if there is one.
pub fn search(task: &Task, exhibit: Option<&Exhibit>, report: &Report) -> Record {
    let Report { searched, elapsed, failure } = report;
    let count = |name: &str, count: u64| counted(name, "", count as f64, Better::Neither);
    let mut metrics = vec![count("executions", searched.executions)];
    if task.has_schedules() {
        metrics.push(count("states", searched.states));
    }
    // An exhibit is expected to fail.
    let better = if exhibit.is_some() { Better::Higher } else { Better::Lower };
    let failed = f64::from(u8::from(failure.is_some()));
    metrics.push(counted("failures", "", failed, better));
    metrics.push(measured("search", "s", &[elapsed.as_secs_f64()]));
    metrics.extend(failure.iter().map(counterexample));
    Record { metrics, ..record(task, exhibit) }
}

/// Returns the record of one execution, with the counterexample if it failed.
pub fn replay(task: &Task, exhibit: Option<&Exhibit>, failure: Option<&Counterexample>) -> Record {
    let metrics = failure.into_iter().map(counterexample).collect();
    Record { metrics, ..record(task, exhibit) }
}

fn record(task: &Task, exhibit: Option<&Exhibit>) -> Record {
    let (property, format) = (task.property.name(), task.format);
    let fields = [("search", task.what), ("property", property), ("format", format)];
    let rules = exhibit.map_or("engine", |exhibit| exhibit.name);
    Record {
        scenario: SCENARIO.to_owned(),
        ground: Ground::Check,
        seed: 0,
        fields: labels(fields.map(|(name, value)| (name, value.to_owned()))),
        variant: Labels::from([("code".to_owned(), rules.to_owned())]),
        metrics: Vec::new(),
    }
}

fn counterexample(failure: &Counterexample) -> Metric {
    let told = Metric::new(COUNTEREXAMPLE, "", Basis::Counted, Better::Neither, Vec::new());
    Metric { source: failure.replay.clone(), sequence: Some(failure.sequence().into()), ..told }
}

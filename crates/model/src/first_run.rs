//! Views of a single run, besides its figures.

use pageout_experiment::scenarios::metrics::machine::{BY_ACTIVITY, FABRIC_LOAD};
use pageout_machine::{FabricLoad, Report, Sent, Spent, Time};
use pageout_record::schema::{Activity, Axis, Line, Metric, Series};

/// Returns views of a run: all of its time by activity, from the task down, and the traffic between
/// cores.
pub(crate) fn metrics(report: &Report) -> impl Iterator<Item = Metric> + use<> {
    let activities = report.tasks.iter().map(activity).collect();
    let by_activity = Metric { activities, ..BY_ACTIVITY.of(&[]) };
    let load = fabric_load(&report.load, report.end);
    let load = load.map(|load| Metric { series: Some(load.into()), ..FABRIC_LOAD.of(&[]) });
    [by_activity].into_iter().chain(load)
}

/// Returns rates, each for the stretch of time before its end. `None` for a run that took no time.
fn fabric_load(load: &FabricLoad, end: Time) -> Option<Series> {
    const NS_PER_MS: f64 = 1e6;
    if end == Time::ZERO {
        return None;
    }
    let begins = |column: usize| load.width() * column as u64;
    let ends = |column: usize| begins(column + 1).min(end);
    // If a run ends where a stretch begins, the last stretch is empty.
    let columns = (0..load.columns().len()).filter(|column| begins(*column) < end);
    let line = |name: &str, of: fn(&Sent) -> u64| Line {
        name: name.to_owned(),
        values: columns
            .clone()
            .map(|column| {
                let took = ends(column).since(begins(column)).ns() / NS_PER_MS;
                Some(of(&load.columns()[column]) as f64 / took)
            })
            .collect(),
    };
    Some(Series {
        x: Axis::new("time", "ms"),
        at: columns.clone().map(|column| ends(column).ns() / NS_PER_MS).collect(),
        lines: vec![
            line(load.fabric().messages(), |sent| sent.messages),
            line(load.fabric().waits(), |sent| sent.waits),
        ],
        stacked: false,
    })
}

fn activity(spent: &Spent) -> Activity {
    let parts = spent.parts.iter().map(activity).collect();
    Activity { name: spent.name.clone(), own: spent.own.ns(), parts }
}

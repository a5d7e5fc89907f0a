//! What one run looked like, besides its figures.

use pageout_experiment::scenarios::metrics::machine::{BY_ACTIVITY, FABRIC_LOAD};
use pageout_machine::{FabricLoad, Report, Sent, Spent, Time};
use pageout_record::schema::{Activity, Axis, Line, Metric, Series};

/// What one run looked like: all of its time by activity, from the task down, and what cores sent
/// each other meanwhile.
pub(crate) fn metrics(report: &Report) -> impl Iterator<Item = Metric> + use<> {
    let activities = report.tasks.iter().map(activity).collect();
    let by_activity = Metric { activities, ..BY_ACTIVITY.of(&[]) };
    let load = fabric_load(&report.load, report.end);
    let load = load.map(|load| Metric { series: Some(load.into()), ..FABRIC_LOAD.of(&[]) });
    [by_activity].into_iter().chain(load)
}

/// Rates at the ends of stretches of time; nothing for a run that took none.
fn fabric_load(load: &FabricLoad, end: Time) -> Option<Series> {
    const NS_PER_MS: f64 = 1e6;
    if end == Time::ZERO {
        return None;
    }
    let begins = |column: usize| load.width() * column as u64;
    let ends = |column: usize| begins(column + 1).min(end);
    // A run that ends where a stretch begins has nothing in the last one.
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

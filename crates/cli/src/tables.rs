//! Tables that only the command line needs, from records alone.

use pageout_record::compare::{Comparison, LEVEL, Row};
use pageout_record::render::{Align, Grid, exact, rounded};
use pageout_record::schema::{Basis, Metric, Record, RecordSet};
use pageout_record::stats::{Interval, median, median_interval};
use pageout_sim::bench::GOAL_RATIOS;
use pageout_sim::floor::FLOORS;

/// The records of some scenarios, as a set of their own.
pub(crate) fn only(set: &RecordSet, keep: impl Fn(&Record) -> bool) -> RecordSet {
    let records = set.records.iter().filter(|record| keep(record)).cloned().collect();
    RecordSet::new(set.run.clone(), records)
}

/// What each variant saves against the base, in what compares across grounds: nanoseconds, atomics,
/// entries visited and invalidations a page.
pub(crate) fn saved(of: &Comparison) -> String {
    let counts = ["atomics", "entries visited", "invalidations"];
    let saves = of.others.iter().map(|other| format!("{other} saves, ns"));
    let columns = ["format", "order"].map(str::to_owned).into_iter().chain(saves);
    let columns = columns.chain(counts.map(str::to_owned));
    let mut grid = Grid::new(
        columns
            .enumerate()
            .map(|(k, column)| (column, if k < 2 { Align::Left } else { Align::Right })),
    );
    // A PMD leaf is one entry: there is nothing to save.
    let by_ptes = |row: &&Row| row.fields.get("map").is_none_or(|map| map == "ptes");
    let times = of.rows.iter().filter(|row| row.metric == "folio_referenced");
    for time in times.filter(by_ptes) {
        let field = |name: &str| time.fields.get(name).cloned().unwrap_or_default();
        let saved = time.others.iter().map(|other| match (&time.base, other) {
            (Some(base), Some(other)) => rounded(base.median - other.summary.median),
            _ => "-".to_owned(),
        });
        let counted = counts.map(|metric| {
            let row = of.rows.iter().find(|row| row.fields == time.fields && row.metric == metric);
            row.map_or_else(String::new, |row| {
                let others = row.others.iter().flatten().map(|other| other.summary.median);
                let all = row.base.iter().map(|base| base.median).chain(others);
                all.map(exact).collect::<Vec<_>>().join(" / ")
            })
        });
        let labels = [field("format"), field("order")];
        grid.row(labels.into_iter().chain(saved).chain(counted));
    }
    let all = std::iter::once(&of.base).chain(&of.others).cloned().collect::<Vec<_>>();
    format!(
        "saved by folio_referenced per 4K page against {}; counted per 4K page as {}\n\n{grid}",
        of.base,
        all.join(" / ")
    )
}

/// The floors of a set, measured in the same rounds as the rest.
pub(crate) fn floors(set: &RecordSet) -> String {
    let columns = [("floor", Align::Left), ("median", Align::Right), ("95% interval", Align::Left)];
    let mut grid = Grid::new(columns.into_iter().chain([("unit", Align::Left)]));
    for record in set.records.iter().filter(|record| record.scenario == FLOORS) {
        for metric in &record.metrics {
            let floor = record.fields.get("floor").map_or("", String::as_str);
            grid.row([floor.to_owned(), value(metric), interval(metric), metric.unit.clone()]);
        }
    }
    format!("floors, measured in the same rounds\n\n{grid}")
}

/// The goals of a set, with what was measured.
pub(crate) fn goals(set: &RecordSet, holds: impl Fn(&str, f64) -> bool) -> String {
    let columns = ["goal", "held", "measured", "95% interval", "verdict"];
    let align = [Align::Left, Align::Left, Align::Right, Align::Left, Align::Left];
    let mut grid = Grid::new(columns.into_iter().zip(align));
    let mut missed = 0;
    let mut all = 0;
    for record in set.records.iter().filter(|record| record.scenario == GOAL_RATIOS) {
        let field = |name: &str| record.fields.get(name).cloned().unwrap_or_default();
        for metric in &record.metrics {
            let held = |ratio| holds(&field("goal"), ratio);
            let met = median(&metric.values).is_some_and(held);
            let decided = median_interval(&metric.values, LEVEL)
                .is_some_and(|interval| held(interval.low) == met && held(interval.high) == met);
            all += 1;
            missed += usize::from(!met);
            let verdict = match (met, decided) {
                (true, true) => "met",
                (true, false) => "met, not beyond doubt",
                (false, false) => "MISSED, not beyond doubt",
                (false, true) => "MISSED",
            };
            let cells = [field("goal"), field("held"), value(metric), interval(metric)];
            grid.row(cells.into_iter().chain([verdict.to_owned()]));
        }
    }
    format!(
        "goals: ratios of figures of the same round, their medians\n\n{grid}\n\
         {} of {all} goals met; beyond doubt where the whole interval is on one side\n",
        all - missed
    )
}

/// Every metric of every record, for a run of one variant.
pub(crate) fn metrics(set: &RecordSet) -> String {
    let mut text = String::new();
    for record in &set.records {
        let pairs = |labels: &pageout_record::schema::Labels| {
            let pairs = labels.iter().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>().join(" ")
        };
        text += &format!(
            "{} {}\nvariant {}, ground {}, seed {}\n\n",
            record.scenario,
            pairs(&record.fields),
            pairs(&record.variant),
            record.ground,
            record.seed
        );
        let columns = ["metric", "value", "95% interval", "unit", "basis", "n"];
        let align = |column| match column {
            "value" | "n" => Align::Right,
            _ => Align::Left,
        };
        let mut grid = Grid::new(columns.map(|column| (column, align(column))));
        for metric in &record.metrics {
            grid.row([
                metric.name.clone(),
                value(metric),
                interval(metric),
                metric.unit.clone(),
                metric.basis.to_string(),
                metric.values.len().to_string(),
            ]);
        }
        text += &format!("{grid}\n");
    }
    text
}

fn value(metric: &Metric) -> String {
    let show = if metric.basis == Basis::Measured { rounded } else { exact };
    median(&metric.values).map_or_else(String::new, show)
}

fn interval(metric: &Metric) -> String {
    let of = |Interval { low, high, .. }| format!("[{}, {}]", rounded(low), rounded(high));
    let measured = metric.basis == Basis::Measured;
    let interval = measured.then(|| median_interval(&metric.values, LEVEL)).flatten();
    interval.map_or_else(String::new, of)
}

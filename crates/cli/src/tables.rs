//! Tables that only the command line needs, from records alone.

use crate::command_line;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::{Form, Rows, Shown};
use crate::terminal;
use pageout_experiment::footprint::{Footprint, PER_FOLIO, PER_PAGE};
use pageout_experiment::scenarios::metrics::{ATOMICS, ENTRIES_VISITED, INVALIDATIONS};
use pageout_experiment::variant::architecture_flush;
use pageout_host::bench::{Bound, GOAL_RATIOS};
use pageout_host::floor::FLOORS;
use pageout_record::compare::{Comparison, LEVEL, Row, compare as compare_records, compare_runs};
use pageout_record::render::{self, Align, Grid, List, Options, exact, rounded};
use pageout_record::schema::{Basis, Labels, Metric, Record, RecordFile, RecordSet};
use pageout_record::stats::{Interval, median, median_interval};
use pageout_report::Table;

/// The records of some scenarios, as a set of their own.
pub(crate) fn only(set: &RecordSet, keep: impl Fn(&Record) -> bool) -> RecordSet {
    let records = set.records.iter().filter(|record| keep(record)).cloned().collect();
    RecordSet::new(set.run.clone(), records)
}

/// What each variant saves of `metric` against the base, in what compares across grounds:
/// nanoseconds, atomics, entries visited and invalidations a page.
pub(crate) fn saved(of: &Comparison, metric: &str) -> String {
    let counts = [ATOMICS, ENTRIES_VISITED, INVALIDATIONS].map(|metric| metric.name);
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
    let times = of.rows.iter().filter(|row| row.metric == metric);
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
        "saved of {metric} per 4K page against {}; counted per 4K page as {}\n\n{grid}",
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

/// The generations that a scenario leaves.
pub(crate) fn generations(fields: &Labels, left: &str) -> String {
    format!(
        "lru_gen after the run: cgroup, node; a line a generation with its number, age in ms, \
         pages of\nanonymous memory and of files\n{}\n\n{left}\n",
        pairs(fields)
    )
}

/// What a scenario takes of memory, and what of it counts by the folio and by the page.
pub(crate) fn footprint(fields: &Labels, of: &Footprint) -> String {
    let columns = ["", "entries", "bytes each", "bytes"];
    let align = |column: &str| if column.is_empty() { Align::Left } else { Align::Right };
    let mut grid = Grid::new(columns.map(|column| (column, align(column))));
    for row in of.rows.iter().filter(|row| row.entries > 0) {
        let bytes = row.entries * row.each;
        let numbers = [row.entries, row.each, bytes].map(|number| number.to_string());
        grid.row([row.what.to_owned()].into_iter().chain(numbers));
    }
    grid.rule();
    let all = of.bytes().to_string();
    grid.row([String::from("all"), String::new(), String::new(), all]);
    format!(
        "{}\n\n{grid}\nmetadata: {} bytes a folio with the file index (goal <= {PER_FOLIO}), {} \
         bytes a page (goal <= {PER_PAGE});\nshadows, page tables and their locks come on top; \
         all of it is {} MiB\n\n",
        pairs(fields),
        rounded(of.per_folio()),
        rounded(of.per_page()),
        of.bytes() >> 20,
    )
}

/// Time and memory by size of the file.
pub(crate) fn sizes(
    set: &RecordSet,
    whole: &str,
    memory: impl Fn(&Labels) -> Option<u64>,
) -> String {
    let columns = ["size", whole, "95% interval", "unit", "memory, MiB"];
    let align = [Align::Right, Align::Right, Align::Left, Align::Left, Align::Right];
    let mut grid = Grid::new(columns.into_iter().zip(align));
    for record in &set.records {
        let size = record.fields.get("size").cloned().unwrap_or_default();
        let mib = memory(&record.fields).map(|bytes| (bytes >> 20).to_string());
        for metric in record.metrics.iter().filter(|metric| metric.name == whole) {
            let mib = mib.clone().unwrap_or_default();
            grid.row([size.clone(), value(metric), interval(metric), metric.unit.clone(), mib]);
        }
    }
    let fields = set.records.first().map(|record| {
        let mut fields = record.fields.clone();
        fields.retain(|name, _| name != "size");
        pairs(&fields)
    });
    format!("{}\n\n{grid}", fields.unwrap_or_default())
}

/// The records of a scenario that have these metrics, a line each: fields, variant, medians.
pub(crate) fn figures(set: &RecordSet, scenario: &str, metrics: &[&str]) -> String {
    let find = |record: &Record, name: &str| {
        record.metrics.iter().find(|metric| metric.name == name).map(value)
    };
    let has = |record: &&Record| record.scenario == scenario && find(record, metrics[0]).is_some();
    let records: Vec<_> = set.records.iter().filter(has).collect();
    let labels = |record: &Record| record.fields.clone().into_iter().chain(record.variant.clone());
    let names = records.first().map(|record| labels(record).map(|(name, _)| name));
    let names: Vec<String> = names.into_iter().flatten().collect();
    let numbers = metrics.iter().map(|metric| ((*metric).to_owned(), Align::Right));
    let names = names.into_iter().map(|name| (name, Align::Left));
    let mut grid = Grid::new(names.chain(numbers));
    for record in records {
        let values = metrics.iter().map(|name| find(record, name).unwrap_or_default());
        grid.row(labels(record).map(|(_, choice)| choice).chain(values));
    }
    grid.to_string()
}

/// How much of each whole is fixed, whatever the variant, and the ratio of the wholes and of what
/// is not fixed: where the fixed cost is larger, as in a kernel, the first ratio is smaller.
pub(crate) fn fixed(of: &Comparison, whole: &str, stages: &[&str]) -> String {
    let columns = ["format", "order", "variant", "whole", "fixed", "ratio", "ratio without fixed"];
    let align = |k| if k < 3 { Align::Left } else { Align::Right };
    let columns = columns.into_iter().enumerate().map(|(k, column)| (column, align(k)));
    let mut grid = Grid::new(columns);
    let median_of = |fields: &Labels, metric: &str, column: usize| {
        let row = of.rows.iter().find(|row| row.fields == *fields && row.metric == metric)?;
        let summary = match column.checked_sub(1) {
            None => row.base.as_ref(),
            Some(other) => row.others.get(other)?.as_ref().map(|other| &other.summary),
        };
        summary.map(|summary| summary.median)
    };
    for row in of.rows.iter().filter(|row| row.metric == whole) {
        let of_column = |column| -> Option<(f64, f64)> {
            let stages = stages.iter().map(|stage| median_of(&row.fields, stage, column));
            Some((median_of(&row.fields, whole, column)?, stages.sum::<Option<f64>>()?))
        };
        let Some(base) = of_column(0) else { continue };
        for (column, name) in std::iter::once(&of.base).chain(&of.others).enumerate() {
            let Some(this) = of_column(column) else { continue };
            let field = |name: &str| row.fields.get(name).cloned().unwrap_or_default();
            let numbers = [this.0, this.1, base.0 / this.0, (base.0 - base.1) / (this.0 - this.1)];
            let labels = [field("format"), field("order"), name.clone()];
            grid.row(labels.into_iter().chain(numbers.map(rounded)));
        }
    }
    format!(
        "{whole}, ns per 4K page, and how much of it is fixed ({}); ratios to {}\n\n{grid}",
        stages.join(", "),
        of.base
    )
}

/// Labels as text.
fn pairs(labels: &Labels) -> String {
    let pairs = labels.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

/// The goals of a set, with what was measured.
pub(crate) fn goals(set: &RecordSet) -> String {
    let columns = ["goal", "held", "measured", "95% interval", "unit", "verdict"];
    let align = [Align::Left, Align::Left, Align::Right].into_iter();
    let align = align.chain([Align::Left; 3]);
    let mut grid = Grid::new(columns.into_iter().zip(align));
    let mut missed = 0;
    let mut all = 0;
    for record in set.records.iter().filter(|record| record.scenario == GOAL_RATIOS) {
        let field = |name: &str| record.fields.get(name).cloned().unwrap_or_default();
        for metric in &record.metrics {
            let bound = field("held").parse::<Bound>();
            let held = |value| bound.is_ok_and(|bound| bound.holds(value));
            let met = median(&metric.values).is_some_and(held);
            let sides =
                |interval: Interval| held(interval.low) == met && held(interval.high) == met;
            let decided = metric.basis != Basis::Measured
                || median_interval(&metric.values, LEVEL).is_some_and(sides);
            all += 1;
            missed += usize::from(!met);
            let verdict = match (met, decided) {
                (true, true) => "met",
                (true, false) => "met, not beyond doubt",
                (false, false) => "MISSED, not beyond doubt",
                (false, true) => "MISSED",
            };
            let cells = [field("goal"), field("held"), value(metric), interval(metric)];
            let cells = cells.into_iter().chain([metric.unit.clone()]);
            grid.row(cells.chain([verdict.to_owned()]));
        }
    }
    format!(
        "goals: from figures of the same round, medians\n\n{grid}\n\
         {} of {all} goals met; beyond doubt where the whole interval is on one side\n",
        all - missed
    )
}

/// Every metric of every record, for a run of one variant; those that are zero throughout if asked
/// for.
pub(crate) fn metrics(set: &RecordSet, rows: Rows) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for record in &set.records {
        text += &format!(
            "{} {}\nvariant {}, ground {}, seed {}\n\n",
            record.scenario,
            pairs(&record.fields),
            pairs(&record.variant),
            record.ground,
            record.seed
        );
        let columns = ["metric", "value", "interval", "unit", "basis", "n"];
        let align = |column| match column {
            "value" | "n" => Align::Right,
            _ => Align::Left,
        };
        let mut grid = Grid::new(columns.map(|column| (column, align(column))));
        let is_zero = |metric: &Metric| metric.values.iter().all(|value| *value == 0.0);
        for metric in record.metrics.iter().filter(|metric| metric.is_sampled()) {
            if !rows.full && is_zero(metric) {
                left_out += 1;
                continue;
            }
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
    match left_out {
        0 => {}
        1 => text += "1 metric is zero and not shown: --full shows all\n\n",
        n => text += &format!("{n} metrics are zero and not shown: --full shows all\n\n"),
    }
    text
}

fn value(metric: &Metric) -> String {
    let show = if metric.basis == Basis::Measured { rounded } else { exact };
    median(&metric.values).map_or_else(String::new, show)
}

/// The interval that the record states, or else of the median of what was measured.
fn interval(metric: &Metric) -> String {
    let of = |Interval { low, high, .. }| format!("[{}, {}]", rounded(low), rounded(high));
    let measured = metric.basis == Basis::Measured;
    let of_median = || measured.then(|| median_interval(&metric.values, LEVEL)).flatten();
    metric.interval.or_else(of_median).map_or_else(String::new, of)
}

/// One comparison with everything counted and measured, and what else is to be said of it.
pub(crate) fn comparison(
    set: &RecordSet,
    base: &Labels,
    shown: Shown,
    about: &[String],
) -> Result<String, CliError> {
    let text = whole(&compare_records(set, base, &DECLARED)?, set.records.iter(), shown, about);
    Ok(text + &pictures(set.records.iter(), shown))
}

/// The same, of several runs; if `along` names an axis, by that alone.
pub(crate) fn comparison_of_runs(
    file: &RecordFile,
    base: &Labels,
    along: Option<&str>,
    shown: Shown,
) -> Result<String, CliError> {
    let text = whole(&compare_runs(file, base, along, &DECLARED)?, file.records(), shown, &[]);
    Ok(text + &pictures(file.records(), shown))
}

/// All figures of a set of which nobody said what is to be compared: as [`metrics`], or each
/// scenario with the variant that comes first as its base.
pub(crate) fn figures_of(
    set: &RecordSet,
    shown: Shown,
    about: &[String],
) -> Result<String, CliError> {
    if shown.format == Form::Table {
        return Ok(metrics(set, shown.rows) + &lines(about));
    }
    let tables = Table::of_each_scenario(&set.clone().into(), &DECLARED)?;
    if tables.is_empty() {
        return Err(CliError::NoFigures);
    }
    let texts = tables.iter().map(|of| whole(&of.comparison, set.records.iter(), shown, about));
    Ok(texts.collect::<Vec<_>>().join("\n") + &pictures(set.records.iter(), shown))
}

/// Maps and series of records, where pictures are asked for.
fn pictures<'a>(records: impl Iterator<Item = &'a Record>, shown: Shown) -> String {
    match shown.format {
        Form::Picture => render::pictures(records, terminal::columns()),
        Form::Table | Form::List => String::new(),
    }
}

fn whole<'a>(
    of: &Comparison,
    mut records: impl Iterator<Item = &'a Record>,
    shown: Shown,
    about: &[String],
) -> String {
    let full = shown.rows.full;
    let flush = |record: &Record| record.variant.get("flush").is_some_and(|f| f == "architecture");
    let varies = full || of.compared.iter().any(|axis| axis == "flush");
    let flush = (varies && records.any(flush)).then(architecture_flush);
    let about: Vec<String> = flush.into_iter().chain(about.iter().cloned()).collect();
    match shown.format {
        Form::Table => {
            let options = Options { width: terminal::columns(), full, about: &about };
            render::comparison(of, options)
        }
        Form::List => {
            render::list(of, &List { command: &command_line::words(), about: &about, full })
        }
        Form::Picture => render::picture(of, terminal::columns(), &about),
    }
}

fn lines(all: &[String]) -> String {
    all.iter().map(|line| format!("{line}\n")).collect()
}

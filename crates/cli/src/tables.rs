//! Tables that only the command line needs, made only from records.

mod run;

pub(crate) use run::metrics;

use crate::command_line;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::{Form, Shown};
use pageout_experiment::declare::Declared;
use pageout_experiment::footprint::{Footprint, PER_FOLIO, PER_PAGE};
use pageout_experiment::scenarios::TraceAged;
use pageout_experiment::scenarios::metrics::{ATOMICS, ENTRIES_VISITED, INVALIDATIONS};
use pageout_experiment::variant::architecture_flush;
use pageout_host::bench::{Bound, GOAL_RATIOS};
use pageout_host::floor::FLOORS;
use pageout_record::compare::{Comparison, LEVEL, Row, compare as compare_records};
use pageout_record::render::{
    self, Align, Grid, List, Options, estimate, exact, figure, pairs, rounded,
};
use pageout_record::schema::{Basis, Ground, Labels, Metric, Record, RecordFile, RecordSet};
use pageout_record::stats::{Interval, median, median_interval};
use pageout_report::Table;

/// Returns a set of only the records to `keep`.
pub(crate) fn only(set: &RecordSet, keep: impl Fn(&Record) -> bool) -> RecordSet {
    let records = set.records.iter().filter(|record| keep(record)).cloned().collect();
    RecordSet::new(set.run.clone(), records)
}

/// Writes the saving of each variant of `metric` against the base, in units that compare across
/// grounds: nanoseconds, atomics, entries visited and invalidations a page.
pub(crate) fn saved(of: &Comparison, metric: &str, columns: usize) -> String {
    let counts = [ATOMICS, ENTRIES_VISITED, INVALIDATIONS].map(|metric| metric.name);
    let saves = of.others.iter().map(|other| format!("{other} saves, ns"));
    let heads = ["format", "order"].map(str::to_owned).into_iter().chain(saves);
    let heads = heads.chain(counts.map(str::to_owned));
    let align = |k| if k < 2 { Align::Left } else { Align::Right };
    let mut grid = Grid::new(heads.enumerate().map(|(k, head)| (head, align(k))));
    // A PMD leaf is one entry, of which no batch saves anything.
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
        "saved of {metric} per 4K page against {}; counted per 4K page as {}\n\n{}",
        of.base,
        all.join(" / "),
        grid.text(columns)
    )
}

/// Writes the floors of a set, measured in the same rounds as the rest.
pub(crate) fn floors(set: &RecordSet, columns: usize) -> String {
    let heads = ["floor", "median", "unit", "95% interval"];
    let align = [Align::Left, Align::Right, Align::Left, Align::Right];
    let mut grid = Grid::new(heads.into_iter().zip(align));
    for record in set.records.iter().filter(|record| record.scenario == FLOORS) {
        for metric in &record.metrics {
            let floor = record.fields.get("floor").map_or("", String::as_str);
            let [value, interval] = estimated(metric);
            grid.row([floor.to_owned(), value, metric.unit.clone(), interval]);
        }
    }
    format!("floors, measured in the same rounds\n\n{}", grid.text(columns))
}

/// Writes the generations that a scenario leaves.
pub(crate) fn generations(fields: &Labels, left: &str) -> String {
    format!(
        "lru_gen after the run: cgroup, node; a line a generation with its number, age in ms, \
         pages of anonymous memory and of files\n{}\n\n{left}\n",
        pairs(fields)
    )
}

/// Writes the memory that a scenario takes, and the parts that count per folio and per page.
pub(crate) fn footprint(fields: &Labels, of: &Footprint, columns: usize) -> String {
    let heads = ["", "entries", "bytes each", "bytes"];
    let align = |head: &str| if head.is_empty() { Align::Left } else { Align::Right };
    let mut grid = Grid::new(heads.map(|head| (head, align(head))));
    for row in of.rows.iter().filter(|row| row.entries > 0) {
        let bytes = row.entries * row.each;
        let numbers = [row.entries, row.each, bytes].map(|number| exact(number as f64));
        grid.row([row.what.to_owned()].into_iter().chain(numbers));
    }
    grid.rule();
    let all = exact(of.bytes() as f64);
    grid.row([String::from("all"), String::new(), String::new(), all]);
    format!(
        "{}\n\n{}\nmetadata: {} bytes a folio with the file index (goal <= {PER_FOLIO}), {} \
         bytes a page (goal <= {PER_PAGE}); shadows, page tables and their locks come on top; \
         all of it is {} MiB\n\n",
        pairs(fields),
        grid.text(columns),
        rounded(of.per_folio()),
        rounded(of.per_page()),
        of.bytes() >> 20,
    )
}

/// Writes time and memory by size of the file.
pub(crate) fn sizes(
    set: &RecordSet,
    whole: &str,
    memory: impl Fn(&Labels) -> Option<u64>,
    columns: usize,
) -> String {
    let heads = ["size", whole, "unit", "95% interval", "memory, MiB"];
    let align = [Align::Right, Align::Right, Align::Left, Align::Right, Align::Right];
    let mut grid = Grid::new(heads.into_iter().zip(align));
    for record in &set.records {
        let size = record.fields.get("size").cloned().unwrap_or_default();
        let mib = memory(&record.fields).map(|bytes| (bytes >> 20).to_string());
        for metric in record.metrics.iter().filter(|metric| metric.name == whole) {
            let mib = mib.clone().unwrap_or_default();
            let [value, interval] = estimated(metric);
            grid.row([size.clone(), value, metric.unit.clone(), interval, mib]);
        }
    }
    let fields = set.records.first().map(|record| {
        let mut fields = record.fields.clone();
        fields.retain(|name, _| name != "size");
        pairs(&fields)
    });
    format!("{}\n\n{}", fields.unwrap_or_default(), grid.text(columns))
}

/// Writes the records of a scenario that have these metrics, a line each: fields, variant, medians.
/// If there is no room for all labels, those that change least from line to line are in headings.
pub(crate) fn figures(set: &RecordSet, scenario: &str, metrics: &[&str], columns: usize) -> String {
    let find = |record: &Record, name: &str| record.metric(name).map(|of| estimated(of)[0].clone());
    let has = |record: &&Record| record.scenario == scenario && find(record, metrics[0]).is_some();
    let records: Vec<_> = set.records.iter().filter(has).collect();
    let labels = |record: &Record| record.fields.clone().into_iter().chain(record.variant.clone());
    let rows: Vec<Vec<(String, String)>> =
        records.iter().map(|record| labels(record).collect()).collect();
    let mut names: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).collect();
    let changes = |at: &usize| rows.windows(2).filter(|two| two[0][*at] != two[1][*at]).count();
    names.sort_by_key(changes);
    let grid = |lifted: &[usize]| {
        let own: Vec<usize> = (0..names.len()).filter(|at| !lifted.contains(at)).collect();
        let heads = own.iter().map(|&at| (rows[0][at].0.clone(), Align::Left));
        let numbers = metrics.iter().map(|metric| ((*metric).to_owned(), Align::Right));
        let mut grid = Grid::new(heads.chain(numbers));
        let mut above = String::new();
        for (record, row) in records.iter().zip(&rows) {
            let heading = pairs(lifted.iter().map(|&at| (&row[at].0, &row[at].1)));
            if heading != above {
                grid.heading(heading.clone());
                above = heading;
            }
            let values = metrics.iter().map(|name| find(record, name).unwrap_or_default());
            grid.row(own.iter().map(|&at| row[at].1.clone()).chain(values));
        }
        grid
    };
    let mut grids = (0..=names.len()).map(|lifted| grid(&names[..lifted]));
    let fitting = grids.find(|grid| grid.fits(columns));
    fitting.unwrap_or_else(|| grid(&[])).text(columns)
}

/// Writes the part of each whole that is the same under all variants, the ratio of the wholes, and
/// the ratio without that part. If the fixed cost is larger, as in a kernel, the first ratio is
/// smaller. Empty if no stage was sampled, as in a single run.
pub(crate) fn fixed(of: &Comparison, whole: &str, stages: &[&str], columns: usize) -> String {
    let heads = ["format", "order", "variant", "whole", "fixed", "ratio", "ratio without fixed"];
    let align = |k| if k < 3 { Align::Left } else { Align::Right };
    let mut grid = Grid::new(heads.into_iter().enumerate().map(|(k, head)| (head, align(k))));
    let mut has_rows = false;
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
            has_rows = true;
        }
    }
    if !has_rows {
        return String::new();
    }
    format!(
        "{whole}, ns per 4K page, and how much of it is fixed ({}); ratios to {}\n\n{}\n",
        stages.join(", "),
        of.base,
        grid.text(columns)
    )
}

/// Writes the goals of a set, with the measurements.
pub(crate) fn goals(set: &RecordSet, columns: usize) -> String {
    let heads = ["goal", "held", "measured", "unit", "95% interval", "verdict"];
    let align = [Align::Left, Align::Left, Align::Right, Align::Left, Align::Right, Align::Left];
    let mut grid = Grid::new(heads.into_iter().zip(align));
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
            let [value, interval] = estimated(metric);
            let cells = [field("goal"), field("held"), value, metric.unit.clone(), interval];
            grid.row(cells.into_iter().chain([verdict.to_owned()]));
        }
    }
    format!(
        "goals: from figures of the same round, medians\n\n{}\n\
         {} of {all} goals met; beyond doubt where the whole interval is on one side\n",
        grid.text(columns),
        all - missed
    )
}

/// Writes a metric's value, and the interval that the record states, or else that of the median of
/// a measured metric.
fn estimated(metric: &Metric) -> [String; 2] {
    let Some(value) = median(&metric.values) else { return Default::default() };
    let measured = metric.basis == Basis::Measured;
    let of_median = || measured.then(|| median_interval(&metric.values, LEVEL)).flatten();
    match metric.interval.or_else(of_median) {
        Some(Interval { low, high, .. }) => {
            let [value, low, high] = estimate(value, [low, high]);
            [value, format!("{low} to {high}")]
        }
        None => [figure(metric.basis, value), String::new()],
    }
}

/// The field with the memory that a trace runs in.
const LIMIT: &str = "limit";
/// The meaning of a trace without it.
const AGED: &str = "trace without limit=: nothing is reclaimed, all of the program's memory is \
                    aged; limit=50% runs it in half of its memory";

/// Prints a comparison with everything counted and measured, and notes on it.
pub(crate) fn comparison(
    set: &RecordSet,
    base: &Labels,
    shown: Shown,
    about: &[String],
    columns: usize,
) -> Result<String, CliError> {
    Ok(compared(&compare_records(set, base, &DECLARED)?, set, shown, about, columns))
}

/// Prints a comparison of these records, and notes on it.
pub(crate) fn compared(
    of: &Comparison,
    set: &RecordSet,
    shown: Shown,
    about: &[String],
    columns: usize,
) -> String {
    let is_aged =
        |record: &Record| record.scenario == TraceAged::NAME && !record.fields.contains_key(LIMIT);
    let host = |record: &&Record| record.ground == Ground::Host;
    let aged = set.records.iter().filter(host).any(is_aged).then(|| AGED.to_owned());
    let about: Vec<String> = about.iter().cloned().chain(aged).collect();
    let text = whole(of, set.records.iter(), shown, &about, columns);
    text + &pictures(set.records.iter(), shown, columns)
}

/// Prints a comparison of records, with their notes and pictures.
pub(crate) fn of_table(
    table: &Table,
    file: &RecordFile,
    shown: Shown,
    about: &[String],
    columns: usize,
) -> String {
    let text = whole(&table.comparison, file.records(), shown, about, columns);
    text + &pictures(file.records(), shown, columns)
}

/// Writes all figures of a set for which no comparison was asked: as [`metrics`], or each scenario
/// with its first variant as the base.
pub(crate) fn figures_of(
    set: &RecordSet,
    shown: Shown,
    about: &[String],
    columns: usize,
) -> Result<String, CliError> {
    if shown.format == Form::Table {
        return Ok(metrics(set, shown.rows, columns) + &lines(about));
    }
    let tables = Table::of_each_scenario(&set.clone().into(), &DECLARED)?;
    if tables.is_empty() {
        return Err(CliError::NoFigures);
    }
    let text = |of: &Table| whole(&of.comparison, set.records.iter(), shown, about, columns);
    let texts: Vec<String> = tables.iter().map(text).collect();
    Ok(texts.join("\n") + &pictures(set.records.iter(), shown, columns))
}

/// Draws maps and series of records, if pictures are asked for.
fn pictures<'a>(records: impl Iterator<Item = &'a Record>, shown: Shown, columns: usize) -> String {
    match shown.format {
        Form::Picture => render::pictures(records, columns),
        Form::Table | Form::List => String::new(),
    }
}

fn whole<'a>(
    of: &Comparison,
    mut records: impl Iterator<Item = &'a Record>,
    shown: Shown,
    about: &[String],
    columns: usize,
) -> String {
    let full = shown.rows.full;
    let flush = |record: &Record| record.variant.get("flush").is_some_and(|f| f == "architecture");
    let varies = full || of.compared.iter().any(|axis| axis == "flush");
    let flush = (varies && records.any(flush)).then(architecture_flush);
    let about: Vec<String> = flush.into_iter().chain(about.iter().cloned()).collect();
    match shown.format {
        Form::Table => {
            let options = Options { width: columns, full, about: &about };
            render::comparison(of, options)
        }
        Form::List => {
            render::list(of, &List { command: &command_line::words(), about: &about, full })
        }
        Form::Picture => render::picture(of, columns, &about),
    }
}

fn lines(all: &[String]) -> String {
    all.iter().map(|line| format!("{line}\n")).collect()
}

//! The output of `pageout` without arguments, on one screen of 80 columns: a bug in a few steps,
//! and the savings of batching.

mod bug;
#[cfg(test)]
mod tests;

use crate::args::AloneArgs;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::Measuring;
use crate::this_run::this_run;
use crate::{output, progress, tables};
use anstyle::{AnsiColor, Style};
use pageout_experiment::declare::Declared;
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::FormatName;
use pageout_experiment::rounds::{Rounds, measure};
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::{Axes, Lru, Variant, name_of};
use pageout_host::layout::Arena;
use pageout_host::scenario::{HostScenario, RunOptions};
use pageout_record::compare::{Change, Comparison, Row, Summary, compare};
use pageout_record::render::{bar, exact};
use pageout_record::schema::{Ground, Metric, Record, RecordSet};
use pageout_reproduce::published;
use std::time::Duration;

/// Bytes of the file: enough for a whole reclaim to take milliseconds, little enough that figures
/// are there in seconds.
const BYTES: u64 = 1 << 30;

/// The rounds: as many as an interval and the correction over this table need, and more if there is
/// time.
const ROUNDS: Rounds = Rounds::Within { budget: Duration::from_secs(6), at_least: 7, at_most: 15 };

/// The number of columns of the screen.
const WIDTH: usize = 80;
/// The number of columns of the labels.
const LABEL: usize = 20;
/// Columns of a number.
const NUMBER: usize = 6;
/// The number of columns of a bar.
const BAR: usize = 7;

/// The colour of each step: before batching, the two steps that kernels took, ours.
const COLOURS: [AnsiColor; 4] =
    [AnsiColor::Red, AnsiColor::Yellow, AnsiColor::Cyan, AnsiColor::Green];

const MEANS: &str = "\
before: Linux 7.3 without batches. + batched unmap: Linux 7.3. line: ours.";

const NEXT: &str = "\
{b}pageout observe{r}                the loads that this machine's accessed bits miss
{b}pageout lab compare --patch P{r}  your patch on a real kernel, before and after
{b}pageout --full{r}                 the main table: 10 GiB, stages, floors, sources
";

/// Measures, and prints the screen.
pub(crate) fn show(args: &AloneArgs) -> Result<(), CliError> {
    output::check(&args.output.paths(), &[])?;
    let scenarios = scenarios();
    ReclaimFile::check_memory(&scenarios)?;
    let mut records = measured(&scenarios, &args.measuring);
    records.extend(bug::record());
    records.extend(published::records());
    let set = RecordSet::new(this_run(), records);
    let to = &args.output;
    if to.json || to.csv || to.output.is_some() || to.html.is_some() {
        let plain =
            |set: &RecordSet, _| Ok(anstream::adapter::strip_str(&screen(set)?).to_string());
        let runs = runs(&set);
        let base = Variant::BEFORE.labels(Axes::Reclaim);
        return output::emit(to, &set, &[(&runs, &base)], plain);
    }
    output::print_coloured(&screen(&set)?)
}

/// Returns scenarios with folios of the size that kernels' patches were measured with, and of a
/// whole table.
fn scenarios() -> Vec<ReclaimFile> {
    let orders = [OrderName::Number(4), OrderName::Pmd].map(Orders::All);
    let one = |format, orders| ReclaimFile { format, orders, bytes: BYTES, ..ReclaimFile::DEFAULT };
    let of_format = |format| orders.map(|orders| one(format, orders));
    FormatName::MAIN.into_iter().flat_map(of_format).collect()
}

/// Returns the base, and the steps from there.
fn steps() -> [Variant; 4] {
    let [young, unmap, line] = Variant::STEPS;
    [Variant::BEFORE, young, unmap, line]
}

fn measured(scenarios: &[ReclaimFile], measuring: &Measuring) -> Vec<Record> {
    let mut arenas: Vec<Arena> = scenarios.iter().map(ReclaimFile::arena).collect();
    let cells = scenarios.iter().zip(&mut arenas);
    let how = RunOptions { seed: measuring.seed, by_stage: false };
    let cells = cells.map(|(one, arena)| one.cell(arena, &steps(), how));
    let bar = progress::bar("measuring");
    let records = measure(
        &mut cells.collect::<Vec<_>>(),
        measuring.rounds_or(ROUNDS),
        &mut progress::steps(&bar),
    );
    bar.finish_and_clear();
    records
}

/// Returns the records that were run here.
fn runs(set: &RecordSet) -> RecordSet {
    tables::only(set, |record| record.scenario == ReclaimFile::NAME)
}

/// Returns the screen, with colours: at most 24 lines.
fn screen(set: &RecordSet) -> Result<String, CliError> {
    let runs = runs(set);
    let of = compare(&runs, &Variant::BEFORE.labels(Axes::Reclaim), &DECLARED)?;
    let rows: Vec<&Row> = of.rows.iter().filter(|row| row.metric == WHOLE.name).collect();
    let parts = [
        bug::steps(set),
        "\n".to_owned(),
        table(&rows),
        legend(&of, &rows),
        kernel(set),
        "\n".to_owned(),
        with_styles(NEXT),
    ];
    Ok(parts.concat())
}

fn with_styles(text: &str) -> String {
    let bold = Style::new().bold();
    text.replace("{b}", &bold.to_string()).replace("{r}", &format!("{bold:#}"))
}

/// Writes a line for each step, with bars in a column for each format and order, and the savings.
fn table(rows: &[&Row]) -> String {
    let field = |name: &str| rows.first().and_then(|row| row.fields.get(name)).map_or("", |f| f);
    let mut text = format!(
        "memory.reclaim of {} of a mapped {} file, all young: ns per 4K page\n",
        field("reclaim"),
        field("size"),
    );
    let head = rows.iter().map(|row| {
        let field = |name: &str| row.fields.get(name).map_or("", String::as_str);
        pad(&format!("{}, {}", field("format"), field("order")), NUMBER + 1 + BAR)
    });
    text += &line(&pad("", LABEL), head);
    for (step, (variant, colour)) in steps().into_iter().zip(COLOURS).enumerate() {
        let label = pad(name_of(variant).expect("every step has a name"), LABEL);
        let cells = rows.iter().map(|row| {
            let all: Vec<_> =
                row.others.iter().map(|other| other.as_ref().map(|o| o.summary)).collect();
            let all: Vec<Option<Summary>> = std::iter::once(row.base).chain(all).collect();
            let full = all.iter().flatten().map(|summary| summary.median).fold(0.0, f64::max);
            let Some(summary) = all.get(step).copied().flatten() else {
                return pad(&format!("{:>NUMBER$}", "-"), NUMBER + 1 + BAR);
            };
            let blocks = styled(colour.on_default(), &bar(summary.median, full, BAR), BAR);
            format!("{:>NUMBER$} {blocks}", brief(summary.median))
        });
        text += &line(&label, cells);
    }
    for (name, other) in [("batching saves", 1), ("line saves", 2)] {
        let cells = rows.iter().map(|row| saved(row, row.others.get(other).copied().flatten()));
        text += &line(&pad(name, LABEL), cells);
    }
    text
}

/// Writes the saving of a step against the base, and its percentage if there are enough samples.
fn saved(row: &Row, change: Option<Change>) -> String {
    let width = NUMBER + 1 + BAR;
    let Some((base, change)) = row.base.zip(change) else {
        return pad(&format!("{:>NUMBER$}", "-"), width);
    };
    let significant = change.test.is_some_and(|test| test.significant);
    let enough = base.interval.is_some() && change.summary.interval.is_some();
    let percent = change.percent.filter(|_| enough).map(|percent| {
        let mark = if significant { "*" } else { "" };
        let number = if percent <= -1000.0 { "<-999".to_owned() } else { format!("{percent:.0}") };
        format!("{number}%{mark}")
    });
    let text = format!(
        "{:>NUMBER$} {}",
        brief(base.median - change.summary.median),
        percent.unwrap_or_default()
    );
    let style = if significant { Style::new().bold() } else { Style::new() };
    styled(style, text.trim_end(), width)
}

/// Explains the table.
fn legend(of: &Comparison, rows: &[&Row]) -> String {
    let all = rows.iter().flat_map(|row| {
        row.base.into_iter().chain(row.others.iter().flatten().map(|change| change.summary))
    });
    let all: Vec<Summary> = all.collect();
    let n = all.iter().map(|summary| summary.n).min().unwrap_or(0);
    let widest = all.iter().map(Summary::reach).collect::<Option<Vec<f64>>>();
    let widest = widest.map(|all| all.into_iter().fold(0.0, f64::max).ceil());
    let sure = match widest {
        Some(widest) => {
            let widest = if widest > 999.0 { ">999".to_owned() } else { format!("{widest:.0}") };
            format!(
                "Medians, n = {n}, 95% intervals within {widest}% of them. *: significant at {}.",
                of.alpha
            )
        }
        None => format!("Medians, n = {n}: too few for intervals, and to tell per cent."),
    };
    let cpu = of.runs.first().map_or("", |run| &run.machine.cpu);
    let cpu = format!("The software path alone, TLBs aside, on {cpu}");
    [MEANS, &sure, &cpu].map(|text| clip(text, WIDTH) + "\n").concat()
}

/// Writes the same steps in a real kernel, that of the first quoted machine.
fn kernel(set: &RecordSet) -> String {
    let classic = Lru::Classic.to_string();
    let quoted = set.records.iter().filter(|record| {
        record.ground == Ground::Published && record.variant.get("lru") == Some(&classic)
    });
    let all = quoted.flat_map(|record| record.metrics.iter().map(move |of| (record, of)));
    let mut all = all.peekable();
    let Some((first, metric)) = all.peek().copied() else { return String::new() };
    let same = all
        .take_while(|(record, of)| (&record.scenario, &of.unit) == (&first.scenario, &metric.unit));
    let value = |of: &Metric| of.values.first().map_or_else(|| "-".to_owned(), |v| exact(*v));
    let steps: Vec<String> = same.map(|(_, of)| value(of)).collect();
    let (machine, unit) = (&first.scenario, &metric.unit);
    let text =
        format!("The first three in a real kernel ({machine}): {} {unit}", steps.join(" → "));
    clip(&text, WIDTH) + "\n"
}

/// Writes a label and cells, with a space between.
fn line(label: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("{}{}", label, cells.join(" ")).trim_end().to_owned() + "\n"
}

/// Writes a text in a style, and blanks up to a width.
fn styled(style: Style, text: &str, width: usize) -> String {
    let blank = " ".repeat(width.saturating_sub(text.chars().count()));
    if text.is_empty() {
        return blank;
    }
    format!("{style}{text}{style:#}{blank}")
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

/// Cuts a text to at most `width` columns.
fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width - 1).collect();
    format!("{}…", kept.trim_end())
}

/// Writes a number in at most [`NUMBER`] characters: three digits, or fewer if there is no room.
fn brief(value: f64) -> String {
    let size = value.abs();
    let plain = match size {
        _ if size == 0.0 => "0".to_owned(),
        _ if size < 9.995 => format!("{value:.2}"),
        _ if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    let seen = size == 0.0 || size >= 0.005;
    let forms = [plain, format!("{value:.1e}"), format!("{value:.0e}")];
    let fits = |text: &String| text.len() <= NUMBER;
    let skip = usize::from(!seen);
    forms.into_iter().skip(skip).find(fits).unwrap_or_else(|| "0".to_owned())
}

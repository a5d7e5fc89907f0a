//! The text above and below a table: the run, common labels, how to read it.

use std::collections::BTreeSet;
use std::iter;

use super::fold::Folded;
use super::grid::{Align, Grid};
use super::heads::Head;
use super::number::p_value;
use super::summaries::row_summaries;
use super::words::pairs;
use crate::compare::{Change, Comparison, Drifting, Family, Role, Row, Runs, Verdict, told_apart};
use crate::schema::{Basis, Better, Ground, Machine, Run};
use crate::stats::Kind;

/// The reason why some measured values have no change.
const TOO_FEW: &str = "without a change: fewer than 6 samples say nothing of how much";

/// Returns the run, the machine, and all labels that are the same in all rows.
pub(super) fn above(of: &Comparison, constant: &[(String, String)], columns: usize) -> String {
    let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
    for (name, told) in [("tool", tool as fn(&Run) -> String), ("machine", machine)] {
        let mut lines: Vec<String> = Vec::new();
        for line in of.runs.iter().map(told) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let names = iter::once(name).chain(iter::repeat(""));
        names.zip(&lines).for_each(|(name, line)| grid.row([name, line]));
    }
    if !constant.is_empty() {
        let text = pairs(constant.iter().map(|(name, value)| (name, value)));
        grid.row(["all rows".to_owned(), text]);
    }
    if !of.common.is_empty() {
        grid.row(["variants".to_owned(), pairs(&of.common)]);
    }
    if !of.compared.is_empty() {
        grid.row(["compared".to_owned(), of.compared.join(",")]);
    }
    grid.text(columns)
}

fn tool(run: &Run) -> String {
    let commit = run.commit.as_ref().map(|commit| format!(", commit {commit}"));
    format!("{}{}", run.tool, commit.unwrap_or_default())
}

fn machine(run: &Run) -> String {
    let Machine { cpu, arch, cores, memory_mib, os } = &run.machine;
    let unit = if *cores == 1 { "core" } else { "cores" };
    format!("{cpu}, {arch}, {cores} {unit}, {memory_mib} MiB, {os}")
}

/// Returns scenario, ground and, where this CPU decides figures, machine, each once.
pub(super) fn title(of: &Comparison) -> String {
    let all = |texts: &mut dyn Iterator<Item = &str>| {
        let mut all: Vec<&str> = Vec::new();
        texts.for_each(|text| {
            if !all.contains(&text) {
                all.push(text);
            }
        });
        all.join(", ")
    };
    let rows = || of.rows.iter();
    let scenarios = all(&mut rows().map(|row| &*row.scenario));
    let grounds = all(&mut rows().map(|row| row.ground.name()));
    let is_here = rows().any(|row| matches!(row.ground, Ground::Host | Ground::Linux));
    if !is_here {
        return format!("{scenarios} on {grounds}");
    }
    let machines = all(&mut of.runs.iter().map(|run| &*run.machine.cpu));
    format!("{scenarios} on {grounds}, {machines}")
}

/// Returns the fields with one value in all rows. A trace's name is here, its hash only with
/// `--full`.
pub(super) fn fields(constant: &[(String, String)]) -> String {
    let is_field = |name: &str| !["scenario", "ground", "seed", "sha256"].contains(&name);
    let fields = constant.iter().filter(|(name, value)| is_field(name) && !value.is_empty());
    pairs(fields.map(|(name, value)| (name, value)))
}

/// Writes the meanings of the variants' titles, a line each.
pub(super) fn titles(of: &Comparison, heads: &[Head]) -> Vec<String> {
    let lettered = heads.iter().filter(|head| head.title != head.above);
    let line = |head: &Head| {
        let base = if head.title == of.base { " (base)" } else { "" };
        format!("{}: {}{base}", head.above, head.title)
    };
    let named = of.columns().into_iter().filter_map(|title| {
        let named = of.named.iter().find(|named| named.name == title)?;
        let about = if named.about.is_empty() { "" } else { &format!(" ({})", named.about) };
        let axes = of.compared.iter().filter_map(|axis| Some((axis, named.axes.get(axis)?)));
        Some(format!("{title}: {}{about}", pairs(axes)))
    });
    lettered.map(line).chain(named).collect()
}

/// Writes the number of samples of a row, or the smallest and the largest.
pub(super) fn samples(row: &Row) -> String {
    range(&row_summaries(row).map(|summary| summary.n).collect())
}

/// Describes the way to read a table, in a few lines.
pub(super) fn in_short(of: &Comparison, folded: Option<Folded>) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(changes(of));
    if let Some(whole) = of.rows.iter().find(|row| row.role == Role::Whole)
        && of.rows.iter().any(|row| row.role == Role::Part)
    {
        lines.push(format!(
            "Indented: parts of {}. Work that moves between parts is no change.",
            whole.metric
        ));
    }
    lines.extend(runs_in_short(of));
    lines.extend(drift_lines(of, 1));
    lines.extend(folded.map(Folded::line));
    if folded.is_none() {
        lines.push("--full: fields, intervals, samples and tests".to_owned());
    }
    lines.join("\n") + "\n"
}

/// Returns true if a change of the row is left out for want of samples.
fn lacks_change(row: &Row) -> bool {
    let is_told = |change: &&Change| change.verdict != Verdict::NotJudged;
    row.others.iter().flatten().filter(is_told).any(|change| row.has_too_few(change))
}

/// Describes the base of changes, the better direction, and the marks.
fn changes(of: &Comparison) -> Vec<String> {
    let mut line = Vec::new();
    if !of.others.is_empty() {
        let few = if of.rows.iter().any(lacks_change) { " (from 6 samples on)" } else { "" };
        line.push(format!("Changes are against {}{few}: less is better", of.base));
        if has_tests(of) {
            line.push(format!("*: significant at {}", of.alpha));
        }
    }
    let spread = |row: &Row| {
        row.basis != Basis::Measured && row_summaries(row).any(|summary| !summary.is_constant())
    };
    if of.rows.iter().any(spread) {
        line.push("~: the median of samples that differ".to_owned());
    }
    if line.is_empty() { line } else { vec![line.join(". ") + "."] }
}

/// Returns a note on the order of the variants' runs, if it may mislead.
fn runs_in_short(of: &Comparison) -> Vec<String> {
    let any = |runs: Runs| measured(of).any(|change| change.runs == Some(runs));
    let mut lines = Vec::new();
    if any(Runs::OneEach) {
        lines.push("One run of each: what differs between any two runs may look like a change.");
    }
    if any(Runs::Apart) {
        lines.push("Runs not taken in turn: a drift of the machine may look like a change.");
    }
    lines.into_iter().map(str::to_owned).collect()
}

/// Describes the way to read a full comparison: samples, tests, bases, grounds, sources.
pub fn how_to_read(of: &Comparison) -> String {
    let mut lines: Vec<String> = Vec::new();
    let bases: BTreeSet<Basis> = of.rows.iter().map(|row| row.basis).collect();
    lines.extend(bases.into_iter().map(|basis| basis_line(of, basis)));
    if !of.others.is_empty() {
        lines.push(change_line(of));
    }
    if of.rows.iter().any(lacks_change) {
        lines.push(TOO_FEW.to_owned());
    }
    if has_tests(of) {
        lines.push(test_line(of));
    }
    lines.extend(runs_lines(of));
    lines.extend(interval_lines(of));
    lines.extend(about_lines(of));
    lines.join("\n") + "\n"
}

/// Explains a list, except what footnotes say. `figures` explains its figures.
pub(super) fn below_list(of: &Comparison, folded: Option<Folded>, figures: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let bases: BTreeSet<Basis> = of.rows.iter().map(|row| row.basis).collect();
    let said = bases.iter().filter(|basis| bases.len() == 1 || **basis == Basis::Measured);
    lines.extend(said.map(|basis| basis_line(of, *basis)));
    lines.extend_from_slice(figures);
    if has_tests(of) {
        lines.push(format!(
            "changes of measured figures without a mark: significant at {}{}",
            of.alpha,
            tests(of)
        ));
    }
    lines.extend(runs_lines(of));
    lines.extend(about_lines(of));
    lines.extend(folded.map(Folded::line));
    lines.join("\n") + "\n"
}

/// Explains figures: values that are spread, grounds, sources, samples that drift.
fn about_lines(of: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    let spread = |row: &Row| {
        row.basis != Basis::Measured && row_summaries(row).any(|summary| !summary.is_constant())
    };
    if of.rows.iter().any(spread) {
        lines.push("~: the samples differ; their median".to_owned());
    }
    let grounds: BTreeSet<Ground> = of.rows.iter().map(|row| row.ground).collect();
    lines.extend(grounds.into_iter().map(|ground| ground_line(ground, of)));
    lines.extend(source_lines(of));
    lines.extend(drift_lines(of, DRIFTS));
    lines
}

/// Writes one number, or the smallest and the largest.
pub(super) fn range(numbers: &BTreeSet<usize>) -> String {
    match (numbers.first(), numbers.last()) {
        (Some(low), Some(high)) if low != high => format!("{low}-{high}"),
        (Some(n), _) => n.to_string(),
        _ => "0".to_owned(),
    }
}

/// Explains the figures of a basis.
pub(super) fn basis_line(of: &Comparison, basis: Basis) -> String {
    let rows = of.rows.iter().filter(|row| row.basis == basis);
    let n: BTreeSet<usize> = rows.flat_map(row_summaries).map(|summary| summary.n).collect();
    let meaning = match basis {
        Basis::Measured => "median",
        Basis::Counted => "exact, not tested",
        Basis::Modelled => "computed from counts and priced by sources; not tested",
        Basis::Fitted => "constants chosen to meet known results; not a prediction, not tested",
        Basis::Guessed => "a constant nobody has measured; not tested",
        Basis::Published => "quoted; not tested",
    };
    format!("{basis}: {meaning}, n = {}", range(&n))
}

fn change_line(of: &Comparison) -> String {
    let names = |better: Better| {
        let rows = of.rows.iter().filter(|row| row.better == better);
        let names: BTreeSet<&str> = rows.map(|row| row.metric.as_str()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    let mut line = format!("+1.0%: the change against {}; less is better", of.base);
    let (more, neither) = (names(Better::Higher), names(Better::Neither));
    if !more.is_empty() {
        line += &format!("; of {more} more is");
    }
    if !neither.is_empty() {
        line += &format!("; of {neither} neither is");
    }
    line
}

fn has_tests(of: &Comparison) -> bool {
    of.judged.tests + of.informed.tests > 0
}

fn test_line(of: &Comparison) -> String {
    let mut line = format!("*: significant at {}{}", of.alpha, tests(of));
    for (family, what) in families(of).filter(|(family, _)| family.out_of_reach > 0) {
        let Family { tests, out_of_reach } = family;
        let tests = format!("{tests} test{}", if tests == 1 { "" } else { "s" });
        line += &format!("\nn is too small: {out_of_reach} of {tests}{what} cannot be significant");
    }
    line
}

/// Describes the tests, in brackets.
fn tests(of: &Comparison) -> String {
    let families = families(of).map(|(Family { tests, .. }, what)| match tests {
        1 => format!("1 test{what}"),
        _ => format!("{tests} tests{what}"),
    });
    let families = families.collect::<Vec<_>>().join(", over ");
    format!(" (two-sided {}, Holm over {families})", test_names(of))
}

/// Returns the families that have tests, each with its subject if there are two.
fn families(of: &Comparison) -> impl Iterator<Item = (Family, &'static str)> {
    let two = of.judged.tests > 0 && of.informed.tests > 0;
    let all = [(of.judged, " of wholes"), (of.informed, " of other figures")];
    let all = all.into_iter().filter(|(family, _)| family.tests > 0);
    all.map(move |(family, what)| (family, if two { what } else { "" }))
}

/// Returns the measured changes, to which notes on runs apply.
fn measured(of: &Comparison) -> impl Iterator<Item = &Change> {
    let rows = of.rows.iter().filter(|row| row.basis == Basis::Measured);
    rows.flat_map(|row| row.others.iter().flatten())
}

fn test_names(of: &Comparison) -> &'static str {
    let in_pairs = |change: &Change| change.pairs().is_some();
    let tested = || measured(of).filter(|change| change.test.is_some());
    match (tested().any(in_pairs), tested().all(in_pairs)) {
        (true, true) => "Wilcoxon signed-rank of pairs",
        (true, false) => "Wilcoxon signed-rank of pairs, else Mann-Whitney",
        (false, _) => "Mann-Whitney",
    }
}

/// Describes the order of the variants' runs, unless all variants have the same runs.
fn runs_lines(of: &Comparison) -> Vec<String> {
    let pairs: BTreeSet<usize> = measured(of).filter_map(|of| Some(of.pairs()?.n)).collect();
    let any = |runs: Runs| measured(of).any(|change| change.runs == Some(runs));
    let mut lines = Vec::new();
    if !pairs.is_empty() {
        lines.push(format!(
            "pairs of runs taken in turn: {}; the change and its interval are within pairs, by the \
             medians of runs",
            range(&pairs)
        ));
    }
    if any(Runs::OneEach) {
        lines.push(
            "one run of each: what differs between runs of the same code may look like a change; \
             take six or more of each in turn"
                .to_owned(),
        );
    }
    if any(Runs::Apart) {
        lines.push(
            "runs not taken in turn: a drift of the machine may look like a change; give files \
             in the order in which they ran, one of each in turn"
                .to_owned(),
        );
    }
    lines
}

/// The maximum number of drifts that are named one by one.
const DRIFTS: usize = 3;

/// Lists the samples that drift over the rounds.
fn drift_lines(of: &Comparison, most: usize) -> Vec<String> {
    let found = &of.drift.found;
    let of_row = |one: &Drifting| {
        let row = &of.rows[one.row];
        let rows: Vec<&Row> = of.rows.iter().filter(|other| other.metric == row.metric).collect();
        let way = if one.percent < 0.0 { "falls" } else { "rises" };
        let p = p_value(one.p_holm);
        format!(
            "drift: {} of {}{} {way} by {:.1}% over the rounds (Mann-Kendall, p {p})",
            row.metric,
            one.title,
            told_apart(row, &rows),
            one.percent.abs()
        )
    };
    let mut lines: Vec<String> = found.iter().take(most).map(of_row).collect();
    let more = found.len().saturating_sub(most);
    if more > 0 {
        lines.push(format!("drift: so do {more} more, by less"));
    }
    if !found.is_empty() {
        let advice = match found.iter().all(|one| one.in_turn) {
            true => "variants took turns, so it is in all of them; quiet the machine",
            false => "it may look like a change: take runs in turn, or quiet the machine",
        };
        lines.push(format!("  {advice}"));
    }
    lines
}

/// Explains the intervals of a table, a line for each kind.
fn interval_lines(of: &Comparison) -> impl Iterator<Item = String> {
    let intervals = of.rows.iter().flat_map(row_summaries).filter_map(|summary| summary.interval);
    let kinds: BTreeSet<Kind> = intervals.map(|interval| interval.kind).collect();
    let level = of.level * 100.0;
    kinds.into_iter().map(move |kind| match kind {
        Kind::OrderStatistics => format!(
            "[low, high]: covers the median with at least {level:.0}% (order statistics, no \
             distribution assumed); from n = 6"
        ),
        Kind::Student => "[low, high] of means: by Student's t, as the record states".to_owned(),
        Kind::Draws => "[low, high] of computed figures: over draws of all prices, as the record \
                        states"
            .to_owned(),
        Kind::Prediction => "[low, high] of predictions: over draws of all prices, and what the \
                             model leaves out"
            .to_owned(),
    })
}

fn ground_line(ground: Ground, of: &Comparison) -> String {
    let meaning = match ground {
        Ground::Host => {
            let arch = of.runs.first().map_or("", |run| &run.machine.arch);
            return format!(
                "host: the software path on this {arch} CPU, whatever the entry format; TLB \
                 maintenance is counted, not executed"
            );
        }
        Ground::Model => "a modelled machine, priced by a platform file",
        Ground::Linux => "a real kernel; time only on real hardware, instructions in QEMU",
        Ground::Check => "small worlds that are searched",
        Ground::Published => "quoted from a source",
    };
    format!("{ground}: {meaning}")
}

fn source_lines(of: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in &of.rows {
        for source in &row.sources {
            let line = format!("source of {}: {source}", row.metric);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

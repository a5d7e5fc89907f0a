//! What stands above and below a table: the run, what is common, how to read it.

use std::collections::BTreeSet;
use std::iter;

use super::comparison::{row_summaries, too_few};
use super::fold::Folded;
use super::grid::{Align, Grid};
use super::number::p_value;
use crate::compare::{Change, Comparison, Drifting, Row, Runs, told_apart};
use crate::schema::{Basis, Better, Ground, Machine, Run};
use crate::stats::Kind;

/// Why some measured values stand without a change.
const TOO_FEW: &str = "without (change%): fewer than 6 samples say nothing of how much";

/// The run, the machine, and everything that is the same in all rows.
pub(super) fn above(of: &Comparison, constant: &[(String, String)]) -> String {
    let pairs = |pairs: &mut dyn Iterator<Item = (&String, &String)>| {
        pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
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
        let text = pairs(&mut constant.iter().map(|(name, value)| (name, value)));
        grid.row(["all rows".to_owned(), text]);
    }
    if !of.common.is_empty() {
        grid.row(["variants".to_owned(), pairs(&mut of.common.iter())]);
    }
    if !of.compared.is_empty() {
        grid.row(["compared".to_owned(), of.compared.join(",")]);
    }
    grid.to_string()
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

/// How to read a comparison with intervals and every row: samples, tests, bases, grounds, sources.
pub fn how_to_read(of: &Comparison) -> String {
    below(of, true, None)
}

/// How to read the table: samples, intervals, tests, bases, grounds, sources.
pub(super) fn below(of: &Comparison, intervals: bool, folded: Option<Folded>) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(folded.map(Folded::line));
    let bases: BTreeSet<Basis> = of.rows.iter().map(|row| row.basis).collect();
    lines.extend(bases.into_iter().map(|basis| basis_line(of, basis)));
    if !of.others.is_empty() {
        lines.push(change_line(of));
    }
    let few = |row: &Row| row.others.iter().flatten().any(|change| too_few(row, change));
    if of.rows.iter().any(few) {
        lines.push(TOO_FEW.to_owned());
    }
    if of.tests > 0 {
        lines.push(test_line(of));
    }
    lines.extend(runs_lines(of));
    if intervals {
        lines.extend(interval_lines(of));
    }
    lines.extend(about_lines(of));
    lines.join("\n") + "\n"
}

/// How to read a list, of which footnotes say the rest; `figures` says what its figures are.
pub(super) fn below_list(of: &Comparison, folded: Option<Folded>, figures: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let bases: BTreeSet<Basis> = of.rows.iter().map(|row| row.basis).collect();
    let said = bases.iter().filter(|basis| bases.len() == 1 || **basis == Basis::Measured);
    lines.extend(said.map(|basis| basis_line(of, *basis)));
    lines.extend_from_slice(figures);
    if of.tests > 0 {
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

/// What figures are of: values that are spread, grounds, sources, samples that drift.
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
    lines.extend(drift_lines(of));
    lines
}

/// One number, or the smallest and the largest.
pub(super) fn range(numbers: &BTreeSet<usize>) -> String {
    match (numbers.first(), numbers.last()) {
        (Some(low), Some(high)) if low != high => format!("{low}-{high}"),
        (Some(n), _) => n.to_string(),
        _ => "0".to_owned(),
    }
}

/// What figures of a basis are.
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
    let neither: BTreeSet<&str> = of
        .rows
        .iter()
        .filter(|row| row.better == Better::Neither)
        .map(|row| row.metric.as_str())
        .collect();
    let mut line = format!("(change%): against {}, positive is better", of.base);
    if !neither.is_empty() {
        let names: Vec<&str> = neither.into_iter().collect();
        line += &format!("; of {}, positive is more", names.join(", "));
    }
    line
}

fn test_line(of: &Comparison) -> String {
    let mut line = format!("*change%*: significant at {}{}", of.alpha, tests(of));
    if of.out_of_reach > 0 {
        let tests = if of.tests == 1 { "test" } else { "tests" };
        line += &format!(
            "\nn is too small: {} of {} {tests} cannot be significant",
            of.out_of_reach, of.tests
        );
    }
    line
}

/// Which tests there are, in brackets.
fn tests(of: &Comparison) -> String {
    let tests = if of.tests == 1 { "test" } else { "tests" };
    format!(" (two-sided {}, Holm over {} {tests})", test_names(of), of.tests)
}

/// The measured changes: what is said of runs is of these.
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

/// How the runs lie that variants come of, if that is not the same ones.
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
             in the order in which they ran, one of each by turns"
                .to_owned(),
        );
    }
    lines
}

/// How many drifts are told one by one.
const DRIFTS: usize = 3;

/// The samples that drift over the rounds.
fn drift_lines(of: &Comparison) -> Vec<String> {
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
    let mut lines: Vec<String> = found.iter().take(DRIFTS).map(of_row).collect();
    let more = found.len().saturating_sub(DRIFTS);
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

/// What the intervals of a table are, a line a kind.
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
        Ground::Guest => "a bare-metal kernel under QEMU; instructions, not time",
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

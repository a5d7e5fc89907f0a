//! A comparison as a table: the verdict, then metric, base, and each variant with its change.

use super::decision::decision_lines;
use super::figures::Figures;
use super::fold::fold;
use super::grid::{Align, Grid};
use super::groups::{Group, groups, metric_name};
use super::heads::{Head, heads};
use super::labelling::Labelling;
use super::number::{change_of, grown, signed};
use super::summaries::row_summaries;
use super::text::{lines, width as width_of};
use super::{legend, verdict};
use crate::compare::{Change, Comparison, Role, Row, Summary, Verdict};
use crate::schema::Basis;
use crate::stats::Interval;

/// The longest title above a column. If one is longer, letters replace all titles.
const TITLE: usize = 20;
/// The minimum number of columns for the names of rows.
const NAME: usize = 12;

/// The contents of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options<'a> {
    /// The number of columns of text that it may use.
    pub width: usize,
    /// Prints every row if true, with intervals, samples, tests and the runs. Otherwise rows that
    /// are the same under every variant, or are about the measurement, are only counted below the
    /// table.
    pub full: bool,
    /// Notes on what was compared, a sentence each.
    pub about: &'a [String],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { width: 80, full: false, about: &[] }
    }
}

/// Returns the table under its verdict, with an explanation below.
pub fn comparison(of: &Comparison, options: Options<'_>) -> String {
    let Options { width, full, about } = options;
    let (shown, folded) = if full { (of.clone(), None) } else { fold(of) };
    let labels = Labelling::of(&shown.rows);
    let heads = heads(of, TITLE, str::to_owned);
    let mut text = match full {
        true => lines(&legend::above(of, &labels.constant, width), width),
        false => {
            let title = lines(&legend::title(of), width).into_iter();
            title.chain(lines(&legend::fields(&labels.constant), width)).collect()
        }
    };
    text.extend(legend::titles(of, &heads).iter().flat_map(|line| lines(line, width)));
    text.extend(decision_lines(of, full, width));
    text.extend(said(of, width));
    let all = groups(&shown, &labels, metric_name);
    let with_intervals = || {
        let has_any = |row: &Row| row_summaries(row).any(|summary| summary.interval.is_some());
        let mut groups = groups(&shown, &labels, metric_name);
        groups.iter_mut().for_each(|group| group.lines.retain(|(_, row)| has_any(row)));
        groups.retain(|group| !group.lines.is_empty());
        groups
    };
    let table = |part, groups| Table { of: &shown, heads: &heads, groups, full, part };
    text.extend(table(Part::Figures, all).within(width));
    if full {
        text.extend(table(Part::Intervals, with_intervals()).within(width));
    }
    text.push(String::new());
    let below = match full {
        true => legend::how_to_read(of),
        false => legend::in_short(&shown, folded),
    };
    text.extend(lines(&below, width));
    text.extend(about.iter().flat_map(|line| lines(&line.replace('\n', " "), width)));
    text.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the verdicts, in lines of a width, and their basis for scenarios without declarations.
pub(super) fn said(of: &Comparison, width: usize) -> Vec<String> {
    let mut text = Vec::new();
    if of.others.is_empty() {
        return text;
    }
    text.push(String::new());
    let said = verdict::verdicts(of);
    text.extend(said.iter().flat_map(|said| lines(&format!("{said}."), width)));
    let undeclared = verdict::undeclared(of);
    text.extend(undeclared.iter().flat_map(|line| lines(&format!("({line})"), width)));
    text
}

/// The contents of a variant's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The median and its change.
    Figures,
    /// The interval of the median, and that of the change within pairs.
    Intervals,
}

struct Table<'a> {
    of: &'a Comparison,
    heads: &'a [Head],
    groups: Vec<Group<'a>>,
    full: bool,
    part: Part,
}

impl Table<'_> {
    /// Returns the lines of one table, or of several that each have the base; none without rows.
    fn within(&self, width: usize) -> Vec<String> {
        let mut text = Vec::new();
        if self.groups.is_empty() {
            return text;
        }
        if self.part == Part::Intervals {
            text.extend([String::new(), "intervals of the medians".to_owned()]);
        }
        let all = self.of.others.len();
        let mut from = 0;
        loop {
            let fits = |to: &usize| self.grid(from..*to, width).width() <= width;
            let to = (from + 1..=all).take_while(fits).last().unwrap_or((from + 1).min(all));
            let grid = self.grid(from..to, width).text(width);
            text.push(String::new());
            text.extend(grid.lines().map(str::to_owned));
            if to >= all {
                return text;
            }
            from = to;
        }
    }

    /// Returns a table of the base and some variants.
    fn grid(&self, others: std::ops::Range<usize>, width: usize) -> Grid {
        let part = self.part;
        let rows = || self.groups.iter().flat_map(|group| &group.lines).map(|(_, row)| *row);
        let base = rows().map(|row| cell(row, row.base.as_ref(), None, part));
        let mut columns = vec![join(&base.collect::<Vec<_>>())];
        for other in others.clone() {
            let cells = rows().map(|row| {
                let change = row.others[other].as_ref();
                cell(row, change.map(|change| &change.summary), change, part)
            });
            columns.push(join(&cells.collect::<Vec<_>>()));
        }
        let heads = [0].into_iter().chain(others.map(|other| other + 1));
        let heads: Vec<&str> = heads.map(|head| self.heads[head].above.as_str()).collect();
        let about: &[&str] = if self.full && part == Part::Figures { &["basis", "n"] } else { &[] };
        let align = |name: &str| if name == "basis" { Align::Left } else { Align::Right };
        let first = [("", Align::Left)].into_iter();
        let about_columns = about.iter().map(|name| (*name, align(name)));
        let figures = heads.iter().map(|head| (*head, Align::Right));
        let mut grid = Grid::new(first.chain(about_columns).chain(figures));
        // There are two columns of text between columns.
        let widest = |cells: &Vec<String>, head: &str| {
            cells.iter().map(|cell| width_of(cell)).max().unwrap_or(0).max(width_of(head)) + 2
        };
        let taken: usize = columns.iter().zip(&heads).map(|(of, head)| widest(of, head)).sum();
        let room = width.saturating_sub(taken + about.len() * 10).max(NAME);
        let mut at = 0;
        for group in &self.groups {
            for (depth, heading) in &group.headings {
                let heading = format!("{:1$}{heading}", "", 2 * depth);
                lines(&heading, width).into_iter().for_each(|line| grid.heading(line));
            }
            for (name, row) in &group.lines {
                let mut names = lines(name, room.saturating_sub(2));
                let last = names.pop().unwrap_or_default();
                names.iter().for_each(|name| grid.heading(format!("  {name}")));
                let about = about.iter().map(|about| match *about {
                    "basis" => row.basis.to_string(),
                    _ => legend::samples(row),
                });
                let figures = columns.iter().map(|cells| cells[at].clone());
                grid.row([last].into_iter().chain(about).chain(figures));
                at += 1;
            }
        }
        grid
    }
}

/// The pieces of a cell: figure, change.
type Pieces = [String; 2];

fn cell(row: &Row, summary: Option<&Summary>, change: Option<&Change>, part: Part) -> Pieces {
    let Some(summary) = summary else { return ["-".to_owned(), String::new()] };
    let figures = Figures::of(row.basis, row_summaries(row).map(|summary| summary.median));
    let figures = if row.role == Role::Part { figures.of_part() } else { figures };
    let told = change.filter(|change| change.verdict != Verdict::NotJudged);
    let told = told.filter(|change| !row.has_too_few(change));
    match part {
        Part::Figures => {
            let spread = row.basis != Basis::Measured && !summary.is_constant();
            let mark = if spread { "~" } else { "" };
            let change = told.map(|change| change_of(row, change)).unwrap_or_default();
            [format!("{mark}{}", figures.text(summary.median)), change]
        }
        Part::Intervals => {
            let ends =
                summary.interval.into_iter().flat_map(|Interval { low, high, .. }| [low, high]);
            let figures = Figures::of(Basis::Modelled, ends.chain([summary.median]));
            let text = |low, high| format!("[{}, {}]", figures.text(low), figures.text(high));
            let interval = summary.interval.map(|of| text(of.low, of.high));
            let within = told.and_then(|change| change.pairs()?.interval);
            let within = within.map(|ends| {
                let [one, other] = ends.map(|percent| grown(row.better, percent));
                format!("[{}%, {}%]", signed(one.min(other)), signed(one.max(other)))
            });
            [interval.unwrap_or_else(|| "-".to_owned()), within.unwrap_or_default()]
        }
    }
}

/// Returns the cells of a column, each piece aligned.
fn join(cells: &[Pieces]) -> Vec<String> {
    let width = |piece: usize| cells.iter().map(|cell| cell[piece].chars().count()).max();
    let change = width(1).unwrap_or(0);
    let joined = |[value, told]: &Pieces| match change {
        0 => value.clone(),
        _ => format!("{value} {told:>change$}"),
    };
    cells.iter().map(joined).collect()
}

//! A comparison for mailing lists: ASCII text of at most 72 columns, as kernel developers paste it
//! into a cover letter or a reply.

mod ascii;
mod columns;
mod notes;

use std::collections::BTreeSet;

use super::comparison::Labelling;
use super::fold::fold;
use super::legend;
use super::words::{pairs, with_unit};
use crate::compare::{Comparison, Row};
use crate::schema::{Basis, Better};
use crate::stats::Kind;
use ascii::{ascii, command, lines};
use columns::{Column, columns, heads};
use notes::Notes;

/// Columns of text; mails are quoted, and should still fit into 80.
pub const LIST_WIDTH: usize = 72;

/// The widest that names of rows make a table which has to be split.
const NAME: usize = 26;
/// Names that have less room than this stand on lines of their own.
const LEAST_NAME: usize = 12;
/// Between columns.
const GAP: usize = 2;

/// What stands beside the figures.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    /// The words of the command that made it, as a shell takes them.
    pub command: &'a [String],
    /// What else is known of what was compared, a sentence each.
    pub about: &'a [String],
    /// Print every row, those too that are the same under every variant.
    pub full: bool,
}

/// The comparison as such a text. No line is longer than [`LIST_WIDTH`].
pub fn list(of: &Comparison, with: &List<'_>) -> String {
    let (shown, folded) = if with.full { (of.clone(), None) } else { fold(of) };
    let of = &shown;
    let labels = Labelling::of(&of.rows);
    let mut notes = Notes::new(of);
    let groups = groups(of, &labels, &mut notes);
    let rows: Vec<&Row> = groups.iter().flat_map(|group| &group.lines).map(|line| line.1).collect();
    let with_reach = columns(of, &rows, true, &mut notes);
    let without = columns(of, &rows, false, &mut notes);
    let mut tables = tables(&with_reach, &groups);
    let fewer = self::tables(&without, &groups);
    let reach = fewer.len() >= tables.len();
    if !reach {
        tables = fewer;
    }

    let mut text = Text(String::new());
    text.wrapped(&title(of));
    let constant = labels.constant.iter();
    let constant = constant.filter(|(name, _)| name != "scenario" && name != "ground");
    text.named("all rows: ", &pairs(constant.map(|(name, value)| (name, value))));
    text.named("variants: ", &pairs(&of.common));
    with.about.iter().for_each(|line| text.wrapped(&line.replace('\n', " ")));
    for (title, head) in heads(of).into_iter().filter(|(title, head)| title != head) {
        let base = if title == ascii(&of.base) { " (base)" } else { "" };
        text.wrapped(&format!("{head}: {title}{base}"));
    }
    for table in tables {
        text.0 += "\n";
        table.iter().for_each(|line| text.line(line));
    }
    text.0 += "\n";
    text.wrapped(&legend::below_list(of, folded, &how_to_read(of, reach)));
    notes.texts().for_each(|note| text.wrapped(&note));
    text.0 += "\n";
    command(with.command, LIST_WIDTH).iter().for_each(|line| text.line(line));
    text.0
}

/// The text as far as it is written.
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        debug_assert!(line.len() <= LIST_WIDTH, "{line}");
        self.0 += line.trim_end();
        self.0 += "\n";
    }

    /// Lines, each of which goes on indented where it is too long.
    fn wrapped(&mut self, text: &str) {
        for line in text.lines() {
            lines(line, LIST_WIDTH, ["", "  "]).iter().for_each(|line| self.line(line));
        }
    }

    fn named(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.wrapped(&format!("{name}{text}"));
        }
    }
}

/// What was compared, where, on what, against which base.
fn title(of: &Comparison) -> String {
    let all = |texts: &mut dyn Iterator<Item = String>| {
        let mut all: Vec<String> = Vec::new();
        texts.for_each(|text| {
            if !all.contains(&text) {
                all.push(text);
            }
        });
        all.join(", ")
    };
    let rows = || of.rows.iter();
    let scenarios = all(&mut rows().map(|row| row.scenario.clone()));
    let grounds = all(&mut rows().map(|row| row.ground.to_string()));
    let machines = all(&mut of.runs.iter().map(|run| run.machine.cpu.clone()));
    let base = of.base_runs.iter().map(|run| &of.runs[*run]);
    let commits = all(&mut base.filter_map(|run| run.commit.clone()));
    let commits = if commits.is_empty() { commits } else { format!(", commit {commits}") };
    let what = format!("{scenarios} on {grounds}, {machines}{commits}");
    if of.compared.is_empty() {
        return what;
    }
    let base = format!("base {}={}", of.compared.join(","), of.base);
    let one_line = format!("{what}; {base}");
    if ascii(&one_line).len() <= LIST_WIDTH { one_line } else { format!("{what}\n{base}") }
}

/// Lines of a table under a heading, if they need one.
struct Group<'a> {
    heading: Option<String>,
    lines: Vec<(String, &'a Row)>,
}

/// Rows by metric or by what else tells them apart, whichever makes fewer groups.
fn groups<'a>(of: &'a Comparison, labels: &Labelling, notes: &mut Notes<'_>) -> Vec<Group<'a>> {
    let told = |row: &Row| labels.group(row);
    type Metric<'a> = (&'a str, &'a str, Basis, Better);
    let metric = |row: &'a Row| -> Metric<'a> { (&row.metric, &row.unit, row.basis, row.better) };
    let places: BTreeSet<String> = of.rows.iter().map(told).collect();
    let mut metrics: Vec<Metric<'a>> = Vec::new();
    for metric in of.rows.iter().map(metric) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let name = |row: &Row, notes: &mut Notes<'_>| {
        format!("{}{}", with_unit(&row.metric, &row.unit), notes.of_row(row))
    };
    if metrics.len() < places.len() {
        let group = |one: &Metric<'a>| {
            let rows: Vec<&Row> = of.rows.iter().filter(|row| metric(row) == *one).collect();
            let lines = rows.iter().map(|row| (told(row), *row)).collect();
            Group { heading: Some(name(rows[0], notes)), lines }
        };
        return metrics.iter().map(group).collect();
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in &of.rows {
        let heading = (places.len() > 1).then(|| told(row));
        let line = (name(row, notes), row);
        match groups.last_mut().filter(|group| group.heading == heading) {
            Some(group) => group.lines.push(line),
            None => groups.push(Group { heading, lines: vec![line] }),
        }
    }
    groups
}

/// The lines of each table: one where all columns fit, else several that each have the base.
fn tables(columns: &[Column], groups: &[Group<'_>]) -> Vec<Vec<String>> {
    let names = groups.iter().flat_map(|group| group.lines.iter().map(|line| ascii(&line.0)));
    let indent = if groups.iter().any(|group| group.heading.is_some()) { "  " } else { "" };
    let longest = names.map(|name| name.len() + indent.len()).max().unwrap_or(0);
    let (base, others) = columns.split_first().expect("the base is there");
    let mut tables = Vec::new();
    let mut rest = others;
    loop {
        let width = |columns: &[Column]| columns.iter().map(|one| GAP + one.width()).sum::<usize>();
        let fits = |most: usize, name: usize| {
            name + GAP + base.width() + width(&rest[..most]) <= LIST_WIDTH
        };
        let most = (1..=rest.len()).rev().find(|most| fits(*most, longest.min(NAME)));
        let most = most.unwrap_or(rest.len().min(1));
        let (now, later) = rest.split_at(most);
        let room = LIST_WIDTH.saturating_sub(GAP + base.width() + width(now));
        let columns: Vec<&Column> = std::iter::once(base).chain(now).collect();
        tables.push(table(&columns, groups, indent, longest.min(room)));
        rest = later;
        if rest.is_empty() {
            return tables;
        }
    }
}

/// A table with so many columns of text for names.
fn table(columns: &[&Column], groups: &[Group<'_>], indent: &str, name: usize) -> Vec<String> {
    let mut text = Vec::new();
    let behind = |cells: &mut dyn Iterator<Item = String>| {
        cells.map(|cell| format!("{:GAP$}{cell}", "")).collect::<String>()
    };
    let heads = &mut columns.iter().map(|one| format!("{:>width$}", one.head, width = one.width()));
    let head = format!("{:name$}{}", "", behind(heads));
    let rule = "-".repeat(head.len());
    text.extend([head, rule]);
    let mut row = 0;
    for group in groups {
        text.extend(
            group.heading.iter().flat_map(|heading| lines(heading, LIST_WIDTH, ["", "  "])),
        );
        for (label, _) in &group.lines {
            // A name that has not enough room stands above its figures.
            let needed = LEAST_NAME.min(indent.len() + ascii(label).len());
            let own = if name < needed { LIST_WIDTH } else { name };
            let mut names = lines(label, own, [indent, &format!("{indent}  ")]);
            let last = if own == name { names.pop().unwrap_or_default() } else { String::new() };
            text.append(&mut names);
            let cells = behind(&mut columns.iter().map(|column| column.cell(row)));
            text.push(format!("{last:name$}{cells}"));
            row += 1;
        }
    }
    text
}

/// How to read the figures, as lines; `reach` says whether each has its interval beside it.
fn how_to_read(of: &Comparison, reach: bool) -> Vec<String> {
    let mut all = Vec::new();
    if !of.others.is_empty() {
        all.push(format!("+1.00%: the change against {}; positive is better", of.base));
    }
    let intervals = || {
        let summaries = of.rows.iter().flat_map(super::row_summaries);
        summaries.filter_map(|summary| Some((summary, summary.interval?.kind)))
    };
    let kinds: BTreeSet<Kind> = intervals().map(|(_, kind)| kind).collect();
    for kind in kinds {
        let level = of.level * 100.0;
        let what = match kind {
            Kind::OrderStatistics => {
                format!("the median's {level:.0}% interval (order statistics)")
            }
            Kind::Student => "the mean's interval (Student's t), as the record states".to_owned(),
            Kind::Draws => "the interval over draws of all prices, as the record states".to_owned(),
        };
        let of_kind = intervals().filter(|(_, other)| *other == kind);
        let widest = of_kind.filter_map(|(summary, _)| summary.reach()).fold(0.0, f64::max);
        all.push(match reach {
            true => format!("+-: the farther end of {what}"),
            false => format!("values are within {} by {what}", columns::around(widest)),
        });
    }
    all
}

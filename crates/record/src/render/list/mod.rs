//! A comparison for mailing lists: ASCII text of at most 72 columns, as kernel developers paste it
//! into a cover letter or a reply.

mod ascii;
mod columns;
mod notes;

use std::collections::BTreeSet;

use super::decision::decision_lines;
use super::fold::fold;
use super::groups::{Group, groups, metric_name};
use super::labelling::Labelling;
use super::legend;
use super::verdict::{undeclared, verdicts};
use super::words::pairs;
use super::wrap::wrapped;
use crate::compare::{Comparison, Row};
use crate::stats::Kind;
use ascii::{ascii, command, lines};
use columns::{Column, columns, heads};
use notes::Notes;

/// The number of columns of text. Mails are quoted, and should still fit into 80.
pub const LIST_WIDTH: usize = 72;

/// The maximum number of columns for names of rows in a table that has to be split.
const NAME: usize = 26;
/// The minimum number of columns for names. If there are fewer, names have separate lines.
const LEAST_NAME: usize = 12;
/// The number of columns of text between columns.
const GAP: usize = 2;

/// The additions to the figures of a list.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    /// The words of the command that made it, as a shell takes them.
    pub command: &'a [String],
    /// Notes on what was compared, a sentence each.
    pub about: &'a [String],
    /// Prints every row if true, also those that are the same under every variant.
    pub full: bool,
}

/// Returns the comparison as such a text. No line is longer than [`LIST_WIDTH`].
pub fn list(of: &Comparison, with: &List<'_>) -> String {
    let (shown, folded) = if with.full { (of.clone(), None) } else { fold(of) };
    let of = &shown;
    let labels = Labelling::of(&of.rows);
    let mut notes = Notes::new(of);
    let name = |row: &Row| format!("{}{}", metric_name(row), notes.of_row(row));
    let groups = groups(of, &labels, name);
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
    legend::titles(of, &heads(of)).iter().for_each(|line| text.wrapped(line));
    for line in decision_lines(of, with.full, LIST_WIDTH) {
        text.line(&ascii(&line));
    }
    let said = verdicts(of);
    if !said.is_empty() {
        text.0 += "\n";
    }
    said.iter().for_each(|said| text.wrapped(&format!("{said}.")));
    undeclared(of).iter().for_each(|line| text.wrapped(&format!("({line})")));
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

/// Returns a text with the words of the command that made it, for mailing lists too. Words that are
/// longer than a line are not broken.
pub fn mail(text: &str, words: &[String]) -> String {
    let printable: Vec<String> = text.lines().map(ascii).collect();
    let text = wrapped(&printable.join("\n"), LIST_WIDTH);
    format!("{}\n\n{}\n", text.trim_end(), command(words, LIST_WIDTH).join("\n"))
}

/// The text written so far.
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        debug_assert!(line.len() <= LIST_WIDTH, "{line}");
        self.0 += line.trim_end();
        self.0 += "\n";
    }

    /// Writes lines; a line that is too long continues indented.
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

/// Returns a title: what was compared, where, on which machine, against which base.
fn title(of: &Comparison) -> String {
    let base = of.base_runs.iter().map(|run| &of.runs[*run]);
    let mut commits: Vec<&str> = base.filter_map(|run| run.commit.as_deref()).collect();
    commits.sort_unstable();
    commits.dedup();
    let commits = commits.iter().map(|commit| format!(", pageout {commit}")).collect::<String>();
    let what = format!("{}{commits}", legend::title(of));
    if of.compared.is_empty() {
        return what;
    }
    let is_named = of.named.iter().any(|named| named.name == of.base);
    let axes = if is_named { String::new() } else { format!("{}=", of.compared.join(",")) };
    let base = format!("base {axes}{}", of.base);
    let one_line = format!("{what}; {base}");
    if ascii(&one_line).len() <= LIST_WIDTH { one_line } else { format!("{what}\n{base}") }
}

/// Returns the lines of each table: one if all columns fit, else several that each have the base.
fn tables(columns: &[Column], groups: &[Group<'_>]) -> Vec<Vec<String>> {
    let names = groups.iter().flat_map(|group| group.lines.iter().map(|line| ascii(&line.0)));
    let indent = "  ";
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

/// Returns a table with `name` columns of text for names.
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
        for (depth, heading) in &group.headings {
            let [first, others] = [2 * depth, 2 * depth + 2].map(|indent| " ".repeat(indent));
            text.extend(lines(heading, LIST_WIDTH, [&first, &others]));
        }
        for (label, _) in &group.lines {
            // A name that has too little room is above its figures.
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

/// Explains the figures, as lines. `reach` is true if each has its interval.
fn how_to_read(of: &Comparison, reach: bool) -> Vec<String> {
    let mut all = Vec::new();
    if !of.others.is_empty() {
        all.push(format!("+1.0%: the change against {}; less is better", of.base));
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
            Kind::Prediction => "the prediction's interval, as the record states".to_owned(),
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

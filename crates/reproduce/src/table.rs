//! The printed table, made only from records.

use super::figure::Thread;
use super::rows::{Line, Row, rows};
use super::score;
use pageout_record::render::{Align, Grid, estimate, rounded, with_unit, wrapped};
use pageout_record::schema::{Bound, Claim, RecordSet};
use pageout_record::stats::Interval;
use std::fmt::Write;

const COLUMNS: [(&str, Align); 7] = [
    ("quantity", Align::Left),
    ("theirs", Align::Right),
    ("ours", Align::Right),
    ("5–95 %", Align::Right),
    ("in it", Align::Left),
    ("sign", Align::Left),
    ("label", Align::Left),
];

const LEGEND: &str = "\
ratio: cost before over cost after; above 1, after is better.
ours: the median of samples. Where there is an interval, it is over draws of the platform's prices \
from their ranges, and ours is at nominal prices.
in it: whether the thread's figure may lie in the interval.
sign: whether the difference goes the thread's way; open where interval or samples have both.
measured: here, which is not the thread's machine.
counted: instructions of a real kernel.
predicted: counts times prices that no benchmark was fitted on.
direction only: which side, not how much.
bounded: needed is the flushing that the thread's effect takes; costs is what a flush costs.
";

/// Prints the score of all threads, or every row of one thread, in lines of at most `columns`
/// columns.
pub fn table(set: &RecordSet, columns: usize) -> String {
    let rows = rows(&set.records);
    if score::is_of_all(&rows) {
        return wrapped(&score::screen(&rows, columns), columns);
    }
    let mut notes = Notes::default();
    let mut text = String::new();
    let is_of = |thread: &Thread| rows.first().is_some_and(|row| row.thread == thread.name());
    if let Some(thread) = Thread::ALL.into_iter().find(is_of) {
        let mut grid = Grid::new(COLUMNS);
        for row in &rows {
            add(&mut grid, row, &mut notes);
        }
        let (name, about) = (thread.name(), thread.about());
        write!(text, "{name}: {about}\n\n{}\n", grid.text(columns)).expect("text grows");
    }
    text += &notes.text();
    text += LEGEND;
    wrapped(&text, columns)
}

fn add<'a>(grid: &mut Grid, row: &Row<'a>, notes: &mut Notes<'a>) {
    let said = if row.said == "no" { String::new() } else { format!(", {}", row.said) };
    grid.heading(format!("{} ({}{said}): {}", row.figure, row.system, row.what));
    if row.lines.is_empty() {
        let [quantity, theirs] = published(row);
        let why = notes.add(row.figure, Note::NotReproduced(row.why_not.unwrap_or("no method")));
        return grid.row([&quantity, &theirs, "-", "-", &why, "-", "-"]);
    }
    for line in &row.lines {
        let holds = match row.holds(line) {
            None => "-".to_owned(),
            Some(true) => "yes".to_owned(),
            Some(false) => format!("no {}", notes.add(row.figure, Note::Missed)),
        };
        let [ours, interval] = match line.interval {
            None => [rounded(line.middle()), "-".to_owned()],
            Some(Interval { low, high, .. }) => {
                let [ours, low, high] = estimate(line.middle(), [low, high]);
                [ours, format!("{low}–{high}")]
            }
        };
        grid.row([
            with_unit(line.quantity.trim_end_matches(", instructions"), line.unit),
            row.bound(line.quantity).map_or_else(|| "-".to_owned(), text),
            ours,
            interval,
            holds,
            sign(row, line).to_owned(),
            line.label.to_owned(),
        ]);
    }
    if let Some(why) = row.why_not {
        let why = notes.add(row.figure, Note::NotReproduced(why));
        grid.row(["other quantities", "-", "-", "-", &why, "-", "-"]);
    }
}

/// Returns the thread's figure in one line: the quantity with its unit, and the number.
fn published(row: &Row<'_>) -> [String; 2] {
    let exactly = |name: &str| row.theirs.iter().find(|(quantity, ..)| *quantity == name);
    if let (Some((_, unit, before)), Some((.., after))) = (exactly("before"), exactly("after")) {
        let theirs = format!("{}, {}", text(*before), text(*after));
        return [format!("before and after, {unit}"), theirs];
    }
    match row.theirs.first() {
        Some((name, unit, bound)) => [with_unit(name, unit), text(*bound)],
        None => {
            let side = match row.side {
                Claim::Better => "better",
                Claim::Worse => "worse",
                Claim::NoDifference => "no difference",
            };
            ["sign".to_owned(), side.to_owned()]
        }
    }
}

fn sign(row: &Row<'_>, line: &Line<'_>) -> &'static str {
    match row.side_of(line) {
        Some(side) if row.side != Claim::NoDifference => match side {
            Claim::NoDifference => "open",
            side if side == row.side => "agrees",
            _ => "differs",
        },
        _ => "-",
    }
}

/// The notes of rows, each with the figure that it is about.
#[derive(Default)]
struct Notes<'a>(Vec<(&'a str, Note<'a>)>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Note<'a> {
    /// The thread's figure is outside of an interval.
    Missed,
    /// No method here can answer the figure, for this reason.
    NotReproduced(&'a str),
}

impl<'a> Notes<'a> {
    /// Adds a note if it is new, and returns its mark.
    fn add(&mut self, figure: &'a str, note: Note<'a>) -> String {
        let known = self.0.iter().position(|known| *known == (figure, note));
        let place = known.unwrap_or_else(|| {
            self.0.push((figure, note));
            self.0.len() - 1
        });
        format!("[{}]", place + 1)
    }

    fn text(&self) -> String {
        let line = |(place, (figure, note)): (usize, &(&str, Note<'_>))| {
            let why = match note {
                Note::NotReproduced(why) => format!("not reproduced: {why}"),
                Note::Missed => "missed".to_owned(),
            };
            format!("[{}] {figure} {why}\n", place + 1)
        };
        let lines: String = self.0.iter().enumerate().map(line).collect();
        if lines.is_empty() { lines } else { lines + "\n" }
    }
}

fn text(of: Bound) -> String {
    match (of.at_least, of.at_most) {
        (Some(least), Some(most)) if least == most => rounded(most),
        (Some(least), Some(most)) => format!("{}–{}", rounded(least), rounded(most)),
        (Some(least), None) => format!(">= {}", rounded(least)),
        (None, most) => most.map_or_else(String::new, |most| format!("<= {}", rounded(most))),
    }
}

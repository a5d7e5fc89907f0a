//! The printed table, from records alone.

use super::causes::Cause;
use super::figure::Thread;
use super::fit;
use super::rows::{Line, Row, rows};
use super::score::Score;
use super::split;
use pageout_record::render::{Align, Grid, rounded};
use pageout_record::schema::{Bound, Claim, RecordSet};
use pageout_record::stats::Interval;
use std::fmt::Write;

const COLUMNS: [(&str, Align); 11] = [
    ("figure", Align::Left),
    ("quantity", Align::Left),
    ("unit", Align::Left),
    ("theirs", Align::Right),
    ("ours", Align::Right),
    ("5 % to 95 %", Align::Right),
    ("width", Align::Right),
    ("in it", Align::Left),
    ("sign", Align::Left),
    ("ground", Align::Left),
    ("label", Align::Left),
];

const LEGEND: &str = "\
ratio: cost before over cost after, above 1 is better after. ours: the median of samples; at nominal
prices, where there is an interval, which is over draws of the platform's prices from their ranges.
width: its upper end over its lower. in it: whether the thread's figure may lie there.
measured: here, which is not the thread's machine. counted: instructions of a real kernel.
predicted: counts times prices that no benchmark was fitted on. direction only: which side, not how
much. fitted: with constants chosen to meet figures; in the table of fits alone.
";

/// Every row, thread by thread; what fails and why; the fits; the score; what each figure is.
pub fn table(set: &RecordSet) -> String {
    let rows = rows(&set.records);
    let mut missed = Vec::new();
    let mut text = String::new();
    for thread in Thread::ALL {
        let of_thread: Vec<_> = rows.iter().filter(|row| row.thread == thread.name()).collect();
        if of_thread.is_empty() {
            continue;
        }
        let mut grid = Grid::new(COLUMNS);
        for row in of_thread {
            add(&mut grid, row, &mut missed);
        }
        let (name, about) = (thread.name(), thread.about());
        write!(text, "{name}: {about}\n\n{grid}\n").expect("text grows");
    }
    text += &misses(&missed);
    text += &fit::table(set);
    let score = Score::of(&rows);
    write!(text, "score\n\n{score}\n").expect("text grows");
    text += &format!("split of the figures\n\n{}\n", split::text());
    text + "figures\n\n" + &whats(&rows).to_string() + "\n" + LEGEND
}

fn add<'a>(grid: &mut Grid, row: &Row<'a>, missed: &mut Vec<&'a str>) {
    if row.lines.is_empty() {
        let [quantity, unit, theirs] = published(row);
        let why = format!("not reproduced: {}", row.why_not.unwrap_or("no method"));
        let cells = [row.figure, &quantity, &unit, &theirs, "-", "-", "-", "-", "-", "-", &why];
        return grid.row(cells);
    }
    for (place, line) in row.lines.iter().enumerate() {
        let holds = match row.holds(line) {
            None => "-".to_owned(),
            Some(true) => "yes".to_owned(),
            Some(false) => format!("no [{}]", number(missed, row.figure)),
        };
        let (interval, width) = match line.interval {
            None => ("-".to_owned(), "-".to_owned()),
            Some(Interval { low, high, .. }) => {
                (format!("{} to {}", rounded(low), rounded(high)), rounded(high / low))
            }
        };
        grid.row([
            if place == 0 { row.figure.to_owned() } else { String::new() },
            line.quantity.to_owned(),
            line.unit.to_owned(),
            row.bound(line.quantity).map_or_else(|| "-".to_owned(), text),
            rounded(line.middle()),
            interval,
            width,
            holds,
            sign(row, line).to_owned(),
            line.ground.name().to_owned(),
            line.label.to_owned(),
        ]);
    }
    if let Some(why) = row.why_not {
        let why = format!("not reproduced: {why}");
        grid.row(["", "", "", "", "-", "-", "-", "-", "-", "-", &why]);
    }
}

/// The thread's figure in one line: quantity, unit, number.
fn published(row: &Row<'_>) -> [String; 3] {
    let exactly = |name: &str| row.theirs.iter().find(|(quantity, ..)| *quantity == name);
    if let (Some((_, unit, before)), Some((.., after))) = (exactly("before"), exactly("after")) {
        let theirs = format!("{} to {}", text(*before), text(*after));
        return ["before, after".to_owned(), (*unit).to_owned(), theirs];
    }
    match row.theirs.first() {
        Some((name, unit, bound)) => [(*name).to_owned(), (*unit).to_owned(), text(*bound)],
        None => {
            let side = match row.side {
                Claim::Better => "better",
                Claim::Worse => "worse",
                Claim::NoDifference => "no difference",
            };
            ["sign".to_owned(), String::new(), side.to_owned()]
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

/// The number of a figure that was missed, from 1.
fn number<'a>(missed: &mut Vec<&'a str>, figure: &'a str) -> usize {
    let known = missed.iter().position(|known| *known == figure);
    1 + known.unwrap_or_else(|| {
        missed.push(figure);
        missed.len() - 1
    })
}

fn misses(missed: &[&str]) -> String {
    if missed.is_empty() {
        return String::new();
    }
    let mut text = "missed\n\n".to_owned();
    for (place, figure) in missed.iter().enumerate() {
        let cause = Cause::of(figure);
        let told = missed[..place].iter().position(|other| cause.is_some_and(|c| c.has(other)));
        let why = match (told, cause) {
            (Some(told), _) => format!("as [{}]", told + 1),
            (None, Some(cause)) => cause.to_string(),
            (None, None) => "cause not tested".to_owned(),
        };
        writeln!(text, "[{}] {figure}: {why}", place + 1).expect("text grows");
    }
    text + "\n"
}

fn whats(rows: &[Row<'_>]) -> Grid {
    let columns = ["figure", "system", "said", "what"].map(|header| (header, Align::Left));
    let mut grid = Grid::new(columns);
    for row in rows {
        let said = if row.said == "no" { "-" } else { row.said };
        grid.row([row.figure, row.system, said, row.what]);
    }
    grid
}

fn text(of: Bound) -> String {
    match (of.at_least, of.at_most) {
        (Some(least), Some(most)) if least == most => rounded(most),
        (Some(least), Some(most)) => format!("{} to {}", rounded(least), rounded(most)),
        (Some(least), None) => format!(">= {}", rounded(least)),
        (None, most) => most.map_or_else(String::new, |most| format!("<= {}", rounded(most))),
    }
}

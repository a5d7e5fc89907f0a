//! Medians as bars, with their intervals as whiskers.

use crate::compare::{Role, Row, Verdict};
use crate::render::bar::bar;
use crate::render::groups::metric_name;
use crate::render::labelling::Labelling;
use crate::render::number::{change_of, short};
use crate::render::text::{cut, left, width};

/// The shortest bars that have the changes beside them.
const LEAST: usize = 10;

/// Returns the bars of rows of one group and unit, on one scale.
pub(super) fn bars(
    rows: &[&Row],
    titles: &[String],
    labelling: &Labelling,
    columns: usize,
) -> Vec<String> {
    let cells: Vec<Vec<Cell<'_>>> = rows.iter().map(|row| cells(row, titles)).collect();
    let all = || cells.iter().flatten();
    let widest = |of: for<'c> fn(&'c Cell<'c>) -> &'c str| {
        all().map(|cell| width(of(cell))).max().unwrap_or(0)
    };
    let name = widest(|cell| cell.title).min((columns / 4).max(8));
    let value = widest(|cell| &cell.value);
    let mut change = widest(|cell| &cell.change);
    let room = |change: usize| columns.saturating_sub(2 + name + 2 + value + 1 + change + 2);
    if room(change) < LEAST {
        change = 0;
    }
    let full = all().map(Cell::end).fold(0.0, f64::max);
    let unit = if rows[0].unit.is_empty() { "value" } else { &rows[0].unit };
    let mut text = vec![cut(&labelling.titled(unit, rows[0]), columns)];
    for (row, cells) in rows.iter().zip(&cells) {
        let indent = if row.role == Role::Part { "   " } else { " " };
        text.push(cut(&format!("{indent}{}", metric_name(row)), columns));
        for cell in cells {
            let told = if change == 0 { "" } else { &cell.change };
            let bar = with_whiskers(cell, full, room(change));
            let line = format!(
                "  {}  {:>value$} {told:>change$}  {bar}",
                left(cell.title, name),
                cell.value
            );
            text.push(line.trim_end().to_owned());
        }
    }
    text
}

/// The drawing of a variant in a row.
struct Cell<'a> {
    title: &'a str,
    value: String,
    change: String,
    median: f64,
    ends: Option<[f64; 2]>,
}

impl Cell<'_> {
    /// Returns the value at which the bar or its interval ends.
    fn end(&self) -> f64 {
        self.ends.map_or(self.median, |[_, high]| high.max(self.median))
    }
}

fn cells<'a>(row: &Row, titles: &'a [String]) -> Vec<Cell<'a>> {
    let cell = |(column, title): (usize, &'a String)| {
        let summary = row.summary(column)?;
        let change = column.checked_sub(1).and_then(|other| row.others[other].as_ref());
        let change = change
            .filter(|change| change.verdict != Verdict::NotJudged && !row.has_too_few(change));
        Some(Cell {
            title,
            value: short(row.basis, summary.median),
            change: change.map_or_else(String::new, |change| change_of(row, change)),
            median: summary.median,
            ends: summary.interval.map(|interval| [interval.low, interval.high]),
        })
    };
    titles.iter().enumerate().filter_map(cell).collect()
}

/// Returns a bar and, over its end, the interval if it is wider than a character.
fn with_whiskers(of: &Cell<'_>, full: f64, columns: usize) -> String {
    let mut drawn: Vec<char> = bar(of.median, full, columns).chars().collect();
    drawn.resize(columns, ' ');
    let place = |value: f64| {
        let place = (value / full * columns as f64).clamp(0.0, columns as f64) as usize;
        place.min(columns.saturating_sub(1))
    };
    if let Some([low, high]) = of.ends.map(|ends| ends.map(place)).filter(|[low, high]| low < high)
    {
        drawn[low..=high].fill('─');
        drawn[place(of.median)] = '┼';
        (drawn[low], drawn[high]) = ('├', '┤');
    }
    drawn.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_reach_from_end_to_end() {
        let of = |median, ends| Cell {
            title: "",
            value: String::new(),
            change: String::new(),
            median,
            ends,
        };
        let drawn = |median, ends| with_whiskers(&of(median, ends), 8.0, 8);
        assert_eq!(drawn(4.5, None), "████▌");
        assert_eq!(drawn(4.5, Some([2.0, 7.9])), "██├─┼──┤");
        assert_eq!(drawn(4.5, Some([4.4, 4.6])), "████▌", "narrower than a character");
        assert_eq!(drawn(-1.0, Some([-2.0, 3.0])), "├──┤", "from zero on");
        assert_eq!(with_whiskers(&of(0.0, Some([0.0, 0.0])), 0.0, 8), "");
    }
}

//! A comparison and its records drawn with characters, in a terminal's width.

mod bars;
mod heatmap;
mod plot;

use super::comparison::said;
use super::decision::decision_lines;
use super::heads::heads;
use super::labelling::Labelling;
use super::legend;
use super::number::short;
use super::text::{cut, lines};
use super::words::{pairs, with_unit};
use crate::chart::{Curve, Naming, curves, medians};
use crate::compare::{Comparison, Row};
use crate::schema::{Ground, Metric, Record, Series, Told};
use plot::Plot;
use std::collections::HashSet;
use std::ptr;

/// The maximum number of pictures of a kind that are drawn; a page has more.
const DRAWN: usize = 12;

/// The possible widths of pictures.
pub const PICTURE_WIDTH: std::ops::RangeInclusive<usize> = super::LEAST_WIDTH..=120;

/// Draws curves along fields with three or more numbers as values, then the verdict, then the
/// medians of all other rows as bars, then how to read them. No line is longer than `width`, which
/// is limited to [`PICTURE_WIDTH`]. `about` has notes on it, a sentence each.
pub fn picture(of: &Comparison, width: usize, about: &[String]) -> String {
    let columns = width.clamp(*PICTURE_WIDTH.start(), *PICTURE_WIDTH.end());
    let labelling = Labelling::of(&of.rows);
    let titles = of.columns();
    let mut text = lines(&legend::title(of), columns);
    let curves = curves(of, &labelling);
    for curve in curves.iter().take(DRAWN) {
        text.push(String::new());
        text.extend(plot_of(curve, &titles).draw(columns));
    }
    text.extend(left_out("curves", curves.len(), columns));
    let heads = heads(of, usize::MAX, str::to_owned);
    text.extend(legend::titles(of, &heads).iter().flat_map(|line| lines(line, columns)));
    text.extend(decision_lines(of, false, columns));
    text.extend(said(of, columns));
    text.push(String::new());
    let bars = without(medians(of), &curves);
    for rows in bars.iter().take(DRAWN) {
        text.extend(bars::bars(rows, &titles, &labelling, columns));
        text.push(String::new());
    }
    text.extend(left_out("bars", bars.len(), columns));
    text.extend(lines(
        "├─┼─┤: the interval around a median, where it is wider than a character",
        columns,
    ));
    text.extend(lines(&legend::in_short(of, None), columns));
    text.extend(about.iter().flat_map(|line| lines(line, columns)));
    whole(&text)
}

/// Returns pictures of bars without the rows that a curve shows.
fn without<'a>(bars: Vec<Vec<&'a Row>>, curves: &[Curve<'_>]) -> Vec<Vec<&'a Row>> {
    let drawn = curves.iter().flat_map(|curve| curve.rows.iter().map(|(_, row)| *row));
    let drawn: HashSet<*const Row> = drawn.map(ptr::from_ref).collect();
    let rest = bars.into_iter().map(|mut rows| {
        rows.retain(|row| !drawn.contains(&ptr::from_ref(*row)));
        rows
    });
    rest.filter(|rows| !rows.is_empty()).collect()
}

/// Draws the maps, and lines along an axis, that records have besides samples. Empty if they have
/// none.
pub fn pictures<'a>(records: impl Iterator<Item = &'a Record>, width: usize) -> String {
    let columns = width.clamp(*PICTURE_WIDTH.start(), *PICTURE_WIDTH.end());
    let records = records.filter(|record| record.ground != Ground::Published);
    let all = records.flat_map(|record| record.metrics.iter().map(move |metric| (record, metric)));
    let drawn = |metric: &Metric| matches!(metric.told(), Told::Matrix(_) | Told::Series(_));
    let all: Vec<(&Record, &Metric)> = all.filter(|(_, metric)| drawn(metric)).collect();
    let naming = Naming::of(&all);
    let mut text = Vec::new();
    for (record, metric) in all.iter().take(DRAWN) {
        let title = naming.title(record, metric);
        text.push(String::new());
        text.extend(match metric.told() {
            Told::Matrix(of) => heatmap::heatmap(&title, metric, of, columns),
            Told::Series(of) => along(title, metric, of).draw(columns),
            _ => unreachable!("maps and series alone"),
        });
    }
    text.extend(left_out("maps and series", all.len(), columns));
    whole(&text)
}

fn whole(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the number of pictures of a kind that are not drawn, as a note.
fn left_out(what: &str, all: usize, columns: usize) -> Vec<String> {
    match all.saturating_sub(DRAWN) {
        0 => Vec::new(),
        _ => lines(&format!("{DRAWN} of {all} {what} are drawn: --html draws more\n\n"), columns),
    }
}

fn plot_of(of: &Curve<'_>, titles: &[String]) -> Plot {
    let row = of.rows[0].1;
    let points = |column: usize| {
        let points = of.rows.iter();
        points.filter_map(|(place, row)| Some((*place, row.summary(column)?.median))).collect()
    };
    let lines = titles.iter().enumerate().take(Plot::LINES);
    let others = pairs(of.others.iter().copied());
    let others = if others.is_empty() { others } else { format!(" ({others})") };
    let name = with_unit(&row.metric, &row.unit);
    let basis = row.basis;
    Plot {
        title: format!("{name}, by {}{others}", of.field),
        axis: with_unit(of.field, of.unit()),
        logarithmic: of.is_logarithmic(),
        ticks: of.rows.iter().map(|(place, row)| (*place, cut(of.value(row), 12))).collect(),
        lines: lines.map(|(column, title)| (title.clone(), points(column))).collect(),
        stacked: false,
        figure: Box::new(move |value| short(basis, value)),
    }
}

fn along(title: String, metric: &Metric, of: &Series) -> Plot {
    let basis = metric.basis;
    let points = |values: &[Option<f64>]| {
        let points = of.at.iter().zip(values);
        points.filter_map(|(at, value)| Some((*at, (*value)?))).collect()
    };
    let lines = of.lines.iter().take(Plot::LINES);
    let ends = [of.at.first(), of.at.last()].into_iter().flatten();
    Plot {
        title: with_unit(&title, &metric.unit) + if of.stacked { ", stacked" } else { "" },
        axis: with_unit(&of.x.name, &of.x.unit),
        logarithmic: false,
        ticks: ends.map(|at| (*at, short(basis, *at))).collect(),
        lines: lines.map(|line| (line.name.clone(), points(&line.values))).collect(),
        stacked: of.stacked,
        figure: Box::new(move |value| short(basis, value)),
    }
}

//! Figures quoted from sources, as a block.

use super::grid::{Align, Grid};
use super::number::exact;
use super::wrap::wrapped;
use crate::schema::{Claim, Ground, Labels, Metric, Record, RecordSet};

/// A quoted figure: its subject, and its values before and after.
struct Quote<'a> {
    about: Vec<&'a str>,
    rest: Labels,
    name: &'a str,
    unit: &'a str,
    before: Option<&'a Metric>,
    after: Option<(String, &'a Metric)>,
}

/// Returns the published records as a block in lines of at most `columns`, or `None` if there are
/// none.
///
/// A value is under *before* if its variant has the base's choice on every axis it names, and under
/// *after* otherwise. A before and an after share a line if they agree in scenario, fields, metric,
/// unit and all axes that are not the base's.
pub fn published(set: &RecordSet, base: &Labels, columns: usize) -> Option<String> {
    let mut quotes: Vec<Quote<'_>> = Vec::new();
    for record in set.records.iter().filter(|record| record.ground == Ground::Published) {
        for metric in &record.metrics {
            place(&mut quotes, record, metric, base);
        }
    }
    if quotes.is_empty() {
        return None;
    }
    let mut sources: Vec<&str> = Vec::new();
    let headers = ["what", "variant", "before", "after", "unit", "source"];
    let right = |header: &str| matches!(header, "before" | "after");
    let align = |header| {
        if right(header) { Align::Right } else { Align::Left }
    };
    let mut grid = Grid::new(headers.map(|header| (header, align(header))));
    for quote in &quotes {
        let after = quote.after.as_ref();
        let mut cited: Vec<String> = Vec::new();
        for metric in quote.before.into_iter().chain(after.map(|(_, metric)| *metric)) {
            let number =
                format!("[{}]", cite(&mut sources, metric.source.as_deref().unwrap_or("-")));
            if !cited.contains(&number) {
                cited.push(number);
            }
        }
        let rest = quote.rest.iter().map(|(axis, choice)| format!("{axis}={choice}"));
        let variant = after.map(|(title, _)| title.clone()).into_iter().chain(rest);
        grid.row([
            quote.what(),
            variant.collect::<Vec<_>>().join(", "),
            quote.before.map_or_else(|| "-".to_owned(), said),
            after.map_or_else(|| "-".to_owned(), |(_, metric)| said(metric)),
            quote.unit.to_owned(),
            cited.join(" "),
        ]);
    }
    let base: Vec<String> = base.iter().map(|(axis, choice)| format!("{axis}={choice}")).collect();
    let mut text = "figures of real kernels, quoted; not of this run\n".to_owned();
    if !base.is_empty() {
        text += &format!("before: {}\n", base.join(", "));
    }
    text += &format!("\n{}", grid.text(columns));
    for (index, source) in sources.iter().enumerate() {
        text += &format!("[{}] {source}\n", index + 1);
    }
    Some(wrapped(&text, columns))
}

/// Adds a value to the line of its other side, or to a new one.
fn place<'a>(quotes: &mut Vec<Quote<'a>>, record: &'a Record, metric: &'a Metric, base: &Labels) {
    let fields = record.fields.iter().flat_map(|(name, value)| [name.as_str(), value]);
    let about: Vec<&str> = std::iter::once(record.scenario.as_str()).chain(fields).collect();
    let (shared, rest): (Labels, Labels) =
        record.variant.clone().into_iter().partition(|(axis, _)| base.contains_key(axis));
    let is_before = shared.iter().all(|(axis, choice)| base.get(axis) == Some(choice));
    let (name, unit) = (metric.name.as_str(), metric.unit.as_str());
    let same = |quote: &&mut Quote<'_>| {
        quote.about == about && quote.rest == rest && (quote.name, quote.unit) == (name, unit)
    };
    let new =
        Quote { about: about.clone(), rest: rest.clone(), name, unit, before: None, after: None };
    if is_before {
        // Every after of a figure repeats its before; another before gets a separate line.
        let open = |quote: &&mut Quote<'_>| same(quote) && quote.before.is_none();
        let mut lines = quotes.iter_mut().filter(open).peekable();
        if lines.peek().is_some() {
            lines.for_each(|quote| quote.before = Some(metric));
        } else {
            quotes.push(Quote { before: Some(metric), ..new });
        }
        return;
    }
    let is_other = |(axis, choice): &(String, String)| base.get(axis) != Some(choice);
    let after = Some((title(shared.into_iter().filter(is_other).collect()), metric));
    match quotes.iter_mut().find(same) {
        Some(line) if line.after.is_none() => line.after = after,
        Some(line) => {
            let before = line.before;
            quotes.push(Quote { before, after, ..new });
        }
        None => quotes.push(Quote { after, ..new }),
    }
}

/// Returns the choices of the after, with their axes if there are several.
fn title(choices: Labels) -> String {
    let several = choices.len() > 1;
    let named = |(axis, choice): (String, String)| {
        if several { format!("{axis}={choice}") } else { choice }
    };
    choices.into_iter().map(named).collect::<Vec<_>>().join(", ")
}

impl Quote<'_> {
    /// Describes scenario, fields and metric: `microbench size=10G: reclaim`.
    fn what(&self) -> String {
        let (scenario, fields) = self.about.split_first().unwrap_or((&"", &[]));
        let fields = fields.chunks(2).map(|pair| format!(" {}", pair.join("=")));
        format!("{scenario}{}: {}", fields.collect::<String>(), self.name)
    }
}

fn cite<'a>(sources: &mut Vec<&'a str>, source: &'a str) -> usize {
    let known = sources.iter().position(|known| *known == source);
    known.unwrap_or_else(|| {
        sources.push(source);
        sources.len() - 1
    }) + 1
}

/// Writes the content that a source gives: its values, its bounds, or the direction of a
/// difference.
pub fn said(metric: &Metric) -> String {
    if let Some(bound) = metric.bound {
        return match (bound.at_least, bound.at_most) {
            (Some(low), Some(high)) => format!("{} to {}", exact(low), exact(high)),
            (Some(low), None) => format!(">= {}", exact(low)),
            (None, high) => high.map_or_else(String::new, |high| format!("<= {}", exact(high))),
        };
    }
    match metric.claim {
        Some(Claim::Better) => "better".to_owned(),
        Some(Claim::Worse) => "worse".to_owned(),
        Some(Claim::NoDifference) => "no difference".to_owned(),
        None => metric.values.iter().map(|value| exact(*value)).collect::<Vec<_>>().join(", "),
    }
}

//! Numbers along time, or along another quantity.

use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, tooltip};
use crate::text::{first, with_unit};
use pageout_record::chart::thin_with_ends;
use pageout_record::render::figure;
use pageout_record::schema::{Metric, Series};
use serde_json::{Value, json};

/// The maximum number of lines that can be distinguished.
const LINES: usize = 24;

/// Draws lines, or areas on top of each other, with a given range of the vertical axis.
pub(crate) fn series(
    title: String,
    metric: &Metric,
    of: &Series,
    range: Option<[f64; 2]>,
    budget: &mut Budget,
) -> Chart {
    let lines = &of.lines[..of.lines.len().min(LINES)];
    let places = places(of, budget.points_of_each(lines.len()));
    let mut notes = Vec::new();
    if places.len() < of.at.len() {
        notes.push(format!(
            "{} of {} places are drawn: of each of equal stretches those with the least and the \
             largest sum.",
            places.len(),
            of.at.len()
        ));
    }
    if lines.len() < of.lines.len() {
        notes.push(format!("{} of {} lines are drawn.", lines.len(), of.lines.len()));
    }
    let mut rows = Vec::new();
    for (line, of_line) in lines.iter().enumerate() {
        for &place in &places {
            let number = Cell::from(of_line.values[place]);
            let level = Cell::Number(line as f64);
            rows.push(vec![Cell::Number(of.at[place]), number, Cell::Word(line), level]);
        }
    }
    budget.took_points(rows.len());
    let note = (!notes.is_empty()).then(|| notes.join(" "));
    budget_note(&title, note.as_deref(), budget);
    let said: Vec<String> =
        lines.iter().map(|line| ends(metric, &line.name, &line.values)).collect();
    let [x, y] = [with_unit(&of.x.name, &of.x.unit), with_unit(&metric.name, &metric.unit)];
    let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let mut spec = spec(&names, of.stacked, &x, &metric.unit);
    if let Some(range) = range {
        spec["encoding"]["y"]["scale"] = json!({ "domain": range });
    }
    Chart {
        title,
        sentence: format!("{} along {x}: {}.", metric.name, first(&said, 6, "; ")),
        note,
        columns: vec![
            Column::numbers("place", x),
            Column::numbers("value", y),
            Column::words("line", "line", names),
            Column::numbers("level", "from below"),
        ],
        rows,
        spec,
    }
}

/// Returns the specification for lines of these names.
fn spec(names: &[String], stacked: bool, x: &str, unit: &str) -> Value {
    let mut colour = json!({
        "field": "line", "type": "nominal", "sort": null, "title": null,
        "scale": { "domain": names },
        "legend": { "orient": "bottom", "labelLimit": 120, "symbolLimit": LINES },
    });
    if names.len() > 8 {
        colour["scale"]["scheme"] = json!("cividis");
    }
    let mark = match stacked {
        true => {
            json!({ "type": "area", "tooltip": tooltip(), "interpolate": "step-after" })
        }
        false => json!({ "type": "line", "tooltip": tooltip() }),
    };
    let mut encoding = json!({
        "x": { "field": "place", "type": "quantitative", "title": x,
               "scale": { "zero": false, "nice": false } },
        "y": { "field": "value", "type": "quantitative", "title": unit },
        "color": colour,
    });
    if stacked {
        encoding["y"]["stack"] = json!("zero");
        encoding["order"] = json!({ "field": "level", "type": "quantitative" });
    } else {
        encoding["strokeDash"] = json!({ "field": "line", "type": "nominal", "title": null,
                                         "sort": null, "scale": { "domain": names } });
    }
    json!({ "height": 220, "mark": mark, "encoding": encoding })
}

/// Repeats a chart's note among the notes of the page.
pub(super) fn budget_note(title: &str, note: Option<&str>, budget: &mut Budget) {
    if let Some(note) = note {
        budget.note(format!("{title}: {note}"));
    }
}

/// Returns the indices of the places that are drawn; they are the same for every line.
fn places(of: &Series, most: usize) -> Vec<usize> {
    let sum = |place: usize| of.lines.iter().filter_map(|line| line.values[place]).sum::<f64>();
    thin_with_ends(&(0..of.at.len()).map(sum).collect::<Vec<_>>(), most)
}

/// Returns the ends of a line: `generation 3 from 0 to 5120, at most 9000`.
fn ends(metric: &Metric, name: &str, values: &[Option<f64>]) -> String {
    let number = |value| figure(metric.basis, value);
    let there: Vec<f64> = values.iter().flatten().copied().collect();
    match there[..] {
        [] => format!("{name} has no value"),
        [from, ..] => {
            let most = there.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let to = there[there.len() - 1];
            format!("{name} from {} to {}, at most {}", number(from), number(to), number(most))
        }
    }
}

//! A chart: its data, a specification of its drawing, and a sentence that describes it.

use maud::{Markup, html};
use serde_json::{Value, json};

/// Glyphs of the variants' points.
const GLYPHS: [char; 8] = ['●', '■', '✚', '◆', '▲', '▼', '▶', '◀'];
/// Vega's names for these glyphs.
const SHAPES: [&str; 8] = [
    "circle",
    "square",
    "cross",
    "diamond",
    "triangle-up",
    "triangle-down",
    "triangle-right",
    "triangle-left",
];
/// Dashes of the variants' lines.
const DASHES: [[u8; 4]; 8] = [
    [1, 0, 1, 0],
    [6, 2, 6, 2],
    [2, 2, 2, 2],
    [6, 2, 2, 2],
    [10, 3, 10, 3],
    [1, 3, 1, 3],
    [8, 2, 1, 2],
    [4, 4, 4, 4],
];

/// A chart.
#[derive(Debug)]
pub(crate) struct Chart {
    /// The title.
    pub(crate) title: String,
    /// The figures that the chart shows, for people who cannot see it.
    pub(crate) sentence: String,
    /// A note, if data were thinned.
    pub(crate) note: Option<String>,
    /// The columns of the chart's data.
    pub(crate) columns: Vec<Column>,
    /// The data.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// A Vega-Lite specification without data, size and colours.
    pub(crate) spec: Value,
}

/// A column of a chart's data. In the specification its field has a generated name and never a text
/// of the records, which the drawing library might take for an expression.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) field: &'static str,
    /// The title for people; empty if the column only helps to draw.
    pub(crate) title: String,
    /// The texts that the column's cells stand for; empty for numbers.
    pub(crate) words: Vec<String>,
}

/// A cell of a chart's data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    /// A text: its place among the words of the column.
    Word(usize),
    Nothing,
}

impl Column {
    pub(crate) fn numbers(field: &'static str, title: impl Into<String>) -> Self {
        Self { field, title: title.into(), words: Vec::new() }
    }

    /// Returns a column of numbers that only help to draw.
    pub(crate) fn hidden(field: &'static str) -> Self {
        Self::numbers(field, "")
    }

    pub(crate) fn words(field: &'static str, title: &str, words: Vec<String>) -> Self {
        Self { field, title: title.to_owned(), words }
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Nothing, Self::Number)
    }
}

impl Cell {
    /// Returns whole numbers without a point, which saves a fifth of a page.
    fn json(self) -> Value {
        match self {
            Self::Number(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                json!(value as i64)
            }
            Self::Number(value) => json!(value),
            Self::Word(word) => json!(word),
            Self::Nothing => Value::Null,
        }
    }
}

/// All charts of a page.
#[derive(Debug, Default)]
pub(crate) struct Charts(Vec<Value>);

impl Charts {
    /// Adds a chart; returns the markup of its place.
    pub(crate) fn figure(&mut self, chart: Chart) -> Markup {
        let Chart { title, sentence, note, columns, rows, spec } = chart;
        let number = self.0.len();
        let columns = columns.iter().map(
            |column| json!({ "field": column.field, "title": column.title, "words": column.words }),
        );
        let rows = rows.iter().map(|row| row.iter().map(|cell| cell.json()).collect::<Value>());
        self.0.push(json!({
            "columns": columns.collect::<Value>(), "rows": rows.collect::<Value>(), "spec": spec,
        }));
        html! {
            figure.chart data-chart=(number) {
                figcaption {
                    strong { (title) }
                    @if let Some(note) = note { " " em { (note) } }
                }
                div.plot role="img" aria-label=(format!("{title}. {sentence}")) {}
                details.data { summary { "Data of this chart" } }
            }
        }
    }

    /// Returns true if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the data of all charts as JSON that is safe within an element.
    pub(crate) fn json(self) -> String {
        Value::Array(self.0).to_string().replace('<', "\\u003c")
    }
}

/// Returns a tooltip with all figures of the point below the pointer.
pub(crate) fn tooltip() -> Value {
    json!({ "content": "data" })
}

/// Returns an encoding that distinguishes variants by colour, the same in all charts of a
/// comparison.
pub(crate) fn colour(columns: &[String]) -> Value {
    json!({ "field": "variant", "type": "nominal", "sort": null, "legend": null,
            "scale": { "domain": columns } })
}

/// Returns an encoding that distinguishes variants by the form of points.
pub(crate) fn shape(columns: &[String]) -> Value {
    let shapes: Vec<_> = (0..columns.len()).map(|index| SHAPES[index % SHAPES.len()]).collect();
    json!({ "field": "variant", "type": "nominal", "legend": null,
            "scale": { "domain": columns, "range": shapes } })
}

/// Returns an encoding that distinguishes variants by the dashes of lines.
pub(crate) fn dash(columns: &[String]) -> Value {
    let dashes: Vec<_> = (0..columns.len()).map(|index| DASHES[index % DASHES.len()]).collect();
    json!({ "field": "variant", "type": "nominal", "legend": null,
            "scale": { "domain": columns, "range": dashes } })
}

/// Returns the key: the colour, form and dashes of each variant.
pub(crate) fn key(columns: &[String]) -> Markup {
    html! {
        ul.key aria-label="Variants" {
            @for (index, column) in columns.iter().enumerate() {
                @let dash = DASHES[index % DASHES.len()].map(|length| length.to_string()).join(" ");
                li {
                    svg class=(format!("v{}", index % 8)) width="34" height="14"
                        aria-hidden="true" {
                        line x1="0" y1="7" x2="34" y2="7" stroke-dasharray=(dash) {}
                        text x="17" y="11.5" text-anchor="middle" { (GLYPHS[index % 8]) }
                    }
                    " " (column)
                    @if index == 0 && columns.len() > 1 { " (base)" }
                }
            }
        }
    }
}

/// Returns the key of colours without forms, such as those of parts.
pub(crate) fn colours(names: &[String]) -> Markup {
    html! {
        ul.key aria-label="Colours" {
            @for (index, name) in names.iter().enumerate() {
                li {
                    svg class=(format!("v{}", index % 8)) width="14" height="14"
                        aria-hidden="true" {
                        rect width="14" height="14" rx="2" {}
                    }
                    " " (name)
                }
            }
        }
    }
}

//! The share of loads that a kernel does not see, by what goes on between its clear of the young
//! bits and its question.

use anyhow::{Context, Result};
use pageout_record::schema::{Labels, Record};

use super::svg::{Scale, Svg};

const TOP: f64 = 62.0;
const ROW: f64 = 24.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 770.0;

pub(super) fn draw(records: &[Vec<Record>]) -> Result<String> {
    let is_row = |record: &&Record| {
        let no_flush = record.variant.get("flush").is_some_and(|flush| flush == "none");
        no_flush && record.fields.get("between").is_some_and(|between| between != "no load")
    };
    let rows: Vec<&Record> = records[0].iter().filter(is_row).collect();
    let height = TOP + ROW * rows.len() as f64 + 30.0;
    let mut svg = Svg::new(
        820,
        height as u32,
        "Loads that the kernel did not see after it cleared young bits without a flush: nearly all \
         if the program loads at once, none once it loads from 4,096 other pages.",
    );
    svg.text("title", (16.0, 24.0), "Loads that the kernel did not see, of 16, without a flush");
    let about = "square: median; line: the middle half of the repetitions";
    svg.text("small quiet", (16.0, 44.0), about);
    let x = Scale { numbers: (0.0, 100.0), pixels: (LEFT, RIGHT) };
    let bottom = TOP + ROW * rows.len() as f64;
    for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
        svg.path("grid", &[(x.at(percent), TOP - 6.0), (x.at(percent), bottom)]);
        svg.text("small quiet middle", (x.at(percent), bottom + 18.0), &format!("{percent}%"));
    }
    for (at, record) in rows.iter().enumerate() {
        let y = TOP + ROW * (at as f64 + 0.5);
        let [low, median, high] = quartiles(record)?;
        svg.text("end", (LEFT - 14.0, y + 4.0), &name(&record.fields));
        svg.path("curve sb", &[(x.at(low), y), (x.at(high), y)]);
        svg.rect("b", [x.at(median) - 5.0, y - 5.0, 10.0, 10.0]);
    }
    Ok(svg.done())
}

/// Returns the values below which a quarter, a half and three quarters of the samples are.
fn quartiles(record: &Record) -> Result<[f64; 3]> {
    let metric = record.metric("hidden loads");
    let mut values = metric.context("a row has its hidden loads")?.values.clone();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1).context("a row has samples")?;
    Ok([1, 2, 3].map(|quarter| values[last * quarter / 4]))
}

fn name(fields: &Labels) -> String {
    let field = |name: &str| fields.get(name).map_or("", String::as_str);
    match field("between") {
        "other pages" if field("pages") == "0" => "at once".to_owned(),
        "other pages" => format!("after loads from {} other pages", field("pages")),
        "sleep" => format!("after a sleep of {} ms", field("ms")),
        "another CPU" => format!("on another CPU, for {} ms", field("ms")),
        other => format!("after {other} ran"),
    }
}

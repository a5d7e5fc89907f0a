//! The time of a reclaim by its stages, for each variant.

use anyhow::Result;
use pageout_record::schema::{Labels, Record};

use super::svg::{Scale, Svg};
use super::value;

const STAGES: [(&str, &str); 6] = [
    ("rmap walk", "a"),
    ("young", "b"),
    ("unmap", "c"),
    ("flush", "d"),
    ("cache removal", "e"),
    ("free", "f"),
];

/// The place of the bars.
const BARS: [f64; 4] = [150.0, 76.0, 560.0, 150.0];

pub(super) fn draw(records: &[Vec<Record>]) -> Result<String> {
    let records = &records[0];
    let mut svg = Svg::new(
        820,
        240,
        "Modelled nanoseconds of reclaim for each page on an arm64 server, by stage: before, with \
         batched young checks, with batched unmap too, and with checks by cache line.",
    );
    let title = "Reclaim of a file in 64K folios on an arm64 server: modelled ns per 4K page";
    svg.text("title", (16.0, 26.0), title);
    for (at, (stage, class)) in STAGES.into_iter().enumerate() {
        svg.key(class, (110.0 + 115.0 * at as f64, 52.0), stage);
    }
    let [left, top, width, height] = BARS;
    let wholes: Vec<f64> =
        records.iter().map(|record| value(record, "whole reclaim")).collect::<Result<_>>()?;
    let most = wholes.iter().copied().fold(0.0, f64::max);
    let x = Scale { numbers: (0.0, most), pixels: (left, left + width) };
    let row = height / records.len() as f64;
    for ((at, record), whole) in records.iter().enumerate().zip(wholes) {
        let y = top + row * at as f64;
        svg.text("end", (left - 10.0, y + row / 2.0 + 1.0), name(&record.variant));
        let mut sum = 0.0;
        for (stage, class) in STAGES {
            let value = value(record, stage)?;
            svg.rect(class, [x.at(sum), y, x.at(sum + value) - x.at(sum), row - 10.0]);
            sum += value;
        }
        svg.text("", (x.at(sum) + 8.0, y + row / 2.0 + 1.0), &format!("{whole:.0}"));
    }
    Ok(svg.done())
}

/// Returns a variant's name in the field's words.
fn name(variant: &Labels) -> &'static str {
    let choice = |axis: &str| variant.get(axis).map(String::as_str);
    match (choice("young"), choice("unmap")) {
        (Some("per-entry"), _) => "before",
        (Some("batched"), Some("per-entry")) => "batched young",
        (Some("batched"), _) => "+ batched unmap",
        _ => "line (ours)",
    }
}

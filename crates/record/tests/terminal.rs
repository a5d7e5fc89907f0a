//! Lists and pictures of comparisons of any shape.

mod common;

use common::set;
use pageout_record::compare::{Comparison, Declarations, compare};
use pageout_record::render::{
    LIST_WIDTH, List, Options, PICTURE_WIDTH, comparison as table, grown, list, picture, pictures,
    row_summaries,
};
use pageout_record::schema::{
    Axis, Basis, Better, Edges, Ground, Labels, Line, Matrix, Metric, Record, Series,
};
use pageout_record::stats::{Interval, Kind};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

/// A metric as all variants have it.
#[derive(Debug, Clone)]
struct Kept {
    name: String,
    unit: String,
    basis: Basis,
    better: Better,
}

/// Names as files may have them: short and long, in any script.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z][a-z -]{0,10}[a-z]", 1 => "[a-z][a-z ]{20,100}z", 1 => "x[^\\pC]{0,40}x"]
}

fn value() -> impl Strategy<Value = f64> {
    let any = prop::num::f64::NORMAL | prop::num::f64::ZERO;
    prop_oneof![4 => 0.5..2000.0, 2 => (0_u32..5000).prop_map(f64::from), 1 => any]
}

fn kept() -> impl Strategy<Value = Kept> {
    let basis = [Basis::Measured, Basis::Measured, Basis::Counted, Basis::Modelled];
    let better = [Better::Lower, Better::Higher, Better::Neither];
    let unit = prop_oneof![Just("ns/4K page".to_owned()), Just(String::new()), name()];
    (name(), unit, prop::sample::select(basis.to_vec()), prop::sample::select(better.to_vec()))
        .prop_map(|(name, unit, basis, better)| Kept { name, unit, basis, better })
}

fn metric(kept: &Kept, values: Vec<f64>, interval: Option<(f64, f64)>) -> Metric {
    let mut metric = Metric::new(&kept.name, &kept.unit, kept.basis, kept.better, values);
    metric.interval = interval.map(|(one, other)| Interval {
        kind: Kind::Draws,
        low: one.min(other),
        high: one.max(other),
        level: 0.9,
    });
    metric
}

/// Variants by places by metrics, some of which a variant lacks.
fn comparison() -> impl Strategy<Value = Comparison> {
    let metrics = prop::collection::vec(kept(), 1..5);
    let variants = prop::collection::btree_set(name(), 1..6);
    let places = prop::collection::btree_set(prop_oneof!["[0-9]{1,3}", name()], 1..4);
    (metrics, variants, places).prop_flat_map(|(mut metrics, variants, places)| {
        for (index, metric) in metrics.iter_mut().enumerate() {
            metric.name += &index.to_string();
        }
        let all = metrics.len() * variants.len() * places.len();
        let samples = (prop::collection::vec(value(), 1..9), any::<bool>(), any::<bool>());
        let interval = prop::option::of((value(), value()));
        let cells = prop::collection::vec((samples, interval), all);
        cells.prop_map(move |cells| {
            let mut cells = cells.into_iter();
            let mut records = Vec::new();
            for place in &places {
                for (at, variant) in variants.iter().enumerate() {
                    let of_metric = |kept: &Kept| {
                        let ((values, is_less, is_left_out), interval) =
                            cells.next().expect("a cell");
                        let lacks = at > 0 && is_less && is_left_out;
                        (!lacks).then(|| metric(kept, values, interval))
                    };
                    records.push(Record {
                        scenario: "sweep".to_owned(),
                        ground: Ground::Host,
                        seed: 1,
                        fields: Labels::from([("order".to_owned(), place.clone())]),
                        variant: Labels::from([("young".to_owned(), variant.clone())]),
                        metrics: metrics.iter().filter_map(of_metric).collect(),
                    });
                }
            }
            let base = records[0].variant.clone();
            compare(&set(records), &base, &Declarations::default()).expect("a valid set")
        })
    })
}

/// Returns the numbers and the percentages of a text, with repetitions.
fn numbers(text: &str) -> (Vec<f64>, Vec<f64>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let numbers = words.iter().filter_map(|word| word.trim_start_matches('~').parse().ok());
    let percent = words.iter().filter_map(|word| word.strip_suffix('%')?.parse().ok());
    (numbers.collect(), percent.collect())
}

/// Takes the nearest number out, if it is as near as it was rounded.
fn take(all: &mut Vec<f64>, wanted: f64, off: f64) -> bool {
    let away = |found: &f64| (found - wanted).abs();
    let places =
        (0..all.len()).min_by(|one, other| away(&all[*one]).total_cmp(&away(&all[*other])));
    let nearest = places.filter(|place| away(&all[*place]) <= off);
    nearest.map(|place| all.swap_remove(place)).is_some()
}

/// Returns the tolerance: one decimal, none from a thousand on, or one digit of larger changes.
fn off_of_change(percent: f64) -> f64 {
    match percent.abs() {
        size if size < 999.9 => 0.051,
        size if size < 99_999.0 => 0.51,
        size => size / 2.0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn lists_fit_into_mails_and_have_every_number(
        of in comparison(),
        command in prop::collection::vec("[ -~]{1,120}", 1..6),
        about in prop::collection::vec(name(), 0..3),
    ) {
        let text = list(&of, &List { command: &command, about: &about, full: true });
        for line in text.lines() {
            prop_assert!(line.len() <= LIST_WIDTH && line.is_ascii(), "{line}\n{text}");
            prop_assert!(line.trim_end() == line, "blanks at an end: {line:?}");
        }
        let (mut found, mut percentages) = numbers(&text);
        for row in &of.rows {
            for summary in row_summaries(row) {
                let (median, off) = (summary.median, summary.median.abs() * 0.005_1);
                prop_assert!(take(&mut found, median, off), "{median}\n{text}");
            }
        }
        for row in &of.rows {
            let told = row.others.iter().flatten().filter(|change| !row.has_too_few(change));
            for percent in told.filter_map(|change| change.percent) {
                let percent = grown(row.better, percent);
                prop_assert!(
                    take(&mut percentages, percent, off_of_change(percent)),
                    "{percent}%\n{text}"
                );
            }
        }
    }

    #[test]
    fn tables_fit_into_their_width(of in comparison(), width in 80_usize..140, full: bool) {
        fits(&table(&of, Options { width, full, about: &[] }), width)?;
    }

    #[test]
    fn pictures_fit_into_their_width(
        of in comparison(),
        columns in PICTURE_WIDTH,
        about in prop::collection::vec(name(), 0..3),
    ) {
        let text = picture(&of, columns, &about);
        fits(&text, columns)?;
    }

    #[test]
    fn maps_and_series_fit_into_their_width(record in drawn(), columns in PICTURE_WIDTH) {
        fits(&pictures([&record].into_iter(), columns), columns)?;
    }
}

fn fits(text: &str, columns: usize) -> Result<(), TestCaseError> {
    for line in text.lines() {
        let is_blank_at_end = line.trim_end() != line;
        prop_assert!(line.width() <= columns && !is_blank_at_end, "{columns}: {line:?}\n{text}");
    }
    Ok(())
}

/// Generates a record with a map and a series.
fn drawn() -> impl Strategy<Value = Record> {
    let cell = || prop::option::of(value());
    let sizes = (1_usize..130, 1_usize..40);
    let map = sizes
        .prop_flat_map(move |(x, y)| prop::collection::vec(prop::collection::vec(cell(), x), y));
    let lines = (1_usize..60, 1_usize..40).prop_flat_map(move |(places, lines)| {
        prop::collection::vec((name(), prop::collection::vec(cell(), places)), lines)
    });
    (map, lines, kept(), name(), any::<bool>()).prop_map(|(rows, lines, kept, axis, stacked)| {
        let edges = |ranges: usize| Edges {
            name: axis.clone(),
            unit: "ms".to_owned(),
            edges: (0..=ranges).map(|edge| edge as f64 * 1e6).collect(),
            parts: Vec::new(),
        };
        let mut map = metric(&kept, Vec::new(), None);
        let (x, y) = (edges(rows[0].len()), edges(rows.len()));
        map.matrix = Some(Matrix { x, y, rows }.into());
        let mut series = metric(&kept, Vec::new(), None);
        let at = (0..lines[0].1.len()).map(|place| place as f64).collect();
        let lines = lines.into_iter().map(|(name, values)| Line { name, values }).collect();
        series.series = Some(Series { x: Axis::new(&axis, ""), at, lines, stacked }.into());
        Record {
            scenario: "sweep".to_owned(),
            ground: Ground::Host,
            seed: 1,
            fields: Labels::new(),
            variant: Labels::new(),
            metrics: vec![map, series],
        }
    })
}

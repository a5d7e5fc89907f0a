//! Golden tables: what a reader sees.

mod common;

use common::set;
use pageout_record::compare::{Declarations, compare};
use pageout_record::render::{List, Options, comparison, list, picture, pictures, published};
use pageout_record::schema::{
    Axis, Basis, Better, Edges, Ground, Labels, Line, Matrix, Metric, Record, RecordSet, Series,
};

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn metric(name: &str, unit: &str, basis: Basis, values: Vec<f64>) -> Metric {
    Metric::new(name, unit, basis, Better::Lower, values)
}

/// `n` samples around `middle`, a few per cent apart, in no order.
fn samples(middle: f64, n: u32) -> Vec<f64> {
    let step = |i: u32| f64::from(i * 7 % n) / f64::from(n) - 0.5;
    (0..n).map(|i| middle * (1.0 + 0.04 * step(i))).collect()
}

fn record(fields: &[(&str, &str)], variant: &[(&str, &str)], metrics: Vec<Metric>) -> Record {
    Record {
        scenario: "sweep".to_owned(),
        ground: Ground::Host,
        seed: 1,
        fields: labels(fields),
        variant: labels(variant),
        metrics,
    }
}

/// Three ways to check young bits, over folios of two orders.
fn sweep(n: u32) -> RecordSet {
    let mut records = Vec::new();
    let orders = [("0", [2.89, 2.87, 2.5], 1.0), ("4", [100.2, 6.4, 0.38], 16.0)];
    for (order, times, pages) in orders {
        for (young, time) in ["per-entry", "batched", "line"].into_iter().zip(times) {
            let visits = if young == "per-entry" { pages * pages } else { pages };
            let metrics = vec![
                metric("age", "ns/page", Basis::Measured, samples(time, n)),
                metric("visits", "entries/folio", Basis::Counted, vec![visits]),
            ];
            let fields = [("format", "arm64-4k"), ("order", order)];
            let variant = [("young", young), ("flush", "nosync"), ("lru", "mglru")];
            records.push(record(&fields, &variant, metrics));
        }
    }
    set(records)
}

fn per_entry() -> Labels {
    labels(&[("young", "per-entry")])
}

fn table(set: &RecordSet, options: Options<'_>) -> String {
    comparison(&compare(set, &per_entry(), &Declarations::default()).unwrap(), options)
}

#[test]
fn three_variants() {
    insta::assert_snapshot!(table(&sweep(31), Options::default()));
}

/// Rows that are zero, the same, or the same but for one variant that has none of it.
fn same_rows() -> RecordSet {
    let mut set = sweep(7);
    for record in &mut set.records {
        let same = [("refaults", 0.0), ("pages reclaimed", 512.0), ("barriers", 0.0)];
        let counted = |(name, value)| metric(name, "4K pages", Basis::Counted, vec![value]);
        record.metrics.extend(same.map(counted));
        record.metrics.push(metric("free", "ns/page", Basis::Measured, vec![0.0; 7]));
        if record.variant["young"] == "line" && record.fields["order"] == "4" {
            record.metrics.retain(|metric| metric.name != "barriers");
        }
    }
    set
}

#[test]
fn rows_that_are_the_same_are_folded_away() {
    insta::assert_snapshot!(table(&same_rows(), Options::default()));
}

#[test]
fn every_row_is_there_in_full() {
    let text = table(&same_rows(), Options { full: true, ..Options::default() });
    let (text, _) = text.split_once("intervals of the medians").expect("a table of intervals");
    for (metric, rows) in [("refaults", 2), ("pages reclaimed", 2), ("barriers", 2), ("free", 2)] {
        assert_eq!(text.matches(metric).count(), rows, "{metric} in:\n{text}");
    }
    assert!(!text.contains("--full"), "{text}");
}

#[test]
fn a_table_of_rows_that_are_all_the_same_is_shown() {
    let mut set = same_rows();
    for record in &mut set.records {
        record.metrics.retain(|metric| metric.name == "refaults");
    }
    let text = table(&set, Options::default());
    assert!(text.contains("\nrefaults, 4K pages\n"), "{text}");
    assert_eq!(text.matches("  order=").count(), 2, "{text}");
    assert!(!text.contains("rows that are"), "{text}");
}

/// A single variant has no other to be the same as.
#[test]
fn one_variant_is_shown_whole() {
    let mut set = same_rows();
    set.records.retain(|record| record.variant["young"] == "per-entry");
    let text = table(&set, Options::default());
    assert_eq!(text.matches("refaults").count(), 2, "{text}");
}

#[test]
fn a_change_needs_six_samples_on_both_sides() {
    for (base, new, told) in [(6, 6, true), (5, 6, false), (6, 5, false), (1, 1, false)] {
        let of = |young, n, middle| {
            let metrics = vec![
                metric("age", "ns/page", Basis::Measured, samples(middle, n)),
                metric("visits", "entries", Basis::Counted, vec![middle]),
            ];
            record(&[], &[("young", young)], metrics)
        };
        let set = set(vec![of("per-entry", base, 100.0), of("line", new, 50.0)]);
        let text = table(&set, Options::default());
        let has_change = |metric: &str| {
            let row = text.lines().find(|line| line.trim_start().starts_with(metric));
            row.expect("the metric has a row").contains('%')
        };
        assert_eq!((has_change("age "), has_change("visits ")), (told, true), "{text}");
        assert_eq!(text.contains("from 6 samples on"), !told, "{text}");
    }
}

/// Intervals have their own table, and the runs are described.
#[test]
fn a_table_in_full() {
    insta::assert_snapshot!(table(&sweep(31), Options { full: true, ..Options::default() }));
}

/// Variants that do not fit side by side have their own tables, each with the base.
#[test]
fn no_line_is_wider_than_asked_for() {
    for width in [60, 80, 120] {
        for full in [false, true] {
            let text = table(&sweep(31), Options { width, full, ..Options::default() });
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width, "{widest} of {width}:\n{text}");
        }
    }
    let narrow = table(&sweep(31), Options { width: 40, ..Options::default() });
    let heads = narrow.lines().filter(|line| line.trim_start().starts_with("per-entry  "));
    assert_eq!(heads.count(), 2, "{narrow}");
}

#[test]
fn few_samples_two_axes_and_a_missing_cell() {
    let mut set = sweep(3);
    for record in &mut set.records {
        if record.variant["young"] == "line" {
            record.variant.insert("flush".to_owned(), "none".to_owned());
        }
    }
    set.records[1].metrics[0].values.push(2.9);
    set.records.pop();
    insta::assert_snapshot!(table(&set, Options::default()));
}

#[test]
fn modelled_counted_and_undirected() {
    let mut records = Vec::new();
    for (young, flushes, reclaimed) in [("per-entry", 0.0, [512.0; 3]), ("line", 4.0, [512.0; 3])] {
        let mut time = metric("reclaim", "ns/page", Basis::Modelled, vec![flushes + 81.5]);
        time.source = Some("platforms/example.toml".to_owned());
        let mut pages = metric("reclaimed", "pages", Basis::Counted, reclaimed.to_vec());
        pages.better = Better::Neither;
        pages.values[0] += flushes;
        let flushes = metric("flushes", "", Basis::Counted, vec![flushes]);
        let mut record = record(&[], &[("young", young)], vec![time, flushes, pages]);
        record.ground = Ground::Model;
        records.push(record);
    }
    insta::assert_snapshot!(table(&set(records), Options::default()));
}

#[test]
fn quoted_figures() {
    let quote = |name: &str, unit: &str, value: f64, source: &str| {
        let mut quote = metric(name, unit, Basis::Published, vec![value]);
        quote.source = Some(source.to_owned());
        vec![quote]
    };
    let mut records = vec![
        record(
            &[("size", "10G")],
            &[("young", "per-entry")],
            quote("reclaim", "ms", 119.0, "A thread"),
        ),
        record(
            &[("size", "10G")],
            &[("young", "batched")],
            quote("reclaim", "ms", 81.0, "A thread"),
        ),
        record(&[("size", "10G")], &[("young", "line")], quote("reclaim", "ms", 70.5, "A reply")),
        record(
            &[],
            &[("young", "batched"), ("lru", "mglru")],
            quote("kernel time", "% less", 60.0, "A reply"),
        ),
    ];
    records.iter_mut().for_each(|record| record.ground = Ground::Published);
    insta::assert_snapshot!(published(&set(records), &per_entry(), 80).unwrap());
    assert_eq!(published(&sweep(1), &per_entry(), 80), None);
}

#[test]
fn no_quoted_figure_is_dropped() {
    let mut records = Vec::new();
    for (seed, young) in [(0_u32, "per-entry"), (1, "per-entry"), (2, "line"), (3, "batched")] {
        let mut quote = metric("reclaim", "ms", Basis::Published, vec![f64::from(seed) + 100.0]);
        quote.source = Some("A thread".to_owned());
        let mut record = record(&[], &[("young", young)], vec![quote]);
        (record.ground, record.seed) = (Ground::Published, seed.into());
        records.push(record);
    }
    for _ in 0..records.len() {
        records.rotate_left(1);
        let text = published(&set(records.clone()), &per_entry(), 80).unwrap();
        assert!(["100", "101", "102", "103"].iter().all(|value| text.contains(value)), "{text}");
    }
}

#[test]
fn a_field_may_be_called_as_an_axis_is() {
    let mut set = sweep(6);
    for record in &mut set.records {
        record.fields.insert("seed".to_owned(), "a".to_owned());
        record.fields.insert("flush".to_owned(), record.fields["order"].clone());
    }
    let text = table(&set, Options { full: true, ..Options::default() });
    assert!(text.contains("seed=1 format=arm64-4k seed=a"), "{text}");
    assert!(text.contains("flush=4 order=4"), "{text}");
}

fn in_a_mail(set: &RecordSet, about: &[&str]) -> String {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (command, about) = (words(&["pageout", "compare", "sweep", "order=0,4"]), words(about));
    let with = List { command: &command, about: &about, full: false };
    list(&compare(set, &per_entry(), &Declarations::default()).unwrap(), &with)
}

#[test]
fn a_list_of_three_variants() {
    insta::assert_snapshot!(in_a_mail(&sweep(31), &["per-entry: as kernels did before"]));
}

/// Long titles are letters, and columns that do not fit are in their own tables.
#[test]
fn a_list_of_many_long_names() {
    let mut set = sweep(9);
    for (index, mut record) in set.records.clone().into_iter().enumerate() {
        let young = format!("{}-with-a-long-name-{}", record.variant["young"], index % 2);
        record.variant.insert("young".to_owned(), young);
        set.records.push(record);
    }
    for record in &mut set.records {
        record.metrics[0].name = "age of what a long metric is called, → in µs".to_owned();
    }
    insta::assert_snapshot!(in_a_mail(&set, &[]));
}

#[test]
fn a_list_of_few_samples() {
    let mut set = sweep(3);
    set.records[1].metrics[1].values.push(12.0);
    set.records.pop();
    insta::assert_snapshot!(in_a_mail(&set, &[]));
}

/// Bars of each order, and curves along three of them.
#[test]
fn a_picture_of_bars_and_curves() {
    let mut set = sweep(9);
    let mut more = sweep(9).records.split_off(3);
    for (record, time) in more.iter_mut().zip([40.0, 21.0, 9.0]) {
        record.fields.insert("order".to_owned(), "2".to_owned());
        record.metrics[0].values = samples(time, 9);
        record.metrics[0].values[0] *= 1.4;
        record.metrics[0].values[1] *= 1.5;
    }
    set.records.extend(more);
    insta::assert_snapshot!(picture(
        &compare(&set, &per_entry(), &Declarations::default()).unwrap(),
        80,
        &[]
    ));
}

#[test]
fn pictures_of_a_map_and_a_series() {
    let edges = |name: &str, unit: &str, last: u32| Edges {
        name: name.to_owned(),
        unit: unit.to_owned(),
        edges: (0..=last).map(|edge| f64::from(edge) * 8.0).collect(),
        parts: Vec::new(),
    };
    let cell = |x: u32, y: u32| (x != 40).then(|| f64::from((x * (y + 1)) % 64) * f64::from(y));
    let rows = (0..8).map(|y| (0..150).map(|x| cell(x, y)).collect()).collect();
    let mut map = metric("pages", "4K pages", Basis::Counted, Vec::new());
    let (x, y) = (edges("epoch", "", 150), edges("place", "MiB", 8));
    map.matrix = Some(Matrix { x, y, rows }.into());
    let line = |name: &str, of: fn(f64) -> f64| Line {
        name: name.to_owned(),
        values: (0..50).map(|at| (at != 20).then(|| of(f64::from(at)))).collect(),
    };
    let lines = vec![
        line("resident", |at| at * 10.0),
        line("young", |at| 250.0 - (at - 25.0).powi(2) / 4.0),
    ];
    let at = (0..50).map(f64::from).collect();
    let mut series = metric("generations", "pages", Basis::Counted, Vec::new());
    let of = Series { x: Axis::new("time", "ms"), at, lines, stacked: false };
    let mut shares = metric("by list", "pages", Basis::Counted, Vec::new());
    shares.series = Some(Series { stacked: true, ..of.clone() }.into());
    series.series = Some(of.into());
    let record = record(&[], &[], vec![map, series, shares]);
    insta::assert_snapshot!(pictures([&record].into_iter(), 72));
}

#[test]
fn a_drift_is_told_of_its_row_where_rows_before_it_are_folded() {
    let rising: Vec<f64> = (0..12).map(f64::from).map(|k| 100.0 + k).collect();
    let of = |young: &str, times: Vec<f64>| {
        let metrics = vec![
            metric("visits", "entries", Basis::Counted, vec![16.0]),
            metric("age", "ns/page", Basis::Measured, times),
        ];
        record(&[("order", "4")], &[("young", young)], metrics)
    };
    let set = set(vec![of("per-entry", samples(100.0, 12)), of("line", rising)]);
    let of = compare(&set, &labels(&[("young", "per-entry")]), &Declarations::default()).unwrap();
    for text in [
        comparison(&of, Options::default()),
        list(&of, &List { command: &[], about: &[], full: false }),
        picture(&of, 80, &[]),
    ] {
        assert!(text.contains("drift: age of line rises"), "{text}");
    }
}

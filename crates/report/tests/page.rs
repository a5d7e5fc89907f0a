//! The content of pages, from records that are made here.
#![forbid(unsafe_code)]

use pageout_record::compare::{Comparison, Declarations, Role};
use pageout_record::render::row_summaries;
use pageout_record::schema::{
    Activity, Basis, Better, Edges, Ground, Labels, Machine, Matrix, Metric, Record, RecordFile,
    RecordSet, Run,
};
use pageout_record::stats::{Interval, Kind};
use pageout_report::{MAX_BYTES, Page, ReportError, Table};
use serde_json::Value;
use std::collections::BTreeSet;

const HOSTILE: &str = include_str!("files/hostile.json");
const PICTURES: &str = include_str!("files/pictures.json");
const KERNELS: &str = include_str!("../../lab/files/records/linux-7.3.json");

fn run() -> Run {
    let machine = Machine {
        cpu: "Example 9000".into(),
        arch: "x86_64".into(),
        cores: 8,
        memory_mib: 16384,
        os: "Linux".into(),
    };
    Run::new("pageout 0.1.0", Some("1a2b3c4".into()), machine)
}

/// Returns the declaration of scenario `reclaim-file` on this CPU; no other is declared.
fn declared() -> Declarations {
    let roles = [("whole reclaim", Role::Whole), ("unmap", Role::Part)];
    let mut declared = Declarations::default();
    let roles = roles.map(|(name, role)| (name.to_owned(), role));
    declared.declare("reclaim-file", Ground::Host, roles);
    declared
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn record(fields: &[(&str, &str)], variant: &[(&str, &str)], metrics: Vec<Metric>) -> Record {
    Record {
        scenario: "reclaim-file".into(),
        ground: Ground::Host,
        seed: 7,
        fields: labels(fields),
        variant: labels(variant),
        metrics,
    }
}

fn measured(name: &str, values: Vec<f64>) -> Metric {
    Metric::new(name, "ns/page", Basis::Measured, Better::Lower, values)
}

/// Returns samples that differ, and are the same in every run of the test.
fn samples(count: u32, of: f64) -> Vec<f64> {
    (0..count).map(|i| of + f64::from(i.wrapping_mul(2_654_435_761) % 10_007) / 3e3).collect()
}

/// Returns two variants that differ, along three orders.
fn small() -> RecordFile {
    let mut records = Vec::new();
    for (order, of) in [("0", 90.0), ("2", 60.0), ("4", 50.0)] {
        for (young, faster) in [("per-entry", 0.0), ("line", 7.0)] {
            let metrics = vec![
                measured("whole reclaim", samples(9, of - faster)),
                measured("unmap", samples(9, of / 3.0)),
            ];
            records.push(record(&[("order", order)], &[("young", young)], metrics));
        }
    }
    RecordSet::new(run(), records).into()
}

fn page_of(file: &RecordFile, tables: &[Table]) -> Result<String, ReportError> {
    let declared = &declared();
    let command = "pageout compare reclaim-file";
    Page { command, file, tables, declared, answer: &[], printed: None }.html()
}

fn page(set: &RecordFile) -> String {
    page_of(set, &[]).expect("the records make a page")
}

/// Returns the texts between two marks.
fn between<'a>(page: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let pieces = page.split(from).skip(1);
    pieces.map(|piece| piece.split(to).next().expect("split gives a piece")).collect()
}

fn charts(page: &str) -> Value {
    let data = between(page, r#"<script type="application/json" id="charts">"#, "</script>");
    serde_json::from_str(data[0]).expect("the charts' data are JSON")
}

/// Returns bits, to compare numbers exactly.
fn all(values: impl Iterator<Item = f64>) -> BTreeSet<u64> {
    values.map(f64::to_bits).collect()
}

fn summaries(of: &Comparison) -> BTreeSet<u64> {
    let numbers = of.rows.iter().flat_map(row_summaries).flat_map(|summary| {
        let ends = summary.interval.map(|interval| [interval.low, interval.high]);
        ends.into_iter().flatten().chain([summary.median])
    });
    all(numbers)
}

#[test]
fn figures_are_those_of_the_records() {
    let set = RecordFile::from_json(&small().to_json().unwrap()).unwrap();
    let table = Table::of(&set, &labels(&[("young", "per-entry")]), None, &declared()).unwrap();
    let page = page_of(&set, std::slice::from_ref(&table)).unwrap();
    let cells = between(&page, "<data value=\"", "\"");
    let cells = all(cells.into_iter().map(|cell| cell.parse().expect("a number")));
    assert_eq!(cells, summaries(&table.comparison), "the tables and the verdict");
    let charts = charts(&page);
    let column = |chart: &Value, field: &str| {
        let columns = chart["columns"].as_array().unwrap();
        columns.iter().position(|column| column["field"] == field)
    };
    let numbers = |chart: &Value, at: usize| -> Vec<f64> {
        chart["rows"].as_array().unwrap().iter().map(|row| row[at].as_f64().unwrap()).collect()
    };
    let (mut drawn, mut medians) = (Vec::new(), Vec::new());
    for chart in charts.as_array().unwrap() {
        if column(chart, "sample").is_some() {
            drawn.extend(numbers(chart, column(chart, "value").unwrap()));
        }
        if let Some(at) = column(chart, "median") {
            medians.extend(numbers(chart, at));
        }
    }
    let recorded = set.records().flat_map(|record| &record.metrics);
    let recorded = recorded.flat_map(|metric| metric.values.iter().copied());
    assert_eq!(all(drawn.into_iter()), all(recorded), "every sample is a point");
    let rows = table.comparison.rows.iter().flat_map(row_summaries);
    assert_eq!(all(medians.into_iter()), all(rows.map(|summary| summary.median)));
}

#[test]
fn the_verdict_comes_first_and_says_what_the_table_says() {
    let set = small();
    let table = Table::of(&set, &labels(&[("young", "per-entry")]), None, &declared()).unwrap();
    let page = page_of(&set, &[table]).unwrap();
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    let order = [r#"id="verdict""#, "better than", "<figure", "<table", r#"id="provenance""#];
    assert!(order.map(place).is_sorted(), "the answer, its chart, tables, and then the run");
    for part in [
        "better than per-entry in all 3 cells, by 7.",
        "better by 7.6",
        "Mann-Whitney, p ",
        "after Holm's correction over 3 tests",
        "(n = 9)",
        "pageout compare reclaim-file",
        "1a2b3c4",
        "Example 9000",
    ] {
        assert!(page.contains(part), "no `{part}`");
    }
}

/// A stage takes longer under the new variant, in a whole that takes less.
#[test]
fn nothing_is_worse_where_the_whole_is_better() {
    let mut records = Vec::new();
    for (young, whole, stage) in [("per-entry", 90.0, 10.0), ("line", 60.0, 40.0)] {
        let visits = Metric { values: vec![stage], ..measured("visits", Vec::new()) };
        let visits = Metric { basis: Basis::Counted, ..visits };
        let times = [("unmap", stage), ("whole reclaim", whole)];
        let times = times.map(|(name, of)| measured(name, samples(9, of)));
        records.push(record(&[], &[("young", young)], [&times[..], &[visits]].concat()));
    }
    let set = RecordFile::from(RecordSet::new(run(), records));
    let table = Table::of(&set, &labels(&[("young", "per-entry")]), None, &declared()).unwrap();
    let page = page_of(&set, &[table]).unwrap();
    let (_, verdict) = page.split_once(r#"id="verdict""#).expect("a verdict");
    assert!(verdict.contains("better than per-entry by 32."), "{}", &verdict[..500]);
    for mark in ["class=\"worse", "verdict worse", "worse than", "worse by"] {
        assert!(!page.contains(mark), "{mark}");
    }
}

#[test]
fn what_is_worst_is_told_and_nothing_is_worse_by_zero() {
    let page = page(&RecordFile::from_json(KERNELS).unwrap());
    // The walks of old entries became dearer with the batches: by 13.36 % at most.
    let verdicts = between(&page, r#"<section class="answer""#, "</section>");
    assert!(verdicts.iter().any(|verdict| verdict.contains("worse by 13.36 %")));
    assert!(verdicts.iter().all(|verdict| !verdict.contains("by 0.00 %")));
}

#[test]
fn the_same_records_make_the_same_bytes() {
    for text in [PICTURES, HOSTILE, KERNELS] {
        let set = RecordFile::from_json(text).unwrap();
        assert!(page(&set) == page(&set));
    }
}

#[test]
fn names_with_markup_are_text() {
    let set = RecordFile::from_json(HOSTILE).unwrap();
    let page = page(&set);
    assert!(page.contains("&lt;img src=x onerror="));
    for markup in ["<img", "<svg onload", "<b onmouseover", "<i>", "window.hacked=1</script"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert_eq!(page.matches("</script").count(), 3, "the page's own");
    charts(&page);
}

#[test]
fn every_kind_of_metric_is_shown() {
    let page = page(&RecordFile::from_json(PICTURES).unwrap());
    for section in ["activities", "series", "matrix"] {
        assert!(page.contains(&format!(r#"<section id="{section}""#)), "{section}");
    }
    let verdict = between(&page, r#"id="verdict""#, "</section>")[0];
    assert!(verdict.contains(r#"class="sequence""#), "the steps are the first picture");
    let charts = charts(&page).to_string();
    for part in ["generation 4", "invalidations", "new_batch_helper", "cividis"] {
        assert!(charts.contains(part), "no `{part}` in the charts");
    }
    assert!(page.contains("Step 4 breaks the property."));
    assert!(page.contains("Bugs put in: <strong>1 of 1 found</strong>."));
    assert!(page.contains("activities of less than 0.1 % of the whole are not drawn: 1."));
}

#[test]
fn a_million_samples_are_thinned_and_the_page_says_so() {
    let with =
        |young, of| record(&[], &[("young", young)], vec![measured("age", samples(500_000, of))]);
    let records = vec![with("per-entry", 10.0), with("line", 9.0)];
    let set = RecordSet::new(run(), records).into();
    let page = page(&set);
    assert!(page.len() <= MAX_BYTES, "{}", page.len());
    assert!(page.contains("of 1000000 samples are drawn"));
    assert!(page.contains("Medians, intervals and tests are always of all samples."));
    let table = &Table::of_each_scenario(&set, &declared()).unwrap()[0];
    let base = table.comparison.rows[0].base.unwrap();
    assert_eq!(base.n, 500_000);
    let rows = charts(&page)[1]["rows"].clone();
    let drawn: Vec<f64> =
        rows.as_array().unwrap().iter().map(|row| row[1].as_f64().unwrap()).collect();
    let most = table.comparison.rows[0].base.unwrap().most;
    assert!(drawn.contains(&most), "the largest sample is drawn");
}

#[test]
fn a_hundred_metrics_of_many_samples_make_a_page() {
    let metrics = |of: f64| (0..100).map(move |i| measured(&format!("m{i}"), samples(5000, of)));
    let with = |young, of| record(&[], &[("young", young)], metrics(of).collect());
    let set = RecordSet::new(run(), vec![with("per-entry", 10.0), with("line", 9.9)]).into();
    let page = page(&set);
    assert!(page.len() <= MAX_BYTES, "{}", page.len());
    assert!(page.contains("of 10000 samples are drawn"));
    assert!(page.contains("52 of 100 charts of samples are not drawn; the table has them."));
}

#[test]
fn a_hundred_thousand_rows_make_a_page_that_says_what_is_missing() {
    let one = |i: u32, young: &str, of: f64| {
        let value = Metric::new("whole reclaim", "ns", Basis::Counted, Better::Lower, vec![of]);
        record(&[("file", &i.to_string())], &[("young", young)], vec![value])
    };
    let rows = (0..100_000).flat_map(|i| {
        let differs = f64::from(u32::from(i % 1000 == 7));
        [one(i, "per-entry", 5.0), one(i, "line", 5.0 - differs)]
    });
    let set = RecordSet::new(run(), rows.collect()).into();
    // The same tables as those of `pageout report`.
    let tables = Table::of_each_scenario(&set, &declared()).unwrap();
    let page = page_of(&set, &tables).unwrap();
    assert!(page.len() <= MAX_BYTES, "{}", page.len());
    assert!(page.contains("of 100000 rows are in the table"));
    assert_eq!(page.matches(r#"class="verdict better""#).count(), 100, "what differs is kept");
    assert_eq!(page.matches("<table id=").count(), 1, "no record is in two tables");
}

#[test]
fn a_variant_that_names_no_axis_is_compared_with_those_that_do() {
    let one = |variant: &[(&str, &str)], of| record(&[], variant, vec![measured("age", vec![of])]);
    let set = RecordSet::new(run(), vec![one(&[], 5.0), one(&[("young", "line")], 4.0)]).into();
    let tables = Table::of_each_scenario(&set, &declared()).unwrap();
    let [table] = &tables[..] else { panic!("one table: {tables:?}") };
    assert_eq!((&*table.comparison.base, &*table.comparison.others[0]), ("-", "line"));
    assert!(page_of(&set, &tables).unwrap().contains("line"));
}

#[test]
fn a_curve_of_many_places_keeps_its_ends_and_the_largest_median() {
    let one = |i: u32, young: &str, of: f64| {
        let value = Metric::new("age", "ns", Basis::Counted, Better::Lower, vec![of]);
        record(&[("file", &i.to_string())], &[("young", young)], vec![value])
    };
    let of = |i: u32| if i == 7_777 { 900.0 } else { f64::from(i % 10) };
    let rows = (0..20_000).flat_map(|i| [one(i, "per-entry", of(i)), one(i, "line", 20.0 + of(i))]);
    let page = page(&RecordSet::new(run(), rows.collect()).into());
    assert!(page.len() <= MAX_BYTES, "{}", page.len());
    assert!(page.contains("of 20000 places are drawn"));
    let charts = charts(&page);
    let is_curve = |chart: &&Value| chart["columns"][0]["field"] == "place";
    let curve = charts.as_array().unwrap().iter().find(is_curve).expect("a curve");
    let rows = curve["rows"].as_array().unwrap();
    assert!(rows.len() <= 2 * 402, "{}", rows.len());
    let at = |row: &Value| (row[0].as_u64().unwrap(), row[1].as_u64().unwrap());
    assert_eq!((at(&rows[0]), at(&rows[rows.len() - 1])), ((0, 0), (19_999, 29)));
    assert!(rows.iter().any(|row| at(row) == (7_777, 900)), "the largest");
}

#[test]
fn many_large_maps_and_flame_graphs_fit() {
    let edges = |name: &str| Edges {
        name: name.into(),
        unit: "page".into(),
        edges: (0..=200).map(f64::from).collect(),
        parts: Vec::new(),
    };
    let rows = (0..200).map(|row| (0..200).map(|x| Some(f64::from(row * x) / 3.0)).collect());
    let matrix = Matrix { x: edges("address"), y: edges("time"), rows: rows.collect() };
    let activity = |i: i32| Activity { name: format!("call {i}"), own: 1.0, parts: Vec::new() };
    let many = |_| Activity { parts: (0..80).map(activity).collect(), ..activity(0) };
    let told = |i: u32| {
        let metric = Metric::new(&format!("map {i}"), "", Basis::Counted, Better::Lower, vec![]);
        let flame = Metric { name: format!("flame {i}"), ..metric.clone() };
        let activities = (0..10).map(many).collect();
        [Metric { matrix: Some(matrix.clone().into()), ..metric }, Metric { activities, ..flame }]
    };
    let metrics = (0..40).flat_map(told).collect();
    let page = page(&RecordSet::new(run(), vec![record(&[], &[], metrics)]).into());
    assert!(page.len() <= MAX_BYTES, "{}", page.len());
    assert!(page.contains("29 by 20 cells are drawn of 200 by 200"), "the last map");
    assert!(page.contains("flame 0: the 24 widest activities are drawn; 786 others count in"));
    assert_eq!(page.matches("<figure").count(), 80);
}

#[test]
fn what_no_page_can_show_is_refused() {
    let mut many = small();
    many.sets[0].records[0].fields =
        (0..1_000_000).map(|i| (format!("f{i}"), String::new())).collect();
    let refused = |set: &RecordFile| page_of(set, &[]).unwrap_err().to_string();
    let message = refused(&many);
    assert_eq!(message, "sets[0].records[0]: 1000001 fields and axes; a page takes 64");
    let mut long = small();
    long.sets[0].records[1].metrics[0].unit = "x".repeat(100_000);
    assert_eq!(
        refused(&long),
        "sets[0].records[1]: 100000 characters of one text; a page takes 2000"
    );
    let mut wide = small();
    for variant in 0..65 {
        let age = vec![measured("age", vec![1.0])];
        wide.sets[0].records.push(record(&[], &[("young", &variant.to_string())], age));
    }
    assert!(refused(&wide).contains("65 variants so far; a page takes 64"), "{}", refused(&wide));
    let mut wrong = small();
    wrong.sets[0].records[0].metrics[0].values[3] = f64::NAN;
    assert!(refused(&wrong).contains("only finite numbers are accepted"));
}

#[test]
fn the_policy_lets_nothing_in() {
    let page = page(&small());
    let policy = between(&page, r#"http-equiv="Content-Security-Policy" content=""#, "\"")[0];
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for outside in ["src=\"http", "href=\"http", "@import", "url("] {
        assert!(!page.split("<script").next().unwrap().contains(outside), "{outside}");
    }
}

/// Returns a map of one value, and a flame graph of a call that takes this long.
fn pictures(value: f64) -> Vec<Metric> {
    let edges = |name: &str| Edges {
        name: name.into(),
        unit: "page".into(),
        edges: vec![0.0, 1.0],
        parts: Vec::new(),
    };
    let rows = vec![vec![Some(value)]];
    let map = Matrix { x: edges("address"), y: edges("time"), rows };
    let call = |name: &str, own, parts| Activity { name: name.into(), own, parts };
    let activities = vec![call("reclaim", 1.0, vec![call("unmap", value, Vec::new())])];
    let metric = |name| Metric::new(name, "ns", Basis::Counted, Better::Neither, Vec::new());
    vec![
        Metric { matrix: Some(map.into()), ..metric("pages used") },
        Metric { activities, ..metric("time by activity") },
    ]
}

/// Returns the page of three variants with these pictures.
fn page_of_pictures(values: [f64; 3]) -> String {
    let named = ["per-entry", "batched", "line"].into_iter().zip(values);
    let records = named.map(|(young, of)| record(&[], &[("young", young)], pictures(of)));
    page(&RecordSet::new(run(), records.collect()).into())
}

#[test]
fn pictures_that_are_the_same_are_drawn_once() {
    let same = page_of_pictures([5.0; 3]);
    assert_eq!(charts(&same).as_array().unwrap().len(), 1);
    assert!(same.contains("pages used, the same under every variant"));
    let different = page_of_pictures([5.0, 9.0, 5.0]);
    let charts = charts(&different);
    let colours = |chart: &Value| chart["spec"]["encoding"]["color"]["scale"]["domain"].clone();
    let domains: Vec<Value> = charts.as_array().unwrap().iter().map(colours).collect();
    assert_eq!(domains, vec![serde_json::json!([0.0, 9.0]); 2], "two maps with one scale");
}

#[test]
fn a_flame_graph_beside_its_base_tells_what_grew() {
    let page = page_of_pictures([5.0, 9.0, 2.0]);
    let graphs = between(&page, r#"<figure class="flame">"#, "</figure>");
    let [base, grew, shrank] = graphs[..] else { panic!("{} graphs", graphs.len()) };
    assert!(!base.contains("class=\"grew") && !base.contains("class=\"shrank"), "{base}");
    assert!(grew.contains("most grew reclaim › unmap 5 to 9"), "{grew}");
    assert!(grew.contains("class=\"grew2\"") && !grew.contains("class=\"shrank"), "{grew}");
    assert!(shrank.contains("most shrank reclaim › unmap 5 to 2"), "{shrank}");
    // Ten of ten, six of ten and three of ten: all on the axis of the longest.
    let widths = |graph: &str| between(graph, "width=\"", "%\"")[1].to_owned();
    assert_eq!([base, grew, shrank].map(widths), ["60.000", "100.000", "30.000"]);
}

#[test]
fn one_variant_has_a_bar_for_each_part_and_no_chart_of_one_mark() {
    let metrics = vec![
        measured("whole reclaim", samples(9, 50.0)),
        measured("unmap", samples(9, 20.0)),
        Metric { unit: "per page".into(), ..measured("atomics", vec![2.0]) },
    ];
    let page = page(&RecordSet::new(run(), vec![record(&[], &[], metrics)]).into());
    let charts = charts(&page);
    let first = &charts[0];
    assert_eq!(first["columns"][0]["words"], serde_json::json!(["unmap"]));
    let marks = |chart: &Value| chart["columns"][0]["field"] == "row";
    assert!(!charts.as_array().unwrap().iter().any(marks), "{charts}");
}

/// Records in which no direction is better are no answer, and their table has no empty one.
#[test]
fn predictions_are_drawn_over_the_figures_that_they_predict() {
    let factor = |figure: &str, value: f64| Record {
        scenario: "reproduce score".into(),
        ..record(
            &[("figure", figure)],
            &[],
            vec![Metric {
                interval: Some(Interval {
                    kind: Kind::Prediction,
                    low: 0.5,
                    high: 1.5,
                    level: 0.8,
                }),
                ..Metric::new(
                    "ours / theirs",
                    "times",
                    Basis::Modelled,
                    Better::Neither,
                    vec![value],
                )
            }],
        )
    };
    let prediction =
        Metric::new("before", "ns/4K page", Basis::Modelled, Better::Neither, vec![700.0]);
    let records = vec![
        factor("s0-young", 0.9),
        factor("s0-unmap", 1.25),
        record(&[("figure", "s0-young")], &[], vec![prediction]),
    ];
    let page = page(&RecordSet::new(run(), records).into());
    let charts = charts(&page);
    assert_eq!(charts.as_array().unwrap().len(), 1, "{charts}");
    assert_eq!(charts[0]["columns"][0]["words"], serde_json::json!(["s0-young", "s0-unmap"]));
    let rows = serde_json::json!([[0, 0, 0.9, 0.5, 1.5], [1, 0, 1.25, 0.5, 1.5]]);
    assert_eq!(charts[0]["rows"], rows);
    assert!(page.contains("<h1>reproduce score on host</h1>"), "the title is that of the answer");
    assert!(!page.contains("id=\"verdict1\"") && !page.contains("#verdict1"), "nothing is said");
}

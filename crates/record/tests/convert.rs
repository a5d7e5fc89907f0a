//! Sets of version 1.

use pageout_record::schema::{Claim, ConvertError, RecordSet, from_version_1};
use pageout_record::stats::{Interval, Kind};

/// Returns a set of version 1 with these records.
fn old(records: &str) -> String {
    format!(
        r#"{{"schema": "pageout-record", "version": 1, "run": {{"tool": "pageout 0.1.0",
        "machine": {{"cpu": "Example", "arch": "x86_64", "cores": 8, "memory_mib": 1024,
        "os": "Linux"}}}}, "records": [{records}]}}"#
    )
}

fn record(ground: &str, metrics: &[(&str, &str)]) -> String {
    let basis = if ground == "published" { "published" } else { "modelled" };
    let metric = |(name, values): &(&str, &str)| {
        format!(
            r#"{{"name": "{name}", "unit": "ns", "basis": "{basis}", "better": "lower",
            "source": "somewhere", "values": [{values}]}}"#
        )
    };
    let metrics: Vec<_> = metrics.iter().map(metric).collect();
    format!(
        r#"{{"scenario": "sweep", "ground": "{ground}", "seed": 3, "fields": {{"order": "4"}},
        "variant": {{"young": "line"}}, "metrics": [{}]}}"#,
        metrics.join(",")
    )
}

fn converted(records: &str) -> RecordSet {
    from_version_1(&old(records)).unwrap()
}

#[test]
fn all_but_what_names_told_is_kept() {
    let set = converted(&record("host", &[("age", "3, 1.5, 2"), ("below, low", "7")]));
    let [record] = &set.records[..] else { panic!("one record") };
    assert_eq!((record.scenario.as_str(), record.seed), ("sweep", 3));
    assert_eq!((&record.fields["order"][..], &record.variant["young"][..]), ("4", "line"));
    let told: Vec<_> = record.metrics.iter().map(|m| (&m.name[..], &m.values[..])).collect();
    assert_eq!(told, [("age", &[3.0, 1.5, 2.0][..]), ("below, low", &[7.0])]);
    assert!(record.metrics.iter().all(|metric| metric.source.as_deref() == Some("somewhere")));
    assert_eq!(RecordSet::from_json(&set.to_json().unwrap()).unwrap(), set);
}

#[test]
fn a_run_s_id_follows_from_its_records() {
    let id = |values| converted(&record("host", &[("age", values)])).run.id;
    assert_eq!(id("3, 1.5"), id("3.0,   1.5"), "written in another way");
    assert_ne!(id("3, 1.5"), id("3, 2.5"));
    assert!(!id("3").is_nil());
}

#[test]
fn ends_become_intervals_of_what_they_are_ends_of() {
    let metrics = [
        ("whole", "5"),
        ("whole, low", "4"),
        ("whole, high", "8"),
        ("whole, drawn", "4, 8"),
        ("ratio", "2"),
        ("ratio, 5 %", "1"),
        ("ratio, 95 %", "3"),
    ];
    let set = converted(&record("model", &metrics));
    let of = |low, high| Some(Interval { kind: Kind::Draws, low, high, level: 0.9 });
    let told = set.records[0].metrics.iter().map(|m| (&m.name[..], m.interval));
    let expected = [("whole", of(4.0, 8.0)), ("whole, drawn", None), ("ratio", of(1.0, 3.0))];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn quoted_ends_become_bounds_and_sides_claims() {
    for (side, claim) in [("1", Claim::Better), ("-1", Claim::Worse), ("0", Claim::NoDifference)] {
        let metrics = [("ratio, least", "1.2"), ("ratio, most", "1.5"), ("side", side)];
        let set = converted(&record("published", &metrics));
        let [ratio, told] = &set.records[0].metrics[..] else { panic!("two metrics") };
        let bound = ratio.bound.unwrap();
        assert_eq!((&ratio.name[..], ratio.values.len()), ("ratio", 0));
        assert_eq!((bound.at_least, bound.at_most), (Some(1.2), Some(1.5)));
        assert_eq!((told.claim, told.values.len()), (Some(claim), 0));
    }
    let set = converted(&record("published", &[("ratio, least", "1.2")]));
    assert_eq!(set.records[0].metrics[0].bound.unwrap().at_most, None);
}

#[test]
fn other_versions_and_what_version_1_had_not_are_refused() {
    let new = old("").replace("\"version\": 1", "\"version\": 2");
    assert!(matches!(from_version_1(&new), Err(ConvertError::Version { found: 2 })));
    let text = old(&record("host", &[("age", "1")]));
    let bound = text.replace("\"values\": [1]", "\"values\": [1], \"claim\": \"better\"");
    let error = from_version_1(&bound).unwrap_err().to_string();
    for part in
        ["records[0].metrics[0].claim (metric \"age\")", "unknown field `claim`", "`values`"]
    {
        assert!(error.contains(part), "{error}");
    }
    let empty = from_version_1(&text.replace("[1]", "[]")).unwrap_err().to_string();
    assert!(empty.contains("metric \"age\"") && empty.contains("nothing to tell"), "{empty}");
    let told = RecordSet::from_json(&text).unwrap_err().to_string();
    assert!(told.contains("version is 1; 2 is accepted"), "{told}");
    assert!(told.contains("`pageout records convert OLD NEW`"), "{told}");
}

//! Reading, writing and refusing record sets.

use pageout_record::schema::{Basis, ReadError, RecordFile, RecordSet, Run};
use proptest::prelude::*;

/// Returns the first JSON block of the reference.
fn example() -> &'static str {
    let text = include_str!("../../../docs/records.md");
    let (_, after) = text.split_once("```json\n").expect("a JSON block");
    after.split_once("```").expect("its end").0
}

fn read(text: &str) -> Result<RecordSet, ReadError> {
    RecordSet::from_json(text)
}

/// Returns the error of the example with one piece of its text replaced.
fn error(from: &str, to: &str) -> String {
    let text = example();
    assert!(text.contains(from), "{from} is in the example");
    read(&text.replacen(from, to, 1)).expect_err("refused").to_string()
}

/// Returns the error of a file that has the example's run twice.
fn twice() -> String {
    let set = read(example()).unwrap();
    RecordFile { sets: vec![set.clone(), set] }.to_json().unwrap_err().to_string()
}

#[test]
fn a_file_may_hold_several_runs() {
    let one = read(example()).unwrap();
    let mut other = one.clone();
    other.run = Run::new("another", None, one.run.machine.clone());
    let file = RecordFile { sets: vec![one, other] };
    let text = file.to_json().unwrap();
    assert_eq!(RecordFile::from_json(&text).unwrap(), file);
    assert_eq!(read(&text).unwrap_err().to_string(), "it holds 2 runs; one is accepted");
    let mut csv = Vec::new();
    file.to_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let of = |run: &str| csv.lines().filter(|line| line.starts_with(run)).count();
    assert!(of("0,") > 0 && of("0,") == of("1,"), "{csv}");
}

#[test]
fn the_documented_example_is_read_and_written_alike() {
    let set = read(example()).unwrap();
    assert!(!set.records.is_empty());
    let written = set.to_json().unwrap();
    assert_eq!(read(&written).unwrap(), set);
    assert_eq!(read(&written).unwrap().to_json().unwrap(), written);
    let metric = written.lines().find(|line| line.contains("\"age\"")).map(str::trim_start);
    let begins = r#"{"name": "age", "unit": "ns/page", "basis": "measured", "better": "lower", "#;
    let ends = r#""values": [2.91, 2.87, 2.9]},"#;
    assert_eq!(metric, Some(&*format!("{begins}{ends}")));
}

#[test]
fn errors_name_the_place_and_what_is_accepted() {
    let errors = [
        error("\"pageout-record\"", "\"other\""),
        error("\"version\": 2", "\"version\": 9"),
        error("\"basis\": \"measured\"", "\"basis\": \"felt\""),
        error("\"better\": \"lower\",", "\"better\": \"lower\", \"worse\": 1,"),
        error("\"seed\": 1", "\"sead\": 1"),
        error("681bf4a3-", "681bf4a3"),
        error("\"sets\": [", "\"sets\": [], \"more\": ["),
        error("[2.91, 2.87, 2.9]", "[]"),
        error("\"values\": [2.8]", "\"source\": \"x\""),
        error("\"values\": [2.8]", "\"values\": [2.8], \"claim\": \"better\""),
        error("\"kind\": \"draws\"", "\"kind\": \"hope\""),
        error("\"low\": 2.1", "\"low\": 5.1"),
        error("\"level\": 0.9", "\"level\": 90"),
        error("\"values\": [2.8]", "\"claim\": \"better\""),
        error("\"at_least\": 1.2", "\"at_least\": 1.2, \"at_most\": 1.1"),
        error("\"at_least\": 1.2", ""),
        error("\"values\": [16]", "\"bound\": { \"at_most\": 16 }"),
        error("\"claim\": \"better\"", "\"claim\": \"best\""),
        error("\"self\": 84", "\"self\": -84"),
        error("\"name\": \"wait\"", "\"name\": \" \""),
        error("\"at\": [0, 5, 10]", "\"at\": [0, 5]"),
        error("\"at\": [0, 5, 10]", "\"at\": [0, 5, 5]"),
        error("\"edges\": [0, 64]", "\"edges\": [0]"),
        error("[[12, null]]", "[[12]]"),
        error("[[12, null]]", "[]"),
        error("\"actor\": 1", "\"actor\": 2"),
        error("\"after\": [\"none\"]", "\"after\": [\"a\", \"b\"]"),
        error("[2.91, 2.87, 2.9]", "[1, 1e999]"),
        error("[2.91, 2.87, 2.9]", "[1, null]"),
        error("\"basis\": \"measured\"", "\"basis\": \"published\""),
        error("\"name\": \"visits\"", "\"name\": \"age\""),
        error("\"order\": \"4\"", "\"order\": \"\\u001b[2J\""),
        error("\"order\": \"4\"", "\"order\": \"\\u202e4\""),
        twice(),
        read("[]").unwrap_err().to_string(),
        read("{\"schema\": \"pageout-record\"").unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn what_cannot_be_read_cannot_be_written() {
    let mut set = read(example()).unwrap();
    set.records[0].metrics[0].values[1] = f64::NAN;
    let error = set.to_json().unwrap_err().to_string();
    assert_eq!(
        error,
        "sets[0].records[0] (\"sweep\"), metric \"age\": values[1] is NaN; only finite numbers are \
         accepted"
    );
    let mut csv = Vec::new();
    assert!(set.to_csv(&mut csv).is_err() && csv.is_empty());
}

#[test]
fn what_is_repeatable_is_the_same_for_other_measurements() {
    let set = read(example()).unwrap();
    let mut again = set.clone();
    again.run = Run::new(&set.run.tool, set.run.commit.clone(), set.run.machine.clone());
    for metric in again.records.iter_mut().flat_map(|record| &mut record.metrics) {
        if metric.basis == Basis::Measured {
            metric.values.iter_mut().for_each(|value| *value *= 1.5);
        }
    }
    assert_ne!(set, again);
    assert_eq!(set.repeatable(), again.repeatable());
    let rest = read(&set.repeatable().to_json().unwrap()).unwrap();
    let metrics = || rest.records.iter().flat_map(|record| &record.metrics);
    assert!(metrics().count() > 0 && metrics().all(|metric| metric.basis != Basis::Measured));
}

#[test]
fn csv_has_a_line_a_value() {
    let mut set = read(example()).unwrap();
    set.records[0].fields.insert("note".to_owned(), "a, \"b\"".to_owned());
    let mut csv = Vec::new();
    set.to_csv(&mut csv).unwrap();
    insta::assert_snapshot!(String::from_utf8(csv).unwrap());
}

/// Generates numbers of every kind: whole ones are written differently.
fn number() -> impl Strategy<Value = f64> {
    use prop::num::f64::{NORMAL, ZERO};
    prop_oneof![NORMAL, ZERO, (-9e15..9e15).prop_map(f64::round)]
}

proptest! {
    #[test]
    fn values_survive_json(
        values in prop::collection::vec(number(), 1..20),
    ) {
        let mut set = read(example()).unwrap();
        set.records[0].metrics[0].values = values;
        let again = read(&set.to_json().unwrap()).unwrap();
        let bits = |set: &RecordSet| {
            let values = &set.records[0].metrics[0].values;
            values.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
        };
        prop_assert_eq!(bits(&again), bits(&set));
    }

    #[test]
    fn damaged_text_never_panics(cut in any::<prop::sample::Index>(), with in "[ -~]{0,3}") {
        let text = example();
        let at = cut.index(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
            let _ = read(&format!("{}{with}{}", &text[..at], &text[at + 1..]));
        }
    }
}

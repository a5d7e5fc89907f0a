//! Records: what they hold, and that they are the same in every run but for what is measured.

use crate::common::{QUICK_TRACE, counted, read, records, run, stderr, stdout};
use pageout_record::schema::{Basis, Ground, RecordSet};
use std::collections::BTreeSet;
use tempfile::tempdir;

const SMALL: &str = "age-file size=4MiB order=4 format=x86-64";

#[test]
fn json_has_a_record_a_scenario_and_variant() {
    let set = records("compare age-file size=4MiB order=0,4 --runs 3");
    assert_eq!(set.records.len(), 2 * 2 * 3, "formats, orders, variants");
    for record in &set.records {
        assert_eq!((record.ground, record.seed), (Ground::Host, 1));
        assert_eq!(record.variant["flush"], "architecture", "defaults are written out");
        for metric in &record.metrics {
            let n = if metric.basis == Basis::Measured { 3 } else { 1 };
            assert_eq!(metric.values.len(), n, "{}", metric.name);
        }
    }
    let young: BTreeSet<_> = set.records.iter().map(|record| &record.variant["young"]).collect();
    assert_eq!(young.into_iter().collect::<Vec<_>>(), ["batched", "line", "per-entry"]);
}

#[test]
fn csv_has_the_documented_columns_and_a_line_a_value() {
    let csv = stdout(&format!("run {SMALL} --runs 2 --csv"));
    let mut lines = csv.lines();
    let fields = ["format", "map", "order", "processes", "size", "young"];
    let columns = ["run", "scenario", "ground", "seed"].map(str::to_owned).into_iter();
    let columns = columns.chain(fields.map(|field| format!("field.{field}")));
    let columns = columns.chain(["axis.flush", "axis.young"].map(str::to_owned));
    let rest = ["metric", "unit", "basis", "sample", "value"];
    let header: Vec<_> = columns.chain(rest.map(str::to_owned)).collect();
    assert_eq!(lines.next(), Some(header.join(",").as_str()));
    let set = records(&format!("run {SMALL} --runs 2"));
    let values = set.records.iter().flat_map(|record| &record.metrics);
    let values: usize = values.map(|metric| metric.values.len()).sum();
    assert_eq!(lines.clone().count(), values);
    assert!(lines.all(|line| line.starts_with("0,age-file,host,1,x86-64,ptes,4,1,4MiB,100%,")));
}

#[test]
fn an_output_file_has_what_would_be_printed() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("records.json");
    std::fs::write(&path, "what was there before").expect("a file");
    let done = run(&format!("run {SMALL} --runs 2 --json --output {}", path.display()));
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(done.stdout.is_empty(), "it goes to the file alone");
    let text = std::fs::read_to_string(&path).expect("the output file");
    let from_file = read(&text);
    let printed = records(&format!("run {SMALL} --runs 2"));
    assert_eq!(from_file.repeatable(), printed.repeatable());
}

#[test]
fn a_trace_s_records_differ_between_runs_in_measured_values_only() {
    let words = format!("compare {QUICK_TRACE} --runs 2");
    let [first, second] = [records(&words), records(&words)];
    assert_eq!(first.repeatable(), second.repeatable());
    assert_ne!(first.run.id, second.run.id, "each run has its own");
    let shape = |set: &RecordSet| {
        let metrics = set.records.iter().flat_map(|record| &record.metrics);
        let shape = metrics.map(|metric| (metric.name.clone(), metric.values.len()));
        shape.collect::<Vec<_>>()
    };
    assert_eq!(shape(&first), shape(&second));
}

#[test]
fn all_algorithms_find_the_same_folios_referenced() {
    for words in [
        format!("compare {QUICK_TRACE} --runs 1"),
        "compare age-file size=8MiB order=4 format=arm64-4k young=10% --runs 1".to_owned(),
    ] {
        let set = records(&words);
        let referenced = |record| counted(record, "folios referenced");
        let found: Vec<_> = set.records.iter().map(referenced).collect();
        assert_eq!(found.len(), 3, "{words}");
        assert!(found[0] > 0.0, "{words}: something is referenced");
        assert!(found.iter().all(|one| *one == found[0]), "{words}: {found:?}");
    }
}

#[test]
fn the_seed_decides_which_entries_are_young() {
    let half = "run age-file size=64MiB order=2 format=x86-64 young=50% --runs 1";
    let set = |seed: u32| {
        let mut set = records(&format!("{half} --seed {seed}")).repeatable();
        assert!(set.records.iter().all(|record| record.seed == u64::from(seed)));
        set.records.iter_mut().for_each(|record| record.seed = 0);
        set
    };
    assert_eq!(set(7), set(7));
    assert_ne!(set(7), set(8));
}

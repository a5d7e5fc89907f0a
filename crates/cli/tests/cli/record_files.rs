//! `compare FILE.json…`: records that were written before.

use crate::common::{refused, run, stderr, stdout};
use pageout_record::schema::RecordSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};

/// Records of a kernel that reclaimed in `values` nanoseconds a page.
fn file(directory: &Path, name: &str, kernel: &str, cpu: &str, values: &str) -> PathBuf {
    let json = format!(
        r#"{{"schema": "pageout-record", "version": 1,
        "run": {{"tool": "measure.sh", "machine": {{
            "cpu": "{cpu}", "arch": "aarch64", "cores": 32, "memory_mib": 65536, "os": "Linux {kernel}"}}}},
        "records": [{{"scenario": "reclaim-file", "ground": "linux", "seed": 0,
            "fields": {{"order": "4", "lru": "classic"}}, "variant": {{"kernel": "{kernel}"}},
            "metrics": [{{"name": "reclaim", "unit": "ns/4K page", "basis": "measured",
                "better": "lower", "values": [{values}]}}]}}]}}"#
    );
    let path = directory.join(name);
    fs::write(&path, json).expect("a file");
    path
}

/// Six samples before and after, in two files a kernel, as they were taken in turn.
fn four() -> (TempDir, String) {
    let directory = tempdir().expect("a directory");
    let samples = [
        ("a1.json", "6.12.0", "724, 720, 731"),
        ("b1.json", "6.12.0-mine", "480, 485, 490"),
        ("a2.json", "6.12.0", "722, 728, 726"),
        ("b2.json", "6.12.0-mine", "481, 484, 488"),
    ];
    let paths = samples.map(|(name, kernel, values)| {
        file(directory.path(), name, kernel, "Example", values).display().to_string()
    });
    (directory, paths.join(" "))
}

#[test]
fn two_kernels_are_compared_and_samples_pooled() {
    let (_directory, files) = four();
    let table = stdout(&format!("compare {files}"));
    for part in ["6.12.0-mine", "725", "484", "33.17%*", "n = 6"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    let json = stdout(&format!("compare {files} --json"));
    let set = RecordSet::from_json(&json).expect("records");
    assert_eq!(set.records.len(), 2);
    assert_eq!(set.records[0].metrics[0].values, [724.0, 720.0, 731.0, 722.0, 728.0, 726.0]);
}

#[test]
fn the_base_can_be_chosen() {
    let (_directory, files) = four();
    let table = stdout(&format!("compare {files} --base kernel=6.12.0-mine"));
    assert!(table.contains("-49."), "slower than the base:\n{table}");
    refused(&format!("compare {files} --base kernel=6.13"), &["kernel=6.13", "6.12.0-mine"]);
    refused(&format!("compare {files} --base kernel"), &["`kernel`", "AXIS=CHOICE"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let directory = tempdir().expect("a directory");
    let here = file(directory.path(), "here.json", "6.12.0", "Example", "1");
    let there = file(directory.path(), "there.json", "6.13.0", "Other", "1");
    let (here, there) = (here.display(), there.display());
    refused(
        &format!("compare {here} {there}"),
        &["here.json", "there.json", "Other", "one machine"],
    );
    refused("compare absent.json", &["cannot read absent.json"]);
    refused(&format!("compare {here} --runs 3"), &["--runs", "measured already"]);
    let broken = directory.path().join("broken.json");
    fs::write(&broken, "{}").expect("a file");
    refused(&format!("compare {}", broken.display()), &["broken.json", "not a record set"]);
    let one = run(&format!("compare {here}"));
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
}

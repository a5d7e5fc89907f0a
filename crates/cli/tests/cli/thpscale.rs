//! Scenario `thpscale`, through the binary.

use crate::common::{records, refused, stdout};
use pageout_record::schema::{Basis, Ground, Record};
use tempfile::tempdir;

const SMALL: &str = "thpscale --ground model --cores 4 memory=40MiB";

fn values<'a>(record: &'a Record, name: &str) -> &'a [f64] {
    let metric = record.metrics.iter().find(|metric| metric.name == name);
    &metric.unwrap_or_else(|| panic!("{name} is in {record:?}")).values
}

#[test]
fn rows_have_a_base_and_a_patched_variant_and_durations_follow() {
    let table = stdout(&format!("compare {SMALL} threads=1,2 --draws 2"));
    for part in [
        "threads  variant             slots  Amean, us",
        "flush=architecture",
        "flush=none",
        "gain, drawn",
        "user ",
        "system ",
        "elapsed ",
        "pgmigrate_success",
        "percentile over draws",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let set = records(&format!("compare {SMALL} threads=1,2"));
    assert_eq!(set.records.len(), 2 * 2);
    for record in &set.records {
        assert_eq!((record.ground, &*record.fields["format"]), (Ground::Model, "arm64-4k"));
        assert_eq!(values(record, "fault-both").len(), 8, "one sample a slot");
        let bases = |basis| record.metrics.iter().any(|metric| metric.basis == basis);
        assert!(bases(Basis::Modelled) && bases(Basis::Counted) && !bases(Basis::Measured));
    }
}

#[test]
fn stacks_tell_migration_reclaim_and_the_program_apart() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("stacks.txt");
    let table = stdout(&format!("run {SMALL} threads=2 --folded {}", path.display()));
    assert!(table.contains("Amean") && table.contains("fault-huge"), "{table}");
    let stacks = std::fs::read_to_string(path).unwrap();
    for stack in ["thread 0;fault;copy", "thread 1;munmap", "thread 1;read-ahead", "thread 0;walk"]
    {
        assert!(stacks.contains(stack), "{stack}: {stacks}");
    }
}

#[test]
fn what_it_does_not_have_is_refused() {
    refused("compare thpscale", &["thpscale", "--ground model"]);
    refused("compare thpscale --ground model threads=0", &["threads", "1 to 128"]);
    refused("compare thpscale --ground model size=1", &["size", "threads, memory, swap"]);
    refused("compare thpscale --ground model threads=32 memory=64MiB", &["no slot of 2 MiB"]);
    refused("run thpscale --ground model --folded x", &["folded stacks", "found 9"]);
}

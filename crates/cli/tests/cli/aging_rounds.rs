//! Rounds of use and reclaim, counted: what batching makes of filters.

use crate::common::{counted, records, refused, stdout};

const SMALL: &str = "aging-rounds size=16MiB rounds=4";

/// Returns the figures of the three algorithms: per entry, batched, and ours.
fn of_algorithms(fields: &str, name: &str) -> [f64; 3] {
    let set = records(&format!("compare {SMALL} {fields}"));
    let found: Vec<_> = set.records.iter().map(|record| counted(record, name)).collect();
    found.try_into().expect("one scenario in three algorithms")
}

#[test]
fn contiguous_tables_are_added_to_filters_in_batches_alone() {
    let added = "tables added to the filter by walks";
    let [per_entry, batched, line] = of_algorithms("format=arm64-4k access=all", added);
    assert_eq!(per_entry, 0.0);
    assert!(batched > 0.0);
    assert_eq!(batched, line);
    let beside = of_algorithms("format=arm64-4k access=all contiguous=no", added);
    assert!(beside.iter().all(|tables| *tables > 0.0), "no block is contiguous: {beside:?}");
}

#[test]
fn it_is_about_generations_and_the_same_every_time() {
    let words = format!("run {SMALL} format=x86-64,arm64-4k access=1/16");
    let first = stdout(&words);
    assert!(first.contains("lru=mglru") && first.contains("contiguous=yes"), "{first}");
    assert!(first.contains("format=x86-64") && first.contains("contiguous=no"), "{first}");
    assert_eq!(first, stdout(&words));
    let found = "found `classic`, accepted: mglru";
    refused("compare aging-rounds --base lru=classic", &["`lru`", found]);
}

#[test]
fn bad_fields_name_what_is_accepted() {
    refused("run aging-rounds access=1/0", &["`access`", "`1/0`", "1/16"]);
    refused("run aging-rounds access=0%", &["`access`", "`0%`", "1% to 100%"]);
    refused("run aging-rounds contiguous=maybe", &["`contiguous`", "yes or no"]);
    refused("run aging-rounds rounds=0", &["`rounds`", "1 to 1000"]);
    refused("run aging-rounds young=1%", &["aging-rounds", "`young`", "access"]);
    refused("run aging-rounds size=4MiB limit=10%", &["64 folios"]);
    refused("run aging-rounds size=1000000", &["`size`", "64KiB"]);
    refused("run aging-rounds --trace python-table", &["--trace", "aging-rounds"]);
}

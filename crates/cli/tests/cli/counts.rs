//! Counted figures that follow from what each family does.

use crate::common::{counted, records};
use pageout_record::schema::RecordSet;

fn of(set: &RecordSet, young: &str, name: &str) -> f64 {
    let mut of_variant = set.records.iter().filter(|record| record.variant["young"] == young);
    let record = of_variant.next().expect("the variant was compared");
    assert!(of_variant.next().is_none(), "one scenario");
    counted(record, name)
}

fn per_family(scenario: &str, name: &str) -> [f64; 3] {
    let set = records(&format!("compare age-file size=4MiB {scenario} --runs 1"));
    ["per-entry", "batched", "line"].map(|young| of(&set, young, name))
}

/// An arm64 call visits its whole block of 16 with an atomic an entry; called for every entry, that
/// is 16 a page.
#[test]
fn atomics_on_arm64_in_blocks() {
    assert_eq!(per_family("format=arm64-4k order=4 young=100%", "atomics"), [16.0, 1.0, 1.0]);
    assert_eq!(per_family("format=arm64-4k order=4 young=0%", "atomics"), [16.0, 1.0, 0.0]);
}

/// x86-64 tests before it clears.
#[test]
fn atomics_on_x86_64() {
    assert_eq!(per_family("format=x86-64 order=4 young=100%", "atomics"), [1.0, 1.0, 1.0]);
    assert_eq!(per_family("format=x86-64 order=4 young=0%", "atomics"), [0.0, 0.0, 0.0]);
}

#[test]
fn every_folio_is_referenced_or_none() {
    for (young, folios) in [("100%", 64.0), ("0%", 0.0)] {
        let scenario = format!("format=arm64-4k order=4 young={young}");
        assert_eq!(per_family(&scenario, "folios referenced"), [folios; 3]);
    }
    let shared = "format=x86-64 order=pmd map=pmd-leaf processes=3";
    let folios = per_family(shared, "folios referenced");
    assert_eq!(folios, [2.0; 3], "a folio is counted once, however many processes map it");
}

#[test]
fn flush_policies_order_invalidations_and_barriers() {
    let counts = |format: &str, flush: &str| {
        let variant = format!("young=line,flush={flush}");
        let scenario = format!("age-file size=4MiB format={format} order=4");
        let set = records(&format!("run {scenario} --variant {variant} --runs 1"));
        ["invalidations", "barriers"].map(|name| of(&set, "line", name) * 16.0)
    };
    for format in ["x86-64", "arm64-4k"] {
        assert_eq!(counts(format, "none"), [0.0, 0.0], "{format}");
        assert_eq!(counts(format, "nosync"), [1.0, 0.0], "{format}: one a folio");
        assert_eq!(counts(format, "sync"), [1.0, 1.0], "{format}: one a folio, waited for");
    }
    assert_eq!(counts("x86-64", "architecture"), counts("x86-64", "none"));
    assert_eq!(counts("arm64-4k", "architecture"), counts("arm64-4k", "nosync"));
}

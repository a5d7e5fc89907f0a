//! Counted figures that follow from what each algorithm does.

use crate::common::{counted, records};
use pageout_record::schema::{RecordSet, Told};

fn of(set: &RecordSet, young: &str, name: &str) -> f64 {
    let mut of_variant = set.records.iter().filter(|record| record.variant["young"] == young);
    let record = of_variant.next().expect("the variant was compared");
    assert!(of_variant.next().is_none(), "one scenario");
    counted(record, name)
}

fn per_algorithm(scenario: &str, name: &str) -> [f64; 3] {
    let set = records(&format!("compare age-file size=4MiB {scenario} --runs 1"));
    ["per-entry", "batched", "line"].map(|young| of(&set, young, name))
}

/// An arm64 call visits its whole block of 16 with an atomic an entry; called for every entry, that
/// is 16 a page.
#[test]
fn atomics_on_arm64_in_blocks() {
    assert_eq!(per_algorithm("format=arm64-4k order=4 young=100%", "atomics"), [16.0, 1.0, 1.0]);
    assert_eq!(per_algorithm("format=arm64-4k order=4 young=0%", "atomics"), [16.0, 1.0, 0.0]);
}

/// x86-64 tests before it clears.
#[test]
fn atomics_on_x86_64() {
    assert_eq!(per_algorithm("format=x86-64 order=4 young=100%", "atomics"), [1.0, 1.0, 1.0]);
    assert_eq!(per_algorithm("format=x86-64 order=4 young=0%", "atomics"), [0.0, 0.0, 0.0]);
}

#[test]
fn every_folio_is_referenced_or_none() {
    for (young, folios) in [("100%", 64.0), ("0%", 0.0)] {
        let scenario = format!("format=arm64-4k order=4 young={young}");
        assert_eq!(per_algorithm(&scenario, "folios referenced"), [folios; 3]);
    }
    let shared = "format=x86-64 order=pmd map=pmd-leaf processes=3";
    let folios = per_algorithm(shared, "folios referenced");
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

/// The history of a program under a limit by place and epoch, and the counters of the same run.
#[test]
fn history_adds_up_to_what_the_engine_counts() {
    for lru in ["classic", "mglru"] {
        let words = format!("run trace limit=25% format=x86-64 lru={lru} --trace cc1plus-list");
        let set = records(&words);
        let [record] = &set.records[..] else { panic!("one run") };
        let told = |name: &str| {
            let metric = record.metric(name);
            metric.expect(name).told()
        };
        let sum = |name: &str| match told(name) {
            Told::Matrix(matrix) => matrix.rows.iter().flatten().flatten().sum::<f64>(),
            other => panic!("{name} is {}", other.name()),
        };
        // The engine knows of a refault by a shadow, which may have given way to another.
        let (again, refaults) =
            (sum("pages used again after reclaim"), counted(record, "refaults"));
        assert!(again >= refaults && again < 1.02 * refaults, "{again}, {refaults} by shadows");
        assert!(again >= counted(record, "hot pages reclaimed"), "{lru}");
        // A file's page that is brought in only to be copied is used only in its copy.
        let (reclaimed, by_place) =
            (counted(record, "pages reclaimed"), sum("pages reclaimed, by place"));
        assert!(by_place <= reclaimed && by_place > 0.95 * reclaimed, "{by_place} of {reclaimed}");
        assert!(sum("pages used") >= counted(record, "different pages"), "{lru}");
        let Told::Series(lists) = told("pages by list") else { panic!("lists over time") };
        let limit = counted(record, "limit");
        for at in 0..lists.at.len() {
            let pages: f64 = lists.lines.iter().filter_map(|line| line.values[at]).sum();
            assert!(pages <= limit, "{pages} pages on lists, of {limit}");
        }
    }
}

//! The threads' figures beside ours, through the binary.

use crate::common::{assert_refused, records, run, stdout};
use pageout_record::schema::Ground;
use pageout_record::stats::Interval;

#[test]
fn all_threads_are_scored_on_one_screen() {
    let screen = stdout("reproduce --quick --draws 20");
    assert!(screen.starts_with("skill 0."), "{screen}");
    assert!(screen.lines().count() <= 60, "{screen}");
    for id in ["s0-young-arm64 before", "s1-mglru-x86 ratio", "s4-flush-share-kunpeng"] {
        assert!(screen.contains(id), "{id} is identified:\n{screen}");
    }
    for part in ["CRPS", "arithmetic, 8 of 72", "bounded, 17 of 72", "not identified, 36 of 72"] {
        assert!(screen.contains(part), "no {part} in:\n{screen}");
    }
}

#[test]
fn a_thread_has_all_its_rows() {
    let table = stdout("reproduce --thread S1 --quick");
    for part in ["S1: ", "predicted", "counted", "measured"] {
        assert!(table.contains(part), "no {part} in:\n{table}");
    }
    for id in ["s1-mglru-arm64", "s1-mglru-arm64-sys", "s1-mglru-x86"] {
        let rows = table.lines().skip_while(|line| line.split(' ').next() != Some(id)).skip(1);
        let rows = rows.take_while(|line| line.starts_with(' '));
        assert!(rows.count() >= 1, "{id} has no row in:\n{table}");
    }
}

#[test]
fn a_thread_s_records_are_its_own() {
    let set = records("reproduce --thread S3 --quick");
    assert!(set.records.len() > 30, "{} records", set.records.len());
    assert!(set.records.iter().all(|record| record.fields["thread"] == "S3"));
    let metrics = || set.records.iter().flat_map(|record| &record.metrics);
    let drawn = || metrics().filter_map(|metric| Some((*metric.values.first()?, metric.interval?)));
    assert!(drawn().count() > 20);
    for (value, Interval { low, high, .. }) in drawn() {
        assert!((low..=high).contains(&value), "{value} is not from {low} to {high}");
    }
    let on_host = set.records.iter().any(|record| record.ground == Ground::Host);
    assert!(!on_host, "nothing of it runs on the host");
    let predicted = records("reproduce --thread S1 --quick --draws 50");
    let model = predicted.records.iter().find(|record| record.ground == Ground::Model);
    let metrics = &model.expect("a prediction").metrics;
    let of = |name: &str| metrics.iter().find(|metric| metric.name == name).expect(name);
    let ratio = of("ratio").interval.expect("of draws");
    assert!(ratio.low < ratio.high && of("after").values[0] < of("before").values[0]);
}

#[test]
fn what_is_not_a_thread_is_refused() {
    assert_refused(&run("reproduce --thread S9"), &["S9", "S0, S1, S2, S3, S4 or lists"]);
    assert_refused(&run("reproduce --draws 3"), &["--draws", "20"]);
}

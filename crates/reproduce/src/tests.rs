use super::answer::{Answer, Label, Quantity};
use super::figures::all;
use super::material::{Material, Needs};
use super::method::Method;
use super::platforms::ARM;
use super::split::{self, Class, FROZEN, split};
use super::{Certainty, Effort, Figure, answer, records, score, table};
use pageout_experiment::scenarios::metrics::machine::BROADCASTS;
use pageout_experiment::scenarios::metrics::reclaim_file::{INSTRUCTIONS, WHOLE};
use pageout_experiment::variant::Variant;
use pageout_machine::platform::{Draw, Platform};
use pageout_model::scenarios::reclaim_file::ReclaimFile;
use pageout_model::{Model, Scenario as _};
use pageout_record::schema::{Basis, Ground, Machine, Record, RecordSet, Run};
use pageout_record::stats::{Interval, Kind};
use sha2::{Digest as _, Sha256};
use std::num::NonZeroUsize;

/// The number of the threads' figures that were noted, one row each.
const ROWS: usize = 72;

fn figure(id: &str) -> &'static Figure {
    all().find(|figure| figure.id == id).unwrap_or_else(|| panic!("no figure {id}"))
}

fn set(records: Vec<Record>) -> RecordSet {
    let machine = Machine {
        cpu: "made up".to_owned(),
        arch: "x86_64".to_owned(),
        cores: 2,
        memory_mib: 1024,
        os: "linux".to_owned(),
    };
    RecordSet::new(Run::new("pageout", None, machine), records)
}

#[test]
fn every_figure_is_there_once_and_has_a_method() {
    let ids: std::collections::BTreeSet<_> = all().map(|figure| figure.id).collect();
    assert_eq!((ids.len(), all().count()), (ROWS, ROWS));
    for figure in all() {
        assert!(!figure.methods.is_empty(), "{}", figure.id);
        let tells = figure.theirs.side() != super::Side::Neither;
        assert!(tells || figure.said != Certainty::Tested, "{}: a test of what?", figure.id);
    }
}

/// Returns the SHA-256 of a text, in hexadecimal.
fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of the split is in a decision, so that no figure changes its class after its price was
/// seen.
#[test]
fn the_split_is_the_frozen_one() {
    let hash = sha256(FROZEN);
    let decision = include_str!("../../../docs/decisions/0031-split-figures-before-pricing.md");
    assert!(decision.contains(&hash), "the decision lacks {hash}");
}

/// The hash of the prices is in a decision, so that a price which changes after its score was seen
/// needs a note there.
#[test]
fn prices_are_the_frozen_ones() {
    let decision = include_str!("../../../docs/decisions/0032-freeze-prices-before-scoring.md");
    for name in Platform::names() {
        let hash = sha256(Platform::file(name).expect("a shipped platform"));
        assert!(decision.contains(&hash), "the decision lacks {hash} of {name}");
    }
}

#[test]
fn every_figure_has_one_class() {
    let figures: std::collections::BTreeSet<_> = all().map(|figure| figure.id).collect();
    let classed: Vec<_> = split().map(|one| one.figure).collect();
    assert_eq!(figures, classed.iter().copied().collect());
    assert_eq!(classed.len(), ROWS, "a figure has two classes");
    let counts = Class::ALL.map(|class| split().filter(|one| one.class == class).count());
    assert_eq!(counts, [11, 8, 17, 36], "in the order of Class::ALL");
    assert_eq!(counts.iter().sum::<usize>(), ROWS);
    assert!(counts[0] <= 20, "more identified than the threads say enough for");
    assert!(split().all(|one| !one.why.is_empty()));
    assert!(split::others().lines().all(|line| line.len() <= 80));
}

#[test]
fn every_figure_is_a_record_and_every_answer_too() {
    let material = Material::gather(Effort::QUICK, Needs::default(), &mut |_, _| ());
    let mut kept = Vec::new();
    for figure in all() {
        let answers: Vec<_> =
            figure.methods.iter().map(|method| method.answer(figure, &material)).collect();
        let whys: Vec<_> = answers.iter().filter_map(|answer| answer.clone().err()).collect();
        assert!(answers.iter().any(Result::is_ok) || !whys.is_empty(), "{}", figure.id);
        kept.push(records::theirs(figure, whys));
        kept.extend(answers.iter().flatten().map(|answer| records::ours(figure, answer)));
    }
    let set = set(kept);
    let text = set.to_json().expect("a valid set");
    let read = RecordSet::from_json(&text).expect("it reads back");
    for figure in all() {
        let is_of = |record: &&Record| record.fields["thread"] == figure.thread.name();
        let of_thread = read.records.iter().filter(is_of).cloned().collect();
        let table = table(&RecordSet::new(read.run.clone(), of_thread), 80);
        let heading = format!("{} (", figure.id);
        assert!(table.lines().any(|line| line.starts_with(&heading)), "{heading}\n{table}");
    }
}

/// Figures that the lab counted need no run: the answer to S0's first step is in the stored
/// records.
#[test]
fn counted_ratios_are_those_of_the_stored_records() {
    let material = Material::gather(Effort::QUICK, Needs::default(), &mut |_, _| ());
    let figure = figure("s0-young-arm64");
    let counted = figure.methods.iter().find(|method| matches!(method, Method::Counted(_)));
    let answer = counted.expect("it is counted").answer(figure, &material).expect("it is stored");
    let ratio = answer.quantities.last().expect("a ratio").values[0];
    assert!((ratio - 2952.0 / 1458.8).abs() < 1e-3, "{ratio}");
}

/// The prediction of S0's first step is what `compare` prints for the same machine: Linux's
/// instructions, and the waits of dense TLBIs for each other.
#[test]
fn a_prediction_is_what_compare_says_of_the_machine() {
    let needs = Needs { reclaim: true, ..Needs::default() };
    let material = Material::gather(Effort::QUICK, needs, &mut |_, _| ());
    let figure = figure("s0-young-arm64");
    let priced = figure.methods.iter().find(|method| matches!(method, Method::Modelled(_)));
    let answer = priced.expect("it is predicted").answer(figure, &material).expect("it has run");
    let of = |name: &str| {
        let found = answer.quantities.iter().find(|quantity| quantity.name == name);
        found.expect("before and after").values[0]
    };
    let platform = Platform::named(ARM).expect("a shipped platform");
    let model = Model {
        platform: Some(platform.clone()),
        cores: None,
        draws: 0,
        runs: 1,
        seed: 1,
        threads: NonZeroUsize::MIN,
    };
    let all = ReclaimFile::parse(&["order=4".to_owned(), "size=48MiB".to_owned()], &model).unwrap();
    let variants = [Variant::BEFORE, Variant::STEPS[0]];
    let records = ReclaimFile::records(&all, &variants, &model, &mut |_, _| ());
    for (record, name) in records.iter().zip(["before", "after"]) {
        let metric = |name: &str| {
            let found = record.metric(name);
            found.unwrap_or_else(|| panic!("no {name}")).values[0]
        };
        let (ours, compared) = (of(name), metric(WHOLE.name));
        assert!((ours / compared - 1.0).abs() < 0.01, "{name}: {ours} and {compared} ns a page");
        let prices = platform.prices(Draw::Nominal);
        let least = metric(INSTRUCTIONS.name) * prices.instruction.ns();
        assert!(metric(BROADCASTS.name) > 1.0 && ours > least, "{ours} and {least} ns");
    }
}

#[test]
fn the_table_s_layout() {
    let quantity = |name, unit, value, ends: Option<(f64, f64)>| Quantity {
        name,
        unit,
        values: vec![value],
        interval: ends.map(|(low, high)| Interval { kind: Kind::Draws, low, high, level: 0.9 }),
    };
    let answer = |ground, label, basis, quantities| Answer {
        ground,
        label,
        basis,
        how: "made up",
        quantities,
    };
    let young = figure("s0-young-arm64");
    let model = answer(
        Ground::Model,
        Label::Predicted,
        Basis::Modelled,
        vec![
            quantity("before", "ns/4K page", 700.0, Some((350.0, 1400.0))),
            quantity("after", "ns/4K page", 300.0, Some((150.0, 450.0))),
            quantity("ratio", "times", 2.0, Some((1.6, 3.2))),
        ],
    );
    let linux = answer(
        Ground::Linux,
        Label::Counted,
        Basis::Counted,
        vec![quantity("ratio", "times", 2.5, None)],
    );
    let host = answer(
        Ground::Host,
        Label::Measured,
        Basis::Measured,
        vec![quantity("saved", "ns/4K page", 200.0, None)],
    );
    let x86 = figure("s0-young-x86");
    let less = answer(
        Ground::Model,
        Label::Predicted,
        Basis::Modelled,
        vec![quantity("ratio", "times", 1.05, Some((0.9, 1.2)))],
    );
    let mut all = vec![
        records::theirs(young, Vec::new()),
        records::ours(young, &model),
        records::ours(young, &linux),
        records::ours(young, &host),
        records::theirs(x86, vec!["no lab".to_owned()]),
        records::ours(x86, &less),
    ];
    let one = set(all.clone());
    all.extend(["s3-reach", "s4-shell1"].map(|id| records::theirs(figure(id), Vec::new())));
    let shown = format!("{}\n---\n\n{}", table(&one, 80), table(&set(all), 80));
    if std::env::var_os("UPDATE_LAYOUT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/layout.txt");
        std::fs::write(path, &shown).expect("the layout is written");
    }
    assert_eq!(shown, include_str!("layout.txt"), "UPDATE_LAYOUT=1 takes a change over");
}

/// Returns a made-up prediction of a ratio, with the ends of its interval.
fn ratio_of(id: &str, value: f64, ends: (f64, f64)) -> [Record; 2] {
    let (low, high) = ends;
    let interval = Some(Interval { kind: Kind::Draws, low, high, level: 0.9 });
    let quantity = Quantity { name: "ratio", unit: "times", values: vec![value], interval };
    let predicted = Answer::modelled("made up", vec![quantity]);
    [records::theirs(figure(id), Vec::new()), records::ours(figure(id), &predicted)]
}

/// A cluster's misses widen the others' intervals, not its own.
#[test]
fn a_cluster_s_discrepancy_comes_from_the_others() {
    let factor = |theirs: f64, of: f64| (theirs * of, (theirs * of * 0.999, theirs * of * 1.001));
    let (near, ends) = factor(1.518 / 1.018, 1.01);
    let mut all: Vec<_> = ratio_of("s0-young-arm64", near, ends).into();
    let (far, ends) = factor(13.460 / 11.771, 1.5);
    all.extend(ratio_of("s4-time-kunpeng", far, ends));
    let shown = table(&set(all), 80);
    let line = |id: &str| shown.lines().find(|line| line.contains(id)).expect(id).to_owned();
    assert!(!line("s0-young-arm64").contains('*'), "{shown}");
    assert!(line("s0-young-arm64").contains("0.90–2.53"), "1.2816 ln 1.5 to either side: {shown}");
    assert!(line("s4-time-kunpeng").ends_with("1.50 *"), "{shown}");
    assert!(shown.starts_with("skill 0.208 (no change 0.267"), "{shown}");
}

/// The records of the score are the table's factors and intervals, over theirs.
#[test]
fn the_score_s_records_are_the_factors_of_the_table() {
    let theirs = 1.518 / 1.018;
    let mut all = Vec::from(ratio_of("s0-young-arm64", theirs * 1.01, (theirs, theirs * 1.02)));
    assert_eq!((score(&all), answer(&all)), (Vec::new(), None), "one thread has no score");
    let other = 13.460 / 11.771;
    all.extend(ratio_of("s4-time-kunpeng", other * 1.5, (other * 1.499, other * 1.501)));
    let [near, far] = &score(&all)[..] else { panic!("two numbers are predicted") };
    let factor = |record: &Record| record.metric("ours / theirs").expect("a factor").values[0];
    assert!((factor(near) - 1.01).abs() < 1e-9 && (factor(far) - 1.5).abs() < 1e-9);
    let Interval { kind, low, high, level } = near.metrics[0].interval.expect("an interval");
    assert_eq!((kind, level), (Kind::Prediction, 0.8));
    let shown = table(&set(all.clone()), 80);
    assert!(shown.contains("0.90–2.53"), "{shown}");
    assert!((0.895..0.905).contains(&(low * theirs)), "{low}");
    assert!((2.525..2.535).contains(&(high * theirs)), "{high}");
    let said = answer(&all).expect("an answer");
    assert!(said.starts_with("Of 2 figures that the threads give, 1 lie inside"), "{said}");
    assert!(
        said.contains("Predicted gains are 23 % off in the mean"),
        "ln 1.01 and ln 1.5: {said}"
    );
}

/// For a cluster with a miss, the table names the setting whose run is nearest in all of its
/// ratios.
#[test]
fn a_missed_ratio_names_the_setting_whose_run_is_nearest() {
    let missed = |id: &str, settings: &[(&str, f64)]| {
        let mut all = Vec::from(ratio_of(id, 9.0, (8.9, 9.1)));
        all.extend(settings.iter().map(|(setting, ratio)| {
            let quantity =
                Quantity { name: "ratio", unit: "times", values: vec![*ratio], interval: None };
            records::otherwise(figure(id), setting, &Answer::modelled("made up", vec![quantity]))
        }));
        all
    };
    let mut all = missed("s0-young-x86", &[("order=3", 1.12), ("young=0%", 8.0)]);
    all.extend(missed("s0-unmap-x86", &[("order=3", 2.5), ("young=0%", 2.0)]));
    let other_thread = || records::theirs(figure("s3-reach"), Vec::new());
    all.push(other_thread());
    let shown = table(&set(all), 80);
    assert!(
        shown.contains("x86 server: of 2 other settings order=3 is nearest: 1.12, 2.50 (theirs"),
        "{shown}"
    );
    let mut all = missed("s0-young-x86", &[("order=3", 20.0)]);
    all.push(other_thread());
    let shown = table(&set(all), 80);
    assert!(shown.contains("x86 server: none of 1 other settings is nearer"), "{shown}");
}

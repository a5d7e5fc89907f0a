use super::*;
use crate::schema::{Better, Ground, Machine, Record, Run};

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Compares scenarios without declarations.
fn undeclared(set: &RecordSet, base: &Labels) -> Result<Comparison, CompareError> {
    compare(set, base, &Declarations::default())
}

/// Scenario `sweep`, judged by its time, which has two stages.
fn declared() -> Declarations {
    let roles = [
        ("time", Role::Whole),
        ("walk", Role::Part),
        ("young", Role::Part),
        ("sampling error", Role::Diagnostic),
    ];
    let mut declared = Declarations::default();
    declared.declare("sweep", Ground::Host, roles.map(|(name, role)| (name.to_owned(), role)));
    declared
}

fn metric(name: &str, basis: Basis, values: &[f64]) -> Metric {
    Metric::new(name, "ns", basis, Better::Lower, values.to_vec())
}

fn record(order: &str, variant: &[(&str, &str)], metrics: Vec<Metric>) -> Record {
    Record {
        scenario: "sweep".to_owned(),
        ground: Ground::Host,
        seed: 1,
        fields: labels(&[("order", order)]),
        variant: labels(variant),
        metrics,
    }
}

fn set(records: Vec<Record>) -> RecordSet {
    let machine = Machine {
        cpu: "Example".to_owned(),
        arch: "x86_64".to_owned(),
        cores: 2,
        memory_mib: 1024,
        os: "linux".to_owned(),
    };
    RecordSet::new(Run::new("pageout 0", None, machine), records)
}

fn series(from: f64) -> Vec<f64> {
    (0..10).map(|step| from + f64::from(step)).collect()
}

#[test]
fn change_follows_the_better_direction() {
    assert_eq!(percent(200.0, 150.0, Better::Lower), Some(25.0));
    assert_eq!(percent(200.0, 150.0, Better::Higher), Some(-25.0));
    assert_eq!(percent(200.0, 250.0, Better::Neither), Some(25.0));
    assert_eq!(percent(-2.0, -1.0, Better::Higher), Some(50.0));
    assert_eq!(percent(0.0, 0.0, Better::Lower), Some(0.0));
    assert_eq!(percent(0.0, 1.0, Better::Lower), None);
}

#[test]
fn measured_is_tested_and_counted_is_not() {
    let metrics = |time: f64, visits: f64| {
        vec![
            metric("time", Basis::Measured, &series(time)),
            metric("visits", Basis::Counted, &[visits]),
        ]
    };
    let records = vec![
        record("4", &[("young", "per-entry"), ("flush", "sync")], metrics(100.0, 16.0)),
        record("4", &[("young", "line"), ("flush", "sync")], metrics(50.0, 2.0)),
    ];
    let got = undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap();
    assert_eq!((got.base.as_str(), got.others[0].as_str()), ("per-entry", "line"));
    assert_eq!(got.common, labels(&[("flush", "sync")]));
    assert_eq!((got.judged.tests, got.judged.out_of_reach, got.rows.len()), (1, 0, 2));
    let time = got.rows[0].others[0].unwrap();
    assert!(time.test.unwrap().significant && time.summary.interval.is_some());
    let visits = got.rows[1].others[0].unwrap();
    assert_eq!((visits.percent, visits.test, visits.summary.n), (Some(87.5), None, 1));
}

#[test]
fn the_whole_table_is_one_family() {
    let mut records = Vec::new();
    for order in 0..30 {
        for (young, from) in [("per-entry", 0.0), ("line", if order == 0 { 4.5 } else { 0.5 })] {
            let metrics = vec![metric("time", Basis::Measured, &series(from))];
            records.push(record(&order.to_string(), &[("young", young)], metrics));
        }
    }
    let got = undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap();
    let test = got.rows[0].others[0].unwrap().test.unwrap();
    assert_eq!(got.judged.tests, 30);
    assert!(test.p < ALPHA && test.p_holm > ALPHA && !test.significant, "{test:?}");
}

#[test]
fn too_few_samples_are_said_to_be_so() {
    let variant = |young, from| {
        let values = &series(from)[..3];
        record("0", &[("young", young)], vec![metric("time", Basis::Measured, values)])
    };
    let records = vec![variant("per-entry", 100.0), variant("line", 0.0)];
    let got = undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap();
    assert_eq!((got.judged.tests, got.judged.out_of_reach), (1, 1));
    assert_eq!(got.rows[0].base.unwrap().interval, None);
}

#[test]
fn two_axes_make_the_title_and_the_rest_is_told_once() {
    let time = |value| vec![metric("time", Basis::Counted, &[value])];
    let axes = |young, flush| [("young", young), ("flush", flush), ("lru", "mglru")];
    let mut records = vec![
        record("0", &axes("per-entry", "sync"), time(4.0)),
        record("0", &axes("batched", "nosync"), time(1.0)),
    ];
    records[1].variant.insert("lru".to_owned(), "mglru".to_owned());
    let got = undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap();
    assert_eq!(got.compared, ["young", "flush"]);
    assert_eq!((got.base.as_str(), got.others[0].as_str()), ("per-entry,sync", "batched,nosync"));
}

#[test]
fn an_axis_that_follows_the_group_labels_its_rows() {
    let mut records = Vec::new();
    for (order, flush) in [("0", "nosync"), ("4", "none")] {
        for young in ["per-entry", "line"] {
            let metrics = vec![metric("time", Basis::Counted, &[1.0])];
            records.push(record(order, &[("young", young), ("flush", flush)], metrics));
        }
    }
    let got = undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap();
    assert_eq!(got.compared, ["young"]);
    assert_eq!(got.rows[0].axes, labels(&[("flush", "nosync")]));
    assert_eq!(got.rows[1].axes, labels(&[("flush", "none")]));
}

#[test]
fn a_metric_without_a_base_is_kept() {
    let records = vec![
        record("0", &[("young", "per-entry")], vec![]),
        record("0", &[("young", "line")], vec![metric("time", Basis::Measured, &[1.0])]),
    ];
    let got = undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap();
    let change = got.rows[0].others[0].unwrap();
    assert_eq!((got.rows[0].base, change.percent, change.test), (None, None, None));
}

#[test]
fn metrics_of_one_variant_may_come_of_two_records() {
    let records = vec![
        record("0", &[("young", "line")], vec![metric("time", Basis::Measured, &[1.0])]),
        record("0", &[("young", "line")], vec![metric("visits", Basis::Counted, &[1.0])]),
    ];
    assert_eq!(undeclared(&set(records), &Labels::new()).unwrap().rows.len(), 2);
}

/// Only the choices that it names besides tell it from the others.
#[test]
fn the_base_itself_is_chosen_among_variants_that_fit_it() {
    let time = |value| vec![metric("time", Basis::Counted, &[value])];
    let whole = [("flush", "sync"), ("young", "line")];
    for named in 0..2 {
        let records = vec![record("0", &whole, time(1.0)), record("0", &whole[..named], time(2.0))];
        let got = undeclared(&set(records), &labels(&whole[..named])).unwrap();
        assert_eq!(got.rows[0].base.unwrap().median, 2.0, "{named} axes named");
        let change = got.rows[0].others[0].unwrap();
        assert_eq!((change.summary.median, change.percent), (1.0, Some(50.0)));
    }
}

#[test]
fn errors_say_what_there_is() {
    let time = || vec![metric("time", Basis::Counted, &[1.0])];
    let records = vec![
        record("0", &[("young", "line")], time()),
        record("0", &[("young", "batched")], time()),
    ];
    let set = set(records);
    let error = |base: &Labels| undeclared(&set, base).unwrap_err().to_string();
    assert_eq!(
        error(&labels(&[("young", "per-entry")])),
        "sweep on host, seed 1 order=0: no variant has young=per-entry; \
         there are: young=line; young=batched"
    );
    assert!(error(&Labels::new()).contains("fits several variants"));
    let mut unlike = set.clone();
    unlike.records[1].metrics[0].unit = "us".to_owned();
    let error = undeclared(&unlike, &labels(&[("young", "line")])).unwrap_err();
    assert!(error.to_string().contains("metric \"time\""), "{error}");
    let mut published = set;
    published.records.iter_mut().for_each(|record| record.ground = Ground::Published);
    assert_eq!(undeclared(&published, &Labels::new()), Err(CompareError::Nothing));
}

/// Returns the verdict on `new` against `base`, in a table of one row.
fn verdict(basis: Basis, better: Better, base: &[f64], new: &[f64]) -> Verdict {
    let metric = |values| Metric { better, ..metric("time", basis, values) };
    let records = vec![
        record("4", &[("young", "per-entry")], vec![metric(base)]),
        record("4", &[("young", "line")], vec![metric(new)]),
    ];
    let got = undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap();
    got.rows[0].others[0].unwrap().verdict
}

#[test]
fn a_verdict_follows_the_test_and_the_direction() {
    let measured =
        |better, new: f64| verdict(Basis::Measured, better, &series(100.0), &series(new));
    for (better, less, more) in [
        (Better::Lower, Verdict::Better, Verdict::Worse),
        (Better::Higher, Verdict::Worse, Verdict::Better),
        (Better::Neither, Verdict::Differs, Verdict::Differs),
    ] {
        assert_eq!((measured(better, 50.0), measured(better, 200.0)), (less, more));
        assert_eq!(measured(better, 100.5), Verdict::NoDifference);
    }
    let few = verdict(Basis::Measured, Better::Lower, &[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]);
    assert_eq!(few, Verdict::TooFewRuns);
}

#[test]
fn what_is_not_measured_differs_where_its_samples_do_not_meet() {
    for (base, new, expected) in [
        (&[5.0][..], &[5.0][..], Verdict::NoDifference),
        (&[5.0], &[5.5], Verdict::Worse),
        (&[5.0, 7.0], &[7.0, 9.0], Verdict::NoDifference),
        (&[5.0, 7.0], &[1.0, 4.0], Verdict::Better),
    ] {
        for basis in [Basis::Counted, Basis::Modelled, Basis::Fitted, Basis::Guessed] {
            assert_eq!(verdict(basis, Better::Lower, base, new), expected);
        }
    }
}

/// Returns the outcome of one condition for the two variants.
fn judged(condition: &str, base: &[Metric], new: &[Metric]) -> Judged {
    let records = vec![
        record("4", &[("young", "per-entry")], base.to_vec()),
        record("4", &[("young", "line")], new.to_vec()),
    ];
    let condition: FailOn = condition.parse().unwrap();
    let (file, base) = (set(records).into(), labels(&[("young", "per-entry")]));
    let conditions = [condition.clone()];
    let got = compare_for(&conditions, &file, &base, None, &declared()).unwrap();
    condition.judge(&got).unwrap()
}

#[test]
fn conditions_are_judged_by_verdicts() {
    let time = |values: &[f64]| vec![metric("time", Basis::Measured, values)];
    let count = |value: f64| vec![metric("visits", Basis::Counted, &[value])];
    let of = |condition, base: &[Metric], new: &[Metric]| judged(condition, base, new).outcome;
    let (slow, fast) = (time(&series(200.0)), time(&series(100.0)));
    assert_eq!(of("time>3%", &fast, &slow), Outcome::Failed);
    assert_eq!(of("time>100%", &fast, &slow), Outcome::NotShown, "worse by less");
    assert_eq!(of("time>3%", &slow, &fast), Outcome::NotShown);
    assert_eq!(of("time>0%", &time(&[1.0]), &time(&[9.0])), Outcome::Undecided);
    assert_eq!(of("rime>3%", &fast, &slow), Outcome::Undecided, "no such metric");
    assert_eq!(of("3%", &fast, &slow), Outcome::Failed, "the whole is the time");
    let visits = |value| [time(&series(100.0)), count(value)].concat();
    assert_eq!(of("3%", &visits(1.0), &visits(9.0)), Outcome::NotShown, "a count is no whole");
    assert_eq!(of("visits>3%", &count(1.0), &fast), Outcome::Undecided, "one has it");
    assert_eq!(of("visits>3%", &count(0.0), &count(1.0)), Outcome::Failed, "from nothing");
    assert_eq!(of("visits>3%", &count(100.0), &count(103.0)), Outcome::NotShown, "not by more");
    let told = judged("time>3%", &fast, &slow).lines.concat();
    assert_eq!(told, "time>3%: failed: line (sweep): worse by 95.69%");
}

#[test]
fn conditions_are_read_or_refused() {
    let read = |text: &str| text.parse::<FailOn>().map(|of| (of.metric, of.percent));
    assert_eq!(read("whole reclaim>3%"), Ok((Some("whole reclaim".to_owned()), 3.0)));
    assert_eq!(read(" a > b > 0.5 % "), Ok((Some("a > b".to_owned()), 0.5)));
    assert_eq!(read("3 %"), Ok((None, 3.0)));
    for bad in ["", "time>", "time>3", "3", "%", ">3%", "time>-1%", "time>x%", "time<3%", "t>inf%"]
    {
        let error = read(bad).unwrap_err().to_string();
        assert!(error.contains("or METRIC>PERCENT%"), "{bad}: {error}");
    }
    let undirected =
        vec![Metric { better: Better::Neither, ..metric("x", Basis::Counted, &[1.0]) }];
    let records = vec![record("4", &[("young", "line")], undirected)];
    let got = undeclared(&set(records), &labels(&[("young", "line")])).unwrap();
    let error = "x>1%".parse::<FailOn>().unwrap().judge(&got).unwrap_err().to_string();
    assert!(error.contains("neither direction of \"x\""), "{error}");
}

/// Returns a file of runs in this order, each with samples of one label.
fn labelled(runs: &[(&str, &[f64])]) -> RecordFile {
    let run = |(label, values): &(&str, &[f64])| {
        let variant = [("young", "line"), ("label", *label)];
        set(vec![record("4", &variant, vec![metric("time", Basis::Measured, values)])])
    };
    RecordFile { sets: runs.iter().map(run).collect() }
}

fn by_label(file: &RecordFile) -> Comparison {
    compare_runs(file, &labels(&[("label", "a")]), Some("label"), &Declarations::default()).unwrap()
}

#[test]
fn runs_take_turns_if_each_two_are_one_of_each() {
    let runs = |order: &str| {
        let labels = order.split(' ');
        let file = labels.map(|label| (label, &[1.0, 2.0][..])).collect::<Vec<_>>();
        by_label(&labelled(&file)).rows[0].others[0].unwrap().runs.unwrap()
    };
    for (order, pairs) in [("a b a b", 2), ("a b b a b a", 3), ("a b c c b a", 2)] {
        assert!(matches!(runs(order), Runs::Pairs(Pairs { n, .. }) if n == pairs), "{order}");
    }
    assert_eq!(runs("a b"), Runs::OneEach);
    for order in ["a a b b", "a b a", "b a a", "a b a b b"] {
        assert_eq!(runs(order), Runs::Apart, "{order}");
    }
    let both = vec![
        record("4", &[("label", "a")], vec![metric("time", Basis::Measured, &[1.0])]),
        record("4", &[("label", "b")], vec![metric("time", Basis::Measured, &[1.0])]),
    ];
    let file = RecordFile { sets: vec![set(both.clone()), set(both)] };
    assert_eq!(by_label(&file).rows[0].others[0].unwrap().runs, Some(Runs::Same));
}

/// Returns a comparison of runs that take turns and have these medians.
fn in_turn(a: &[f64], b: &[f64]) -> Comparison {
    let samples: Vec<_> = a.iter().chain(b).map(|value| [*value; 3]).collect();
    let (a, b) = samples.split_at(a.len());
    let runs = a.iter().zip(b).flat_map(|(a, b)| [("a", &a[..]), ("b", &b[..])]);
    by_label(&labelled(&runs.collect::<Vec<_>>()))
}

#[test]
fn pairs_tell_what_a_drift_of_the_machine_would_hide() {
    let a = [100.0, 150.0, 225.0, 340.0, 500.0, 760.0];
    let slower = in_turn(&a, &a.map(|time| time * 1.25));
    let change = slower.rows[0].others[0].unwrap();
    let pairs = change.pairs().unwrap();
    assert!((change.percent.unwrap() + 25.0).abs() < 1e-9, "{change:?}");
    let [low, high] = pairs.interval.unwrap();
    assert!((low + 25.0).abs() < 1e-9 && (high + 25.0).abs() < 1e-9, "{pairs:?}");
    let test = change.test.unwrap();
    assert!(test.exact && test.significant && test.p == 0.03125, "{test:?}");
    assert_eq!(change.verdict, Verdict::Worse);
    let mixed = in_turn(&a, &[101.0, 149.0, 227.0, 338.0, 503.0, 757.0]);
    assert_eq!(mixed.rows[0].others[0].unwrap().verdict, Verdict::NoDifference);
    let few = in_turn(&a[..5], &a.map(|time| time * 3.0)[..5]);
    assert_eq!(few.rows[0].others[0].unwrap().verdict, Verdict::TooFewPairs);
    assert_eq!(few.judged.out_of_reach, 1);
}

/// Medians that are not all above zero have no ratios.
#[test]
fn pairs_differ_where_there_are_no_ratios() {
    let a = [0.0, 2.0, 4.0, 2.0, 2.0, 2.0];
    let less = in_turn(&a, &a.map(|value| value - 1.0));
    let change = less.rows[0].others[0].unwrap();
    assert_eq!((change.verdict, change.percent), (Verdict::Better, Some(50.0)));
    assert_eq!(change.pairs().unwrap().shift, -1.0);
}

#[test]
fn drift_is_told_of_what_is_measured() {
    let rising: Vec<f64> = (0..12).map(f64::from).map(|k| 100.0 + k).collect();
    let steady: Vec<f64> = (0..12_u32).map(|k| f64::from(k * 5 % 12) + 100.0).collect();
    let of = |basis, one: &[f64], other: &[f64]| {
        let records = vec![
            record("4", &[("young", "per-entry")], vec![metric("time", basis, one)]),
            record("4", &[("young", "line")], vec![metric("time", basis, other)]),
        ];
        undeclared(&set(records), &labels(&[("young", "per-entry")])).unwrap().drift
    };
    let drift = of(Basis::Measured, &steady, &rising);
    let [one] = &drift.found[..] else { panic!("{drift:?}") };
    assert_eq!((drift.tests, one.row, &one.title[..], one.in_turn), (2, 0, "line", true));
    assert!((one.percent - 8.0 / 1.015).abs() < 0.1 && one.p_holm < 1e-6, "{one:?}");
    assert_eq!(of(Basis::Measured, &steady, &steady).found, []);
    assert_eq!(of(Basis::Counted, &steady, &rising).tests, 0);
    let apart = by_label(&labelled(&[("a", &steady), ("b", &rising)])).drift;
    assert!(matches!(&apart.found[..], [one] if !one.in_turn), "{apart:?}");
}

/// A stage's work moves to another stage, in a whole that stays the same.
#[test]
fn a_variant_that_only_moves_work_between_stages_is_no_difference() {
    let variant = |young, walk: f64| {
        let at = |from: f64| series(from);
        let metrics = vec![
            metric("young", Basis::Measured, &at(90.0 - walk)),
            metric("time", Basis::Measured, &at(100.0)),
            metric("sampling error", Basis::Measured, &at(walk)),
            metric("walk", Basis::Measured, &at(walk)),
            metric("visits", Basis::Counted, &[walk]),
        ];
        record("4", &[("young", young)], metrics)
    };
    let records = vec![variant("per-entry", 80.0), variant("line", 10.0)];
    let got = compare(&set(records), &labels(&[("young", "per-entry")]), &declared()).unwrap();
    let [verdict] = &got.verdicts[..] else { panic!("{:?}", got.verdicts) };
    assert_eq!(verdict.standing, Standing::NoDifference);
    assert_eq!((verdict.cells(), verdict.no_difference.cells), (1, 1));
    let rows: Vec<_> = got.rows.iter().map(|row| (&*row.metric, row.role)).collect();
    let of_role = |verdict, role| (verdict, role);
    assert_eq!(
        rows,
        [
            of_role("time", Role::Whole),
            of_role("young", Role::Part),
            of_role("walk", Role::Part),
            of_role("visits", Role::Count),
            of_role("sampling error", Role::Diagnostic),
        ]
    );
    for row in got.rows.iter().filter(|row| matches!(row.role, Role::Part | Role::Diagnostic)) {
        let change = row.others[0].unwrap();
        assert_eq!((change.test, change.verdict), (None, Verdict::NotJudged), "{}", row.metric);
    }
    assert_eq!((got.judged.tests, got.informed.tests), (1, 0));
    assert_eq!(got.undeclared, BTreeSet::new());
}

#[test]
fn counts_are_tested_apart_from_wholes() {
    let mut records = Vec::new();
    for (young, from) in [("per-entry", 4.5), ("line", 0.0)] {
        let counts = (0..30).map(|k| metric(&format!("count {k}"), Basis::Measured, &series(0.0)));
        let time = metric("time", Basis::Measured, &series(from));
        records.push(record("4", &[("young", young)], counts.chain([time]).collect()));
    }
    let base = labels(&[("young", "per-entry")]);
    let alone = undeclared(&set(records.clone()), &base).unwrap();
    assert_eq!((alone.judged.tests, alone.informed.tests), (31, 0), "all are wholes");
    assert_eq!(alone.undeclared, BTreeSet::from(["sweep".to_owned()]));
    let of_time = |of: &Comparison| {
        let row = of.rows.iter().find(|row| row.metric == "time").unwrap();
        row.others[0].unwrap()
    };
    assert!(!of_time(&alone).test.unwrap().significant, "one of many");
    let got = compare(&set(records), &base, &declared()).unwrap();
    assert_eq!((got.judged.tests, got.informed.tests), (1, 30));
    assert!(of_time(&got).test.unwrap().significant, "the one that is judged");
    assert_eq!(got.verdicts[0].standing, Standing::Better);
}

#[test]
fn wholes_of_several_cells_come_to_one_verdict() {
    let of = |new: [f64; 3]| {
        let mut records = Vec::new();
        for (order, new) in ["0", "2", "4"].into_iter().zip(new) {
            for (young, value) in [("per-entry", 100.0), ("line", new)] {
                let time = metric("time", Basis::Counted, &[value]);
                records.push(record(order, &[("young", young)], vec![time]));
            }
        }
        let base = labels(&[("young", "per-entry")]);
        compare(&set(records), &base, &declared()).unwrap().verdicts[0].clone()
    };
    let better = of([90.0, 50.0, 100.0]);
    assert_eq!(better.standing, Standing::Better);
    assert_eq!((better.better.cells, better.better.percent), (2, Some([10.0, 50.0])));
    assert_eq!(of([90.0, 150.0, 100.0]).standing, Standing::Mixed);
    assert_eq!(of([100.0, 150.0, 100.0]).standing, Standing::Worse);
    assert_eq!(of([100.0; 3]).standing, Standing::NoDifference);
}

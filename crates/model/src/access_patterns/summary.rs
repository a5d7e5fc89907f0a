//! The table that the 2018 results were given as: of each test the mean of every policy and how
//! much its runs vary, and of each two policies whether they differ in either. Made of records.

use pageout_experiment::declare::Declared;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::AccessPatterns;
use pageout_experiment::scenarios::metrics::REFAULTS;
use pageout_experiment::scenarios::metrics::access_patterns::{self as of, TIME};
use pageout_experiment::scenarios::metrics::machine::{
    BARRIERS, BROADCASTS, HIDDEN_MAX, HIDDEN_P50, HIDDEN_P90, HIDDEN_P99,
};
use pageout_record::render::{Align, Grid, rounded};
use pageout_record::schema::{Labels, Record, RecordSet};
use pageout_record::stats::{Mean, f_test, holm, variation, welch};
use std::collections::BTreeMap;

/// What was significant in 2018.
const ALPHA: f64 = 0.01;

/// One test under all policies.
struct Test<'r> {
    name: String,
    /// Each with the values of its runs.
    policies: Vec<(String, &'r Record, &'r [f64])>,
}

/// Two policies of a test.
struct Pair<'t, 'r> {
    test: &'t Test<'r>,
    names: [&'t str; 2],
    values: [&'r [f64]; 2],
    /// Of equal means, and of equal variances.
    p: [f64; 2],
}

/// The table of all records of the scenario in a set, in lines of at most so many columns.
pub fn table(set: &RecordSet, columns: usize) -> String {
    let records: Vec<_> =
        set.records.iter().filter(|record| record.scenario == AccessPatterns::NAME).collect();
    let tests = tests(&records);
    let pairs: Vec<_> = tests.iter().flat_map(pairs).collect();
    let mut text = of_policies(&tests, columns);
    if !pairs.is_empty() {
        text += "\n";
        text += &of_pairs(&pairs, columns);
    }
    text + "\n" + &of_means(&tests, columns)
}

/// Records by test, in the order they come.
fn tests<'r>(records: &[&'r Record]) -> Vec<Test<'r>> {
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in records.iter().flat_map(|record| &record.fields) {
        let values = seen.entry(name).or_default();
        if !values.contains(&&**value) {
            values.push(value);
        }
    }
    let told = |name: &str| ["pattern", "access"].contains(&name) || seen[name].len() > 1;
    let mut tests: Vec<(&Labels, Test<'r>)> = Vec::new();
    for record in records {
        let metric = record.metrics.iter().find(|metric| metric.name == TIME.name);
        let Some(values) = metric.map(|metric| &*metric.values) else { continue };
        let policy = (policy(record, records), *record, values);
        if let Some((_, test)) = tests.iter_mut().find(|(fields, _)| **fields == record.fields) {
            test.policies.push(policy);
            continue;
        }
        let first = ["pattern", "access"].map(|name| (name, record.fields.get(name)));
        let others = record.fields.iter().filter(|(name, _)| told(name));
        let others = others.filter(|(name, _)| !["pattern", "access"].contains(&&***name));
        let words = first.iter().filter_map(|(_, value)| value.cloned());
        let words = words.chain(others.map(|(name, value)| format!("{name}={value}")));
        let name = words.collect::<Vec<_>>().join(" ");
        tests.push((&record.fields, Test { name, policies: vec![policy] }));
    }
    tests.into_iter().map(|(_, test)| test).collect()
}

/// What a variant is called: its way to follow a young bit, or all that differs.
fn policy(record: &Record, records: &[&Record]) -> String {
    let differs = |axis: &str, value: &String| {
        records.iter().any(|other| other.variant.get(axis) != Some(value))
    };
    let all = record.variant.iter().filter(|(axis, value)| differs(axis, value));
    let all: Vec<_> = all.map(|(axis, value)| (&**axis, &**value)).collect();
    match &all[..] {
        [] => record.variant.get("flush").cloned().unwrap_or_default(),
        [("flush", value)] => (*value).to_owned(),
        all => {
            all.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(",")
        }
    }
}

fn pairs<'t, 'r>(test: &'t Test<'r>) -> Vec<Pair<'t, 'r>> {
    let all = &test.policies;
    let each = (0..all.len()).flat_map(|k| (k + 1..all.len()).map(move |other| [k, other]));
    let pair = |two: [usize; 2]| {
        let [first, second] = two.map(|k| all[k].2);
        let p = [welch(first, second)?.p, f_test(first, second)?.p];
        let names = two.map(|k| &*all[k].0);
        Some(Pair { test, names, values: [first, second], p })
    };
    each.filter_map(pair).collect()
}

fn of_policies(tests: &[Test<'_>], columns: usize) -> String {
    let heads = [
        ("test", Align::Left),
        ("policy", Align::Left),
        ("mean, ns/use", Align::Right),
        ("variation, %", Align::Right),
        ("runs", Align::Right),
    ];
    let mut grid = Grid::new(heads);
    for test in tests {
        for (k, (policy, _, values)) in test.policies.iter().enumerate() {
            let name = if k == 0 { &*test.name } else { "" };
            let varies = variation(values).map_or("-".to_owned(), |part| rounded(100.0 * part));
            let mean = mean(values).map_or_else(String::new, rounded);
            grid.row([name.to_owned(), policy.clone(), mean, varies, values.len().to_string()]);
        }
    }
    format!(
        "time of a use of a page, and the standard deviation of runs over their mean\n\n{}",
        grid.text(columns)
    )
}

fn of_pairs(pairs: &[Pair<'_, '_>], columns: usize) -> String {
    let family: Vec<f64> = pairs.iter().flat_map(|pair| pair.p).collect();
    let adjusted = holm(&family);
    let means = |pair: &Pair<'_, '_>| pair.values.map(|values| mean(values).unwrap_or(f64::NAN));
    let variations =
        |pair: &Pair<'_, '_>| pair.values.map(|values| variation(values).unwrap_or(f64::NAN));
    let tested = |test: usize, name: &str, of: &dyn Fn(&Pair<'_, '_>) -> [f64; 2]| {
        let left = ["test", "policies"].map(|head| (head, Align::Left));
        let right = [name, "p"].map(|head| (head, Align::Right));
        let judged = ["2018", "Holm"].map(|head| (head, Align::Left));
        let mut grid = Grid::new(left.into_iter().chain(right).chain(judged));
        for (pair, adjusted) in pairs.iter().zip(adjusted.chunks(2)) {
            let [first, second] = of(pair);
            let differ = |p: f64| if p < ALPHA { "differ" } else { "-" }.to_owned();
            grid.row([
                pair.test.name.clone(),
                pair.names.join(" / "),
                ratio(first, second),
                shown(pair.p[test]),
                differ(pair.p[test]),
                differ(adjusted[test]),
            ]);
        }
        grid.text(columns)
    };
    format!(
        "means: the first policy's over the second's, above 1 the second is faster; p by Welch's \
         t-test\n2018: p < {ALPHA}, as the thread judged\n\
         Holm: so that any of the {} comparisons errs with that chance\n\n{}\n\
         variances: the first's variation over the second's; p by an F-test\n\n{}",
        family.len(),
        tested(0, "means", &means),
        tested(1, "variances", &variations),
    )
}

/// One over the other; 1 where both are nothing.
fn ratio(first: f64, second: f64) -> String {
    if first == second { "1".to_owned() } else { rounded(first / second) }
}

fn shown(p: f64) -> String {
    if p < 1e-4 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

/// What is shown of where the time goes, and of what was hidden.
const SHOWN: [(MetricSpec, &str); 11] = [
    (of::BACKGROUND, "reclaim, %"),
    (of::DIRECT, "direct, %"),
    (HIDDEN_P50, "hidden P50, us"),
    (HIDDEN_P90, "P90"),
    (HIDDEN_P99, "P99"),
    (HIDDEN_MAX, "max"),
    (of::MISTAKES, "mistakes"),
    (REFAULTS, "refaults/use"),
    (BROADCASTS, "TLBI/use"),
    (BARRIERS, "DSB/use"),
    (of::PUSHED_OUT, "pushed out/use"),
];

fn of_means(tests: &[Test<'_>], columns: usize) -> String {
    let numbers = SHOWN.map(|(_, column)| (column, Align::Right));
    let heads = [("test", Align::Left), ("policy", Align::Left)];
    let mut grid = Grid::new(heads.into_iter().chain(numbers));
    for test in tests {
        for (k, (policy, record, _)) in test.policies.iter().enumerate() {
            let name = if k == 0 { test.name.clone() } else { String::new() };
            let of = |wanted: &MetricSpec| {
                let metric = record.metrics.iter().find(|metric| metric.name == wanted.name);
                metric.and_then(|metric| mean(&metric.values)).map_or_else(String::new, rounded)
            };
            let numbers = SHOWN.map(|(metric, _)| of(&metric));
            grid.row([name, policy.clone()].into_iter().chain(numbers));
        }
    }
    format!(
        "means of runs\n\n{}\n\
         reclaim: background reclaim's time.\n\
         mistakes: pages reclaimed whose last use went through a stale entry, and that came back.\n\
         pushed out: by later ones, of the buffers of all cores.\n",
        grid.text(columns)
    )
}

/// The mean of these values; `None` if there are none.
fn mean(values: &[f64]) -> Option<f64> {
    Mean::of(values).map(|of| of.mean)
}

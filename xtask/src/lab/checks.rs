//! What has to hold on every kernel: helpers that do no wrong, a test that sees one that does, and
//! batches that change no decision.

use anyhow::{Result, bail};
use pageout_record::schema::{Metric, Record};

use super::{Call, begin, none, pageout};

/// With 64K pages the kernels whose helpers differ.
const HELPERS: [Call; 2] = [
    Call {
        name: "helper-calls",
        words: "lab run stock s1 s2 s3 s4 helper-calls calls=100000 --config arm64-4k,x86-64",
    },
    Call {
        name: "helper-calls-64k",
        words: "lab run stock s1 s3 helper-calls calls=100000 --config arm64-64k",
    },
];

/// Random calls of the young helpers on every kernel; none may be wrong.
pub(super) fn helpers() -> Result<()> {
    begin("random helper calls, none of them wrong");
    let mut records = Vec::new();
    for call in &HELPERS {
        records.extend(call.records()?.records);
    }
    let mut wrong = Vec::new();
    for record in &records {
        let (calls, bad) = (value(record, "calls")?, value(record, "wrong")?);
        println!("{}: {calls} calls, {bad} wrong", title(record));
        if calls < 1e5 || bad != 0.0 {
            wrong.push(title(record));
        }
    }
    none(&wrong, "helpers did wrong, or were called too few times")
}

/// A kernel whose helper looks at the first entry alone has to be caught.
pub(super) fn mistake() -> Result<()> {
    begin("a wrong helper, which has to be caught");
    let words = "lab run s1 --patch lab/mistakes/first-entry-decides.patch \
        helper-calls calls=100000";
    let output = pageout(words).output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    let Some(line) = told.lines().find(|line| line.contains("bench: wrong: ")) else {
        bail!("`pageout {words}` ended with {} and named no wrong call:\n{told}", output.status);
    };
    if output.status.success() || !told.contains("patched") {
        bail!("the wrong kernel was not the one refused:\n{told}");
    }
    println!("caught: {}", line.trim());
    Ok(())
}

const MIXED: Call = Call {
    name: "mixed-mappings",
    words: "lab compare stock s1 s2 s3 mixed-mappings lru=classic,mglru \
        --config arm64-4k,x86-64",
};

/// What batching changes by its nature: MGLRU counts every young entry of a contiguous block, where
/// it counted the one that the walk met first, so tables pass the threshold of the Bloom filter
/// that did not before.
const COUNTED_OTHERWISE: [&str; 2] = ["walk: young", "walk: tables added"];

/// Mixed mappings end alike before and after each patch, but for what is counted otherwise.
pub(super) fn mixed_mappings() -> Result<()> {
    begin("mixed mappings, the same before and after each patch");
    let set = MIXED.records()?;
    let mut differing = Vec::new();
    let is_stock = |record: &&Record| record.variant.get("kernel").is_some_and(|k| k == "stock");
    for stock in set.records.iter().filter(is_stock) {
        let others = set
            .records
            .iter()
            .filter(|record| record.fields == stock.fields && record.variant != stock.variant);
        for record in others {
            differing.extend(differences(stock, record));
        }
    }
    let (explained, decided): (Vec<_>, Vec<_>) =
        differing.into_iter().partition(|(metric, _)| COUNTED_OTHERWISE.contains(&&metric[..]));
    let told = |found: Vec<(String, String)>| found.into_iter().map(|(_, told)| told);
    none(&told(decided).collect::<Vec<_>>(), "batching changed what was decided")?;
    println!("{} records decide alike; counted otherwise, since blocks count", set.records.len());
    told(explained).for_each(|told| println!("  {told}"));
    Ok(())
}

/// The metrics in which a record differs from stock's, each with words that say so.
fn differences(stock: &Record, record: &Record) -> Vec<(String, String)> {
    let differ = |(a, b): &(&Metric, &Metric)| a != b;
    let told = |(a, b): (&Metric, &Metric)| {
        let (title, name) = (title(record), &a.name);
        (name.clone(), format!("{title}: {name} {:?}, stock {:?}", b.values, a.values))
    };
    let mut all: Vec<_> =
        stock.metrics.iter().zip(&record.metrics).filter(differ).map(told).collect();
    if stock.metrics.len() != record.metrics.len() {
        all.push((String::new(), format!("{}: other metrics than stock", title(record))));
    }
    all
}

/// A record's kernel and fields.
pub(super) fn title(record: &Record) -> String {
    let pairs = record.variant.iter().chain(&record.fields);
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
    format!("{} {}", record.scenario, pairs.join(" "))
}

/// The first sample of a metric.
pub(super) fn value(record: &Record, name: &str) -> Result<f64> {
    match record.metrics.iter().find(|metric| metric.name == name) {
        Some(metric) => Ok(metric.values[0]),
        None => bail!("{} has no metric {name}", title(record)),
    }
}

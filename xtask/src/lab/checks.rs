//! What has to hold on every kernel: helpers that do no wrong, a test that sees one that does, and
//! batches that change no decision.

use anyhow::{Result, bail};
use pageout_record::schema::{Metric, Record};

use super::{Call, none, pageout, stage};
use crate::cmd;

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
    stage("random helper calls, none of them wrong");
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
    stage("a wrong helper, which has to be caught");
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

/// Mixed mappings end alike before and after each patch.
pub(super) fn mixed_mappings() -> Result<()> {
    stage("mixed mappings, the same before and after each patch");
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
    none(&differing, "batching changed what was decided")?;
    println!("{} records alike", set.records.len());
    Ok(())
}

fn differences(stock: &Record, record: &Record) -> Vec<String> {
    let differ = |(a, b): &(&Metric, &Metric)| a != b;
    let told = |(a, b): (&Metric, &Metric)| {
        format!("{}: {} {:?}, stock {:?}", title(record), a.name, b.values, a.values)
    };
    let mut all: Vec<String> =
        stock.metrics.iter().zip(&record.metrics).filter(differ).map(told).collect();
    if stock.metrics.len() != record.metrics.len() {
        all.push(format!("{}: other metrics than stock", title(record)));
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

/// Runs the program and shows what it prints.
pub(super) fn show(words: &str) -> Result<()> {
    cmd::run(&mut pageout(words))
}

//! The checks of every kernel: its helpers do no wrong, a test sees one that does, and batches
//! change no decision.

use anyhow::{Result, bail};
use pageout_record::schema::{Metric, Record};

use super::call::{Call, pageout};
use super::report::{begin, none};
use crate::cmd;

const CLEAR_FLUSH: &str = "clear_flush_young_ptes";
const TEST_AND_CLEAR: &str = "test_and_clear_young_ptes";

/// A function that returns the batched helpers of a named kernel.
type Batched = fn(&str) -> &'static [&'static str];

const OF_7_3: Batched = |_| &[CLEAR_FLUSH, TEST_AND_CLEAR];
const OF_6_12: Batched = |kernel| match kernel {
    "stock" => &[],
    "s1" | "s2" => &[CLEAR_FLUSH],
    _ => &[CLEAR_FLUSH, TEST_AND_CLEAR],
};

/// Every kernel whose helpers differ, under the formats in which they do.
const HELPERS: [(Batched, Call); 4] = [
    (
        OF_7_3,
        Call {
            name: "helper-calls-7.3",
            words: "lab run stock q24 helper-calls calls=100000 \
                --config arm64-4k,arm64-64k,x86-64",
        },
    ),
    (
        OF_7_3,
        Call {
            name: "helper-calls-7.3-before",
            words: "lab run no-batch no-young no-mglru no-unmap helper-calls calls=100000 \
                --config arm64-4k",
        },
    ),
    (
        OF_6_12,
        Call {
            name: "helper-calls-6.12",
            words: "lab run --kernel 6.12 stock s1 s2 s3 s4 helper-calls calls=100000 \
            --config arm64-4k,x86-64",
        },
    ),
    (
        OF_6_12,
        Call {
            name: "helper-calls-6.12-64k",
            words: "lab run --kernel 6.12 stock s1 s3 helper-calls calls=100000 --config arm64-64k",
        },
    ),
];

/// Calls the young helpers of every kernel at random; none may be wrong.
pub(super) fn helpers() -> Result<()> {
    begin("random helper calls, none of them wrong");
    let mut wrong = Vec::new();
    for (batched, call) in &HELPERS {
        for record in call.records()?.records {
            let (calls, bad) = (value(&record, "calls")?, value(&record, "wrong")?);
            let mut lines = Vec::new();
            for helper in [CLEAR_FLUSH, TEST_AND_CLEAR] {
                lines.push(format!("{helper} {}", value(&record, helper)?));
            }
            println!("{}: {calls} calls, {bad} wrong; {}", title(&record), lines.join(", "));
            let kernel = record.variant.get("kernel").map_or("", String::as_str);
            let mut called = true;
            for helper in batched(kernel) {
                called &= value(&record, helper)? > 0.0;
            }
            if calls < 1e5 || bad != 0.0 || !called {
                wrong.push(title(&record));
            }
        }
    }
    none(&wrong, "helpers did wrong, or were called too few times, or not in batches")
}

/// The same mistake on both releases, with both sizes of blocks.
const MISTAKES: [&str; 4] = [
    "lab run stock --patch crates/lab/files/mistakes/first-entry-decides-7.3.patch helper-calls \
        calls=100000 --config arm64-4k",
    "lab run stock --patch crates/lab/files/mistakes/first-entry-decides-7.3.patch helper-calls \
        calls=100000 --config arm64-64k",
    "lab run 6.12:s1 --patch crates/lab/files/mistakes/first-entry-decides.patch helper-calls \
        calls=100000 --config arm64-4k",
    "lab run 6.12:s1 --patch crates/lab/files/mistakes/first-entry-decides.patch helper-calls \
        calls=100000 --config arm64-64k",
];

/// Checks that a kernel whose helper reads only the first entry is caught.
pub(super) fn mistake() -> Result<()> {
    begin("a wrong helper, which has to be caught");
    for words in MISTAKES {
        caught(words)?;
    }
    Ok(())
}

fn caught(words: &str) -> Result<()> {
    let output = pageout(words).output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    let Some(line) = told.lines().find(|line| line.contains("bench: wrong: ")) else {
        bail!("`pageout {words}` ended with {} and named no wrong call:\n{told}", output.status);
    };
    if output.status.success() || !told.contains("patched") {
        bail!("the wrong kernel was not the one refused:\n{told}");
    }
    println!("caught by `pageout {words}`: {}", line.trim());
    Ok(())
}

/// Calls, each with the kernel that the others are compared with: the one without batches.
const MIXED: [(Call, &str); 2] = [
    (
        Call {
            name: "mixed-mappings-7.3",
            words: "lab compare no-batch no-young no-mglru no-unmap stock q24 mixed-mappings \
                lru=classic,mglru --config arm64-4k,x86-64",
        },
        "no-batch",
    ),
    (
        Call {
            name: "mixed-mappings-6.12",
            words: "lab compare --kernel 6.12 stock s1 s2 s3 mixed-mappings lru=classic,mglru \
                --config arm64-4k,x86-64",
        },
        "stock",
    ),
];

/// Runs the kernel selftest, on the kernel as it is and with the whole queue, on one CPU and on
/// two.
pub(super) fn selftest() -> Result<()> {
    begin("the kernel selftest");
    // The command fails if a test fails.
    cmd::run(&mut pageout("lab run stock q24 selftest cpus=1,2 --config arm64-4k,x86-64"))
}

/// Counts that batching changes by its nature. MGLRU counts every young entry of a contiguous
/// block, where it used to count only the first that the walk met. So more tables pass the
/// threshold of the Bloom filter.
const COUNTED_OTHERWISE: [&str; 2] = ["walk: young", "walk: tables added"];

/// Checks that mixed mappings end alike before and after each batch, except for
/// `COUNTED_OTHERWISE`.
pub(super) fn mixed_mappings() -> Result<()> {
    begin("mixed mappings, the same before and after each batch");
    for (call, base) in MIXED {
        let set = call.records()?;
        let is_base =
            |record: &&Record| record.variant.get("kernel").is_some_and(|kernel| kernel == base);
        let mut differing = Vec::new();
        for before in set.records.iter().filter(is_base) {
            let others = set.records.iter().filter(|record| {
                record.fields == before.fields && record.variant != before.variant
            });
            differing.extend(others.flat_map(|record| differences(before, record)));
        }
        let (explained, decided): (Vec<_>, Vec<_>) =
            differing.into_iter().partition(|(metric, _)| COUNTED_OTHERWISE.contains(&&metric[..]));
        let told = |found: Vec<(String, String)>| found.into_iter().map(|(_, told)| told);
        none(&told(decided).collect::<Vec<_>>(), "batching changed what was decided")?;
        println!("{}: {} records decide alike", call.name, set.records.len());
        println!("counted otherwise, since batches and blocks count:");
        told(explained).for_each(|told| println!("  {told}"));
    }
    Ok(())
}

/// Returns the metrics in which a record differs from the one before the batches, each with a
/// description.
fn differences(before: &Record, record: &Record) -> Vec<(String, String)> {
    let differ = |(a, b): &(&Metric, &Metric)| a != b;
    let told = |(a, b): (&Metric, &Metric)| {
        let (title, name) = (title(record), &a.name);
        (name.clone(), format!("{title}: {name} {:?}, before {:?}", b.values, a.values))
    };
    let mut all: Vec<_> =
        before.metrics.iter().zip(&record.metrics).filter(differ).map(told).collect();
    if before.metrics.len() != record.metrics.len() {
        all.push((String::new(), format!("{}: other metrics than before", title(record))));
    }
    all
}

/// Returns a record's kernel and fields.
pub(super) fn title(record: &Record) -> String {
    let pairs = record.variant.iter().chain(&record.fields);
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
    format!("{} {}", record.scenario, pairs.join(" "))
}

/// Returns the first sample of a metric.
pub(super) fn value(record: &Record, name: &str) -> Result<f64> {
    match record.metric(name) {
        Some(metric) => Ok(metric.values[0]),
        None => bail!("{} has no metric {name}", title(record)),
    }
}

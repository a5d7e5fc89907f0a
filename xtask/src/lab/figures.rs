//! The figures: every kernel of the series in every situation, in one table, held against those
//! that are stored.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use pageout_record::schema::{Record, RecordSet};

use super::checks::title;
use super::{Call, begin, none, pageout, read, results};
use crate::cmd;

/// What is stored of the figures, and how far a new run may be from it: another compiler makes
/// other code.
const STORED: &str = "lab/records/linux-6.12.json";
const TOLERANCE: f64 = 0.03;

/// The figures that lead: run twice, from two boots.
const LEADING: Call = Call {
    name: "arm64-4k-order-4",
    words: "lab compare stock s1 s2 s3 reclaim-file order=4 lru=classic,mglru",
};

const FIGURES: [Call; 8] = [
    Call {
        name: "arm64-4k",
        words: "lab compare stock s1 s2 s3 reclaim-file order=0,5,8,9 lru=classic,mglru --runs 1",
    },
    Call {
        name: "no-walks",
        words: "lab compare stock s1 s2 s3 reclaim-file order=0,4 lru=mglru-no-walks --runs 1",
    },
    Call {
        name: "running",
        words: "lab compare stock s1 s2 s3 reclaim-file order=4 lru=classic,mglru \
            process=running --runs 1",
    },
    Call {
        name: "neoverse-n1",
        words: "lab compare stock s1 s2 s3 reclaim-file order=4 lru=classic,mglru \
            --cpu neoverse-n1 --runs 1",
    },
    Call {
        name: "arm64-64k",
        words: "lab compare stock s1 s3 reclaim-file order=0,5 lru=classic,mglru \
            --config arm64-64k --runs 1",
    },
    Call {
        name: "x86-64",
        words: "lab compare stock s1 s2 s3 reclaim-file order=0,4,9 \
            lru=classic,mglru,mglru-no-walks --config x86-64 --runs 1",
    },
    Call {
        name: "aging",
        words: "lab compare stock s1 s2 s3 age-file order=0,4,8 young=all,none,1/256 \
            --config arm64-4k,x86-64 --runs 1",
    },
    Call {
        name: "young-flush",
        words: "lab compare s4 s4+young_flush=sync s4+young_flush=nosync s4+young_flush=none \
            reclaim-file order=0,4 lru=classic --config arm64-4k,x86-64 --runs 1",
    },
];

/// Runs all of them, prints the table and compares with what is stored.
pub(super) fn run(update: bool) -> Result<()> {
    begin("figures");
    let first = LEADING.records()?;
    let again = Call { name: "arm64-4k-order-4-again", ..LEADING }.records()?;
    none(&differing(&first.records, &again.records, 0.0), "two boots differ")?;
    println!("two boots of each kernel are bit-identical");
    let mut sets = vec![(LEADING.name.to_owned(), first)];
    for call in &FIGURES {
        sets.push((call.name.to_owned(), call.records()?));
    }
    let all = RecordSet::pool(sets)?;
    let path = results().join("all.json");
    fs::write(&path, all.to_json()?).context("the records of all figures")?;
    let mut tables = String::new();
    for (series, base) in [(SERIES, "kernel=stock"), (FLUSHES, "kernel=s4")] {
        let path = results().join(base).with_extension("json");
        fs::write(&path, instructions(&all, series).to_json()?)?;
        let words = format!("compare {} --base {base}", path.display());
        tables += &(cmd::output(&mut pageout(&words))? + "\n");
    }
    println!("{tables}");
    if update {
        fs::write(stored(), all.to_json()?).context("the stored records")?;
        fs::write(stored().with_extension("txt"), tables).context("the stored tables")?;
        println!("{STORED} is written, and its tables beside it");
        return Ok(());
    }
    let old = read(&stored())?;
    let far = differing(&old.records, &all.records, TOLERANCE);
    none(&far, &format!("more than {}% from {STORED}", 100.0 * TOLERANCE))?;
    println!("all figures are within {}% of {STORED}", 100.0 * TOLERANCE);
    Ok(())
}

/// What the tables show: instructions, of kernels whose names `belong`.
fn instructions(all: &RecordSet, belong: fn(&str) -> bool) -> RecordSet {
    let mut set = all.clone();
    set.records.retain(|record| record.variant.get("kernel").is_some_and(|name| belong(name)));
    for record in &mut set.records {
        record.metrics.retain(|metric| metric.unit.starts_with("instructions"));
    }
    set
}

const SERIES: fn(&str) -> bool = |kernel| !kernel.starts_with("s4");
const FLUSHES: fn(&str) -> bool = |kernel| kernel.starts_with("s4");

fn stored() -> PathBuf {
    cmd::root().join(STORED)
}

/// The metrics of `old` that `new` lacks, or has further off than `tolerance` of the old value.
fn differing(old: &[Record], new: &[Record], tolerance: f64) -> Vec<String> {
    let mut found = Vec::new();
    for a in old {
        let same = |b: &&Record| {
            (&a.scenario, &a.fields, &a.variant) == (&b.scenario, &b.fields, &b.variant)
        };
        let Some(b) = new.iter().find(same) else {
            found.push(format!("{}: is missing", title(a)));
            continue;
        };
        for was in &a.metrics {
            let is = b.metrics.iter().find(|metric| metric.name == was.name);
            let values = is.map_or(&[][..], |metric| &metric.values);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * a.abs();
            let alike = values.len() == was.values.len();
            if !alike || !was.values.iter().zip(values).all(near) {
                let (title, name) = (title(a), &was.name);
                found.push(format!("{title}: {name} {:?}, was {:?}", values, was.values));
            }
        }
    }
    found
}

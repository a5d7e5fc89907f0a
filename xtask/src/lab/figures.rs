//! The figures: every kernel in every situation, in one table for each release, compared with those
//! that are stored.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use pageout_record::schema::{Pooling, Record, RecordFile, RecordSet};

use super::call::{Call, pageout, read, records, results};
use super::checks::title;
use super::report::{begin, none};
use crate::cmd;

/// The largest difference allowed between a new run and the stored figures, as a fraction of those:
/// another compiler makes other code.
pub(super) const TOLERANCE: f64 = 0.03;

/// The figures of a release's kernels.
struct Figures {
    /// The file of the records in `crates/lab/files/records`, without its extension.
    stored: &'static str,
    /// The leading figures, which are run twice, from two boots.
    leading: Call,
    calls: &'static [Call],
    /// Each table's kernels, and the one that the others are compared with.
    tables: &'static [(Kernels, &'static str)],
}

/// A function that returns true if a table has the named kernel.
type Kernels = fn(&str) -> bool;

const LINUX_7_3: Figures = Figures {
    stored: "linux-7.3",
    leading: Call {
        name: "7.3-arm64-4k-order-4",
        words: "lab compare no-batch no-young no-mglru no-unmap stock q23 \
            reclaim-file order=4 lru=classic,mglru,mglru-no-walks --config arm64-4k",
    },
    calls: &[
        Call {
            name: "7.3-arm64-4k",
            words: "lab compare no-batch no-young no-mglru no-unmap stock q23 \
                reclaim-file order=0,5,8,9 lru=classic,mglru,mglru-no-walks --runs 1 \
                --config arm64-4k",
        },
        Call {
            name: "7.3-running",
            words: "lab compare no-batch no-young no-mglru no-unmap stock q23 \
                reclaim-file order=0,4 lru=classic,mglru process=running --runs 1 \
                --config arm64-4k",
        },
        Call {
            name: "7.3-two-cpus",
            words: "lab compare no-batch no-young no-mglru no-unmap stock q23 \
                reclaim-file order=0,4 lru=classic,mglru cpus=2 process=running \
                --config arm64-4k,x86-64 --runs 1",
        },
        Call {
            name: "7.3-arm64-64k",
            words: "lab compare no-batch no-young no-mglru no-unmap stock q23 \
                reclaim-file order=0,5 lru=classic,mglru --config arm64-64k --runs 1",
        },
        Call {
            name: "7.3-x86-64",
            words: "lab compare no-batch no-young no-mglru no-unmap stock q23 \
                reclaim-file order=0,4,9 lru=classic,mglru --config x86-64 --runs 1",
        },
        Call {
            name: "7.3-aging",
            words: "lab compare no-batch no-young no-mglru no-unmap stock q23 \
                age-file order=0,4,8 young=none,all,1/256 --config arm64-4k,x86-64 --runs 1",
        },
    ],
    tables: &[
        (|kernel| kernel != "q23", "kernel=no-batch"),
        (|kernel| matches!(kernel, "stock" | "q23"), "kernel=stock"),
    ],
};

const LINUX_6_12: Figures = Figures {
    stored: "linux-6.12",
    leading: Call {
        name: "arm64-4k-order-4",
        words: "lab compare --kernel 6.12 stock s1 s2 s3 reclaim-file order=4 lru=classic,mglru \
            --config arm64-4k",
    },
    calls: &[
        Call {
            name: "arm64-4k",
            words: "lab compare --kernel 6.12 stock s1 s2 s3 reclaim-file order=0,5,8,9 \
                lru=classic,mglru --runs 1 --config arm64-4k",
        },
        Call {
            name: "no-walks",
            words: "lab compare --kernel 6.12 stock s1 s2 s3 reclaim-file order=0,4 \
                lru=mglru-no-walks --runs 1 --config arm64-4k",
        },
        Call {
            name: "running",
            words: "lab compare --kernel 6.12 stock s1 s2 s3 reclaim-file order=4 \
                lru=classic,mglru process=running --runs 1 \
                --config arm64-4k",
        },
        Call {
            name: "neoverse-n1",
            words: "lab compare --kernel 6.12 stock s1 s2 s3 reclaim-file order=4 \
                lru=classic,mglru --cpu neoverse-n1 --runs 1 --config arm64-4k",
        },
        Call {
            name: "arm64-64k",
            words: "lab compare --kernel 6.12 stock s1 s3 reclaim-file order=0,5 \
                lru=classic,mglru --config arm64-64k --runs 1",
        },
        Call {
            name: "x86-64",
            words: "lab compare --kernel 6.12 stock s1 s2 s3 reclaim-file order=0,4,9 \
                lru=classic,mglru,mglru-no-walks --config x86-64 --runs 1",
        },
        Call {
            name: "aging",
            words: "lab compare --kernel 6.12 stock s1 s2 s3 age-file order=0,4,8 \
                young=all,none,1/256 --config arm64-4k,x86-64 --runs 1",
        },
        Call {
            name: "young-flush",
            words: "lab compare --kernel 6.12 s4 s4+young_flush=sync s4+young_flush=nosync \
                s4+young_flush=none reclaim-file order=0,4 lru=classic --config arm64-4k,x86-64 \
                --runs 1",
        },
    ],
    tables: &[
        (|kernel| !kernel.starts_with("s4"), "kernel=stock"),
        (|kernel| kernel.starts_with("s4"), "kernel=s4"),
    ],
};

/// Two releases in one table: the batches as merged, and our backport of them.
const BESIDE: Call = Call {
    name: "7.3-beside-6.12",
    words: "lab compare 7.3:no-batch 7.3:stock 6.12:stock 6.12:s3 reclaim-file order=0,4 \
        lru=classic,mglru --runs 1 --config arm64-4k",
};

/// Runs all calls, prints the tables and compares with the stored figures.
pub(super) fn run(update: bool) -> Result<()> {
    for figures in [LINUX_7_3, LINUX_6_12] {
        figures.run(update)?;
    }
    begin("two releases beside each other");
    println!("{}", table(&BESIDE.records()?.into(), BESIDE.name, "kernel=7.3:no-batch")?);
    Ok(())
}

/// Returns the table of records against a base.
fn table(file: &RecordFile, name: &str, base: &str) -> Result<String> {
    let path = results().join(format!("{name}-instructions.json"));
    fs::write(&path, instructions(file).to_json()?)?;
    cmd::output(&mut pageout(&format!("compare {} --base {base}", path.display())))
}

impl Figures {
    fn run(&self, update: bool) -> Result<()> {
        begin(&format!("figures of {}", self.stored));
        let first = from_two_boots(self.leading.name, self.leading.words)?;
        println!("two boots of each kernel are bit-identical");
        let mut files = vec![(self.leading.name.to_owned(), RecordFile::from(first))];
        for call in self.calls {
            files.push((call.name.to_owned(), call.records()?.into()));
        }
        let all = RecordFile::merge(files, Pooling::Alike)?;
        let path = results().join(format!("{}-all.json", self.stored));
        fs::write(&path, all.to_json()?).context("the records of all figures")?;
        let mut tables = String::new();
        for (belong, base) in self.tables {
            let mut shown = all.clone();
            let kernel = |record: &Record| record.variant.get("kernel").cloned();
            let belongs = |record: &Record| kernel(record).is_some_and(|name| belong(&name));
            shown.sets.iter_mut().for_each(|set| set.records.retain(belongs));
            tables += &(table(&shown, self.stored, base)? + "\n");
        }
        println!("{tables}");
        let stored = self.stored();
        if update {
            fs::write(&stored, all.to_json()?).context("the stored records")?;
            fs::write(stored.with_extension("txt"), tables).context("the stored tables")?;
            println!("{} is written, and its tables beside it", stored.display());
            return Ok(());
        }
        let far = differing(&of_all(read(&stored)?), &of_all(all), TOLERANCE);
        none(&far, &format!("more than {}% from {}", 100.0 * TOLERANCE, stored.display()))?;
        println!("all figures are within {}% of {}", 100.0 * TOLERANCE, stored.display());
        Ok(())
    }

    fn stored(&self) -> PathBuf {
        cmd::root().join("crates/lab/files/records").join(format!("{}.json", self.stored))
    }
}

/// Returns the records with only the metrics that the tables show.
fn instructions(all: &RecordFile) -> RecordFile {
    let mut file = all.clone();
    for record in file.sets.iter_mut().flat_map(|set| &mut set.records) {
        record.metrics.retain(|metric| metric.unit.starts_with("instructions"));
    }
    file
}

/// Returns the records of the program with these arguments, which two boots of each kernel must
/// give alike.
pub(super) fn from_two_boots(name: &str, words: &str) -> Result<RecordSet> {
    let first = records(name, words)?;
    let again = records(&format!("{name}-again"), words)?;
    let unlike = differing(&first.records, &again.records, 0.0);
    none(&unlike, &format!("two boots differ in {name}"))?;
    Ok(first)
}

/// Returns the records of all runs.
pub(super) fn of_all(file: RecordFile) -> Vec<Record> {
    file.sets.into_iter().flat_map(|set| set.records).collect()
}

/// Returns the metrics of `old` that `new` lacks, or whose value in `new` differs by more than
/// `tolerance` of the old one.
pub(super) fn differing(old: &[Record], new: &[Record], tolerance: f64) -> Vec<String> {
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
            let is = b.metric(&was.name);
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

//! Workloads of the lab on Linux 7.3, on 7.3 without its batches and on 6.12, each from two boots.

use std::fs;

use anyhow::{Context, Result};
use pageout_record::schema::RecordFile;

use super::call::read;
use super::figures::{TOLERANCE, differing, from_two_boots, of_all};
use super::report::{begin, none};
use crate::cmd;

/// Machines, each with its kernels.
const MACHINES: [(&str, &str); 2] =
    [("arm64-4k", "7.3:no-batch 7.3:stock 6.12:stock"), ("x86-64", "7.3:no-batch 7.3:stock")];

/// Workloads with their fields: all but `hot-pages`, which takes long.
const WORKLOADS: [(&str, &str); 13] = [
    ("swap-anon", "content=same,random lru=classic,mglru"),
    ("pageout-shared", ""),
    ("lazy-free", "lru=classic,mglru"),
    ("cold-anon", "lru=classic,mglru"),
    ("fork-copy", "order=0,4"),
    ("map-calls", "order=0,4"),
    ("write-back", "by=msync,flusher"),
    ("reclaim-file", "lru=classic,mglru size=256MiB"),
    (SHMEM, "lru=classic,mglru"),
    ("age-file", "young=none,all size=256MiB"),
    ("mixed-mappings", "lru=classic,mglru"),
    ("helper-calls", ""),
    ("selftest", ""),
];

/// Linux 6.12 does not count what a cgroup swaps out, which this one reads.
const SHMEM: &str = "reclaim-shmem";

/// Runs every workload twice, which must give the same, and compares with the stored records.
pub(super) fn run(update: bool) -> Result<()> {
    begin("every workload, two boots of each");
    let mut far = Vec::new();
    for (machine, kernels) in MACHINES {
        for (workload, fields) in WORKLOADS {
            let kernels = if workload == SHMEM { "7.3:no-batch 7.3:stock" } else { kernels };
            let name = format!("{workload}-{machine}");
            // The same kernels serve all, also those that do not swap to zram.
            let words = format!(
                "lab run {kernels} {workload} {fields} --config {machine}-swap \
                --config-option ZRAM=y"
            );
            let first = from_two_boots(&name, &words)?;
            let stored =
                cmd::root().join(format!("crates/lab/files/records/workloads/{name}.json"));
            if update {
                let text = RecordFile::from(first).to_json()?;
                fs::write(&stored, text).context("the stored records")?;
                println!("{} is written", stored.display());
            } else {
                far.extend(differing(&of_all(read(&stored)?), &first.records, TOLERANCE));
            }
        }
    }
    none(&far, &format!("more than {}% from what is stored", 100.0 * TOLERANCE))
}

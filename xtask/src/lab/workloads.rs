//! Workloads of the lab on Linux 7.3, on 7.3 without its batches and on 6.12, each from two boots.

use std::fs;

use anyhow::{Context, Result};
use pageout_record::schema::RecordFile;

use super::call::read;
use super::figures::{TOLERANCE, differing, from_two_boots, of_all};
use super::report::{begin, none};
use crate::cmd;

/// Runs of a workload on kernels of each machine, which are kept under a name.
struct Asked {
    name: &'static str,
    /// The workload and its fields.
    workload: &'static str,
    kernels: &'static str,
    machines: &'static [&'static str],
}

impl Asked {
    const fn of_all(name: &'static str, workload: &'static str) -> Self {
        let kernels = "7.3:no-batch 7.3:stock 6.12:stock";
        Self { name, workload, kernels, machines: &["arm64-4k", "x86-64"] }
    }
}

/// All workloads.
const ALL: [Asked; 27] = [
    Asked::of_all("access-patterns", PATTERNS),
    Asked {
        name: "young-flush",
        workload: CLASSIC_PATTERNS,
        kernels: "young-flush+young_flush=sync young-flush+young_flush=nosync \
            young-flush+young_flush=none",
        machines: &["arm64-4k"],
    },
    Asked {
        name: "young-flush",
        workload: CLASSIC_PATTERNS,
        kernels: "young-flush+young_flush=sync young-flush+young_flush=none",
        machines: &["x86-64"],
    },
    Asked::of_all("huge-faults", "huge-faults order=0,4"),
    Asked {
        name: "young-flush-huge",
        workload: "huge-faults order=0,4",
        kernels: "young-flush+young_flush=nosync young-flush+young_flush=none",
        machines: &["arm64-4k"],
    },
    Asked::of_all("stream-read", "stream-read order=0,4 lru=classic,mglru"),
    Asked::of_all("cgroup-tree", "cgroup-tree cgroups=1,4,8 lru=classic,mglru"),
    Asked {
        machines: &["arm64-4k"],
        ..Asked::of_all("cgroup-tree-order-0", "cgroup-tree order=0 lru=classic,mglru")
    },
    Asked::of_all("node-move", "node-move order=0,4,9 processes=1,4"),
    Asked::of_all("hot-pages", "hot-pages lru=classic,mglru size=8MiB --time-limit 2000"),
    Asked::of_all("swap-anon", "swap-anon content=same,random lru=classic,mglru"),
    Asked::of_all("swap-processes", "swap-anon processes=1,4,8"),
    Asked::of_all("pageout-shared", "pageout-shared"),
    Asked::of_all("lazy-free", "lazy-free lru=classic,mglru"),
    Asked::of_all("cold-anon", "cold-anon lru=classic,mglru"),
    Asked::of_all("fork-copy", "fork-copy order=0,4"),
    Asked::of_all("map-calls", "map-calls order=0,4"),
    Asked::of_all("write-back", "write-back by=msync,flusher"),
    Asked {
        machines: &["arm64-4k"],
        ..Asked::of_all("write-back-order-0", "write-back order=0 by=msync,flusher")
    },
    Asked::of_all("reclaim-dirty", "reclaim-dirty order=0,4 again=no,yes"),
    Asked::of_all("fault-and-reclaim", "fault-and-reclaim faults=1,8 content=file,lazyfree"),
    Asked::of_all("reclaim-file", "reclaim-file lru=classic,mglru size=256MiB"),
    Asked::of_all("reclaim-shmem", "reclaim-shmem lru=classic,mglru"),
    Asked::of_all("age-file", "age-file young=none,all size=256MiB"),
    Asked::of_all("mixed-mappings", "mixed-mappings lru=classic,mglru"),
    Asked::of_all("helper-calls", "helper-calls"),
    Asked::of_all("selftest", "selftest"),
];

const PATTERNS: &str = "access-patterns lru=classic,mglru pattern=sequential-read,random-read,\
    hot-read,sequential-write,random-write,hot-write";

const CLASSIC_PATTERNS: &str = "access-patterns pattern=sequential-read,random-read,hot-read,\
    sequential-write,random-write,hot-write";

/// Runs every workload twice, which must give the same, and compares with the stored records.
pub(super) fn run(update: bool) -> Result<()> {
    begin("every workload, two boots of each");
    let mut far = Vec::new();
    for Asked { name, workload, kernels, machines } in ALL {
        for machine in machines {
            let name = format!("{name}-{machine}");
            // The same kernels serve all, also those that do not swap to zram.
            let words = format!(
                "lab run {kernels} {workload} --config {machine}-swap --config-option ZRAM=y"
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

//! Help of `trace`.

use super::text::{Help, Section};
use pageout_experiment::kinds::Choice;
use pageout_host::curve::Policy;

pub(super) fn trace() -> Help {
    Help {
        examples: &[
            "pageout trace info # samples that come with the program",
            "pageout trace curve sqlite-orders --format picture",
            "pageout trace record --output ls.pgt -- ls -l",
        ],
        ..Help::default()
    }
}

pub(super) fn record() -> Help {
    Help {
        notes: vec![
            Section::terms(
                "Recorders",
                &[
                    (
                        "valgrind",
                        "Follows a program that replaces itself by another, as scripts do that \
                         end with exec.",
                    ),
                    (
                        "qemu",
                        "Is faster. It compiles a plugin for QEMU's user mode with gcc. It takes \
                         x86-64 programs on x86-64, no scripts, and ends where a program replaces \
                         itself.",
                    ),
                ],
            ),
            Section::Prose(
                "--children needs valgrind. Each child is traced from the moment it executes a \
                 program, and so are its children. With --output run.pgt their traces are \
                 run.1.pgt, run.2.pgt and so on, in order of execution; existing files of these \
                 names are replaced. --epoch and --filter hold for each. The recording ends with \
                 the last process, in the background too. Children that execute no program are \
                 counted.",
            ),
        ],
        examples: &[
            "pageout trace record --output ls.pgt -- ls -l /usr/bin",
            "pageout trace record --children --output run.pgt -- sh run.sh",
            "pageout trace record --recorder qemu --output w.pgt -- wc README.md",
        ],
        ..Help::default()
    }
}

pub(super) fn import() -> Help {
    Help {
        notes: vec![
            Section::Prose(
                "Files compressed by gzip, xz or zstd, and tar archives of one file, are unpacked \
                 as they are read.",
            ),
            Section::terms(
                "Formats",
                &[
                    ("lackey", "Output of `valgrind --tool=lackey --trace-mem=yes`."),
                    (
                        "perf-script",
                        "Memory samples as `perf script -F pid,event,addr` prints them, with any \
                         other fields.",
                    ),
                    (
                        "damon",
                        "Events damon_aggregated as `perf script` or `trace-cmd report` prints \
                         them, `damo report access --raw_form`, or the file of `damo record`.",
                    ),
                    ("champsim", "Records of 64 bytes."),
                    ("cloudsuite", "ChampSim's records of 96 bytes."),
                    ("drmemtrace", "Text of its tool view."),
                    (
                        "oracle-general",
                        "libCacheSim's oracleGeneral. Each record is a load, and each object a \
                         page, whatever its size.",
                    ),
                ],
            ),
            Section::Prose(
                "perf-script and damon are samples: the trace says so, and commands that need all \
                 accesses refuse it. Samples and oracle-general take no --filter, since nothing is \
                 left out of them. A snapshot of DAMON is an epoch, so damon takes no --epoch. \
                 Kernel addresses and prefetches are passed over (docs/traces.md).",
            ),
        ],
        examples: &[
            "valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null |\n  \
                pageout trace import --output ls.pgt -",
            "pageout trace import c.oracleGeneral.zst --output c.pgt",
            "perf script -F pid,event,addr,data_src |\n  \
                pageout trace import --pid 4242 --output a.pgt -",
            "pageout trace import 600.champsimtrace.xz --output 600.pgt",
            "pageout trace import damon.data --output a.pgt",
            "drrun -t drmemtrace -indir DIR -tool view 2>&1 |\n  \
                pageout trace import --output a.pgt -",
        ],
        ..Help::default()
    }
}

pub(super) fn export() -> Help {
    Help {
        notes: vec![Section::Prose(
            "Each access of the trace becomes a record. Pages are numbered from 1, in the order of \
             first use; the time is the number of epochs before the access. Next uses are record \
             numbers from 1, as libCacheSim's traceConv writes them (docs/traces.md).",
        )],
        examples: &["pageout trace export sqlite-orders --output orders.oracleGeneral.zst"],
        ..Help::default()
    }
}

/// Returns the names of the policies that work page by page.
fn on_demand() -> Vec<&'static str> {
    let by_page = Policy::NAMES.iter().filter(|(_, policy)| matches!(policy, Policy::OnDemand(_)));
    by_page.map(|(name, _)| *name).collect()
}

pub(super) fn curve() -> Help {
    Help {
        notes: vec![
            Section::Prose(
                "A miss is an access whose page is not in memory: its first use, or a refault. The \
                 miss ratio is misses over all accesses of the trace, which are the same for every \
                 policy. A trace leaves out accesses that every TLB hits on, so ratios are larger \
                 than those of all references (docs/traces.md).",
            ),
            Section::terms(
                "Policies",
                &[
                    (
                        "classic, mglru",
                        "The engine, as `pageout run trace limit=` runs it with order=0.",
                    ),
                    (&on_demand().join(", "), "The algorithms of their papers, page by page."),
                    (
                        "min",
                        "Belady's MIN, which knows the future. No policy that loads single pages \
                         on demand has fewer misses.",
                    ),
                ],
            ),
            Section::Prose(
                "A list has commas. A range A..B has steps of A, and A..B:STEP steps of STEP.",
            ),
            Section::Prose(
                "Exit status 1 if some points cannot be computed, such as those of the engine \
                 under a limit that is too small for it; the others are printed.",
            ),
        ],
        examples: &[
            "pageout trace curve sqlite-orders",
            "pageout trace curve sqlite-orders --format picture",
            "pageout trace curve my.pgt --limit 64M,128M --policy mglru,arc,min",
            "pageout trace curve my.pgt --limit 1%..10%,20%..100%:10% --csv",
            "pageout trace curve cc1plus-list --html curve.html",
        ],
        ..Help::default()
    }
}

pub(super) fn info() -> Help {
    Help {
        examples: &[
            "pageout trace info",
            "pageout trace info sqlite-orders",
            "pageout trace info my.pgt --json",
        ],
        ..Help::default()
    }
}

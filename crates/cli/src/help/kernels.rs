//! Help of `lab`.

use super::text::{Help, Section};
use pageout_lab::{Release, Workload};
use pageout_refusal::one_of;
use std::sync::Arc;

const LISTED: Section = Section::Prose("`pageout lab --help` lists kernels and scenarios.");

pub(super) fn lab() -> Help {
    let mut notes: Vec<Section> = Release::ALL.map(kernels_of).into();
    notes.extend([
        own_kernels(),
        scenarios(),
        Section::Prose(
            "--workload FILE takes a C program of yours in place of a scenario, or a directory \
             with one, a shell script or a static binary; its manifest declares fields and \
             metrics (docs/lab.md, \"A workload of yours\").",
        ),
        Section::Prose(
            "The emulated machine is deterministic: its clock counts one nanosecond for each \
             instruction, so its times are instructions.",
        ),
    ]);
    Help {
        brief: vec![Section::terms(
            "Arguments of its commands, in this order (all: `pageout lab --help`)",
            &[
                ("KERNEL", "stock, no-batch, no-young, no-mglru, no-unmap, q1 to q24, 6.12:s3"),
                ("SCENARIO", &one_of(&Workload::names())),
                ("FIELD=VALUE", "order=0,4  lru=classic,mglru  young=none  size=1GiB"),
            ],
        )],
        notes,
        examples: &[
            "pageout lab source # once: Linux 7.3",
            "pageout lab compare --patch my.patch",
            "pageout lab series --tree ~/linux mm-stable..my-series",
            "pageout lab compare no-batch no-young no-mglru no-unmap stock",
            "pageout lab compare --patch my.patch reclaim-file order=0,4,9",
            "pageout lab compare --patch v1=old.patch --patch v2=new.patch",
            "pageout lab compare --tree ~/linux --patch my.patch --format list",
            "pageout lab compare 6.12:stock 6.12:s3 7.3:no-batch 7.3:stock",
            "pageout lab compare no-batch stock swap-anon content=same,random",
            "pageout lab run stock helper-calls --config arm64-4k,arm64-64k",
            "pageout lab run stock selftest --config arm64-4k,x86-64",
            "pageout lab profile stock reclaim-file --folded stock.folded",
            "pageout lab lru-gen evict no-batch stock",
            "pageout lab schedule stock --workload lost-write",
            "pageout lab script --output measure.sh",
        ],
    }
}

/// Returns the kernels that are made of a release.
fn kernels_of(release: Release) -> Section {
    let (heading, kernels) = release.described();
    Section::terms(heading, kernels)
}

fn own_kernels() -> Section {
    Section::terms(
        "Kernels of yours",
        &[
            ("patched", "The first kernel named (or stock) with the patches of --patch FILE"),
            ("NAME", "The same with the patches of --patch NAME=FILE"),
            (
                "KERNEL+PARAMETER",
                "A kernel with a boot parameter, such as young-flush+young_flush=none",
            ),
        ],
    )
}

/// Returns the workloads, described by their manifests.
fn scenarios() -> Section {
    let term = |workload: &Arc<Workload>| {
        let (about, fields) = workload.about();
        (workload.name().to_owned(), format!("{about}\n{fields}"))
    };
    Section::Terms {
        heading: "Scenarios, with their fields and defaults; each field takes a list with commas",
        terms: Workload::ours().iter().map(term).collect(),
    }
}

pub(super) fn build() -> Help {
    Help {
        brief: vec![LISTED],
        notes: vec![LISTED],
        examples: &[
            "pageout lab build stock no-batch 6.12:s3",
            "pageout lab build --patch my.patch --config arm64-4k,x86-64",
            "pageout lab build --tree ~/linux --jobs 8",
        ],
    }
}

pub(super) fn run() -> Help {
    Help {
        brief: vec![LISTED],
        notes: vec![LISTED],
        examples: &[
            "pageout lab run stock reclaim-file order=4 lru=mglru",
            "pageout lab run stock helper-calls --config arm64-64k",
            "pageout lab run stock age-file young=all,none,1/256 --json",
        ],
    }
}

pub(super) fn compare() -> Help {
    Help {
        brief: vec![LISTED],
        notes: vec![LISTED],
        examples: &[
            "pageout lab compare --patch my.patch",
            "pageout lab compare no-batch stock",
            "pageout lab compare no-mglru stock reclaim-file order=0,4 lru=mglru",
            "pageout lab compare --tree ~/linux --patch my.patch --format list",
        ],
    }
}

pub(super) fn series() -> Help {
    Help {
        brief: vec![LISTED],
        notes: vec![
            Section::Prose(
                "One kernel is built of the base, and one for each patch with all patches before \
                 it. The base of a range is the commit BASE; the base of mails is Linux 7.3, the \
                 release of --kernel, or the tree of --tree as it is. No branch is checked out, \
                 and the tree is not written to. Empty commits and cover letters are skipped.",
            ),
            Section::Prose(
                "Every kernel also runs helper-calls, and mixed-mappings under both LRUs. The \
                 results are printed as KTAP, a subtest for each patch, with the points applies, \
                 builds, boots, helper calls, mixed mappings, and the counters of the scenario. A \
                 point is not ok where a count differs from the base's. Costs, such as `reclaim`, \
                 are no such counts: the table has them, and --fail-on judges them.",
            ),
            Section::Prose(
                "Without --keep-going, the command ends at the first patch that does not apply, \
                 build or boot. With it, the other patches are still tried; patches behind one \
                 that does not apply cannot be built.",
            ),
            Section::Prose(
                "With --last, only the base and the last patch are built, so that \
                 `git bisect run` can judge one commit after another where some do not build.",
            ),
            Section::Prose(
                "With --schedules N, every kernel is built with points and searched by N seeds, as \
                 `pageout lab schedule` does, in place of counts. The points are then applies, \
                 builds, boots, without turns, and seeds. A failure of a kind that the base has \
                 too is expected (XFAIL). The first schedule of each kind is run on the other \
                 kernels, which shows where it begins to fail or ceases to.",
            ),
            Section::terms(
                "Exit status",
                &[
                    ("0", "All points are ok, and --fail-on holds for every patch"),
                    ("1", "A point is not ok, or a patch is worse than --fail-on allows"),
                    (
                        "125",
                        "--fail-on, or --bisect, cannot be decided, only because a patch did not \
                         apply, build or boot",
                    ),
                    ("2", "Bad input"),
                ],
            ),
            LISTED,
        ],
        examples: &[
            "pageout lab series --tree ~/linux mm-stable..batch-v3",
            "pageout lab series --mbox v3_mm_batch.mbx --ktap checks.ktap",
            "pageout lab series --tree . origin/master..HEAD \\\n  \
                --fail-on 1% --output series.txt",
            "pageout lab series --tree ~/linux v7.3..HEAD \\\n  \
                reclaim-file order=0,4,9 lru=mglru --keep-going",
            "git format-patch --stdout v7.3.. > s.mbox &&\n  \
                pageout lab series --mbox s.mbox --tree ~/linux",
            "pageout lab series --tree . v7.3..HEAD --last \\\n  \
                --fail-on 1% --bisect  # as `git bisect run` calls it",
            "pageout lab series --tree . v7.3..HEAD \\\n  \
                register-check 60 --schedules 100 --save found",
        ],
    }
}

pub(super) fn profile() -> Help {
    Help {
        brief: vec![LISTED],
        notes: vec![LISTED],
        examples: &[
            "pageout lab profile no-batch stock",
            "pageout lab profile no-batch stock lru=classic",
            "pageout lab profile stock reclaim-file --folded stock.folded",
        ],
    }
}

/// The lines of a session.
const SESSION: &str = "\
memcg NAME                         a cgroup below the root
process NAME MEMCG                 a process that sleeps between commands
file NAME PAGES [order=N]          a file, cached in folios of that order
fill MEMCG FILE                    cache a file by faults, then unmap it
read MEMCG FILE [FROM..TO]         cache a file by read(2), a page a call
map PROCESS NAME FILE [FROM..TO]   map pages of a file, shared
anon PROCESS NAME PAGES [order=N]  map anonymous memory, in folios
touch REGION [FROM..TO] [write]    access a byte of each page
sleep MILLISECONDS
write COMMAND                      to lru_gen; $NAME: a cgroup's id,
                                   \\n: a new line
show MEMCG [full]                  its part of lru_gen, or lru_gen_full";

pub(super) fn lru_gen() -> Help {
    Help {
        brief: vec![shipped()],
        notes: vec![
            Section::Prose(
                "A session creates memory, ages and evicts it by commands to lru_gen, and shows \
                 lru_gen. It is a text of these lines; names are given before they are used.",
            ),
            Section::Lines { heading: "Lines of a session", lines: SESSION },
            shipped(),
        ],
        examples: &[
            "pageout lab lru-gen evict",
            "pageout lab lru-gen age-file no-batch stock",
            "pageout lab lru-gen ./mine.session patched --patch my.patch",
            "sudo cat /sys/kernel/debug/lru_gen > here.txt &&\n  \
                pageout lab lru-gen --read here.txt",
        ],
    }
}

fn shipped() -> Section {
    let terms = pageout_experiment::lru_gen::SHIPPED.map(|(name, _)| name).join(", ");
    Section::Terms {
        heading: "Sessions that come with the program",
        terms: vec![("SESSION".to_owned(), terms)],
    }
}

pub(super) fn schedule() -> Help {
    Help {
        notes: vec![
            Section::Prose(
                "The emulated CPUs run in turn. The compiler puts a call into every basic block \
                 of mm, at which a CPU may give up its turn, and the seed decides where it does. \
                 What fails is run again, made small, and printed with a schedule that --replay \
                 takes, also on another kernel.",
            ),
            Section::Prose(
                "Status 0: nothing was found. 1: a kernel failed. 2: bad input, or no result.",
            ),
        ],
        examples: &[
            "pageout lab schedule stock --workload lost-write",
            "pageout lab schedule --patch my.patch --workload ./race.c --save found",
            "pageout lab schedule stock patched --patch my.patch --workload lost-write",
        ],
        ..Help::default()
    }
}

pub(super) fn source() -> Help {
    Help {
        notes: vec![Section::Prose(
            "apt checks the archive's signature with Debian's keys. Everything is kept in the \
             cache: the system's own packages and sources stay as they are.",
        )],
        examples: &[
            "pageout lab source",
            "pageout lab source --kernel 6.12",
            "pageout lab source --mirror ./debian",
        ],
        ..Help::default()
    }
}

pub(super) fn script() -> Help {
    let there = || Section::Lines {
        heading: "On the other machine, as root",
        lines: "sh measure.sh --dir /mnt/xfs --output before.json",
    };
    Help {
        brief: vec![there()],
        notes: vec![there()],
        examples: &["pageout lab script --output measure.sh"],
    }
}

//! The arguments of `pageout lab`.

use crate::options::{Output, Shown};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use pageout_lab::{Config, ConfigOption, Cpu, Release};
use pageout_record::compare::FailOn;
use std::path::PathBuf;
use std::time::Duration;

const LAB_HELP: &str = "\
Kernels of Linux 7.3, which has the batches of young checks and unmapping (the default):
  stock      Debian's linux-source-7.3, or the tree given with --tree
  no-young, no-mglru, no-unmap, no-batch
             stock before one batch was merged, or all: the young check of the classic LRU, the
             young checks of MGLRU, the unmapping of file folios
  young-flush, no-young-tlbi, no-young-flush
             stock with another flush after a young bit is cleared (docs/lab.md)
  q1 to q22  stock with the first patches of a queue that makes its reclaim faster
Kernels of Linux 6.12, with --kernel 6.12 or as 6.12:NAME:
  stock      Debian's linux-source-6.12
  s1 to s4   stock with the first one to four patches of our backport: the young check of the
             classic LRU in batches (s1), file folios unmapped in batches (s2), MGLRU's checks in
             batches (s3), the flush after a young clear as a boot parameter (s4)
Yours:
  patched    the first kernel named (or stock) with your patches, given with --patch FILE
  NAME       the same, of those given with --patch NAME=FILE
  A plus adds a boot parameter: young-flush+young_flush=none
Scenarios and their fields (all of them take comma-separated lists):
  reclaim-file    a mapped file's pages reclaimed through memory.reclaim
                    order=4  lru=classic (or mglru, mglru-no-walks)  young=all (or none)
                    process=asleep (or running)  processes=1 (up to 8 that map the file)
                    cpus=1 (or 2, the processes on the second)  size=1GiB  reclaim=80%
                    map=ptes (or pmd-leaf, with order=9)
  reclaim-shmem   shared memory that was stored to, reclaimed through memory.reclaim to swap; of
                  configuration x86-64-swap or arm64-4k-swap
                    order=4  lru=classic (or mglru, mglru-no-walks)  young=all (or none)
                    size=256MiB  reclaim=80%
  age-file        one aging pass over a mapped file, forced through lru_gen
                    order=4  young=all (or none, or 1/N: one page in N)  size=1GiB
  mixed-mappings  unfolded blocks, holes, a misaligned mapping, mlock, uffd-wp, reclaimed
                    order=4  lru=classic (or mglru, mglru-no-walks)  size=32MiB  reclaim=50%
  helper-calls    random calls of the kernel's young helpers, held against a model
                    order=7  calls=100000  seed=1
  hot-pages       pages that one CPU uses over and over beside a stream that is read once and
                  reclaimed: how many of them reclaim takes
                    order=0  lru=classic (or mglru, mglru-no-walks)  size=32MiB (of the stream, a
                    round)  hot=512KiB  rounds=16
  selftest        the kernel selftest folio_young: content, young bits and counters of large folios
                  under both LRUs; what failed is listed
                    cpus=1 (or 2)
The machine is deterministic and counts one nanosecond an instruction: its times are instructions.

Examples:
  pageout lab compare no-batch no-young no-mglru no-unmap stock
  pageout lab compare --patch my.patch reclaim-file order=0,4,9 lru=mglru
  pageout lab compare --patch v1=old.patch --patch v2=new.patch
  pageout lab compare --patch my.patch --format list
  pageout lab compare --tree ~/linux --patch my.patch
  pageout lab compare 6.12:stock 6.12:s3 7.3:no-batch 7.3:stock
  pageout lab series --tree ~/linux mm-stable..my-series
  pageout lab run stock helper-calls --config arm64-4k,arm64-64k
  pageout lab run stock selftest --config arm64-4k,x86-64
  pageout lab profile stock reclaim-file order=0,4 --folded stock.folded
  pageout lab lru-gen evict no-batch stock
  pageout lab source
  pageout lab script --output measure.sh";

const LRU_GEN_HELP: &str = "\
A session makes memory, ages and evicts it by commands to lru_gen, and shows lru_gen; it is a text
of these lines, whose names are given before they are used:
  memcg NAME                          a cgroup below the root
  process NAME MEMCG                  a process that sleeps but for what it is told
  file NAME PAGES [order=N]           a file that will be cached in folios of that order
  fill MEMCG FILE                     into the page cache, by faults; then unmapped
  read MEMCG FILE [FROM..TO]          by read(2), a page a call
  map PROCESS NAME FILE [FROM..TO]    a region of the file's pages, shared
  anon PROCESS NAME PAGES [order=N]   a region of anonymous memory, in folios of that order
  touch REGION [FROM..TO] [write]     a byte of each page
  sleep MILLISECONDS
  write COMMAND                       to lru_gen; $NAME is a cgroup's id, \\n a new line
  show MEMCG [full]                   its part of lru_gen, or of lru_gen_full
Sessions that come with the program: age-file, age-anon, evict, several, sleepers, refused.

Examples:
  pageout lab lru-gen evict
  pageout lab lru-gen age-file no-batch stock --config arm64-4k-swap,x86-64-swap
  pageout lab lru-gen ./mine.session patched --patch my.patch --output mine.txt
  sudo cat /sys/kernel/debug/lru_gen >here.txt; pageout lab lru-gen --read here.txt";

const SERIES_HELP: &str = "\
One kernel is built of the base, and one for each patch with all patches before it. The base of a
range is what is in the commit BASE; of mails it is Linux 7.3, --kernel, or the tree of --tree as it
stands. No branch is checked out, and nothing in the tree is written. Commits that change nothing
and cover letters are passed over.

Every kernel also runs helper-calls, and mixed-mappings under both LRUs. What came of it is printed
as KTAP: a subtest for each patch, with the points applies, builds, boots, helper calls, mixed
mappings, and counters of the scenario. A point is not ok where a count differs from the base's.
Costs, such as `reclaim`, are no such counts: they are in the table, and --fail-on judges them.

Without --keep-going the first patch that does not apply, build or boot ends the command. With it
the others go on as far as they can: patches behind one that does not apply cannot be built.

Exit status: 0 if all points are ok and no patch, with those before it, is shown to be worse than
--fail-on allows. 1 if one is, or a point is not ok. With --fail-on, 125 if none is and it is only
that a patch did not apply, build or boot, so that it could not be decided. 2 for bad input.

Examples:
  pageout lab series --tree ~/linux mm-stable..batch-v3
  pageout lab series --tree ~/linux v7.3..HEAD reclaim-file order=0,4,9 lru=mglru --keep-going
  pageout lab series --mbox v3_mm_batch.mbx --format list --ktap checks.ktap
  git format-patch --stdout v7.3.. >s.mbox; pageout lab series --mbox s.mbox --tree ~/linux
  pageout lab series --tree . origin/master..HEAD --fail-on 'reclaim>1%' --output series.txt";

#[derive(Debug, Parser)]
#[command(after_help = LAB_HELP)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Build kernels, and say where they are
    #[command(after_help = "Examples:\n  pageout lab build stock no-batch 6.12:s3\n  \
        pageout lab build --patch my.patch --config arm64-4k,x86-64")]
    Build(BuildArgs),
    /// Boot kernels under QEMU and run a scenario on each
    #[command(after_help = "Examples:\n  pageout lab run stock reclaim-file order=4 lru=mglru\n  \
        pageout lab run stock helper-calls --config arm64-64k\n  \
        pageout lab run stock age-file young=all,none,1/256 --json --output stock.json\n\n\
        `pageout lab --help` lists kernels and scenarios.")]
    Run(RunArgs),
    /// Run a scenario on two kernels or more, and compare
    #[command(after_help = "Examples:\n  pageout lab compare no-batch stock\n  \
        pageout lab compare --patch my.patch\n  \
        pageout lab compare no-mglru stock reclaim-file order=0,4,9 lru=mglru process=asleep,running\n\n\
        `pageout lab --help` lists kernels and scenarios.")]
    Compare(CompareArgs),
    /// Build and run each patch of a series, and compare it with the base
    #[command(after_help = SERIES_HELP)]
    Series(SeriesArgs),
    /// Count a scenario's instructions, function by function
    #[command(after_help = "Examples:\n  pageout lab profile no-batch stock\n  \
        pageout lab profile stock reclaim-file order=0,4 lru=mglru --folded stock.folded\n\n\
        `pageout lab --help` lists kernels and scenarios.")]
    Profile(ProfileArgs),
    /// Run a session of lru_gen on kernels, and print what they answer
    #[command(after_help = LRU_GEN_HELP)]
    LruGen(LruGenArgs),
    /// Fetch a kernel's source from Debian's archive, without root and without changing the system
    #[command(after_help = "The archive's signature is checked by apt with Debian's keys. The \
        system's own packages and\nsources stay as they are: everything is kept in the cache.\n\n\
        Examples:\n  pageout lab source\n  pageout lab source --kernel 6.12\n  \
        pageout lab source --mirror ./debian")]
    Source(SourceArgs),
    /// Print a shell script that measures the kernel of another machine, a real one
    #[command(after_help = "Example:\n  pageout lab script --output measure.sh\n  \
        (there) sudo sh measure.sh --dir /mnt/xfs --output before.json\n  \
        pageout compare before.json after.json")]
    Script {
        /// Write to a file, which appears when it is complete
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Parser)]
pub(crate) struct BuildArgs {
    /// The kernels [default: stock, or those of --patch]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    #[command(flatten)]
    pub patched: Patched,
}

#[derive(Debug, Parser)]
pub(crate) struct RunArgs {
    /// The kernels [default: stock, or those of --patch], the scenario, its fields
    #[arg(value_name = "KERNEL... SCENARIO FIELD=VALUE")]
    pub words: Vec<String>,
    #[command(flatten)]
    pub patched: Patched,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Parser)]
pub(crate) struct CompareArgs {
    /// The kernels, the base first [default: no-batch stock; of 6.12, stock s3; stock and yours
    /// where there is a --patch], then the scenario and its fields [default: reclaim-file order=4
    /// lru=classic,mglru]
    #[arg(value_name = "KERNEL... SCENARIO FIELD=VALUE")]
    pub words: Vec<String>,
    #[command(flatten)]
    pub patched: Patched,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Parser)]
pub(crate) struct SeriesArgs {
    /// Commits of the tree, unless --mbox has the patches, then the scenario and its fields
    /// [default: reclaim-file order=0,4 lru=classic,mglru]
    #[arg(value_name = "BASE..HEAD SCENARIO FIELD=VALUE")]
    pub words: Vec<String>,
    /// The patches, as mails in one file: what `b4 am` or `git format-patch --stdout` writes
    #[arg(long, value_name = "FILE")]
    pub mbox: Option<PathBuf>,
    /// Go on with the other patches after one that does not apply, build or boot
    #[arg(long)]
    pub keep_going: bool,
    /// Write the results of the checks to a file, and not before the table
    #[arg(long, value_name = "FILE")]
    pub ktap: Option<PathBuf>,
    /// N%, such as 1%: end with status 1 if any patch, with those before it, is shown to be worse
    /// than the base by more, in what the scenario is judged by; 'METRIC>N%': in that metric. May
    /// be repeated
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<FailOn>,
    #[command(flatten)]
    pub building: Building,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Parser)]
pub(crate) struct LruGenArgs {
    /// A session's file, or the name of one that comes with the program
    #[arg(value_name = "SESSION", required_unless_present = "read")]
    pub session: Option<String>,
    /// The kernels [default: stock, of 6.12 s3, or those of --patch]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// Read what a machine's lru_gen or lru_gen_full printed, in place of running a session, and
    /// show its generations as a table
    #[arg(long, value_name = "FILE", conflicts_with_all = ["session", "patches"])]
    pub read: Option<PathBuf>,
    /// Print the generations of --read as records
    #[arg(long, requires = "read")]
    pub json: bool,
    #[command(flatten)]
    pub patched: Patched,
    /// A processor to emulate; may be repeated
    #[arg(long = "cpu", value_name = "CPU", value_delimiter = ',', default_value = "max",
        value_parser = cpu())]
    pub cpus: Vec<Cpu>,
    /// Stop a machine that is not done by then [default: 240]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub time_limit: Option<u32>,
    /// Write to a file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct SourceArgs {
    /// The Linux release
    #[arg(long, value_name = "RELEASE", default_value = "7.3", value_parser = release())]
    pub kernel: Release,
    /// Debian's archive: an address, or a directory with a copy of the files it takes [default:
    /// the one that the system's own sources name]
    #[arg(long, value_name = "MIRROR")]
    pub mirror: Option<String>,
    /// The keys that the archive may be signed with [default: Debian's,
    /// /usr/share/keyrings/debian-archive-keyring.gpg]
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    /// Where it is kept [default: $XDG_CACHE_HOME/pageout/lab, or ~/.cache/pageout/lab]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct ProfileArgs {
    /// The kernels [default: stock, or those of --patch], then the scenario and
    /// its fields [default: reclaim-file order=4 lru=classic]
    #[arg(value_name = "KERNEL... SCENARIO FIELD=VALUE")]
    pub words: Vec<String>,
    /// Write folded stacks too, which flame-graph programs read
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,
    /// The function under which instructions are counted
    #[arg(long, value_name = "SYMBOL", default_value = "try_to_free_mem_cgroup_pages")]
    pub root: String,
    #[command(flatten)]
    pub patched: Patched,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub output: Output,
}

/// What is built, with patches of the user's.
#[derive(Debug, Parser)]
pub(crate) struct Patched {
    /// A patch (of `git format-patch`, or any that `patch -p1` takes); may be repeated: those of
    /// one name make one kernel, those without a name the kernel `patched`
    #[arg(long = "patch", value_name = "[NAME=]FILE")]
    pub patches: Vec<PathBuf>,
    #[command(flatten)]
    pub building: Building,
}

/// What is built, and where.
#[derive(Debug, Parser)]
pub(crate) struct Building {
    /// The Linux release that kernels are of which name none
    #[arg(long, value_name = "RELEASE", default_value = "7.3", value_parser = release())]
    pub kernel: Release,
    /// Build from this kernel source tree, which is not written to
    #[arg(long, value_name = "DIR", conflicts_with = "kernel")]
    pub tree: Option<PathBuf>,
    /// An option of the kernel's configuration, in place of what the lab asks for; may be repeated
    #[arg(long = "config-option", value_name = "NAME=VALUE")]
    pub options: Vec<ConfigOption>,
    /// A kernel configuration; may be repeated [default: that of this machine's architecture,
    /// x86-64 or arm64-4k; x86-64-swap or arm64-4k-swap for what swaps, and for sessions]
    #[arg(long = "config", value_name = "CONFIG", value_delimiter = ',', value_parser = config())]
    pub configs: Vec<Config>,
    /// Compilers, or machines, that run at once [default: as many as there are CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Where sources, builds and kernels are kept [default: $XDG_CACHE_HOME/pageout/lab, or
    /// ~/.cache/pageout/lab]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

/// What it is run on, and for how long.
#[derive(Debug, Parser)]
pub(crate) struct Running {
    /// A processor to emulate; may be repeated
    #[arg(long = "cpu", value_name = "CPU", value_delimiter = ',', default_value = "max",
        value_parser = cpu())]
    pub cpus: Vec<Cpu>,
    /// Samples of each figure [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: Option<u16>,
    /// Stop a machine that is not done by then [default: grows with the scenario]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub time_limit: Option<u32>,
}

impl Running {
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.time_limit.map(|seconds| Duration::from_secs(seconds.into()))
    }
}

fn config() -> impl TypedValueParser<Value = Config> {
    PossibleValuesParser::new(Config::ALL.map(Config::name))
        .try_map(|name| Config::named(&name).ok_or("not a configuration"))
}

fn release() -> impl TypedValueParser<Value = Release> {
    PossibleValuesParser::new(Release::ALL.map(Release::name))
        .try_map(|name| Release::named(&name).ok_or("not a release"))
}

fn cpu() -> impl TypedValueParser<Value = Cpu> {
    PossibleValuesParser::new(Cpu::ALL.map(Cpu::name))
        .try_map(|name| Cpu::named(&name).ok_or("not a processor"))
}

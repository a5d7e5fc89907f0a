//! The arguments of `pageout lab`.

use super::schedule_args::{ScheduleArgs, Searching};
use crate::completion;
use crate::numbers::whole;
use crate::options::{MEASURING, OUTPUT, Output, Shown};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgGroup, CommandFactory, Parser, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use pageout_lab::{Config, ConfigOption, Cpu, Release};
use pageout_record::compare::FailOn;
use std::path::PathBuf;
use std::time::Duration;

/// Heading of options in help.
const KERNELS: &str = "Kernels";

#[derive(Debug, Parser)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Build kernels, and print their places
    Build(BuildArgs),
    /// Boot kernels under QEMU, and run a scenario on each
    Run(RunArgs),
    /// Compare two kernels or more in a scenario
    Compare(CompareArgs),
    /// Compare each patch of a series with the base
    Series(SeriesArgs),
    /// Count a scenario's instructions, function by function
    Profile(ProfileArgs),
    /// Search interleavings of kernels by seeds
    Schedule(ScheduleArgs),
    /// Run a session of lru_gen commands on kernels
    LruGen(LruGenArgs),
    /// Fetch a kernel's source from Debian's archive, without root
    Source(SourceArgs),
    /// Print a shell script that measures the kernel of a real machine
    Script(ScriptArgs),
}

#[derive(Debug, Parser)]
pub(crate) struct ScriptArgs {
    /// Workload that is inside [default: the benchmark, with all of its scenarios]
    #[arg(value_name = "WORKLOAD")]
    pub scenario: Option<String>,
    /// Workload of yours, in place of one of the lab's
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Write to a file, which appears when complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct BuildArgs {
    /// Kernels [default: stock, or those of --patch]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    #[command(flatten)]
    pub patched: Patched,
}

#[derive(Debug, Parser)]
pub(crate) struct RunArgs {
    /// Kernels [default: stock, or those of --patch], scenario and fields
    #[arg(value_name = "KERNEL... SCENARIO FIELD=VALUE",
        add = ArgValueCompleter::new(completion::lab_words))]
    pub words: Vec<String>,
    #[command(flatten)]
    pub patched: Patched,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub counting: Counting,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Parser)]
pub(crate) struct CompareArgs {
    /// Kernels, base first, scenario and fields [default: no-batch stock]
    ///
    /// The default scenario is reclaim-file order=4 lru=classic,mglru. With --kernel 6.12 the
    /// default kernels are stock and s3; with --patch they are stock and yours.
    #[arg(value_name = "KERNEL... SCENARIO FIELD=VALUE",
        add = ArgValueCompleter::new(completion::lab_words))]
    pub words: Vec<String>,
    #[command(flatten)]
    pub patched: Patched,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub counting: Counting,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

/// Heading of the options that only `--schedules` takes in help.
const SCHEDULES: &str = "Schedules";

/// Returns the options by which a patch may be judged for a bisection.
fn judged() -> ArgGroup {
    ArgGroup::new("judged").args(["fail_on", "schedules"])
}

/// Makes the options of a search those of `--schedules`.
fn of_schedules(arg: Arg) -> Arg {
    match Searching::command().get_arguments().any(|of| of.get_id() == arg.get_id()) {
        true => arg.requires("schedules").help_heading(SCHEDULES).hide_short_help(true),
        false => arg,
    }
}

#[derive(Debug, Parser)]
#[command(mut_args(of_schedules), group = judged())]
pub(crate) struct SeriesArgs {
    /// Commits of the tree, unless --mbox is given, then scenario and fields
    ///
    /// [default: reclaim-file order=0,4 lru=classic,mglru; with --schedules: register-check]
    #[arg(value_name = "BASE..HEAD SCENARIO FIELD=VALUE",
        add = ArgValueCompleter::new(completion::lab_words))]
    pub words: Vec<String>,
    /// Patches as mails, such as `b4 am` writes
    ///
    /// `git format-patch --stdout` writes them too.
    #[arg(long, value_name = "FILE")]
    pub mbox: Option<PathBuf>,
    /// Search N seeds of schedules for races on each patch, in place of counts
    ///
    /// Words behind the commits are then a workload of `lab schedule` and its arguments, and so is
    /// the value of --workload. Each kernel is built with points.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX),
        conflicts_with_all = ["fail_on", "runs", "cpus", "full"])]
    pub schedules: Option<u64>,
    #[command(flatten)]
    pub searching: Searching,
    /// Try the other patches after one that does not apply, build or boot
    #[arg(long, hide_short_help = true)]
    pub keep_going: bool,
    /// Build only the base and the last patch, with all patches before it
    ///
    /// Patches between them need not build. For `git bisect run`, with --bisect.
    #[arg(long, conflicts_with = "keep_going", hide_short_help = true)]
    pub last: bool,
    /// Fail if a patch is worse by more, such as 1%
    ///
    /// N% ends with status 1 if a patch, with those before it, is shown to be worse than the base
    /// by more than N%. It is about the metric that judges the scenario; 'METRIC>N%' names another.
    /// May be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<FailOn>,
    /// End with status 128 on errors, for `git bisect run`
    ///
    /// Status 128 stops the bisection, where 2 would call the commit bad. Status 125 skips a
    /// commit that does not build or boot.
    #[arg(long, requires = "judged", hide_short_help = true)]
    pub bisect: bool,
    #[command(flatten)]
    pub building: Building,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
    /// Write the checks to a file, and not before the table
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub ktap: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct LruGenArgs {
    /// Session: name or file
    #[arg(value_name = "SESSION", required_unless_present = "read")]
    pub session: Option<String>,
    /// Kernels [default: stock, of 6.12 s3, or those of --patch]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// Text of lru_gen or lru_gen_full, whose generations are printed
    ///
    /// It comes from any machine, and takes the place of a session.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["session", "patches"])]
    pub read: Option<PathBuf>,
    /// Print the generations of --read as records
    #[arg(long, requires = "read")]
    pub json: bool,
    #[command(flatten)]
    pub patched: Patched,
    /// Processor to emulate; may be repeated
    #[arg(long = "cpu", value_name = "CPU", value_delimiter = ',', default_value = "max",
        help_heading = MEASURING, hide_short_help = true,
        value_parser = cpu())]
    pub cpus: Vec<Cpu>,
    /// Time after which a machine is stopped [default: 240]
    #[arg(long, value_name = "SECONDS", help_heading = MEASURING, hide_short_help = true,
        value_parser = whole::<u32>(1..=u32::MAX.into()))]
    pub time_limit: Option<u32>,
    /// Write to a file, which appears when complete
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct SourceArgs {
    /// Linux release
    #[arg(long, value_name = "RELEASE", default_value = "7.3", value_parser = release())]
    pub kernel: Release,
    /// Debian's archive: address or directory
    ///
    /// [default: the one that the system's sources name]
    ///
    /// A directory has a copy of the files that are fetched.
    #[arg(long, value_name = "MIRROR")]
    pub mirror: Option<String>,
    /// Keys of the archive's signature
    ///
    /// [default: /usr/share/keyrings/debian-archive-keyring.gpg]
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    /// Directory for sources, builds and kernels
    ///
    /// [default: $XDG_CACHE_HOME/pageout/lab, or ~/.cache/pageout/lab]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct ProfileArgs {
    /// Kernels, then scenario and fields
    ///
    /// [default: stock, or those of --patch, in reclaim-file order=4 lru=classic]
    #[arg(value_name = "KERNEL... SCENARIO FIELD=VALUE",
        add = ArgValueCompleter::new(completion::lab_words))]
    pub words: Vec<String>,
    /// Function under which instructions are counted
    #[arg(long, value_name = "SYMBOL", default_value = "try_to_free_mem_cgroup_pages")]
    pub root: String,
    #[command(flatten)]
    pub patched: Patched,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub output: Output,
    /// Also write folded stacks, for flame graphs
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub folded: Option<PathBuf>,
}

/// Kernels to build, with patches of the user's.
#[derive(Debug, Parser)]
#[command(next_help_heading = KERNELS)]
pub(crate) struct Patched {
    /// Patch for a kernel of yours; may be repeated
    ///
    /// Patches of one NAME make one kernel; those without a name make the kernel `patched`. Any
    /// patch of `git format-patch`, or that `git apply` takes, will do, and a file of mails.
    #[arg(long = "patch", value_name = "[NAME=]FILE")]
    pub patches: Vec<PathBuf>,
    #[command(flatten)]
    pub building: Building,
}

/// Kernels to build, and the place to build them.
#[derive(Debug, Parser)]
#[command(next_help_heading = KERNELS)]
pub(crate) struct Building {
    /// Linux release of kernels that name none
    #[arg(long, value_name = "RELEASE", default_value = "7.3", value_parser = release(),
        hide_short_help = true)]
    pub kernel: Release,
    /// Kernel source tree to build from
    ///
    /// It is not written to.
    #[arg(long, value_name = "DIR", conflicts_with = "kernel")]
    pub tree: Option<PathBuf>,
    /// Option of the kernel's configuration; may be repeated
    ///
    /// It takes the place of the lab's choice.
    #[arg(hide_short_help = true, long = "config-option", value_name = "NAME=VALUE")]
    pub options: Vec<ConfigOption>,
    /// Kernel configuration; may be repeated [default: this machine's]
    ///
    /// The default has 4K pages and is of this machine's architecture. Sessions and reclaim-shmem
    /// need swap: their default ends in -swap.
    #[arg(long = "config", value_name = "CONFIG", value_delimiter = ',', value_parser = config())]
    pub configs: Vec<Config>,
    /// Compilers or machines that run at once [default: one per CPU]
    #[arg(long, value_name = "N", hide_short_help = true,
        value_parser = whole::<u16>(1..=1024))]
    pub jobs: Option<u16>,
    /// Directory for sources, builds and kernels
    ///
    /// [default: $XDG_CACHE_HOME/pageout/lab, or ~/.cache/pageout/lab]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub cache: Option<PathBuf>,
}

/// Machines to run on, and for how long.
#[derive(Debug, Parser)]
#[command(next_help_heading = MEASURING)]
pub(crate) struct Running {
    /// Workload of yours, in place of a scenario
    ///
    /// A C file whose manifest is a comment of it, or a directory with the manifest `workload.toml`
    /// and C files, a shell script or a static binary. Fields on the command line are the
    /// manifest's. docs/lab.md has examples.
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Processor: an emulated one, or host; may be repeated
    ///
    /// `host` is this machine's own, by KVM: time is measured in place of instructions.
    #[arg(long = "cpu", value_name = "CPU", value_delimiter = ',', default_value = "max",
        hide_short_help = true, value_parser = cpu())]
    pub cpus: Vec<Cpu>,
    /// Boots of each kernel on --cpu host, in turn with the others [default: 8]
    ///
    /// Each boot gives one value of a metric, the median of its samples.
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<u16>(1..=1000))]
    pub boots: Option<u16>,
    /// Samples of each figure, 1 to 1000 [default: 3]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=1000))]
    pub runs: Option<u16>,
    /// Time after which a machine is stopped [default: grows with the scenario]
    #[arg(long, value_name = "SECONDS", hide_short_help = true,
        value_parser = whole::<u32>(1..=u32::MAX.into()))]
    pub time_limit: Option<u32>,
}

/// Counts besides instructions.
#[derive(Debug, Parser)]
#[command(next_help_heading = MEASURING)]
pub(crate) struct Counting {
    /// Count atomics, invalidations, barriers and cache lines too
    ///
    /// Of a workload with a manifest they are counted in each region. The emulator then takes two
    /// to three times as long. On two CPUs they are always counted.
    #[arg(long, hide_short_help = true)]
    pub counts: bool,
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

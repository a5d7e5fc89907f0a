//! The errors that end a command: one message, with what failed and where.

use pageout_calibrate::{CalibrateError, LikeError, ObserveError};
use pageout_check::counterexample::{ChoicesError, MissedChoice};
use pageout_experiment::fields::FieldError;
use pageout_experiment::lru_gen::SessionError;
use pageout_experiment::variant::VariantError;
use pageout_lab::{
    Arch, Config, FetchError, KernelError, LabError, MAX_TURNS_IN, PointsError, SeriesError,
    ShownError, TextError, WorkloadError,
};
use pageout_record::compare::{CompareError, FailOnError};
use pageout_record::schema::{CsvError, InvalidRecord, MergeError, ReadError, shown};
use pageout_refusal::UnknownName;
use pageout_report::ReportError;
use pageout_run::{QuestionError, without_number};
use pageout_steps::StepError;
use pageout_sweep::{DirectoryError, PlanError, RunError, SpecError};
use pageout_trace::{ImportError, RecordError, Seeming, WriteError};
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    #[error(
        "field `{0}` without a scenario: expected one before it, such as reclaim-file (all: \
         `pageout scenarios`)"
    )]
    FieldsWithoutScenario(String),
    #[error("`{0}` is an option, not a field: write {1}")]
    OptionAsField(String, String),
    #[error(
        "--sizes: expected a scenario of files, such as reclaim-file; what a trace takes is known \
         once it has been played"
    )]
    SizesOfTrace,
    #[error(
        "--lru-gen takes a scenario that leaves generations: reclaim-file or trace limit= with \
         lru=mglru, or aging-rounds"
    )]
    NoGenerations,
    #[error("{0} is for this CPU: leave out --ground model, or say --ground host")]
    HostAlone(&'static str),
    #[error("folded stacks take one run, found {0}: give one value for each field")]
    FoldedRuns(usize),
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Variant(#[from] VariantError),
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    #[error(transparent)]
    Csv(#[from] CsvError),
    #[error(
        "{option} {}: {}; expected {expected}",
        path.display(), without_number(&error.to_string())
    )]
    OptionPath { option: &'static str, path: PathBuf, expected: &'static str, error: io::Error },
    #[error("`{0}` is a trace, not a scenario: give both, trace --trace {0}")]
    TraceAsScenario(String),
    #[error("{option}: `{value}` is given twice: expected every value once")]
    ValueTwice { option: &'static str, value: String },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    NotRecords { path: PathBuf, source: ReadError },
    #[error(
        "{}: found {found}, not a record file; {}; accepted: what a command writes with --json",
        path.display(), found.advice()
    )]
    OtherFile { path: PathBuf, found: Seeming },
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    FailOn(#[from] FailOnError),
    #[error("--fail-on: {0}")]
    NoMetric(UnknownName),
    #[error("--fail-on {condition}: no record has what its scenario is judged by; name a metric")]
    NoWhole { condition: String },
    #[error(
        "--fail-on judges one scenario or record files, not the main table: expected a scenario"
    )]
    FailOnMainTable,
    #[error("{0} is for scenarios: record files have been measured already")]
    NotOfFiles(&'static str),
    #[error("{0} is for record files")]
    FilesAlone(&'static str),
    #[error(
        "{file} has no label: with --label every file needs one, --label NAME={file}",
        file = .0.display()
    )]
    Unlabelled(PathBuf),
    #[error("base `{0}`: expected AXIS=CHOICE, several separated by commas")]
    BaseLabels(String),
    #[error("base `{text}`: expected {known}or AXIS=CHOICE, several separated by commas")]
    BaseName { text: String, known: String },
    #[error(
        "all {0} files have the same variants: --label NAME=FILE for each compares them by name, \
         --pool takes their samples as one"
    )]
    SameVariants(usize),
    #[error("no record has samples: nothing is compared, and --json prints what there is")]
    NoFigures,
    #[error("{0} has no record where something ran: nothing to compare")]
    NothingRan(String),
    #[error(transparent)]
    Output(#[from] WriteError),
    #[error(
        "output {}: it is an input, or another output, of this command: expected another path",
        .0.display()
    )]
    OutputTaken(PathBuf),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{input}")]
    Import { input: String, source: Box<ImportError> },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("cannot open {}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("--workload: {0} is a scenario: leave out --workload, or give a file")]
    LabScenarioAsFile(String),
    #[error("--workload takes the place of scenario {scenario}: expected one of the two")]
    LabTwoWorkloads { scenario: String },
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("field `{field}` without a scenario: expected {} before it", crate::lab::scenarios())]
    LabFieldFirst { field: String },
    #[error("no scenario: expected {}", crate::lab::scenarios())]
    LabNoScenario,
    #[error("{0} alone cannot be compared: name another kernel, or give --patch FILE")]
    LabOneKernel(String),
    #[error("`{0}` is a second range: expected one, BASE..HEAD")]
    LabTwoRanges(String),
    #[error("a series is either a range BASE..HEAD with --tree DIR, or the mails of --mbox FILE")]
    LabSeriesOne,
    #[error("{0} is a range of a repository's commits: give --tree DIR")]
    LabSeriesTree(String),
    #[error(
        "records alone are printed: give --output FILE for them, or --ktap FILE for the checks"
    )]
    LabKtap,
    #[error(transparent)]
    Series(#[from] SeriesError),
    #[error("{message}")]
    LabSeries { message: String, status: u8 },
    #[error("{0}")]
    ScheduleWorkload(String),
    #[error("--turns-in: expected up to {MAX_TURNS_IN} functions, found {0}")]
    ScheduleTurnsIn(usize),
    #[error("--format picture: schedules have no such form; expected table or list")]
    SchedulePicture,
    #[error("schedules are searched on one configuration of x86-64: expected --config x86-64-swap")]
    ScheduleConfig,
    #[error(transparent)]
    Points(#[from] PointsError),
    #[error("`{field}` is not a kernel: write a field as --workload '{workload} {field}'")]
    ScheduleField { field: String, workload: String },
    #[error("schedule {}: {error}", path.display())]
    Schedule { path: PathBuf, error: TextError },
    #[error(
        "--replay runs stored schedules and no seeds: expected no --seeds and no --strategy; with \
         --until-passes they follow"
    )]
    ReplayAlone,
    #[error("--replay {}: expected schedules (*.schedule) in it; there is none", .0.display())]
    NoSchedules(PathBuf),
    #[error(
        "schedule {} is of another machine: expected --workload '{workload}' --cpus {cpus}",
        path.display()
    )]
    ScheduleOther { path: PathBuf, workload: String, cpus: u8 },
    #[error(
        "configuration {0} has no swap: expected {with_swap}",
        with_swap = Arch::ALL.map(|arch| Config::of(arch, true).name()).join(" or ")
    )]
    LabSwap(Config),
    #[error("--boots: only --cpu host boots a kernel more than once, since other boots are equal")]
    LabBoots,
    #[error("{0}: counts instructions, and --cpu host gives times; expected max or neoverse-n1")]
    LabHost(&'static str),
    #[error(
        "`{0}` is a session and a file here: expected ./{0} for the file, or, for the session, \
        another working directory"
    )]
    SessionOrFile(String),
    #[error("--json prints the generations of --read FILE: give that, or leave out --json")]
    SessionJson,
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Shown(#[from] ShownError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(
        "--mirror: `{0}` is not read; expected an address that begins with http://, https://, \
         file: or copy:, or a directory"
    )]
    LabMirror(String),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("`{0}` is an injected bug, not a property or scenario: write --exhibit {0}")]
    CheckIsExhibit(String),
    #[error("exhibit {name} is not searched for in that format; accepted: {known}")]
    CheckNothing { name: &'static str, known: String },
    #[error(
        "--replay is of one scenario or exhibit in one format, found {0} searches of schedules: \
         give the name of one, and --format"
    )]
    CheckReplays(usize),
    #[error(
        "no platform of this machine's architecture comes with the program: expected --like FILE"
    )]
    NoPlatformLikeThis,
    #[error("--cores {asked}: this process may use {there}")]
    TooFewCores { asked: usize, there: usize },
    #[error("cannot tell which CPUs there are")]
    Cpus(#[source] io::Error),
    #[error(transparent)]
    Like(#[from] LikeError),
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    #[error(transparent)]
    Steps(#[from] StepError),
    #[error(
        "--predict is for bench reclaim and bench mglru: expected one of the two, not bench {0}"
    )]
    NotPredicted(String),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    #[error(transparent)]
    Choices(#[from] ChoicesError),
    #[error(transparent)]
    MissedChoice(#[from] MissedChoice),
    #[error("{}", path.display())]
    Spec { path: PathBuf, source: Box<SpecError> },
    #[error(transparent)]
    SweepPlan(#[from] PlanError),
    #[error(transparent)]
    SweepDirectory(#[from] DirectoryError),
    #[error(transparent)]
    SweepRun(#[from] RunError),
    #[error(
        "of {cells} cells {left} are left and {failed} have failed: `pageout sweep run` goes on, \
         --partial merges the others, if there are any"
    )]
    SweepIncomplete { cells: usize, failed: usize, left: usize },
    #[error("cannot write to standard output")]
    Stdout(#[source] io::Error),
}

impl CliError {
    /// Returns the exit status: a series' own, 1 for a check that failed, else 2.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Lab(error) => Self::status_of_lab(error),
            Self::LabSeries { status, .. } => *status,
            Self::SweepIncomplete { .. } => 1,
            _ => 2,
        }
    }

    /// Returns the exit status of an error of the lab.
    pub(crate) fn status_of_lab(error: &LabError) -> u8 {
        if error.is_a_wrong_kernel() { 1 } else { 2 }
    }

    /// Returns the message with its causes, in one line except for messages of the lab's programs.
    pub(crate) fn message(&self) -> String {
        let lines = matches!(
            self,
            Self::Lab(_)
                | Self::LabSeries { .. }
                | Self::Series(_)
                | Self::Fetch(_)
                | Self::Kernel(_)
        );
        pageout_run::message(self, |text| match lines {
            true => text.to_owned(),
            false => shown(text).into_owned(),
        })
    }

    /// Returns true if the reader of standard output wants no more of it, like `head`.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

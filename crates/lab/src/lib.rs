//! Real kernels under QEMU: built with and without patches, booted with the benchmark, compared.
//!
//! A [`Lab`] builds [`Kernel`]s of a [`Release`] under a [`Config`] and boots each for every
//! [`Bench`] line of a plan on a deterministic machine: the times in its records are counts of
//! instructions. What the lab runs in the machine (`files/` beside the sources) travels in the
//! binary.
#![forbid(unsafe_code)]

mod assets;
mod boot;
mod brought;
mod build;
mod cache;
mod child;
mod declared;
mod digest;
mod fetch;
mod field;
mod first_build;
mod git;
mod initrd;
mod kconfig;
mod kept;
mod kernel;
mod lru_gen;
mod mails;
mod manifest;
mod measure;
mod mirror;
mod pages;
mod parallel;
mod patch;
mod patches;
mod plan;
mod plugin;
mod proc_file;
mod profile;
mod program;
mod progress;
mod qemu;
pub mod records;
mod regions;
mod release;
mod room;
mod schedule;
mod script;
mod selftest;
mod series;
mod session;
mod shown;
mod source;
mod subject;
mod target;
mod timed;
mod tools;
mod transcript;
mod tree;
mod under_way;
mod workload;

pub use boot::{BootError, Failed};
pub use build::{BuildError, Built};
pub use cache::{Cache, CacheError};
pub use child::NotRun;
pub use declared::declare;
pub use fetch::{Fetch, FetchError, Fetched};
pub use first_build::FirstBuild;
pub use git::GitError;
pub use initrd::InitrdError;
pub use kconfig::{ConfigOption, NotAnOption, NotTaken};
pub use kernel::{Kernel, KernelError, PATCHED};
pub use lru_gen::Captured;
pub use mails::MailError;
pub use manifest::WorkloadError;
pub use measure::{Attempted, Measured, Profiled, Ran, Runs};
pub use mirror::MirrorError;
pub use pageout_uapi::lru_gen::Pages;
pub use patch::{Patch, PatchSet};
pub use patches::PatchError;
pub use plan::{Bench, Needs};
pub use profile::{Costs, Function, Profile, ProfileError};
pub use program::NoProgram;
pub use progress::{Progress, Silent, Task};
pub use release::Release;
pub use schedule::{
    Event, Failure, MAX_RANGES as MAX_TURNS_IN, MachineError, Place, Points, PointsError, Program,
    ProgramError, Replayed, Row, Schedule, Scheduled, Search, SearchError, Searched,
    SearchedSeries, Strategy, TextError, Tried, Turn, Verdict, What, kind as kind_of_failure,
    table as schedule_table,
};
pub use series::{BASE, Series, SeriesError};
pub use session::{Lab, LabError, NotBuilt};
pub use shown::{Generation, MAX_LRU_GEN, Misread, Shown, ShownError};
pub use source::{Commit, Source, SourceError};
pub use target::{Arch, Config, Cpu};
pub use timed::NotTimed;
pub use tools::Missing;
pub use transcript::Fault;
pub use tree::TreeError;
pub use workload::Workload;

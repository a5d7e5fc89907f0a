//! Real kernels under QEMU: built with and without patches, booted with the benchmark, compared.
//!
//! A [`Lab`] builds [`Kernel`]s under a [`Config`] and boots each with a plan of [`Bench`] lines on
//! a deterministic machine: the times in its records are counts of instructions. What the lab runs
//! in the machine (`lab/` in the sources) travels in the binary.

mod assets;
mod boot;
mod build;
mod cache;
mod digest;
mod initrd;
mod kconfig;
mod kernel;
mod lru_gen;
mod measure;
mod mirror;
mod parallel;
mod patches;
mod plan;
mod plugin;
mod proc_file;
mod profile;
mod progress;
mod qemu;
mod script;
mod session;
mod source;
mod target;
mod tools;
mod transcript;

pub use boot::{BootError, Failed};
pub use build::{BuildError, Built};
pub use cache::{Cache, CacheError};
pub use initrd::InitrdError;
pub use kconfig::NotTaken;
pub use kernel::{Kernel, KernelError, PATCHED, Patch};
pub use lru_gen::Captured;
pub use measure::{Measured, Profiled, Runs};
pub use mirror::MirrorError;
pub use patches::PatchError;
pub use plan::{Bench, Scenario};
pub use profile::{Costs, Function, Profile, ProfileError};
pub use progress::{Progress, Silent, Task};
pub use script::script;
pub use session::{Builds, Lab, LabError};
pub use source::{Source, SourceError};
pub use target::{Arch, Config, Cpu};
pub use tools::Missing;
pub use transcript::Fault;

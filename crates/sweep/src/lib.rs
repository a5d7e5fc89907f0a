//! Sweeps that resume: a file defines the cells, and shards of them run anywhere. Their results are
//! merged in the order of the plan, regardless of the machines that ran them and of interruptions.
//!
//! - [`Spec`]: the file, and the cells that it defines;
//! - [`Plan`]: the cells with their ids, as they stand in the sweep's directory;
//! - [`Directory`]: a file for each cell that is done, and for each that failed;
//! - [`run`](run()): runs a shard of the cells;
//! - [`Node`]: the right to measure times on this machine.
#![forbid(unsafe_code)]

mod cell;
mod directory;
mod node;
mod plan;
mod run;
mod shard;
mod spec;

pub use cell::{Cell, PARAMETERS, ParameterError};
pub use directory::{Directory, DirectoryError, Failed, Status};
pub use node::{Node, NotExclusive};
pub use plan::{CellId, Plan, PlanError, Planned, checksum};
pub use run::{Outcome, RunError, Runner, run};
pub use shard::Shard;
pub use spec::{Problem, Spec, SpecError};

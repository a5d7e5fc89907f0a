//! Ground `model`: the unchanged engine on a modelled machine with prices.
//!
//! The machine (`pageout-machine`) prices what hardware does: accesses, TLBs, walks, atomics, lines
//! of page tables, invalidations, interrupts, storage. [`software`] prices the kernel's
//! instructions around that. The two are independent of each other, and neither depends on the
//! variant: variants differ in what the engine does.
#![forbid(unsafe_code)]

pub mod activity;
pub mod bench;
mod between;
#[cfg(test)]
mod content;
mod env;
mod first_run;
mod ground;
mod interval;
mod kernel;
mod locks;
mod moved;
mod program;
mod scenario;
pub mod scenarios;
mod secondary;
pub mod software;
mod table;

pub use between::Between;
pub use env::ModelEnv;
pub use ground::{Model, ModelRun, architecture, architecture_of};
pub use interval::{Reported, interval, reported};
pub use kernel::{Kernel, Swap};
pub use locks::{LockTally, Locks};
pub use program::{Guest, Program};
pub use scenario::{Modelled, OnMachine, Scenario};
pub use scenarios::{Scenarios, scenarios};
pub use secondary::{Vm, VmCount};
pub use table::ModelTable;

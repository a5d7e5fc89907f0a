//! A machine with prices: cores with TLBs, the fabric that invalidations and interrupts travel, and
//! a clock that counts what everything takes.
//!
//! It sees entry formats, page tables and the contract of [`pageout_paging::mmu`]. Folios, lists
//! and decisions of reclaim are hidden from it, so that no price can be tuned to a policy.
#![forbid(unsafe_code)]

mod account;
mod core;
mod core_set;
mod fabric;
mod lines;
mod machine;
pub mod platform;
mod sched;
mod stale_access;
mod storage;
mod task;
mod time;
pub mod tlb;
mod words;

pub use account::{Activity, CoreTimes, Counts, Report, Spent};
pub use core_set::CoreId;
pub use fabric::{Fabric, FabricLoad, Sent};
pub use machine::{Machine, Setup};
pub use sched::{Body, TaskId, TaskSpec};
pub use stale_access::StaleAccessHistogram;
pub use storage::Transfer;
pub use task::{ActivityGuard, LockGuard, LockId, Task, TaskTable};
pub use time::Time;
pub use words::{WordId, WordUse};

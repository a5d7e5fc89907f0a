//! `check`: small worlds, searched for a schedule that fails. Agents are coroutines on modelled
//! CPUs with TLBs. They run the real engine, which is suspended before each operation that others
//! can see.
#![forbid(unsafe_code)]

pub mod access;
pub mod agent_cpu;
pub mod aging;
pub mod batches;
pub mod check;
pub mod counterexample;
pub mod engine;
pub mod event_log;
pub mod exhibit;
pub mod format;
pub mod harness;
mod panics;
pub mod property;
pub mod records;
pub mod registers;
pub mod scenario;
pub mod scenarios;
pub mod schedule;
pub mod search;
pub mod size;
pub mod stage;
mod tables;
pub mod world;
pub mod young;

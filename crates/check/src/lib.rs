//! `check`: small worlds searched for a wrong schedule. Agents are coroutines on modelled CPUs with
//! TLBs; they run the real engine, which is suspended before each operation that others can see.
#![forbid(unsafe_code)]

pub mod access;
mod aging;
mod batches;
pub mod cast;
pub mod check;
pub mod counterexample;
pub mod format;
pub mod memory;
pub mod museum;
mod panics;
pub mod property;
pub mod registers;
pub mod scenario;
pub mod schedule;
pub mod search;
pub mod seat;
pub mod stage;
pub mod story;
mod tables;
pub mod tlb;
pub mod world;

//! Ground `host`: the engine on this CPU, over page tables in ordinary memory, with real atomics
//! and no TLB. Its scenarios, and the benchmarks of its paths.
#![forbid(unsafe_code)]

pub mod bench;
pub mod counting;
pub mod curve;
mod declared;
pub mod env;
pub mod floor;
pub mod frames;
pub mod generations;
pub mod journal;
pub mod layout;
pub mod lru_gen;
pub mod memcg_trace;
pub mod residency;
pub mod sampler;
pub mod scenario;
pub mod scenarios;
mod steps;
pub mod walker;

pub use declared::declare;
pub use scenarios::{Scenario, boxed, check_memory, scenarios};

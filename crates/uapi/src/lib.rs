#![no_std]
#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate std;

mod errno;
pub mod lru_gen;
mod number;
mod reclaim;
mod stat;

pub use errno::Errno;
pub use reclaim::ReclaimRequest;
pub use stat::Stat;

/// The largest swappiness (`MAX_SWAPPINESS`).
pub const MAX_SWAPPINESS: u8 = 200;
/// The swappiness that takes only anonymous memory: `max` in texts (`SWAPPINESS_ANON_ONLY`).
pub const SWAPPINESS_ANON_ONLY: u8 = MAX_SWAPPINESS + 1;

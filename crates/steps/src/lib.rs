//! Instructions of a child process, counted one by one: all of them, those that are atomic, and the
//! lines that they touch for the first time.
//!
//! The child marks regions of its work ([`Regions`]); its parent steps through them ([`count`]),
//! which takes some microseconds for each instruction. Neither needs privilege or performance
//! counters. What is counted is what ran: the child is the program itself, compiled as it is when
//! it is timed.
#![forbid(unsafe_code)]

mod classes;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod child;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod decode;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod lines;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use child::Regions;
pub use classes::Classes;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{Regions, count};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use tracer::count;

use std::io;

/// The reason why no instructions were counted.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// Instructions of this architecture are not decoded here.
    #[error("instructions are counted on x86-64 Linux only: this is {0}")]
    Elsewhere(&'static str),
    /// A system call failed; containers may forbid ptrace.
    #[error("cannot count instructions: {what}")]
    System {
        /// The call.
        what: &'static str,
        /// The system's message.
        source: io::Error,
    },
    /// The child ended before it had done all its regions.
    #[error("cannot count instructions: the child ended early ({0})")]
    Ended(String),
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
impl StepError {
    const fn of(what: &'static str) -> impl Fn(nix::Error) -> Self {
        move |error| Self::System { what, source: io::Error::from_raw_os_error(error as i32) }
    }
}

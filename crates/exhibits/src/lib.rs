//! Page-aging bugs: each known from a commit or a thread, or constructed, as a [`Bug`] that
//! [`Faulty`] has at run time. The engine never depends on them.
//!
//! [`harness`] has the checks that find them. The engine itself passes the same checks in
//! `crates/paging/tests`; they are here so that both use one copy.
#![forbid(unsafe_code)]

pub mod audit;
mod bug;
pub mod harness;

pub use bug::{Bug, Faulty};

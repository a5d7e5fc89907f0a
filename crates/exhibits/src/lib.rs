//! A museum of page-aging bugs: each known from a commit or a thread, or constructed, as one
//! overridden rule or one faulty wrapper in a file of its own. The engine never depends on it.
//!
//! [`harness`] holds what finds them: the same checks that the engine itself passes in
//! `crates/paging/tests`. They live here so that the engine's tests and the exhibits' use one copy.
#![forbid(unsafe_code)]

mod byte_length;
mod first_entry;
pub mod harness;
mod load_and_store;

pub use byte_length::ByteLength;
pub use first_entry::FirstEntryAlone;
pub use load_and_store::{LoadAndStore, TornTable};

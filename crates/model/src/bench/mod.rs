//! Benchmarks of the modelled machine itself.

mod flush_reach;
mod machine;
mod traces;

pub use flush_reach::{FLUSH, FLUSH_OF_ENTRY, FLUSH_REACH, FLUSH_REACH_COLUMNS, flush_reach};
pub use machine::{ACCESS_COLUMNS, ACCESSES, machine};
pub use traces::{PROGRAM_COLUMNS, PROGRAMS};

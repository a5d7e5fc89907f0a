//! Messages for refused input, in one wording for every crate: names that a closed set lacks, and
//! numbers out of bounds. This is a crate of its own since `machine` and `record` both refuse
//! names, and neither may import the other.
#![forbid(unsafe_code)]

mod names;
mod numbers;

pub use names::{UnknownName, nearest, one_of};
pub use numbers::{BadValue, whole_number};

//! The documentation, end to end: every command in it runs, and every output in it is what the
//! command prints.
//!
//! The blocks stay plain Markdown that people copy. A block in `sh` has commands; a block after a
//! comment `<!-- prints: COMMAND -->` has an output.
#![forbid(unsafe_code)]

mod commands;
mod elsewhere;
mod outputs;
mod page;
mod script;
mod smaller;
mod world;

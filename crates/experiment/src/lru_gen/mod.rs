//! Sessions of `lru_gen`, the multi-generational LRU's file in debugfs: memory is made and touched,
//! commands are written, and what the file says is shown. One text runs on the engine and on the
//! lab's kernels; `docs/lab.md` has the language.

mod command;
mod error;
mod parse;
mod session;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use error::{Problem, SessionError};
pub use session::{Backing, File, Process, Region, SHIPPED, Session, Step, shipped};

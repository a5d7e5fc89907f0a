//! Sessions of `lru_gen`, the debugfs file of the multi-generational LRU. A session makes and
//! touches memory, writes commands, and shows the file's answers. The same text runs on the engine
//! and on the lab's kernels; `docs/lab.md` describes the language.

mod command;
mod error;
mod parse;
mod session;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use error::{Problem, SessionError};
pub use session::{Backing, File, Process, Region, SHIPPED, Session, Step, shipped};

//! The result of a recording.

use std::path::PathBuf;

use crate::header::Totals;

/// The result of recording a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Recorded {
    /// The recording of the process that was started.
    pub first: Summary,
    /// The recordings of all its descendants, in the order in which they executed a program.
    pub children: Vec<RecordedChild>,
    /// The number of child processes without a trace. If children are recorded, these are the ones
    /// that executed no program.
    pub untraced_children: u64,
}

/// The recording of a child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordedChild {
    /// The child's number, from 1, in the order in which children executed a program.
    pub number: u64,
    /// The system's number of the process.
    pub pid: u64,
    /// The first program that the child executed.
    pub program: String,
    /// The path of the child's trace.
    pub output: PathBuf,
    /// The summary of the child's trace.
    pub summary: Summary,
}

/// The summary of a process's recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Summary {
    /// The trace's totals, with the way in which the program ended.
    pub totals: Totals,
    /// The number of pages used that no event mapped; they are
    /// [`Kind::Unknown`](crate::Kind::Unknown) in the trace.
    pub unknown_pages: u64,
    /// The number of child processes begun. They are not in the trace.
    pub children: u64,
    /// The number of times that the program was replaced by another one (`execve`), which the trace
    /// continues with.
    pub replacements: u64,
    /// The number of the recorder's lines that could not be parsed.
    pub skipped_lines: u64,
}

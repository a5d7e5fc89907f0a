//! What was recorded.

use std::path::PathBuf;

use crate::header::Totals;

/// What was recorded of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Recorded {
    /// Of the process that was started.
    pub first: Summary,
    /// Of its children and theirs, in the order in which they executed a program.
    pub children: Vec<RecordedChild>,
    /// Child processes of which there is no trace. Where children are recorded, these are the ones
    /// that executed no program.
    pub untraced_children: u64,
}

/// What was recorded of a child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordedChild {
    /// From 1, in the order in which children executed a program.
    pub number: u64,
    /// The system's number of the process.
    pub pid: u64,
    /// The first program that it executed.
    pub program: String,
    /// Its trace.
    pub output: PathBuf,
    /// What is in it.
    pub summary: Summary,
}

/// What was recorded of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Summary {
    /// The trace's totals; how the program ended is among them.
    pub totals: Totals,
    /// Pages used that nothing was seen to map; [`Kind::Unknown`](crate::Kind::Unknown) in the
    /// trace.
    pub unknown_pages: u64,
    /// Child processes begun. They are not in the trace.
    pub children: u64,
    /// How often the program was replaced by another one (`execve`), which the trace goes on with.
    pub replacements: u64,
    /// Lines of the recorder's that were not understood.
    pub skipped_lines: u64,
}

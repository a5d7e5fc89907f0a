//! The header of a trace, and the totals at its end.

use serde::Serialize;

use super::filter::FilterShape;

/// The default epoch length, in references.
pub const DEFAULT_EPOCH_REFERENCES: u64 = 100_000;

/// The longest epoch a trace may state, in references.
pub const MAX_EPOCH_REFERENCES: u64 = 1 << 40;

/// The description of the traced program and of the recording.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Header {
    /// log2 of the page size in bytes, 12 to 16.
    pub page_shift: u8,
    /// The number of references in an epoch, 1 to [`MAX_EPOCH_REFERENCES`]. A reference is one
    /// instruction fetched or one load, store or modify of data.
    pub epoch_references: u64,
    /// The references that the trace may lack.
    pub filter: FilterShape,
    /// True if mappings and their changes are in the trace; without them, all pages are anonymous.
    pub mappings: bool,
    /// True if accesses are samples of the program's, so that most are missing. Then references are
    /// unknown, and an epoch is a number of samples, or a snapshot of the sampler's.
    pub sampled: bool,
    /// The traced command and its arguments; empty if unknown.
    pub command: Vec<String>,
    /// The architecture it ran on, as Rust and `uname -m` mostly call it; `unknown` if unknown.
    pub architecture: String,
    /// The program that wrote the trace, with versions.
    pub tool: String,
}

/// The way in which the traced program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// An unknown end: an imported log does not report it, and neither does a child that was
    /// killed.
    Unknown,
    /// The program exited with this status.
    Exited(u8),
    /// The program was ended by this signal.
    Signalled(u8),
    /// The program replaced itself (`execve`); the trace ends there.
    Replaced,
}

/// The counts of a complete trace, written when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Totals {
    /// The number of references of the program.
    pub references: u64,
    /// Epochs, the shorter last one included.
    pub epochs: u64,
    /// [`Event::Access`](super::Event::Access) events.
    pub accesses: u64,
    /// Different page numbers accessed.
    pub distinct_pages: u64,
    /// The way in which the program ended.
    pub ending: Ending,
}

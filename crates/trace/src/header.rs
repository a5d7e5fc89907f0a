//! What a trace says of itself: the header in front, the totals at the end.

use serde::Serialize;

use super::filter::FilterShape;

/// The epoch length used where none is asked for, in references.
pub const DEFAULT_EPOCH_REFERENCES: u64 = 100_000;

/// The longest epoch a trace may state, in references.
pub const MAX_EPOCH_REFERENCES: u64 = 1 << 40;

/// What was traced, and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Header {
    /// log2 of the page size in bytes, 12 to 16.
    pub page_shift: u8,
    /// How many references make an epoch, 1 to [`MAX_EPOCH_REFERENCES`]. A reference is one
    /// instruction fetched or one load, store or modify of data.
    pub epoch_references: u64,
    /// Which references may be left out.
    pub filter: FilterShape,
    /// Mappings and their changes are in the trace; without them, all pages are anonymous.
    pub mappings: bool,
    /// Accesses are samples of the program's, so that most are missing; references are not known
    /// then, and an epoch is so many samples, or a snapshot of the sampler's.
    pub sampled: bool,
    /// The traced command and its arguments; empty where unknown.
    pub command: Vec<String>,
    /// The architecture it ran on, as Rust and `uname -m` mostly call it; `unknown` where unknown.
    pub architecture: String,
    /// What wrote the trace, with versions.
    pub tool: String,
}

/// How the traced program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// An imported log does not say, nor does anything of a child that was killed.
    Unknown,
    /// It exited with this status.
    Exited(u8),
    /// This signal ended it.
    Signalled(u8),
    /// It replaced itself (`execve`); what came after is not in the trace.
    Replaced,
}

/// What a complete trace counts, written when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Totals {
    /// References of the program.
    pub references: u64,
    /// Epochs, the shorter last one included.
    pub epochs: u64,
    /// [`Event::Access`](super::Event::Access) events.
    pub accesses: u64,
    /// Different page numbers accessed.
    pub distinct_pages: u64,
    /// How the program ended.
    pub ending: Ending,
}

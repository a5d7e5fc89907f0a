//! Why something cannot be imported.

use std::io;

use crate::error::WriteError;

/// The most regions of DAMON's that are kept: 16 bytes each.
pub(super) const MAX_REGIONS: usize = 1 << 22;
/// The most pages of DAMON's regions that were accessed, in all snapshots together.
pub(super) const MAX_ACCESSES: u64 = 1 << 25;
/// The most different ones.
pub(super) const MAX_PAGES: u64 = 1 << 22;

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line that the format does not have.
    #[error("line {number}: found `{found}`; accepted are {accepted}")]
    Line {
        /// Which, from 1.
        number: u64,
        /// How it begins.
        found: String,
        /// What the format has.
        accepted: &'static str,
    },
    /// What a line says cannot be in a trace.
    #[error("line {number}: {refusal}")]
    Refused {
        /// Which, from 1.
        number: u64,
        /// Why not.
        refusal: Refusal,
    },
    /// A record that is none, or is not whole.
    #[error("byte {at}: {what}; accepted are {accepted}")]
    Record {
        /// Where it begins.
        at: u64,
        /// What is wrong.
        what: &'static str,
        /// What the format has.
        accepted: &'static str,
    },
    /// A text ends within a line.
    #[error("the last line has no end: the text was cut off, or is none; accepted are {accepted}")]
    CutOff {
        /// What the format has.
        accepted: &'static str,
    },
    /// The input holds no reference.
    #[error("no reference in it; accepted are {accepted}")]
    Empty {
        /// What the format has.
        accepted: &'static str,
    },
    /// More pages than memory is there for.
    #[error("the input has more than {most} pages, for which memory is available")]
    TooManyPages {
        /// Those that fit.
        most: u64,
    },
    /// The input cannot be read.
    #[error("reading the input failed after {unit} {at}")]
    Read {
        /// What is counted.
        unit: &'static str,
        /// The last that was read.
        at: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Why a line of the right form is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is of another address space than the lines before.
    #[error(
        "it is of process {found}, lines before of process {before}; a trace has one process: \
         choose one where the text is made"
    )]
    Process {
        /// The line's.
        found: u64,
        /// That of the lines before.
        before: u64,
    },
    /// It belongs to another snapshot than it should.
    #[error("a snapshot of {expected} regions ends after {found} of them")]
    Snapshot {
        /// As the snapshot says.
        expected: u64,
        /// Those that are there.
        found: u64,
    },
    /// More regions than are kept.
    #[error("more than {} regions that were accessed", MAX_REGIONS)]
    Regions,
    /// More pages than a trace of snapshots may have.
    #[error(
        "up to here {pages} pages were accessed; accepted are {} in all snapshots together",
        MAX_ACCESSES
    )]
    Accesses {
        /// How many there are.
        pages: u64,
    },
    /// More different pages than a trace of snapshots may have.
    #[error("{pages} different pages were accessed; accepted are {}", MAX_PAGES)]
    Pages {
        /// How many there are.
        pages: u64,
    },
}

//! Reasons why an input cannot be imported.

use std::fmt::Write;
use std::io;

use super::access::PassedOver;
use super::format::Format;
use super::seeming::Seeming;
use crate::error::WriteError;

/// The maximum number of regions of DAMON's that are kept: 16 bytes each.
pub(super) const MAX_REGIONS: usize = 1 << 22;
/// The maximum number of pages of DAMON's regions that were accessed, in all snapshots together.
pub(super) const MAX_ACCESSES: u64 = 1 << 25;
/// The number of those pages that any input may have, and how many more for each of its regions:
/// few bytes could ask for hours of work.
pub(super) const ANY_ACCESSES: u64 = 1 << 22;
pub(super) const ACCESSES_PER_REGION: u64 = 1 << 15;
/// The maximum number of different pages.
pub(super) const MAX_PAGES: u64 = 1 << 22;
/// The maximum number of records of a cache's trace: no trace of more accesses has a reference
/// string.
pub(super) const MAX_RECORDS: u64 = u32::MAX as u64 - 1;

/// The reason why an input cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line that the format does not have.
    #[error("line {number}: found `{found}`; accepted are {}", format.accepted())]
    Line {
        /// The line's number, from 1.
        number: u64,
        /// The first characters.
        found: String,
        /// The format.
        format: Format,
    },
    /// A line that cannot be in a trace.
    #[error("line {number}: {refusal}")]
    Refused {
        /// The line's number, from 1.
        number: u64,
        /// The reason.
        refusal: Refusal,
    },
    /// JSON that is not damo's.
    #[error("{0}; accepted is the JSON of `damo record`")]
    Json(serde_json::Error),
    /// Records as JSON that cannot be in a trace.
    #[error("{0}")]
    RefusedJson(Refusal),
    /// A record that is none, or is not whole.
    #[error("byte {at}: {what}; accepted are {}", format.accepted())]
    Record {
        /// The byte where it begins.
        at: u64,
        /// The fault.
        what: &'static str,
        /// The format.
        format: Format,
    },
    /// A record of a cache's trace whose next use is not the number of a record of its object.
    #[error("record {record}: {fault}")]
    NextUse {
        /// The record, from 0.
        record: u64,
        /// The fault.
        fault: NextUse,
    },
    /// More records than a reference string can have.
    #[error("the input has more than {MAX_RECORDS} records")]
    TooManyRecords,
    /// A text that ends within a line.
    #[error("the last line has no end, so the text was cut off; accepted are {}", .0.accepted())]
    CutOff(Format),
    /// An input without a reference.
    #[error(
        "no reference in it{}; accepted are {}{}",
        counted(passed_over), format.accepted(), hint(*format, passed_over)
    )]
    Empty {
        /// The format.
        format: Format,
        /// Lines and records that are no references.
        passed_over: PassedOver,
    },
    /// An option that has no meaning for the format.
    #[error("{option} is not for --from {}: {why}", format.option())]
    Option {
        /// The option's name.
        option: &'static str,
        /// The format.
        format: Format,
        /// The reason.
        why: &'static str,
    },
    /// An input of another format.
    #[error("found {found}, not {}: {}", expected.name(), found.advice())]
    Other {
        /// The format, as the first bytes show.
        found: Seeming,
        /// The format that was asked for.
        expected: Format,
    },
    /// An input that is not importable.
    #[error("found {found}, which is not imported: {}", found.advice())]
    NotImported {
        /// The format, as the first bytes show.
        found: Seeming,
    },
    /// An input without a byte.
    #[error(
        "the input is empty: expected what a tool printed, and `2>` redirects a tool that prints to \
         standard error, as the view of drmemtrace does"
    )]
    Nothing,
    /// An input whose format cannot be recognized.
    #[error(
        "the format cannot be recognized by its content: give its name with --from ({})",
        options()
    )]
    Unrecognized,
    /// More pages than fit the memory.
    #[error("the input has more than {most} pages, for which memory is available")]
    TooManyPages {
        /// The number of pages that fit.
        most: u64,
    },
    /// The input cannot be read.
    #[error("reading the input failed after {unit} {at}")]
    Read {
        /// The unit that is counted.
        unit: &'static str,
        /// The last one that was read.
        at: u64,
        /// The system's message.
        source: io::Error,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl ImportError {
    /// Returns true if the input's content is at fault: it may be of another format.
    pub(super) fn is_of_content(&self) -> bool {
        matches!(
            self,
            Self::Line { .. }
                | Self::Record { .. }
                | Self::NextUse { fault: NextUse::Impossible { .. }, .. }
                | Self::CutOff(_)
                | Self::Empty { .. }
                | Self::Read { .. }
        )
    }
}

/// Returns the counts in brackets, or an empty text.
fn counted(passed_over: &PassedOver) -> String {
    let mut text = String::new();
    for (cause, count) in passed_over.counts() {
        let before = if text.is_empty() { " (" } else { ", " };
        let name = cause.name();
        write!(text, "{before}{name} {count}").expect("a string grows");
    }
    if text.is_empty() { text } else { text + ")" }
}

/// Returns the usual mistake behind an input without a reference.
fn hint(format: Format, passed_over: &PassedOver) -> &'static str {
    let is_empty = passed_over.counts().next().is_none();
    match format {
        Format::Drmemtrace if is_empty => {
            "; the view tool prints to standard error: redirect it with `2>`"
        }
        Format::PerfScript if !is_empty => {
            "; addresses take `perf mem record` or `perf record -d`, and `perf script -F +addr`"
        }
        _ => "",
    }
}

fn options() -> String {
    Format::ALL.map(Format::option).join(", ")
}

/// The reason why a line of the right form is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An access of another address space than those before.
    #[error(
        "it is of process {found}, lines before of process {before}; a trace has one process: \
         choose one with --pid, such as --pid {before}"
    )]
    Process {
        /// The process of this record.
        found: u64,
        /// The process of the records before it.
        before: u64,
    },
    /// Records of several of DAMON's contexts or schemes, which see the same accesses.
    #[error(
        "records of several DAMON contexts or schemes (kdamond {}, context {}, scheme {} after \
         {}, {}, {}): record one",
        found[0], found[1], found[2], before[0], before[1], before[2]
    )]
    Context {
        /// The numbers of kdamond, context and scheme of this record; 0 where there is none.
        found: [u64; 3],
        /// The values of the records before.
        before: [u64; 3],
    },
    /// A region that belongs to another snapshot than it should.
    #[error("a snapshot of {expected} regions ends after {found} of them")]
    Snapshot {
        /// The number that the snapshot states.
        expected: u64,
        /// The number of those present.
        found: u64,
    },
    /// A region that ends before it begins.
    #[error("a region from {start} to {end}: accepted is an end that is not below the start")]
    Backwards {
        /// The first byte's address.
        start: u64,
        /// The address after the last byte.
        end: u64,
    },
    /// More regions than are kept.
    #[error("more than {MAX_REGIONS} regions that were accessed")]
    Regions,
    /// More pages than a trace of snapshots may have.
    #[error(
        "up to here {pages} pages were accessed; accepted are {MAX_ACCESSES} in all snapshots \
         together"
    )]
    Accesses {
        /// The number found.
        pages: u64,
    },
    /// More pages than a trace of so few regions may have.
    #[error(
        "{pages} pages were accessed in {regions} regions; accepted are {ANY_ACCESSES}, and \
         {ACCESSES_PER_REGION} more for each region"
    )]
    Wide {
        /// The number of pages found.
        pages: u64,
        /// The number of regions.
        regions: u64,
    },
    /// More different pages than a trace of snapshots may have.
    #[error("{pages} different pages were accessed; accepted are {MAX_PAGES}")]
    Pages {
        /// The number found.
        pages: u64,
    },
}

/// The fault of a next use in a cache's trace.
///
/// Accepted is -1 or the greatest `i64` for an object without a later access. Otherwise it is the
/// number of the record of the next access, counted from 0 or from 1 in the whole input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NextUse {
    /// No record has such a number.
    #[error("its next use is {next}, and no record has that number: {}", ACCEPTED_NEXT)]
    Impossible {
        /// The next use that the record states.
        next: i64,
    },
    /// The value is the distance to the record, not its number.
    #[error(
        "its next use {next} is the distance to record {asks}; accepted is that record's number \
         (libCacheSim's traceConv writes it)"
    )]
    Distance {
        /// The next use that the record states.
        next: u32,
        /// The record that asks for the object next, from 0.
        asks: u32,
    },
    /// The value is the number of a record of a shorter file: this is a later one of several.
    #[error(
        "its next use {next} is counted from record {start}, where another trace begins: import \
         one trace at a time"
    )]
    Concatenated {
        /// The next use that the record states.
        next: u32,
        /// The record from which the next use is counted.
        start: u32,
    },
    /// The object is said not to be asked for again, and is.
    #[error(
        "its object is not asked for again, it says, and record {asks} asks for it: is this \
         several traces in a row? Import one at a time"
    )]
    Again {
        /// The record that asks for the object next, from 0.
        asks: u32,
    },
    /// Another record asks for the object next.
    #[error("its next use is {next}, and record {asks} asks for its object: {}", ACCEPTED_NEXT)]
    Other {
        /// The next use that the record states.
        next: u32,
        /// The record that asks for the object next, from 0.
        asks: u32,
    },
    /// No record asks for the object again.
    #[error(
        "its next use is {next}, and no record asks for its object after it: the input of \
         {records} records was cut off, or is no oracleGeneral"
    )]
    Missing {
        /// The next use that the record states.
        next: u32,
        /// The number of records of the input.
        records: u64,
    },
}

const ACCEPTED_NEXT: &str =
    "accepted are -1, and the number of the next record of the same object, from 0 or from 1";

//! Errors in reading a trace and in writing one.

use pageout_experiment::named;
use pageout_experiment::this_machine::memory_limit_note;
use std::io;
use std::path::PathBuf;

use super::event::{PAGE_LIMIT, PageRange};
use super::filter::{FilterShape, MAX_FILTER};
use super::header::MAX_EPOCH_REFERENCES;
use super::limits::{
    MAX_ARGUMENTS, MAX_FILES, MAX_STRING, MAX_STRINGS, STEPS, STEPS_PER_AREA, STEPS_PER_BYTE,
};
use super::room::NoRoom;
use super::wire::VERSION;

/// An error in reading a trace. Offsets are bytes of the file consumed when the fault was found.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {}", named(path))]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file's name has characters that act on a display.
    #[error(
        "the file's name has characters that act on a display, and records have no such names: \
         rename it, or name a link to it"
    )]
    Name,
    /// The pages do not fit in memory.
    #[error("it has more pages than there is memory for{}", memory_limit_note())]
    NoRoom,
    /// Reading failed.
    #[error("reading failed at byte {offset}")]
    Read {
        /// The offset.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not begin like a trace.
    #[error(
        "not a page trace: {found}; accepted: what `pageout trace record` and `pageout trace \
         import` write"
    )]
    NotATrace {
        /// The first bytes in hexadecimal, or the kind of file it seems to be and the next step.
        found: String,
    },
    /// The file is a trace of another format version.
    #[error(
        "trace format version {found}; this build reads version {VERSION}: record the program again"
    )]
    Version {
        /// The file's version.
        found: u16,
    },
    /// The file ends before the trace does.
    #[error("truncated after epoch {epochs}: the file ends at byte {offset}, before the trailer")]
    Truncated {
        /// The offset of the file's end.
        offset: u64,
        /// The number of complete epochs.
        epochs: u64,
    },
    /// The compressed stream cannot be decompressed.
    #[error("damaged at byte {offset}, after epoch {epochs}: {reason}")]
    Damaged {
        /// The offset.
        offset: u64,
        /// The number of epochs read before.
        epochs: u64,
        /// The decompressor's message.
        reason: String,
    },
    /// A header field or an event is invalid.
    #[error("malformed near byte {offset}, after epoch {epochs}: {fault}")]
    Malformed {
        /// The offset.
        offset: u64,
        /// The number of epochs read before.
        epochs: u64,
        /// The fault.
        fault: Fault,
    },
    /// The trailer does not agree with the events.
    #[error("the trailer says {found} {what}, the events make {counted}")]
    Totals {
        /// The quantity.
        what: &'static str,
        /// The trailer's figure.
        found: u64,
        /// The events' figure.
        counted: u64,
    },
    /// The file's bytes differ from those that were written.
    #[error("checksum {found:08x} at the end of the file, its bytes make {computed:08x}: damaged")]
    Checksum {
        /// The stored CRC-32.
        found: u32,
        /// The CRC-32 of the file.
        computed: u32,
    },
    /// The trace has samples, and all accesses are needed.
    #[error(
        "a sampled trace ({tool}): it lacks most accesses of the program, and this needs them all; \
         `trace info` takes it"
    )]
    Sampled {
        /// The tool that made the trace, and its source.
        tool: String,
    },
    /// Bytes follow the end of the trace.
    #[error("bytes follow the end of the trace at byte {offset}")]
    Trailing {
        /// The offset of the trace's end.
        offset: u64,
    },
}

/// A header field or an event that no trace may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A page size out of bounds.
    #[error("page shift {0}; 12 to 16 are accepted")]
    PageShift(u8),
    /// An epoch length out of bounds.
    #[error("{0} references an epoch; 1 to {MAX_EPOCH_REFERENCES} are accepted")]
    EpochLength(u64),
    /// A filter's shape out of bounds.
    #[error(
        "a filter of {} sets, {} ways and a window of {}; 1 to {MAX_FILTER} are accepted of each, \
         and of sets a power of two", .0.sets, .0.ways, .0.window
    )]
    Filter(FilterShape),
    /// A byte that should be one of a few.
    #[error("{what} {found}; 0 to {most} are accepted")]
    Code {
        /// The meaning of the byte.
        what: &'static str,
        /// The byte's value.
        found: u64,
        /// The largest value that the byte may have.
        most: u64,
    },
    /// A number that takes more than 64 bits.
    #[error("a number of more than 64 bits")]
    Number,
    /// A string that is not UTF-8.
    #[error("a string that is not UTF-8")]
    Utf8,
    /// A string that is too long.
    #[error("a string of {0} bytes; up to {MAX_STRING} are accepted")]
    LongString(u64),
    /// All strings together are too long.
    #[error("strings of more than {MAX_STRINGS} bytes in all")]
    Strings,
    /// More files than a trace may name.
    #[error("more than {MAX_FILES} files")]
    TooManyFiles,
    /// More to do than so small a file may ask for.
    #[error(
        "more than {STEPS} steps, and {STEPS_PER_BYTE} for each byte so far; \
         a record is one, and each area that it is about {STEPS_PER_AREA}"
    )]
    Steps,
    /// A command with too many arguments.
    #[error("{0} arguments; up to {MAX_ARGUMENTS} are accepted")]
    Arguments(u64),
    /// A range of pages that is empty, runs backwards or leaves the address space.
    #[error(
        "{nr_pages} pages from page {start}; at least one, below page {PAGE_LIMIT}, is accepted"
    )]
    Range {
        /// The first page's number.
        start: u64,
        /// The number of pages.
        nr_pages: u64,
    },
    /// An access to a page that was not named before.
    #[error("an access to the page named as number {found}; {named} are named so far")]
    UnknownPage {
        /// The page's place.
        found: u64,
        /// The number of places that are taken.
        named: u64,
    },
    /// A file that was not named before.
    #[error("file {found}; {named} are named so far")]
    UnknownFile {
        /// The file's index.
        found: u64,
        /// The number of files named so far.
        named: u64,
    },
    /// A mapping event in a trace whose header denies mappings.
    #[error("a mapping event in a trace without mappings")]
    NoMappings,
    /// A mapping over mapped pages.
    #[error("pages {}..{} mapped over mapped ones", .0.start(), .0.end())]
    Overlap(PageRange),
    /// An event on pages of which some are not mapped.
    #[error("pages {}..{} are not all mapped", .0.start(), .0.end())]
    NotMapped(PageRange),
    /// More mapped areas than a kernel allows a process.
    #[error("more than {0} mapped areas at once")]
    TooManyAreas(usize),
    /// More accesses than a reference can make.
    #[error("a third access at reference {0} of an epoch: a reference touches at most two pages")]
    ThirdAccess(u64),
    /// An access beyond its epoch.
    #[error("an access after the {references} references of its epoch")]
    AfterEpoch {
        /// The epoch's references; the most that it can have where it has not ended.
        references: u64,
    },
    /// An epoch without a reference, or longer than the header's.
    #[error("an epoch of {found} references; 1 to {most} are accepted")]
    EpochReferences {
        /// The epoch's references.
        found: u64,
        /// The header's epoch length.
        most: u64,
    },
    /// An access or epoch after an epoch that was shorter than the header's, thus the last.
    #[error("an access or an epoch after the short epoch that ends a trace")]
    AfterLastEpoch,
    /// Accesses that no epoch end follows.
    #[error("accesses after the last epoch end")]
    OpenEpoch,
    /// More references in all than 64 bits hold.
    #[error("more references than 64 bits hold")]
    References,
}

/// An error in writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file to write cannot be created.
    #[error("cannot create {}", named(path))]
    Create {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory of the file to write is missing.
    #[error(
        "cannot create {}: there is no directory {}, which is expected",
        named(path),
        named(directory)
    )]
    NoDirectory {
        /// The path of the file.
        path: PathBuf,
        /// The directory.
        directory: PathBuf,
    },
    /// The path names a directory, a device or the like.
    #[error("{} is not a regular file: expected the path of a file to write", named(path))]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A symbolic link whose target does not exist.
    #[error("{} is a symbolic link to a missing file", named(path))]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// The pages do not fit in memory.
    #[error("the trace has more pages than there is memory for{}", memory_limit_note())]
    NoRoom,
    /// Writing failed.
    #[error("writing the trace failed")]
    Write(#[from] io::Error),
    /// The header or the event breaks a rule of the format; nothing of it was written.
    #[error("the trace format does not allow {0}")]
    Fault(#[from] Fault),
}

impl From<NoRoom> for WriteError {
    fn from(_: NoRoom) -> Self {
        Self::NoRoom
    }
}

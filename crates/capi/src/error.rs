//! The errors of calls, for C callers.

use core::ffi::CStr;

use pageout_reclaim as reclaim;
use pageout_reclaim::{BadId, Errno, OutOfMemory, OutOfTable, TableKind};

macro_rules! errors {
    ($($error:ident = $text:literal,)*) => {
        impl Error {
            /// Returns every error, in order of its number, from -1 down. (A constant would appear
            /// in the header.)
            pub const fn all() -> [Self; [$(Self::$error),*].len()] {
                [$(Self::$error),*]
            }

            /// Returns the error, and the accepted values, as text.
            pub(crate) const fn text(self) -> &'static CStr {
                match self {
                    $(Self::$error => $text,)*
                }
            }
        }
    };
}

/// The error of a call, which then did nothing, unless the call says otherwise.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// A pointer to a structure or to a result is null.
    Null = -1,
    /// The table's entries are null, or not aligned to a page: the pointer is to the table's first
    /// entry.
    Table = -2,
    /// No format has this number.
    Format = -3,
    /// No family has this number.
    Family = -4,
    /// No flush has this number.
    Flush = -5,
    /// The flush needs an MMU, all of whose functions are given.
    Mmu = -6,
    /// The run has no entry, or does not end in the table.
    Range = -7,
    /// The batch begins at an entry that is not present.
    Entry = -8,
    /// A flag of the batch has no meaning.
    Batch = -9,
    /// The handle is not aligned, was not made here, or has ended.
    Handle = -10,
    /// The CPU's context is in use by a call: that of another task, or the one that called back.
    InUse = -11,
    /// A structure's size or version is not the one of this library.
    Version = -12,
    /// A callback that the engine needs is null.
    Callback = -13,
    /// The engine is not built for the format.
    EngineFormat = -14,
    /// A limit is larger than entries can be numbered, or the frames go past the last number.
    Limits = -15,
    /// The bytes given are too few.
    Bytes = -16,
    /// A number has no name in the header: a kind, an access, advice, a flag, a switch.
    Number = -17,
    /// The address space has ended, or the number never named one.
    AddressSpace = -18,
    /// The mapping has ended, or the number never named one.
    Mapping = -19,
    /// The number names no folio.
    Folio = -20,
    /// The number names no cgroup.
    Memcg = -21,
    /// The range of addresses is empty, not aligned to pages, goes past the table, or is not what
    /// the call works on.
    Addresses = -22,
    /// Part of the range is not mapped.
    NotMapped = -23,
    /// Something is mapped there already.
    Overlap = -24,
    /// A table of the engine is full: one of the limits.
    TableFull = -25,
    /// There is no frame for a page table.
    NoPageTable = -26,
    /// There is no free frame.
    NoFrame = -27,
    /// A cgroup is at its limit.
    OverLimit = -28,
    /// A swap slot is named by as many entries as can be counted.
    SlotEntries = -29,
    /// A page offset, an order or a frame is too large, or the frame is not aligned.
    Pages = -30,
    /// A frame belongs to another folio.
    FrameInUse = -31,
    /// The index has one of the pages already.
    Exists = -32,
    /// The mapping is still used: mapped, or with pages in memory, in the index or in swap.
    MappingUsed = -33,
    /// The cgroup is the root, or has children or processes.
    MemcgUsed = -34,
    /// No such transfer of the folio is in progress.
    NotPending = -35,
    /// The caller drops more references than it holds.
    References = -36,
    /// A transfer has to end first.
    Pending = -37,
    /// The mapping's kind does not fit the call.
    Kind = -38,
    /// A signal is pending.
    Interrupted = -39,
    /// Less was reclaimed than asked.
    Again = -40,
    /// A text was not understood, or names what does not exist.
    Text = -41,
    /// The number names no node.
    Node = -42,
    /// Runs of frames on nodes are not named in ascending order, or there are more than 32.
    NodeStart = -43,
}

errors! {
    Null = c"a pointer is null that must not be",
    Table = c"the table's entries are null or not aligned to a page",
    Format = c"unknown format: see enum pageout_format",
    Family = c"unknown family: see enum pageout_family",
    Flush = c"unknown flush: see enum pageout_flush",
    Mmu = c"the flush needs an MMU with all of its functions",
    Range = c"the run is empty or goes past the end of the table",
    Entry = c"the batch begins at an entry that is not present",
    Batch = c"unknown batch flag: see enum pageout_batch",
    Handle = c"the handle is not aligned, was not made here, or has ended",
    InUse = c"the CPU's context is in use by another call, or by the one that called back",
    Version = c"a structure's size or version is not this library's: compile with its header",
    Callback = c"a callback is null that the engine needs",
    EngineFormat = c"the engine is built for PAGEOUT_FORMAT_ARM64_4K and PAGEOUT_FORMAT_X86_64",
    Limits = c"a limit is too large to number its entries",
    Bytes = c"the bytes given are too few: ask for the size first",
    Number = c"a number has no name in pageout.h",
    AddressSpace = c"no such address space: it has ended, or never was",
    Mapping = c"no such mapping: it has ended, or never was",
    Folio = c"no such folio",
    Memcg = c"no such cgroup",
    Addresses = c"the addresses are empty, not page-aligned, too high or not for this call",
    NotMapped = c"part of the range is not mapped",
    Overlap = c"something is mapped there already",
    TableFull = c"a table of the engine is full: raise one of the limits",
    NoPageTable = c"no frame for a page table",
    NoFrame = c"no free frame",
    OverLimit = c"a cgroup is at its limit",
    SlotEntries = c"a swap slot is named by as many entries as can be counted",
    Pages = c"a page offset, an order or a frame is too large or not aligned",
    FrameInUse = c"a frame belongs to another folio",
    Exists = c"the index has one of the pages already",
    MappingUsed = c"the mapping is still used",
    MemcgUsed = c"the cgroup is the root, or has children or processes",
    NotPending = c"no such transfer of the folio is in progress",
    References = c"more references are dropped than are held",
    Pending = c"a transfer has to end first",
    Kind = c"the kind of the mapping does not fit the call",
    Interrupted = c"a signal is pending",
    Again = c"less was reclaimed than asked",
    Text = c"the text was not understood, or names what does not exist",
    Node = c"no such node: see the limits",
    NodeStart = c"runs of frames are named in ascending order, at most 32 of them",
}

/// Returns the result, or the error's number.
pub(crate) fn number(answer: Result<i32, Error>) -> i32 {
    answer.unwrap_or_else(|error| error as i32)
}

impl From<BadId> for Error {
    fn from(BadId(table): BadId) -> Self {
        match table {
            TableKind::Mms => Self::AddressSpace,
            TableKind::Mappings => Self::Mapping,
            TableKind::Memcgs => Self::Memcg,
            TableKind::Nodes => Self::Node,
            _ => Self::Folio,
        }
    }
}

impl From<OutOfTable> for Error {
    fn from(OutOfTable(table): OutOfTable) -> Self {
        match table {
            TableKind::Frames => Self::Pages,
            _ => Self::TableFull,
        }
    }
}

impl From<OutOfMemory> for Error {
    fn from(what: OutOfMemory) -> Self {
        match what {
            OutOfMemory::Frames => Self::NoFrame,
            OutOfMemory::PageTables => Self::NoPageTable,
            OutOfMemory::Table(full) => full.into(),
            OutOfMemory::Limit(_) => Self::OverLimit,
            OutOfMemory::SlotEntries => Self::SlotEntries,
        }
    }
}

impl From<reclaim::MemoryError> for Error {
    fn from(error: reclaim::MemoryError) -> Self {
        match error {
            reclaim::MemoryError::TooShort { .. } => Self::Bytes,
            reclaim::MemoryError::TooLong(_)
            | reclaim::MemoryError::FewTags { .. }
            | reclaim::MemoryError::NoRoot
            | reclaim::MemoryError::NoNode
            | reclaim::MemoryError::Lruvecs { .. } => Self::Limits,
        }
    }
}

impl From<reclaim::GrowError> for Error {
    fn from(error: reclaim::GrowError) -> Self {
        match error {
            reclaim::GrowError::Parts(_) => Self::TableFull,
            reclaim::GrowError::TooLong(_) => Self::Limits,
        }
    }
}

impl From<reclaim::AddMemcgError> for Error {
    fn from(error: reclaim::AddMemcgError) -> Self {
        match error {
            reclaim::AddMemcgError::OutOfTable(full) => full.into(),
            reclaim::AddMemcgError::BadId(bad) => bad.into(),
        }
    }
}

impl From<reclaim::MemcgBusy> for Error {
    fn from(error: reclaim::MemcgBusy) -> Self {
        match error {
            reclaim::MemcgBusy::BadId(bad) => bad.into(),
            reclaim::MemcgBusy::Root
            | reclaim::MemcgBusy::HasChildren
            | reclaim::MemcgBusy::HasProcesses => Self::MemcgUsed,
        }
    }
}

impl From<reclaim::NodeStartError> for Error {
    fn from(error: reclaim::NodeStartError) -> Self {
        match error {
            reclaim::NodeStartError::BadId(bad) => bad.into(),
            reclaim::NodeStartError::Order | reclaim::NodeStartError::TooMany => Self::NodeStart,
        }
    }
}

impl From<reclaim::MmapError> for Error {
    fn from(error: reclaim::MmapError) -> Self {
        match error {
            reclaim::MmapError::BadRange => Self::Addresses,
            reclaim::MmapError::Overlap => Self::Overlap,
            reclaim::MmapError::OutOfTable(full) => full.into(),
            reclaim::MmapError::BadId(bad) => bad.into(),
        }
    }
}

impl From<reclaim::SpaceError> for Error {
    fn from(error: reclaim::SpaceError) -> Self {
        match error {
            reclaim::SpaceError::BadRange => Self::Addresses,
            reclaim::SpaceError::NotMapped => Self::NotMapped,
            reclaim::SpaceError::Overlap => Self::Overlap,
            reclaim::SpaceError::OutOfMemory(what) => what.into(),
            reclaim::SpaceError::NoMark => Self::EngineFormat,
            reclaim::SpaceError::BadId(bad) => bad.into(),
        }
    }
}

impl From<reclaim::RemoveError> for Error {
    fn from(error: reclaim::RemoveError) -> Self {
        match error {
            reclaim::RemoveError::BadId(bad) => bad.into(),
            reclaim::RemoveError::Mapped
            | reclaim::RemoveError::HasCopies
            | reclaim::RemoveError::HasPages => Self::MappingUsed,
        }
    }
}

impl From<reclaim::AddFolioError> for Error {
    fn from(error: reclaim::AddFolioError) -> Self {
        match error {
            reclaim::AddFolioError::OutOfTable(full) => full.into(),
            reclaim::AddFolioError::BadId(bad) => bad.into(),
            reclaim::AddFolioError::FrameInUse => Self::FrameInUse,
        }
    }
}

impl From<reclaim::ReleaseError> for Error {
    fn from(error: reclaim::ReleaseError) -> Self {
        match error {
            reclaim::ReleaseError::BadId(bad) => bad.into(),
            reclaim::ReleaseError::TooMany | reclaim::ReleaseError::InUse => Self::References,
        }
    }
}

impl From<reclaim::ChargeError> for Error {
    fn from(error: reclaim::ChargeError) -> Self {
        match error {
            reclaim::ChargeError::OutOfMemory(out) => out.into(),
            reclaim::ChargeError::Charged => Self::Exists,
            reclaim::ChargeError::BadId(bad) => bad.into(),
        }
    }
}

impl From<reclaim::LruAddError> for Error {
    fn from(error: reclaim::LruAddError) -> Self {
        match error {
            reclaim::LruAddError::Listed => Self::Exists,
            reclaim::LruAddError::BadId(bad) => bad.into(),
        }
    }
}

impl From<reclaim::IndexError> for Error {
    fn from(error: reclaim::IndexError) -> Self {
        match error {
            reclaim::IndexError::Exists => Self::Exists,
            reclaim::IndexError::Absent => Self::Folio,
            reclaim::IndexError::BadId(bad) => bad.into(),
        }
    }
}

impl From<reclaim::TransferError> for Error {
    fn from(error: reclaim::TransferError) -> Self {
        match error {
            reclaim::TransferError::NotPending => Self::NotPending,
            reclaim::TransferError::BadId(bad) => bad.into(),
        }
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::EINTR => Self::Interrupted,
            Errno::EAGAIN => Self::Again,
            Errno::EEXIST => Self::Exists,
            Errno::ENODEV => Self::Memcg,
            Errno::EINVAL => Self::Text,
        }
    }
}

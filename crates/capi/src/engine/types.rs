//! The types of arguments and results of the engine's functions.

use pageout_reclaim::{Access as AccessKind, Advice as AdviceKind, IoError, MappingKind};

use crate::error::Error;

/// The number of no frame: the answer of an allocation that finds none.
pub const NO_FRAME: u64 = u64::MAX;

/// The number of no folio.
pub const NO_FOLIO: u64 = 0;

/// The capacity of an engine. None of its tables grows; an error says that one is full.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// The page frames, from the first that may hold a folio to the last. Frames of page tables
    /// need none.
    pub frames: u64,
    /// The folios alive at once: as many as frames.
    pub folios: u64,
    /// The VMAs of all processes, and three more for each call at work.
    pub vmas: u64,
    /// The address spaces at once.
    pub mms: u64,
    /// The mappings at once.
    pub mappings: u64,
    /// The cgroups at once, in addition to the root.
    pub memcgs: u64,
    /// The nodes of memory, up to 16. 0 is one node, too.
    pub nodes: u64,
    /// The shadows of evicted pages: as many as frames.
    pub shadows: u64,
    /// The pages of swap.
    pub slots: u64,
    /// The Bloom filters of page-table walks: two on each node for each cgroup with
    /// processes.
    pub filters: u64,
}

/// The numbers of entries by which tables grow, as in `struct pageout_limits`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Growth {
    /// More VMAs of all processes.
    pub vmas: u64,
    /// More address spaces at once.
    pub mms: u64,
    /// More mappings at once.
    pub mappings: u64,
}

/// The choices of an engine.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The size of this structure.
    pub size: u32,
    /// The format of the page tables: `PAGEOUT_FORMAT_ARM64_4K` or `PAGEOUT_FORMAT_X86_64`.
    pub format: u32,
    /// The capacity.
    pub limits: Limits,
    /// The first frame that may hold a folio.
    pub first_frame: u64,
    /// The first frames of the second and of the third zone of memory; 0 if there is none.
    pub zone_starts: [u64; 2],
    /// 1 if first accesses to anonymous memory ask for folios as large as the range of a page
    /// table, 0 if not.
    pub thp: u32,
    /// 1 if faults map such folios by one leaf where they fit, 0 if not.
    pub pmd_leaves: u32,
}

/// The kind of a mapping.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Anonymous memory of one process and those forked from it.
    Anon = 0,
    /// Pages of a file.
    File = 1,
    /// Shared memory without a file, which goes to swap.
    Shmem = 2,
}

/// The kind of an access that faulted.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A load.
    Read = 0,
    /// A store.
    Write = 1,
    /// The fetch of an instruction.
    Exec = 2,
}

/// Advice about a range of addresses (the kernel's `MADV_…`).
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// No special treatment.
    Normal = 0,
    /// Accessed in order.
    Sequential = 1,
    /// Accessed at random.
    Random = 2,
    /// Not needed for a while: made old and inactive.
    Cold = 3,
    /// Not needed for a while: reclaimed at once.
    PageOut = 4,
    /// Private anonymous content that may be dropped, unless written to again.
    Free = 5,
    /// Not needed: unmapped. Anonymous content is lost.
    DontNeed = 6,
}

/// The properties of a mapped range: one bit each, or-ed.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vm {
    /// Readable.
    Read = 1,
    /// Writable.
    Write = 2,
    /// Executable.
    Exec = 4,
    /// Locked into memory, from the faults on.
    Locked = 8,
    /// Will be read in order.
    SeqRead = 16,
    /// Will be read at random.
    RandRead = 32,
    /// Of a file that is used once.
    Noreuse = 64,
    /// Stores reach the file or the shared memory; otherwise they make private copies.
    Shared = 128,
}

/// The way a fault ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The access is to be tried again: the page was in memory.
    Minor = 0,
    /// The access is to be tried again: the page was read from storage.
    Major = 1,
    /// The folio is in a transfer: the access is to be tried again after its end.
    Pending = 2,
    /// The access is not allowed: there is no mapping, or one that forbids it (SIGSEGV).
    BadAddress = 3,
    /// The page is write-protected by userfaultfd.
    WriteProtected = 4,
    /// The page is past the end of the file (SIGBUS).
    PastEnd = 5,
    /// Reading the page failed (SIGBUS).
    IoError = 6,
    /// The entry is one that faults do not handle.
    Unsupported = 7,
    /// No frame is free for a page, after reclaim.
    NoFrame = 8,
    /// No frame is free for a page table, after reclaim.
    NoPageTable = 9,
    /// A table of the engine is full.
    TableFull = 10,
    /// A cgroup is at its limit, after reclaim.
    OverLimit = 11,
    /// A swap slot is named by as many entries as can be counted.
    SlotEntries = 12,
}

/// The result of a fault.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The folio in a transfer, of `PAGEOUT_OUTCOME_PENDING`; otherwise `PAGEOUT_NO_FOLIO`.
    pub folio: u64,
    /// The way it ended: one of `enum pageout_outcome`.
    pub outcome: u32,
    /// The cgroup at its limit, of `PAGEOUT_OUTCOME_OVER_LIMIT`; otherwise 0.
    pub memcg: u32,
    /// The reason of `PAGEOUT_OUTCOME_IO_ERROR`: one of `enum pageout_transfer`; otherwise 0.
    pub failure: u32,
}

/// A new range of an address space.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vma {
    /// The address space.
    pub mm: u64,
    /// The first address.
    pub start: u64,
    /// The first address past the end.
    pub end: u64,
    /// The mapping whose pages it maps.
    pub mapping: u64,
    /// The page of the mapping at `start`. For anonymous memory, the page number of `start`.
    pub pgoff: u64,
    /// Bits of `enum pageout_vm`.
    pub flags: u32,
}

/// A new folio, whose content is there: pages of a file that were read or written by a call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Folio {
    /// The file.
    pub mapping: u64,
    /// The page of the file, a multiple of the folio's pages.
    pub index: u64,
    /// The first frame, a multiple of the folio's pages. It goes to the engine, which frees it.
    pub pfn: u64,
    /// The size: 2^`order` pages.
    pub order: u32,
    /// The cgroup to charge.
    pub memcg: u32,
}

/// The place that a transfer reads or writes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Pages of the file `mapping` from page `at` on.
    File = 0,
    /// Swap slots from `at` on.
    Swap = 1,
}

/// A transfer between frames and the storage that backs them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// The folio, which the call at the end of the transfer names.
    pub folio: u64,
    /// The file, or 0.
    pub mapping: u64,
    /// The page of the file, or the swap slot.
    pub at: u64,
    /// The first frame.
    pub pfn: u64,
    /// The number of pages.
    pub nr: u64,
    /// The kind of the place: one of `enum pageout_place`.
    pub place: u32,
}

/// The result of starting a transfer, and that of ending one, which is not pending.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// The transfer is complete.
    Done = 0,
    /// The transfer is in progress.
    Pending = 1,
    /// The transfer failed: the file or the device has no room (ENOSPC).
    NoSpace = 2,
    /// The transfer failed: the device failed (EIO). From a callback, all other numbers mean this.
    Device = 3,
    /// The transfer failed: the device did not end it in time (ETIMEDOUT).
    TimedOut = 4,
    /// The transfer failed: the caller gave it up, and the device no longer uses the frames.
    GivenUp = 5,
}

impl Transfer {
    /// Returns the number of a failure.
    pub(super) fn failed(error: IoError) -> Self {
        match error {
            IoError::NoSpace => Self::NoSpace,
            IoError::Device => Self::Device,
            IoError::TimedOut => Self::TimedOut,
            IoError::GivenUp => Self::GivenUp,
        }
    }

    /// Returns the result of a transfer that has ended, of its number.
    pub(super) fn ended(number: u32) -> Result<Result<(), IoError>, Error> {
        if number == Self::Done as u32 {
            return Ok(Ok(()));
        }
        let failed = |error: &IoError| Self::failed(*error) as u32 == number;
        IoError::ALL.into_iter().find(failed).map(Err).ok_or(Error::Number)
    }
}

/// The abilities of the memory-management hardware, on every CPU: one bit each, or-ed.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hardware {
    /// Hardware sets the accessed bit of leaf entries. Otherwise faults do.
    AccessedFlag = 1,
    /// Hardware sets the dirty bit of leaf entries. Otherwise faults do.
    DirtyBit = 2,
    /// Hardware sets the accessed bit of entries that lead to tables.
    TableAccessedFlag = 4,
    /// Other CPUs are told to invalidate by interrupts; otherwise hardware broadcasts.
    Interrupts = 8,
    /// Contiguous blocks may be converted without a flush (arm64 FEAT_BBM level 2, no aborts).
    Bbml2NoAbort = 16,
}

/// The parts of the multi-generational LRU: one bit each, or-ed.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LruGen {
    /// Generations instead of the classic lists.
    Core = 1,
    /// Walks of page tables that clear young bits in batches.
    MmWalk = 2,
    /// The clearing of young bits in entries that lead to tables, too.
    NonleafYoung = 4,
}

/// A line of a reading of counters. The name is a constant, without a zero at its end:
/// `printf("%.*s", (int)line.name_len, line.name)`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The kernel's name.
    pub name: *const core::ffi::c_char,
    /// The length of the name.
    pub name_len: usize,
    /// The value.
    pub value: u64,
}

/// The number of events on one CPU that change no folio's state.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Events {
    /// Folios found locked by someone else.
    pub folio_lock_failed: u64,
    /// Reverse maps found locked by someone else.
    pub rmap_lock_failed: u64,
    /// VMAs skipped, whose accesses say nothing about the future.
    pub vma_skipped: u64,
    /// Times that reclaim met only dirty folios: the caller should wake the flushers.
    pub wakeup_flusher: u64,
    /// Times that background reclaim found only memory to protect: the caller should end a process.
    pub out_of_memory: u64,
}

/// Returns the item at a number, or the error that the number has no name.
fn named<T: Copy>(all: &[T], number: u32) -> Result<T, Error> {
    all.get(number as usize).copied().ok_or(Error::Number)
}

/// Returns the mapping's kind of a number of [`Kind`].
pub(super) fn kind(number: u32) -> Result<MappingKind, Error> {
    named(&[MappingKind::Anon, MappingKind::File, MappingKind::Shmem], number)
}

/// Returns the access of a number of [`Access`].
pub(super) fn access(number: u32) -> Result<AccessKind, Error> {
    named(&[AccessKind::Read, AccessKind::Write, AccessKind::Exec], number)
}

/// Returns the advice of a number of [`Advice`].
pub(super) fn advice(number: u32) -> Result<AdviceKind, Error> {
    let all = [
        AdviceKind::Normal,
        AdviceKind::Sequential,
        AdviceKind::Random,
        AdviceKind::Cold,
        AdviceKind::PageOut,
        AdviceKind::Free,
        AdviceKind::DontNeed,
    ];
    named(&all, number)
}

/// Returns a switch of its number, 0 or 1.
pub(super) fn switch(number: u32) -> Result<bool, Error> {
    named(&[false, true], number)
}

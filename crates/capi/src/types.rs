//! The types of arguments and results for C callers.

use core::ffi::c_void;

use pageout_paging::tlb::YoungFlush;
use pageout_paging::young;

pub use crate::error::Error;

/// The format of a table's entries.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// arm64, 4 KiB pages: 512 entries, contiguous blocks of 16.
    Arm64_4K = 0,
    /// arm64, 16 KiB pages: 2048 entries, contiguous blocks of 128.
    Arm64_16K = 1,
    /// arm64, 64 KiB pages: 8192 entries, contiguous blocks of 32.
    Arm64_64K = 2,
    /// x86-64: 512 entries.
    X86_64 = 3,
    /// riscv64: 512 entries, Svnapot blocks of 16.
    Riscv64 = 4,
}

impl Format {
    /// Returns the format of a number.
    pub(crate) fn of(number: u32) -> Result<Self, Error> {
        let all = [Self::Arm64_4K, Self::Arm64_16K, Self::Arm64_64K, Self::X86_64, Self::Riscv64];
        all.get(number as usize).copied().ok_or(Error::Format)
    }
}

/// Evaluates `body` with the type of a format.
macro_rules! with_format {
    ($format:expr, $F:ident => $body:expr) => {
        match $format {
            $crate::types::Format::Arm64_4K => {
                type $F = pageout_paging::pte::Arm64_4K;
                $body
            }
            $crate::types::Format::Arm64_16K => {
                type $F = pageout_paging::pte::Arm64_16K;
                $body
            }
            $crate::types::Format::Arm64_64K => {
                type $F = pageout_paging::pte::Arm64_64K;
                $body
            }
            $crate::types::Format::X86_64 => {
                type $F = pageout_paging::pte::X86_64;
                $body
            }
            $crate::types::Format::Riscv64 => {
                type $F = pageout_paging::pte::Riscv64;
                $body
            }
        }
    };
}
pub(crate) use with_format;

/// The way to check the young bits of several entries. All families find and clear the same.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Single entries, one after the other, as kernels did.
    PerEntry = 0,
    /// As Linux 7.3 does.
    Batched = 1,
    /// Eight entries a step, atomics only where an entry is young.
    Line = 2,
}

impl Family {
    /// Returns the family of a number.
    pub(crate) fn of(number: u32) -> Result<young::YoungAlgorithm, Error> {
        // `ALL` is in the order of the numbers above.
        young::YoungAlgorithm::ALL.get(number as usize).copied().ok_or(Error::Family)
    }
}

/// The flush after a young bit was found and cleared. None is unsound: a TLB that still holds the
/// entry hides accesses until it drops the entry.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// Invalidate and wait.
    Sync = 0,
    /// Invalidate, and leave the waiting to a later barrier of this CPU.
    Nosync = 1,
    /// Do not invalidate. The MMU is not used, and may be null.
    None = 2,
}

impl Flush {
    /// Returns the flush of a number.
    pub(crate) fn of(number: u32) -> Result<YoungFlush, Error> {
        // `ALL` is in the order of the numbers above.
        YoungFlush::ALL.get(number as usize).copied().ok_or(Error::Flush)
    }
}

/// The level of the entries that an invalidation is for.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The last level: an entry maps a page.
    Pte = 0,
    /// The level above: an entry maps the range of a whole table of the last level.
    Pmd = 1,
}

/// The properties that entries of a batch must agree on in addition to frames and attributes, and
/// those that are merged into the first: one bit each, or-ed. Young never matters.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batch {
    /// Entries must agree on dirty.
    RespectDirty = 1,
    /// Entries must agree on soft-dirty.
    RespectSoftDirty = 2,
    /// Entries must agree on writable.
    RespectWrite = 4,
    /// The first is returned writable if any is.
    MergeWrite = 8,
    /// The first is returned young, or dirty, if any is.
    MergeYoungDirty = 16,
}

/// A page table whose lock the caller holds: the token that every function requires.
///
/// Make one after taking the table's lock (the kernel's PTL), and do not use it after the lock is
/// released. Hardware may set bits in the entries at any time. Other code may write to them only
/// under the lock, and by single untorn accesses of 64 bits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LockedTable {
    /// The table's first entry, aligned to a page.
    pub entries: *mut u64,
    /// The format: one of `enum pageout_format`.
    pub format: u32,
}

/// TLB maintenance: the functions that a flush calls, on the CPU and in the context of its caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Mmu {
    /// The context, passed to every function.
    pub context: *mut c_void,
    /// Issues the invalidation, on every CPU, of `nr` leaf entries of `level` (one of `enum
    /// pageout_level`) from the one that maps `start` on. Walk caches may be kept. The invalidation
    /// need not take effect before `complete`.
    pub invalidate_range: Option<
        unsafe extern "C" fn(context: *mut c_void, asid: u32, start: u64, nr: usize, level: u32),
    >,
    /// Issues the invalidation, on every CPU, of every translation of the address space.
    pub invalidate_address_space: Option<unsafe extern "C" fn(context: *mut c_void, asid: u32)>,
    /// Makes walks after it see entries written before it (arm64: DSB ISHST; x86: nothing).
    pub publish: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Waits until invalidations that this CPU issued before have taken effect everywhere (arm64:
    /// DSB ISH).
    pub complete: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// The number of entries from which on a flush is one of the whole address space. Linux 7.3:
    /// 512 on arm64 with 4 KiB pages and without range TLBI, 34 on x86, 65 on riscv.
    pub range_limit: usize,
}

/// A young check in one address space: its family, and its flush after a young bit was found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct YoungCheck {
    /// TLB maintenance; may be null if `flush` is `PAGEOUT_FLUSH_NONE`.
    pub mmu: *const Mmu,
    /// The family: one of `enum pageout_family`.
    pub family: u32,
    /// The flush: one of `enum pageout_flush`.
    pub flush: u32,
    /// The address space, as it is passed to `mmu`.
    pub asid: u32,
}

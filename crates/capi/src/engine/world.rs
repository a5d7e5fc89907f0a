//! The world of an engine as C gives it: one structure of callbacks.

use core::ffi::{c_char, c_void};

use super::types::Io;

/// The version of [`World`] that this header describes.
pub const WORLD_VERSION: u32 = 1;

/// The operating system and the machine under an engine, as callbacks. Each gets `context`. All
/// must be given but those at the end, which are null where the default is right. None calls the
/// engine; the contract (docs/contract.md) says which locks are held at each.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// The size of this structure.
    pub size: u32,
    /// The version: `PAGEOUT_WORLD_VERSION`.
    pub version: u32,
    /// The context, passed to every callback.
    pub context: *mut c_void,
    /// Returns the first of 2^`order` free frames, aligned to their size, or `PAGEOUT_NO_FRAME`.
    pub alloc: Option<unsafe extern "C" fn(context: *mut c_void, order: u32) -> u64>,
    /// Frees a run that `alloc` returned or that was given with a folio, or a page of it.
    pub free: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64, order: u32)>,
    /// Returns a frame that holds an empty page table, or `PAGEOUT_NO_FRAME`.
    pub alloc_table: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Frees a page table that is empty again.
    pub free_table: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64)>,
    /// Fills frames with zeros.
    pub zero: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64, nr: usize)>,
    /// Copies frames.
    pub copy: Option<unsafe extern "C" fn(context: *mut c_void, from: u64, to: u64, nr: usize)>,
    /// Returns the number of free frames.
    pub free_pages: Option<unsafe extern "C" fn(context: *mut c_void) -> usize>,
    /// Returns the number of free frames on a node. Null if memory has one node.
    pub free_pages_on: Option<unsafe extern "C" fn(context: *mut c_void, node: u32) -> usize>,
    /// Starts to fill frames from storage, all of them, with zeros past the end of a file. Returns
    /// one of `enum pageout_transfer`.
    pub read: Option<unsafe extern "C" fn(context: *mut c_void, io: *const Io) -> u32>,
    /// Starts to write frames to storage. Returns one of `enum pageout_transfer`.
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, io: *const Io) -> u32>,
    /// Returns the entries of the page table in a frame, aligned to a page.
    pub table: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64) -> *mut u64>,
    /// Takes the lock of the page table in a frame if it is free. Returns 1 if so, otherwise 0.
    pub try_lock_table: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64) -> i32>,
    /// Releases the lock of a page table.
    pub unlock_table: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64)>,
    /// Waits between two tries for a lock, or pauses in a long call: spins, or lets others run.
    pub relax: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Returns the milliseconds since a start of your choosing.
    pub now_ms: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Issues the invalidation, on every CPU, of `nr` leaf entries of `level` (one of `enum
    /// pageout_level`) from the one that maps `start` on. Walk caches may be kept.
    pub invalidate_range: Option<
        unsafe extern "C" fn(context: *mut c_void, asid: u32, start: u64, nr: usize, level: u32),
    >,
    /// Issues the invalidation, on every CPU, of all of an address space, walk caches too.
    pub invalidate_address_space: Option<unsafe extern "C" fn(context: *mut c_void, asid: u32)>,
    /// Issues the invalidation, on every CPU, of all that is not global.
    pub invalidate_everything: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Makes walks after it see entries written before it (arm64: DSB ISHST; x86: nothing).
    pub publish: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Waits until invalidations that this CPU issued have taken effect everywhere (arm64: DSB
    /// ISH).
    pub complete: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// The number of entries from which on a flush is one of the whole address space: 512 on arm64
    /// without range TLBI, 34 on x86.
    pub range_limit: usize,
    /// The abilities of hardware: bits of `enum pageout_hardware`.
    pub hardware: u32,
    /// The number of CPUs.
    pub cpus: u32,
    /// Null, or does `invalidate_range` in this CPU's TLB alone, between its own barriers. Default:
    /// on every CPU.
    pub invalidate_local: Option<
        unsafe extern "C" fn(context: *mut c_void, asid: u32, start: u64, nr: usize, level: u32),
    >,
    /// Null, or returns 1 if another CPU may hold translations of the address space, otherwise 0.
    /// Default: 1.
    pub remote: Option<unsafe extern "C" fn(context: *mut c_void, asid: u32) -> i32>,
    /// Null, or notes that entries were cleared whose flush comes later. Default: nothing.
    pub defer: Option<unsafe extern "C" fn(context: *mut c_void, asid: u32)>,
    /// Null, or returns 1 if another task waits for this CPU, otherwise 0. Default: 0.
    pub need_resched: Option<unsafe extern "C" fn(context: *mut c_void) -> i32>,
    /// Null, or takes the lock of the page table in a frame, waiting for it. Default:
    /// `try_lock_table`, and `relax` between tries.
    pub lock_table: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64)>,
    /// Null, like the one after it, if tasks do not sleep. Otherwise waits for a lock that may be
    /// held long, until `*word` is no longer `seen`, or returns earlier, as futexes do. Read the
    /// word atomically, under the lock of the queue to sleep in. Default: `relax`.
    pub sleep: Option<unsafe extern "C" fn(context: *mut c_void, word: *const u32, seen: u32)>,
    /// Wakes all tasks that sleep until `*word` changes, which it has.
    pub wake: Option<unsafe extern "C" fn(context: *mut c_void, word: *const u32)>,
    /// Null, or returns 1 if the calling task is to end long calls, otherwise 0. Default: 0.
    pub signal_pending: Option<unsafe extern "C" fn(context: *mut c_void) -> i32>,
    /// Null, or takes note of damage that only broken callbacks cause, as a text of `len` bytes.
    /// Default: `pageout_panic`.
    pub corrupted:
        Option<unsafe extern "C" fn(context: *mut c_void, text: *const c_char, len: usize)>,
    /// Null, like the three after it, if memory is not compacted. Otherwise returns the order of
    /// the free block that begins at a frame, or -1.
    pub block_at: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64) -> i32>,
    /// Takes the first 2^`order` frames of the free block at a frame. Returns 1, or 0 if there is
    /// none so large.
    pub alloc_at: Option<unsafe extern "C" fn(context: *mut c_void, pfn: u64, order: u32) -> i32>,
    /// Returns 1 if `alloc` would find a run of `order` now, otherwise 0.
    pub has_block: Option<unsafe extern "C" fn(context: *mut c_void, order: u32) -> i32>,
    /// Returns the number of pages that should stay free while a large run is put together.
    pub low_watermark: Option<unsafe extern "C" fn(context: *mut c_void) -> usize>,
}

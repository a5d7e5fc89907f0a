//! The world of an engine in Rust, over the callbacks of C.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::fmt::{self, Write as _};
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64};

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::table::HostTable;
use pageout_paging::{Env, Format, Level, Mmu, Notifier, Order, Pfn, Sound};
use pageout_reclaim as reclaim;
use pageout_reclaim::{Backing, Frames, FreeBlocks, IoError, NodeId, Place};

use super::types::{self, Hardware, Io, NO_FRAME, Transfer};
use super::world::{self, WORLD_VERSION};
use crate::error::Error;
use crate::types::Level as CLevel;

type Context = *mut c_void;
type Range4 = unsafe extern "C" fn(Context, u32, u64, usize, u32);

/// The callbacks of free blocks, which compaction needs.
#[derive(Clone, Copy)]
struct Blocks {
    block_at: unsafe extern "C" fn(Context, u64) -> i32,
    alloc_at: unsafe extern "C" fn(Context, u64, u32) -> i32,
    has_block: unsafe extern "C" fn(Context, u32) -> i32,
    low_watermark: unsafe extern "C" fn(Context) -> usize,
}

/// The callbacks of tasks that sleep.
#[derive(Clone, Copy)]
struct Beds {
    sleep: unsafe extern "C" fn(Context, *const u32, u32),
    wake: unsafe extern "C" fn(Context, *const u32),
}

/// The callbacks of a world. Invariant: they do what [`world::World`] says.
pub(crate) struct Calls {
    context: Context,
    alloc: unsafe extern "C" fn(Context, u32) -> u64,
    free: unsafe extern "C" fn(Context, u64, u32),
    alloc_table: unsafe extern "C" fn(Context) -> u64,
    free_table: unsafe extern "C" fn(Context, u64),
    zero: unsafe extern "C" fn(Context, u64, usize),
    copy: unsafe extern "C" fn(Context, u64, u64, usize),
    free_pages: unsafe extern "C" fn(Context) -> usize,
    free_pages_on: Option<unsafe extern "C" fn(Context, u32) -> usize>,
    read: unsafe extern "C" fn(Context, *const Io) -> u32,
    write: unsafe extern "C" fn(Context, *const Io) -> u32,
    table: unsafe extern "C" fn(Context, u64) -> *mut u64,
    try_lock_table: unsafe extern "C" fn(Context, u64) -> i32,
    unlock_table: unsafe extern "C" fn(Context, u64),
    relax: unsafe extern "C" fn(Context),
    now_ms: unsafe extern "C" fn(Context) -> u64,
    invalidate_range: Range4,
    invalidate_address_space: unsafe extern "C" fn(Context, u32),
    invalidate_everything: unsafe extern "C" fn(Context),
    publish: unsafe extern "C" fn(Context),
    complete: unsafe extern "C" fn(Context),
    caps: Caps,
    invalidate_local: Option<Range4>,
    remote: Option<unsafe extern "C" fn(Context, u32) -> i32>,
    defer: Option<unsafe extern "C" fn(Context, u32)>,
    need_resched: Option<unsafe extern "C" fn(Context) -> i32>,
    lock_table: Option<unsafe extern "C" fn(Context, u64)>,
    beds: Option<Beds>,
    signal_pending: Option<unsafe extern "C" fn(Context) -> i32>,
    corrupted: Option<unsafe extern "C" fn(Context, *const core::ffi::c_char, usize)>,
    blocks: Option<Blocks>,
}

/// Returns the abilities that a world names.
fn caps(of: &world::World) -> Result<Caps, Error> {
    let has = |bit: Hardware| of.hardware & bit as u32 != 0;
    if of.hardware >= 2 * Hardware::Bbml2NoAbort as u32 {
        return Err(Error::Number);
    }
    Ok(Caps {
        hardware_af: has(Hardware::AccessedFlag),
        hardware_dirty: has(Hardware::DirtyBit),
        nonleaf_af: has(Hardware::TableAccessedFlag),
        range_limit: of.range_limit,
        shootdown: match has(Hardware::Interrupts) {
            true => Shootdown::Ipi,
            false => Shootdown::Broadcast,
        },
        bbml2_noabort: has(Hardware::Bbml2NoAbort),
        cpus: u16::try_from(of.cpus).ok().filter(|cpus| *cpus > 0).ok_or(Error::Number)?,
    })
}

impl Blocks {
    /// Takes the four callbacks: all of them, or none.
    fn of(of: &world::World) -> Result<Option<Self>, Error> {
        match (of.block_at, of.alloc_at, of.has_block, of.low_watermark) {
            (None, None, None, None) => Ok(None),
            (Some(block_at), Some(alloc_at), Some(has_block), Some(low_watermark)) => {
                Ok(Some(Self { block_at, alloc_at, has_block, low_watermark }))
            }
            _ => Err(Error::Callback),
        }
    }
}

impl Beds {
    /// Takes the two callbacks: both of them, or none.
    fn of(of: &world::World) -> Result<Option<Self>, Error> {
        match (of.sleep, of.wake) {
            (None, None) => Ok(None),
            (Some(sleep), Some(wake)) => Ok(Some(Self { sleep, wake })),
            _ => Err(Error::Callback),
        }
    }
}

impl Calls {
    /// Returns true if free frames are counted by node.
    pub(super) fn count_by_node(&self) -> bool {
        self.free_pages_on.is_some()
    }

    /// Takes the callbacks of `of`.
    ///
    /// # Safety
    /// As long as the result is used, they do what [`world::World`] says.
    pub(super) unsafe fn new(of: &world::World) -> Result<Self, Error> {
        let missing = Error::Callback;
        if of.version != WORLD_VERSION {
            return Err(Error::Version);
        }
        Ok(Self {
            context: of.context,
            alloc: of.alloc.ok_or(missing)?,
            free: of.free.ok_or(missing)?,
            alloc_table: of.alloc_table.ok_or(missing)?,
            free_table: of.free_table.ok_or(missing)?,
            zero: of.zero.ok_or(missing)?,
            copy: of.copy.ok_or(missing)?,
            free_pages: of.free_pages.ok_or(missing)?,
            free_pages_on: of.free_pages_on,
            read: of.read.ok_or(missing)?,
            write: of.write.ok_or(missing)?,
            table: of.table.ok_or(missing)?,
            try_lock_table: of.try_lock_table.ok_or(missing)?,
            unlock_table: of.unlock_table.ok_or(missing)?,
            relax: of.relax.ok_or(missing)?,
            now_ms: of.now_ms.ok_or(missing)?,
            invalidate_range: of.invalidate_range.ok_or(missing)?,
            invalidate_address_space: of.invalidate_address_space.ok_or(missing)?,
            invalidate_everything: of.invalidate_everything.ok_or(missing)?,
            publish: of.publish.ok_or(missing)?,
            complete: of.complete.ok_or(missing)?,
            caps: caps(of)?,
            invalidate_local: of.invalidate_local,
            remote: of.remote,
            defer: of.defer,
            need_resched: of.need_resched,
            lock_table: of.lock_table,
            beds: Beds::of(of)?,
            signal_pending: of.signal_pending,
            corrupted: of.corrupted,
            blocks: Blocks::of(of)?,
        })
    }

    fn range(&self, call: Range4, asid: Asid, start: u64, nr: usize, level: Level) {
        let level = if level == Level::Pte { CLevel::Pte } else { CLevel::Pmd };
        // SAFETY: the type's invariant.
        unsafe { call(self.context, asid.0, start, nr, level as u32) }
    }
}

impl Mmu for Calls {
    fn caps(&self) -> Caps {
        self.caps
    }

    fn invalidate(&self, what: Invalidate) {
        match what {
            Invalidate::Range { asid, start, nr, level } => {
                self.range(self.invalidate_range, asid, start.get(), nr, level);
            }
            Invalidate::AddressSpace(asid) => {
                // SAFETY: the type's invariant.
                unsafe { (self.invalidate_address_space)(self.context, asid.0) }
            }
            Invalidate::Everything => {
                // SAFETY: the type's invariant.
                unsafe { (self.invalidate_everything)(self.context) }
            }
        }
    }

    fn barrier(&self, barrier: Barrier) {
        let call = match barrier {
            Barrier::Publish => self.publish,
            Barrier::Complete => self.complete,
        };
        // SAFETY: the type's invariant.
        unsafe { call(self.context) }
    }

    fn invalidate_local(&self, what: Invalidate) {
        match (self.invalidate_local, what) {
            (Some(call), Invalidate::Range { asid, start, nr, level }) => {
                self.range(call, asid, start.get(), nr, level);
            }
            _ => {
                self.barrier(Barrier::Publish);
                self.invalidate(what);
                self.barrier(Barrier::Complete);
            }
        }
    }

    fn remote(&self, asid: Asid) -> bool {
        // SAFETY: the type's invariant.
        self.remote.is_none_or(|call| unsafe { call(self.context, asid.0) } != 0)
    }

    fn defer(&self, asid: Asid) {
        if let Some(call) = self.defer {
            // SAFETY: the type's invariant.
            unsafe { call(self.context, asid.0) }
        }
    }
}

/// The world of one format.
pub(crate) struct World<F> {
    calls: Calls,
    /// The frames that may hold folios.
    frames: Range<Pfn>,
    /// The number of entries in the table of folios.
    format: PhantomData<F>,
}

/// The lock of a page table, held.
pub(crate) struct TableGuard<'w> {
    calls: &'w Calls,
    pfn: Pfn,
}

impl Drop for TableGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: the invariant of the callbacks, and the lock is held.
        unsafe { (self.calls.unlock_table)(self.calls.context, self.pfn.get()) }
    }
}

impl<F: Format> World<F> {
    /// Makes the world of callbacks, whose folios are in `frames`.
    pub(super) fn new(calls: Calls, frames: Range<Pfn>) -> Self {
        Self { calls, frames, format: PhantomData }
    }

    /// Returns the table in a frame, or `None` if the callback's answer is null or not aligned.
    pub(super) fn try_table(&self, frame: Pfn) -> Option<HostTable<'static, F>> {
        // SAFETY: the invariant of the callbacks.
        let entries = unsafe { (self.calls.table)(self.calls.context, frame.get()) };
        if entries.is_null() || !entries.addr().is_multiple_of(F::PAGE_SIZE as usize) {
            return None;
        }
        // SAFETY: not null and aligned, so the callback vouches for the PTES entries of a table,
        // which lives until it is given back. All who write to it do so by single accesses.
        let entries = unsafe { core::slice::from_raw_parts(entries.cast::<AtomicU64>(), F::PTES) };
        HostTable::new(entries)
    }
}

impl<F: Format> Env for World<F> {
    type Format = F;
    type Table = HostTable<'static, F>;
    type Mmu = Calls;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = TableGuard<'a>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.try_table(frame).expect("the callback `table` returned no table")
    }

    fn mmu(&self) -> &Calls {
        &self.calls
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<TableGuard<'_>> {
        let calls = &self.calls;
        // SAFETY: the invariant of the callbacks.
        let locked = unsafe { (calls.try_lock_table)(calls.context, frame.get()) } != 0;
        // Only a lock that was taken has a guard, since the guard's end releases it.
        locked.then(|| TableGuard { calls, pfn: frame })
    }

    fn lock_table(&self, frame: Pfn) -> TableGuard<'_> {
        let calls = &self.calls;
        if let Some(lock) = calls.lock_table {
            // SAFETY: the invariant of the callbacks.
            unsafe { lock(calls.context, frame.get()) }
            return TableGuard { calls, pfn: frame };
        }
        loop {
            if let Some(guard) = self.try_lock_table(frame) {
                return guard;
            }
            self.relax();
        }
    }

    fn sleep(&self, word: &AtomicU32, seen: u32) {
        match &self.calls.beds {
            // SAFETY: the invariant of the callbacks; the word lives for the call.
            Some(beds) => unsafe { (beds.sleep)(self.calls.context, word.as_ptr(), seen) },
            None => self.relax(),
        }
    }

    fn wake(&self, word: &AtomicU32) {
        if let Some(beds) = &self.calls.beds {
            // SAFETY: the invariant of the callbacks; the word lives for the call.
            unsafe { (beds.wake)(self.calls.context, word.as_ptr()) }
        }
    }

    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn relax(&self) {
        // SAFETY: the invariant of the callbacks.
        unsafe { (self.calls.relax)(self.calls.context) }
    }

    fn need_resched(&self) -> bool {
        let calls = &self.calls;
        // SAFETY: the invariant of the callbacks.
        calls.need_resched.is_some_and(|call| unsafe { call(calls.context) } != 0)
    }

    fn corrupted(&self, damage: &dyn core::error::Error) {
        let Some(call) = self.calls.corrupted else { panic!("{damage}") };
        let mut text = Text::default();
        // A text that is too long is cut, which is no reason to say nothing.
        let _ = write!(text, "{damage}");
        // SAFETY: the invariant of the callbacks; the text lives for the call.
        unsafe { call(self.calls.context, text.bytes.as_ptr().cast(), text.len) }
    }

    fn observer(&self) -> &() {
        &()
    }
}

/// A text of up to 160 bytes.
struct Text {
    bytes: [u8; 160],
    len: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; 160], len: 0 }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let nr = part.len().min(room.len());
        room[..nr].copy_from_slice(&part.as_bytes()[..nr]);
        self.len += nr;
        if nr == part.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Returns the frame of a callback's answer.
fn frame(number: u64) -> Option<Pfn> {
    (number != NO_FRAME).then_some(Pfn::new(number))
}

impl<F: Format> Frames for World<F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        // SAFETY: the invariant of the callbacks, here and in the other functions.
        frame(unsafe { (self.calls.alloc)(self.calls.context, order.get().into()) })
    }

    fn free(&self, pfn: Pfn, order: Order) {
        // SAFETY: as above.
        unsafe { (self.calls.free)(self.calls.context, pfn.get(), order.get().into()) }
    }

    fn alloc_table(&self) -> Option<Pfn> {
        // SAFETY: as above.
        frame(unsafe { (self.calls.alloc_table)(self.calls.context) })
    }

    fn free_table(&self, frame: Pfn) {
        // SAFETY: as above.
        unsafe { (self.calls.free_table)(self.calls.context, frame.get()) }
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        // SAFETY: as above.
        unsafe { (self.calls.zero)(self.calls.context, pfn.get(), nr) }
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        // SAFETY: as above.
        unsafe { (self.calls.copy)(self.calls.context, from.get(), to.get(), nr) }
    }

    fn free_pages(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.calls.free_pages)(self.calls.context) }
    }

    fn free_pages_on(&self, node: NodeId) -> usize {
        match self.calls.free_pages_on {
            // SAFETY: as above.
            Some(call) => unsafe { call(self.calls.context, node.0.into()) },
            None => self.free_pages(),
        }
    }

    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        self.calls.blocks.map(|_| self as &dyn FreeBlocks)
    }
}

impl<F: Format> World<F> {
    fn of_blocks<T>(&self, call: impl FnOnce(Blocks, Context) -> T, without: T) -> T {
        self.calls.blocks.map_or(without, |blocks| call(blocks, self.calls.context))
    }
}

impl<F: Format> FreeBlocks for World<F> {
    fn frames(&self) -> Range<Pfn> {
        self.frames.clone()
    }

    fn block_at(&self, pfn: Pfn) -> Option<Order> {
        // SAFETY: the invariant of the callbacks.
        let order = self.of_blocks(|of, context| unsafe { (of.block_at)(context, pfn.get()) }, -1);
        Order::new(u8::try_from(order).ok()?)
    }

    fn alloc_at(&self, pfn: Pfn, order: Order) -> bool {
        let order = order.get().into();
        // SAFETY: the invariant of the callbacks.
        self.of_blocks(|of, at| unsafe { (of.alloc_at)(at, pfn.get(), order) }, 0) != 0
    }

    fn has_block(&self, order: Order) -> bool {
        // SAFETY: the invariant of the callbacks.
        self.of_blocks(|of, at| unsafe { (of.has_block)(at, order.get().into()) }, 0) != 0
    }

    fn low_watermark(&self) -> usize {
        // SAFETY: the invariant of the callbacks.
        self.of_blocks(|of, at| unsafe { (of.low_watermark)(at) }, 0)
    }
}

/// Returns the transfer as C sees it.
fn io(of: reclaim::Io) -> Io {
    let (place, mapping, at) = match of.place {
        Place::File(mapping, index) => (types::Place::File, mapping.to_bits(), index),
        Place::Swap(slot) => (types::Place::Swap, 0, slot.0.into()),
    };
    let (pfn, nr) = (of.pfn.get(), of.nr as u64);
    Io { folio: of.folio.to_bits(), place: place as u32, mapping, at, pfn, nr }
}

/// Returns the result of a number of [`Transfer`].
fn submitted(number: u32) -> reclaim::Submitted {
    if number == Transfer::Pending as u32 {
        return reclaim::Submitted::Pending;
    }
    match Transfer::ended(number) {
        Ok(Ok(())) => reclaim::Submitted::Done,
        Ok(Err(error)) => reclaim::Submitted::Failed(error),
        Err(_) => reclaim::Submitted::Failed(IoError::Device),
    }
}

impl<F: Format> Backing for World<F> {
    fn read(&self, of: reclaim::Io) -> reclaim::Submitted {
        // SAFETY: the invariant of the callbacks; the structure lives for the call.
        submitted(unsafe { (self.calls.read)(self.calls.context, &io(of)) })
    }

    fn write(&self, of: reclaim::Io) -> reclaim::Submitted {
        // SAFETY: as above.
        submitted(unsafe { (self.calls.write)(self.calls.context, &io(of)) })
    }
}

impl<F: Format> reclaim::World for World<F> {
    fn signal_pending(&self) -> bool {
        let calls = &self.calls;
        // SAFETY: the invariant of the callbacks.
        calls.signal_pending.is_some_and(|call| unsafe { call(calls.context) } != 0)
    }

    fn now_ms(&self) -> u64 {
        // SAFETY: the invariant of the callbacks.
        unsafe { (self.calls.now_ms)(self.calls.context) }
    }
}

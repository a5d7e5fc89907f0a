//! The handles of C: an engine, and the context of a CPU that calls it.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Release};

use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::{Pfn, VirtAddr, VirtRange};
use pageout_reclaim::{CpuCtx, MappingId, MmId, MmState, Tuning};

use super::calls::World;
use crate::error::Error;

/// The mark of a live engine, and of a live CPU's context.
const ENGINE: u64 = u64::from_le_bytes(*b"pageout1");
const CPU: u64 = u64::from_le_bytes(*b"pageout2");

/// The world, of one of the formats.
pub(super) enum AnyWorld {
    Arm64_4K(World<Arm64_4K>),
    X86_64(World<X86_64>),
}

/// An engine: its tables, and the world it runs on.
pub struct Engine {
    mark: AtomicU64,
    pub(super) state: MmState<'static>,
    pub(super) world: AnyWorld,
    pub(super) tuning: Tuning,
}

// Several CPUs call one engine.
const _: () = {
    const fn shared<T: Sync>() {}
    shared::<MmState<'static>>();
};

/// The context of a CPU that calls an engine.
pub struct Cpu {
    mark: AtomicU64,
    /// True while a call uses the context.
    busy: AtomicBool,
    engine: *const Engine,
    context: UnsafeCell<CpuCtx>,
}

impl Engine {
    /// Makes an engine.
    pub(super) fn new(state: MmState<'static>, world: AnyWorld, tuning: Tuning) -> Self {
        Self { mark: AtomicU64::new(ENGINE), state, world, tuning }
    }

    /// Ends the engine: no call finds it any more.
    pub(super) fn end(&self) {
        self.mark.store(0, Release);
    }
}

impl Cpu {
    /// Makes the context of a CPU.
    pub(super) fn new(engine: *const Engine) -> Self {
        let (mark, busy) = (AtomicU64::new(CPU), AtomicBool::new(false));
        Self { mark, busy, engine, context: UnsafeCell::new(CpuCtx::new()) }
    }
}

/// Returns the engine of a handle.
///
/// # Safety
/// The promise.
pub(super) unsafe fn engine<'e>(handle: *const Engine) -> Result<&'e Engine, Error> {
    // SAFETY: `live` asks for the mark of a handle that is not null and aligned.
    unsafe { live(handle, |handle| &raw const (*handle).mark, ENGINE) }
}

/// Returns what a handle points to, if that has its mark. Only the mark is read before.
///
/// # Safety
/// The promise.
unsafe fn live<'h, T>(
    handle: *const T,
    mark_of: impl FnOnce(*const T) -> *const AtomicU64,
    mark: u64,
) -> Result<&'h T, Error> {
    if handle.is_null() {
        return Err(Error::Null);
    }
    if !handle.is_aligned() {
        return Err(Error::Handle);
    }
    // SAFETY: not null and aligned, so the caller vouches for the bytes.
    let found = unsafe { (*mark_of(handle)).load(Acquire) };
    // SAFETY: it was made here and has not ended, as the mark says.
    (found == mark).then(|| unsafe { &*handle }).ok_or(Error::Handle)
}

/// A CPU's context, held for a call.
pub(super) struct Held<'h> {
    cpu: &'h Cpu,
    engine: &'h Engine,
}

impl<'h> Held<'h> {
    /// Takes the context of a handle.
    ///
    /// # Safety
    /// The promise.
    pub(super) unsafe fn take(handle: *const Cpu) -> Result<Self, Error> {
        // SAFETY: `live` asks for the mark of a handle that is not null and aligned.
        let cpu = unsafe { live(handle, |handle| &raw const (*handle).mark, CPU) }?;
        // SAFETY: a live context's engine was live when it was made, and its bytes still are.
        let engine = unsafe { engine(cpu.engine) }?;
        if cpu.busy.swap(true, Acquire) {
            return Err(Error::InUse);
        }
        Ok(Self { cpu, engine })
    }

    /// Returns the engine, and the context.
    pub(super) fn split(&mut self) -> (&'h Engine, &mut CpuCtx) {
        // SAFETY: `busy` was false before, so no other call has the context until this is dropped.
        (self.engine, unsafe { &mut *self.cpu.context.get() })
    }

    /// Ends the context: no call finds it any more.
    pub(super) fn end(self) {
        self.cpu.mark.store(0, Release);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.cpu.busy.store(false, Release);
    }
}

/// Evaluates `$body`, with `?` for errors, on the engine of a CPU's context. `$engine` is its
/// handle in Rust, `$world` its world.
macro_rules! on_engine {
    ($cpu:expr, |$engine:ident, $world:ident| $body:expr) => {{
        // SAFETY: the promise of the function that this stands in.
        let held = unsafe { $crate::engine::handle::Held::take($cpu) };
        $crate::error::number(held.and_then(|mut held| {
            let (of, context) = held.split();
            match &of.world {
                $crate::engine::handle::AnyWorld::Arm64_4K($world) => {
                    let $engine = &mut of.state.on($world, context, of.tuning);
                    $body
                }
                $crate::engine::handle::AnyWorld::X86_64($world) => {
                    let $engine = &mut of.state.on($world, context, of.tuning);
                    $body
                }
            }
        }))
    }};
}
pub(super) use on_engine;

/// Returns a structure that is read.
///
/// # Safety
/// The promise: null, or live and aligned.
pub(super) unsafe fn given<'a, T>(pointer: *const T) -> Result<&'a T, Error> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Error::Null)
}

/// Returns a structure that begins with its size. Only the size is read before: a structure of
/// another version may be smaller.
///
/// # Safety
/// The promise: null, or live and aligned, as many bytes as it says.
pub(super) unsafe fn given_sized<'a, T>(pointer: *const T) -> Result<&'a T, Error> {
    if pointer.is_null() {
        return Err(Error::Null);
    }
    // SAFETY: not null, so the caller vouches for the size at its start.
    let size = unsafe { pointer.cast::<u32>().read() };
    // SAFETY: it is as large as this type, as the caller vouches.
    (size as usize == size_of::<T>()).then(|| unsafe { &*pointer }).ok_or(Error::Version)
}

/// Returns the place of a result.
///
/// # Safety
/// The promise: null, or live and aligned, and nobody else's for the call.
pub(super) unsafe fn place<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>, Error> {
    // SAFETY: the caller's promise. What is there need not be a value yet.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or(Error::Null)
}

/// Returns a run of bytes.
///
/// # Safety
/// The promise: null, or `len` bytes that live and are nobody else's for 'b.
pub(super) unsafe fn bytes<'b>(
    pointer: *mut u8,
    len: usize,
) -> Result<&'b mut [MaybeUninit<u8>], Error> {
    if pointer.is_null() {
        return Err(Error::Null);
    }
    if isize::try_from(len).is_err() {
        return Err(Error::Bytes);
    }
    // SAFETY: not null, so the caller vouches for `len` bytes, which may have any content.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer.cast(), len) })
}

/// Returns a text.
///
/// # Safety
/// The promise: null, or `len` bytes that live for 't.
pub(super) unsafe fn text<'t>(
    pointer: *const core::ffi::c_char,
    len: usize,
) -> Result<&'t str, Error> {
    if pointer.is_null() {
        return Err(Error::Null);
    }
    if isize::try_from(len).is_err() {
        return Err(Error::Text);
    }
    // SAFETY: not null, so the caller vouches for `len` bytes.
    let bytes = unsafe { core::slice::from_raw_parts(pointer.cast::<u8>(), len) };
    core::str::from_utf8(bytes).map_err(|_| Error::Text)
}

/// Puts a value at the start of a run of bytes, aligned, and returns it with the bytes after it.
/// Returns `None` if there is too little room.
pub(super) fn put<T>(
    bytes: &'static mut [MaybeUninit<u8>],
    value: impl FnOnce(&'static mut [MaybeUninit<u8>]) -> Result<T, Error>,
) -> Result<*mut T, Error> {
    let skipped = bytes.as_ptr().align_offset(align_of::<T>());
    let end = skipped.checked_add(size_of::<T>()).filter(|end| *end <= bytes.len());
    let (head, rest) = bytes.split_at_mut(end.ok_or(Error::Bytes)?);
    let value = value(rest)?;
    let at = head[skipped..].as_mut_ptr().cast::<T>();
    // SAFETY: the place is aligned, has room, and is nobody else's.
    unsafe { at.write(value) };
    Ok(at)
}

/// The end of the addresses that four levels of tables map.
const END: u64 = 1 << 48;

/// Returns a range of addresses that tables can map. The engine checks the alignment.
pub(super) fn range(start: u64, end: u64) -> Result<VirtRange, Error> {
    let good = start < end && end <= END;
    good.then_some(VirtAddr::new(start)..VirtAddr::new(end)).ok_or(Error::Addresses)
}

/// The number of pages of 4 KiB in 2^64 bytes.
const PAGES: u64 = 1 << 52;

/// Returns a run of pages of a mapping, if it ends where 64 bits of bytes do.
pub(super) fn pages(first: u64, nr: u64) -> Result<Range<u64>, Error> {
    let end = first.checked_add(nr).filter(|end| *end <= PAGES);
    end.map(|end| first..end).ok_or(Error::Pages)
}

/// Returns the id of an address space. The engine checks if it has ended.
pub(super) fn mm_id(number: u64) -> Result<MmId, Error> {
    MmId::from_bits(number).ok_or(Error::AddressSpace)
}

/// Returns the id of a mapping. The engine checks if it has ended.
pub(super) fn mapping_id(number: u64) -> Result<MappingId, Error> {
    MappingId::from_bits(number).ok_or(Error::Mapping)
}

/// Returns a range of frames, if it does not go past the last number.
pub(super) fn frames(first: u64, nr: u64) -> Result<Range<Pfn>, Error> {
    let end = first.checked_add(nr).filter(|end| *end < u64::MAX >> 12);
    end.map(|end| Pfn::new(first)..Pfn::new(end)).ok_or(Error::Limits)
}

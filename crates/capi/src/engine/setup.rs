//! The making and ending of engines and of CPUs' contexts.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

use pageout_paging::Pfn;
use pageout_paging::tlb::FlushPolicy;
use pageout_reclaim as reclaim;
use pageout_reclaim::{Chunk, MAX_NUMNODES, Memory, MmState, PmdLeaves, Thp, Tuning};

use super::calls::{Calls, World};
use super::handle::{
    self, AnyWorld, Cpu, Engine, Held, bytes, frames, given, given_sized, on_engine, place, put,
};
use super::types::{Growth, Limits, Setup, switch};
use super::world;
use crate::error::{Error, number};
use crate::types::Format;

// Sizes are computed in 64 bits, as page tables are.
const _: () = assert!(size_of::<usize>() == size_of::<u64>());

/// The largest limit of each table; `MmState::new` has the exact ones.
const MOST: u64 = u32::MAX as u64 - 1;

/// Returns the limits in Rust, if entries of all tables can be numbered.
fn limits(of: &Limits) -> Result<reclaim::Limits, Error> {
    let most = |limit: u64, most: u64| {
        if limit <= most { Ok(limit as usize) } else { Err(Error::Limits) }
    };
    Ok(reclaim::Limits {
        frames: most(of.frames, MOST)?,
        folios: most(of.folios, MOST / 2)?,
        vmas: most(of.vmas, MOST)?,
        mms: most(of.mms, MOST)?,
        mappings: most(of.mappings, MOST)?,
        memcgs: most(of.memcgs, u64::from(u16::MAX) - 2)?,
        nodes: most(of.nodes, MAX_NUMNODES as u64)?.max(1),
        shadows: most(of.shadows, MOST)?,
        slots: most(of.slots, MOST / 2)?,
        filters: most(of.filters, MOST)?,
    })
}

/// Returns the number of bytes for `T`, whatever the alignment of the first.
const fn room_for<T>() -> usize {
    size_of::<T>() + align_of::<T>() - 1
}

/// Returns the decisions of a set-up, with the architecture's flush.
fn tuning(setup: &Setup, flush: FlushPolicy) -> Result<Tuning, Error> {
    let thp = if switch(setup.thp)? { Thp::Always } else { Thp::Never };
    let leaves = switch(setup.pmd_leaves)?;
    let pmd_leaves = if leaves { PmdLeaves::WhereTheyFit } else { PmdLeaves::Never };
    Ok(Tuning { thp, pmd_leaves, ..Tuning::recommended(flush) })
}

fn make(
    setup: &Setup,
    calls: Calls,
    bytes: &'static mut [MaybeUninit<u8>],
) -> Result<*mut Engine, Error> {
    let limits = limits(&setup.limits)?;
    if limits.nodes > 1 && !calls.count_by_node() {
        return Err(Error::Callback);
    }
    let frames = frames(setup.first_frame, setup.limits.frames)?;
    let first = frames.start;
    let (world, flush) = match Format::of(setup.format)? {
        Format::Arm64_4K => (AnyWorld::Arm64_4K(World::new(calls, frames)), FlushPolicy::ARM64),
        Format::X86_64 => (AnyWorld::X86_64(World::new(calls, frames)), FlushPolicy::X86),
        Format::Arm64_16K | Format::Arm64_64K | Format::Riscv64 => return Err(Error::EngineFormat),
    };
    let tuning = tuning(setup, flush)?;
    put(bytes, |rest| {
        let state = MmState::new(Memory::carve(rest, &limits)?, first)?;
        for (zone, start) in (1..).zip(setup.zone_starts) {
            if start != 0 {
                state.set_zone_start(zone, Pfn::new(start));
            }
        }
        Ok(Engine::new(state, world, tuning))
    })
}

/// # Safety
/// The promise.
unsafe fn engine_init(
    run: *mut u8,
    len: usize,
    setup: *const Setup,
    world: *const world::World,
) -> Result<*mut Engine, Error> {
    // SAFETY: the promise, here and in the next two.
    let (setup, world) = unsafe { (given_sized(setup)?, given_sized(world)?) };
    // SAFETY: the promise.
    let calls = unsafe { Calls::new(world)? };
    // SAFETY: the promise: these bytes are the engine's until it ends.
    make(setup, calls, unsafe { bytes(run, len)? })
}

/// Stores the number of bytes that an engine of these limits takes, whatever their alignment.
/// Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_engine_size(of: *const Limits, size: *mut usize) -> i32 {
    // SAFETY: the promise.
    let asked = unsafe { given(of) }.and_then(|of| Ok((of, unsafe { place(size)? })));
    number(asked.and_then(|(of, size)| {
        size.write(Memory::bytes_for(&limits(of)?) + room_for::<Engine>());
        Ok(0)
    }))
}

/// Makes an engine in `len` bytes from `run` on, over the callbacks of `world`, and stores its
/// handle. The bytes are the engine's until `pageout_engine_end`; the structures are copied.
/// Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_engine_init(
    run: *mut u8,
    len: usize,
    setup: *const Setup,
    world: *const world::World,
    engine: *mut *mut Engine,
) -> i32 {
    // SAFETY: the promise.
    number(unsafe { place(engine) }.and_then(|to| {
        // SAFETY: the promise.
        to.write(unsafe { engine_init(run, len, setup, world)? });
        Ok(0)
    }))
}

/// Returns the growth in Rust, if entries of all tables can be numbered.
fn growth(of: &Growth) -> Result<reclaim::Growth, Error> {
    let most = |more: u64| if more <= MOST { Ok(more as usize) } else { Err(Error::Limits) };
    let (vmas, mms, mappings) = (most(of.vmas)?, most(of.mms)?, most(of.mappings)?);
    Ok(reclaim::Growth { vmas, mms, mappings })
}

/// Stores the number of bytes that such growth takes, whatever their alignment. Returns 0, or an
/// error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_growth_size(of: *const Growth, size: *mut usize) -> i32 {
    // SAFETY: the promise.
    let asked = unsafe { given(of) }.and_then(|of| Ok((of, unsafe { place(size)? })));
    number(asked.and_then(|(of, size)| {
        size.write(Chunk::bytes_for(&growth(of)?));
        Ok(0)
    }))
}

/// Lets the tables of an engine grow, in `len` bytes from `run` on, which are the engine's until
/// `pageout_engine_end`, also after an error. It may be done at any time, up to 16 times for each
/// table. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_grow(
    cpu: *mut Cpu,
    run: *mut u8,
    len: usize,
    of: *const Growth,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise: these bytes are the engine's until it ends.
        let (of, run) = unsafe { (given(of)?, bytes(run, len)?) };
        engine.grow(Chunk::carve(run, &growth(of)?)?)?;
        Ok(0)
    })
}

/// Ends an engine. Calls with its handle, or with contexts of it, are refused from then on, as long
/// as its bytes are not used for something else. No call may be at work. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_engine_end(engine: *mut Engine) -> i32 {
    // SAFETY: the promise.
    number(unsafe { handle::engine(engine) }.map(|engine| {
        engine.end();
        0
    }))
}

/// Returns the number of bytes that the context of a CPU takes, whatever their alignment.
#[unsafe(no_mangle)]
pub extern "C" fn pageout_cpu_size() -> usize {
    room_for::<Cpu>()
}

/// Makes the context of a CPU in `len` bytes from `run` on, and stores its handle. Every call takes
/// one, and at most one call at a time uses it. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_cpu_init(
    engine: *mut Engine,
    run: *mut u8,
    len: usize,
    cpu: *mut *mut Cpu,
) -> i32 {
    // SAFETY: the promise.
    number(unsafe { handle::engine(engine) }.and_then(|engine| {
        // SAFETY: the promise.
        let (to, run) = unsafe { (place(cpu)?, bytes(run, len)?) };
        to.write(put(run, |_| Ok(Cpu::new(engine)))?);
        Ok(0)
    }))
}

/// Ends the context of a CPU. Calls with its handle are refused from then on, as long as its bytes
/// are not used for something else. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_cpu_end(cpu: *mut Cpu) -> i32 {
    // SAFETY: the promise.
    number(unsafe { Held::take(cpu) }.map(|held| {
        held.end();
        0
    }))
}

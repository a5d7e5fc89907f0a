//! Readings of counters.
#![allow(unsafe_code)]

use pageout_reclaim::MemcgId;
use pageout_uapi::Stat as Reading;

use super::handle::{Cpu, on_engine, place};
use super::types::{Events, Stat};
use crate::error::Error;

/// Stores the first `max` lines of a reading, and returns the number of all.
///
/// # Safety
/// `to` is null, or has room for `max` lines.
unsafe fn give<const N: usize>(
    reading: &Reading<N>,
    to: *mut Stat,
    max: usize,
) -> Result<i32, Error> {
    if max > 0 && to.is_null() {
        return Err(Error::Null);
    }
    for (k, (name, value)) in reading.0.iter().take(max).enumerate() {
        let line = Stat { name: name.as_ptr().cast(), name_len: name.len(), value: *value };
        // SAFETY: not null, so the caller vouches for room for `max` lines.
        unsafe { to.add(k).write(line) };
    }
    Ok(N as i32) // tens of lines
}

/// Stores the first `max` lines of the machine's `/proc/vmstat`. Returns the number of all, or an
/// error.
///
/// # Safety
/// The promise; `lines` is null if `max` is 0, or has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_vmstat(cpu: *mut Cpu, lines: *mut Stat, max: usize) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let reading = engine.vmstat();
        // SAFETY: the promise.
        unsafe { give(&reading, lines, max) }
    })
}

/// Stores the first `max` lines of a cgroup's `memory.stat`. Returns the number of all, or an
/// error.
///
/// # Safety
/// The promise; `lines` is null if `max` is 0, or has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_memory_stat(
    cpu: *mut Cpu,
    memcg: u32,
    lines: *mut Stat,
    max: usize,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let memcg = MemcgId::from_bits(memcg);
        let reading = engine.memory_stat(memcg)?;
        // SAFETY: the promise.
        unsafe { give(&reading, lines, max) }
    })
}

/// Stores the first `max` lines of a cgroup's `memory.events`. Returns the number of all, or an
/// error.
///
/// # Safety
/// The promise; `lines` is null if `max` is 0, or has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_memory_events(
    cpu: *mut Cpu,
    memcg: u32,
    lines: *mut Stat,
    max: usize,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let memcg = MemcgId::from_bits(memcg);
        let reading = engine.memory_events(memcg)?;
        // SAFETY: the promise.
        unsafe { give(&reading, lines, max) }
    })
}

/// Stores the number of free swap slots. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_free_slots(cpu: *mut Cpu, free: *mut u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(free)? };
        to.write(engine.maps().free_slots() as u64);
        Ok(0)
    })
}

/// Stores the events on the CPU of this context since it was made. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_events(cpu: *mut Cpu, events: *mut Events) -> i32 {
    // SAFETY: the promise.
    let held = unsafe { super::handle::Held::take(cpu) };
    crate::error::number(held.and_then(|mut held| {
        // SAFETY: the promise.
        let to = unsafe { place(events)? };
        let of = held.split().1.events();
        to.write(Events {
            folio_lock_failed: of.folio_lock_failed,
            rmap_lock_failed: of.rmap_lock_failed,
            vma_skipped: of.vma_skipped,
            wakeup_flusher: of.wakeup_flusher,
            out_of_memory: of.out_of_memory,
        });
        Ok(0)
    }))
}

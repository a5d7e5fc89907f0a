//! Reclaim and aging: of the machine, in the background, at user space's request.
#![allow(unsafe_code)]

use core::ffi::c_char;

use pageout_paging::Pfn;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{LruvecId, MemcgId, NodeId, ReclaimRequest};
use pageout_uapi::lru_gen;

use super::handle::{Cpu, on_engine, place, text};
use crate::error::Error;

/// Reclaims some 32 pages from the whole machine, for a caller that found no free frame, and stores
/// the number of pages reclaimed. 0 means that there is nothing to reclaim. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_try_to_free_pages(cpu: *mut Cpu, reclaimed: *mut u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(reclaimed)? };
        to.write(engine.try_to_free_pages());
        Ok(0)
    })
}

/// Lets the frames from `first` on lie on a node, up to the first frame of the next call. Without
/// such calls all frames lie on node 0. Call it before frames are used, in ascending order. Returns
/// 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_node_start(cpu: *mut Cpu, first: u64, node: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().set_node_start(Pfn::new(first), numbered(node)?)?;
        Ok(0)
    })
}

/// Returns the node of this number, if it may be one.
fn numbered(node: u32) -> Result<NodeId, Error> {
    u8::try_from(node).map(NodeId).map_err(|_| Error::Node)
}

/// Sets the number of pages that background reclaim leaves free on a node; 0 at first. Returns 0,
/// or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_high_watermark(cpu: *mut Cpu, node: u32, free: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().set_high_watermark(numbered(node)?, free)?;
        Ok(0)
    })
}

/// Reclaims from a node in the background until its watermark is met or nothing more can be
/// reclaimed. Returns 1 if it is met, 0 if not, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_balance(cpu: *mut Cpu, node: u32) -> i32 {
    on_engine!(cpu, |engine, _world| Ok(i32::from(engine.balance(numbered(node)?)?)))
}

/// Executes a write of `len` bytes to a cgroup's `memory.reclaim`, such as `8M swappiness=max`, and
/// stores the number of pages reclaimed. Returns 0, or an error, before which pages may have been
/// reclaimed.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_memory_reclaim(
    cpu: *mut Cpu,
    memcg: u32,
    request: *const c_char,
    len: usize,
    reclaimed: *mut u64,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let (request, to) = unsafe { (text(request, len)?, place(reclaimed)?) };
        let (request, memcg) = (ReclaimRequest::parse(request)?, MemcgId::from_bits(memcg));
        to.write(engine.memory_reclaim(memcg, request)?);
        Ok(0)
    })
}

/// Compacts all of memory. Returns 0, also if the world has no callbacks for it, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_compact_memory(cpu: *mut Cpu) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let _how_far = engine.compact_memory();
        Ok(0)
    })
}

/// Switches parts of the multi-generational LRU on and off: bits of `enum pageout_lru_gen`; 0 at
/// first. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_lru_gen_enable(cpu: *mut Cpu, caps: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let caps = u8::try_from(caps).ok().and_then(LruGenCaps::from_bits);
        engine.set_lru_gen_caps(caps.ok_or(Error::Number)?);
        Ok(0)
    })
}

/// Returns the parts of the multi-generational LRU that are on, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_lru_gen_enabled(cpu: *mut Cpu) -> i32 {
    on_engine!(cpu, |engine, _world| Ok(i32::from(engine.lru_gen_enabled().bits())))
}

/// Executes a write of `len` bytes to `lru_gen`, such as `+ 1 0 3`, up to the first command that is
/// refused. It names a cgroup by the low 16 bits of its number. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_lru_gen_write(
    cpu: *mut Cpu,
    commands: *const c_char,
    len: usize,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let commands = unsafe { text(commands, len)? };
        lru_gen::write(commands, |command| engine.lru_gen_command(command))?;
        Ok(0)
    })
}

/// Stores the youngest generation of a cgroup on a node, and its oldest one of anonymous memory and
/// of files' pages. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_lru_gen_seqs(
    cpu: *mut Cpu,
    memcg: u32,
    node: u32,
    youngest: *mut u64,
    oldest: *mut [u64; 2],
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let (youngest, oldest) = unsafe { (place(youngest)?, place(oldest)?) };
        let (memcg, node) = (MemcgId::from_bits(memcg), numbered(node)?);
        let (max, min) = engine.maps().lru_gen_seqs(LruvecId { memcg, node })?;
        youngest.write(max);
        oldest.write(min);
        Ok(0)
    })
}

/// Sets the time in milliseconds within which memory in use is not evicted; 0, which is off, at
/// first. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_min_ttl_ms(cpu: *mut Cpu, ms: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().set_min_ttl_ms(ms);
        Ok(0)
    })
}

//! Cgroups: their tree, limits and protection.
#![allow(unsafe_code)]

use pageout_reclaim::MemcgId;

use super::handle::{Cpu, on_engine, place};
use super::types::switch;
use crate::error::Error;

/// Adds a cgroup below `parent`, without limits or protection, and stores its number. Cgroup 0 is
/// the root. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_add_memcg(cpu: *mut Cpu, parent: u32, memcg: *mut u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(memcg)? };
        let parent = MemcgId::from_bits(parent);
        to.write(engine.add_memcg(parent)?.to_bits());
        Ok(0)
    })
}

/// Removes a cgroup without processes and children. Its folios are charged to its parent. Returns
/// 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_remove_memcg(cpu: *mut Cpu, memcg: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let memcg = MemcgId::from_bits(memcg);
        engine.remove_memcg(memcg)?;
        Ok(0)
    })
}

/// Sets the limit of a cgroup other than the root in pages; `UINT64_MAX` is none. Frees nothing at
/// once. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_max(cpu: *mut Cpu, memcg: u32, limit: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let memcg = MemcgId::from_bits(memcg);
        // The root has no limit.
        if memcg == MemcgId::ROOT {
            return Err(Error::Memcg);
        }
        engine.maps().memcg(memcg)?.set_max(limit);
        Ok(0)
    })
}

/// Sets `memory.min` of a cgroup in pages: reclaim for an ancestor never takes them. Returns 0, or
/// an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_min(cpu: *mut Cpu, memcg: u32, protected: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().memcg(MemcgId::from_bits(memcg))?.set_min(protected);
        Ok(0)
    })
}

/// Sets `memory.low` of a cgroup in pages: reclaim for an ancestor takes them only if nothing else
/// is left. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_low(cpu: *mut Cpu, memcg: u32, protected: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().memcg(MemcgId::from_bits(memcg))?.set_low(protected);
        Ok(0)
    })
}

/// Sets the preference of a cgroup for reclaiming anonymous memory, 0 to 200. Returns 0, or an
/// error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_swappiness(cpu: *mut Cpu, memcg: u32, swappiness: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let memcg = engine.maps().memcg(MemcgId::from_bits(memcg))?;
        let swappiness = u8::try_from(swappiness).map_err(|_| Error::Number)?;
        memcg.set_swappiness(swappiness).map_err(|_| Error::Number)?;
        Ok(0)
    })
}

/// Sets if children share the part of their parent's protection that no child claims: 1 or 0; 0 at
/// first. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_recursive_protection(cpu: *mut Cpu, on: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().set_recursive_protection(switch(on)?);
        Ok(0)
    })
}

/// Stores the number of pages charged to a cgroup and to all below it. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_usage(cpu: *mut Cpu, memcg: u32, charged: *mut u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(charged)? };
        to.write(engine.maps().memcg(MemcgId::from_bits(memcg))?.usage());
        Ok(0)
    })
}

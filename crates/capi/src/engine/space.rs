//! Address spaces: the calls of processes, and their faults.
#![allow(unsafe_code)]

use pageout_paging::mmu::Asid;
use pageout_paging::{Pfn, VirtAddr};
use pageout_reclaim as reclaim;
use pageout_reclaim::{MappingKind, MemcgId, NewVma, OutOfMemory, VmFlags};

use super::handle::{Cpu, given, mapping_id, mm_id, on_engine, pages, place, range};
use super::types::{Fault, NO_FOLIO, Outcome, Transfer, Vm, Vma, access, advice, switch};
use crate::error::Error;

/// The bits of protection.
const PROT: u32 = Vm::Read as u32 | Vm::Write as u32 | Vm::Exec as u32;

/// Returns flags of their bits, all of which `named` has.
fn flags(bits: u32, named: u32) -> Result<VmFlags, Error> {
    if bits & !named != 0 {
        return Err(Error::Number);
    }
    Ok(VmFlags::from_bits_retain(bits)) // the same bits, as the test of the header's numbers holds
}

/// Returns the frame of a root table, unless the callback has no table there.
fn root<W>(frame: u64, table: impl FnOnce(Pfn) -> Option<W>) -> Result<Pfn, Error> {
    let frame = Pfn::new(frame);
    table(frame).map(|_| frame).ok_or(Error::Table)
}

/// Adds an address space over the root table in frame `frame`, with the tag `asid`, in the root
/// cgroup. Stores its number. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_add_mm(cpu: *mut Cpu, frame: u64, asid: u32, mm: *mut u64) -> i32 {
    on_engine!(cpu, |engine, world| {
        // SAFETY: the promise.
        let to = unsafe { place(mm)? };
        let root = root(frame, |frame| world.try_table(frame))?;
        to.write(engine.add_mm(root, Asid(asid))?.to_bits());
        Ok(0)
    })
}

/// Copies an address space over the empty root table in frame `frame`, with the tag `asid`. Stores
/// the number of the copy. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_fork(
    cpu: *mut Cpu,
    parent: u64,
    frame: u64,
    asid: u32,
    mm: *mut u64,
) -> i32 {
    on_engine!(cpu, |engine, world| {
        // SAFETY: the promise.
        let to = unsafe { place(mm)? };
        let root = root(frame, |frame| world.try_table(frame))?;
        let parent = mm_id(parent)?;
        if engine.maps().mm(parent)?.root() == root {
            return Err(Error::Table);
        }
        to.write(engine.fork(parent, root, Asid(asid))?.to_bits());
        Ok(0)
    })
}

/// Ends an address space: unmaps everything and frees all tables but the root. Its entry is free
/// once aging walks have left it: until then `pageout_add_mm` may return that the table is full.
/// Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_exit_mm(cpu: *mut Cpu, mm: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.exit_mm(mm_id(mm)?)?;
        Ok(0)
    })
}

/// Moves an address space into a cgroup; charges made before stay where they are. Returns 0, or an
/// error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_memcg(cpu: *mut Cpu, mm: u64, memcg: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let memcg = MemcgId::from_bits(memcg);
        engine.set_memcg(mm_id(mm)?, memcg)?;
        Ok(0)
    })
}

/// Sets the number of bytes around a fault on a file's page that are mapped along with it, rounded
/// down to a power of two; 0 at first. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_fault_around(cpu: *mut Cpu, mm: u64, bytes: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().mm(mm_id(mm)?)?.set_fault_around(bytes);
        Ok(0)
    })
}

/// Notes that a CPU switches to an address space, for the multi-generational LRU. Takes no lock.
/// Where a call may be interrupted by the switch, its context is in use: keep another for this.
/// Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_lru_gen_use_mm(cpu: *mut Cpu, mm: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.maps().lru_gen_use_mm(mm_id(mm)?)?;
        Ok(0)
    })
}

/// Maps a range, without any page. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_mmap(cpu: *mut Cpu, vma: *const Vma) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let new = unsafe { given(vma)? };
        let flags = flags(new.flags, 2 * Vm::Shared as u32 - 1)?;
        let range = range(new.start, new.end)?;
        pages(new.pgoff, (new.end - new.start) >> 12)?;
        let mapping = mapping_id(new.mapping)?;
        let anon = engine.maps().mapping(mapping)?.kind() == MappingKind::Anon;
        if anon && flags.contains(VmFlags::SHARED) {
            return Err(Error::Kind);
        }
        let mm = mm_id(new.mm)?;
        engine.mmap(&NewVma { mm, range, flags, mapping, pgoff: new.pgoff })?;
        Ok(0)
    })
}

/// Unmaps a range. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_munmap(cpu: *mut Cpu, mm: u64, start: u64, end: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.munmap_range(mm_id(mm)?, &range(start, end)?)?;
        Ok(0)
    })
}

/// Sets the protection of a range: `PAGEOUT_VM_READ`, `WRITE` and `EXEC`, or 0. Returns 0, or an
/// error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_mprotect(
    cpu: *mut Cpu,
    mm: u64,
    start: u64,
    end: u64,
    prot: u32,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let prot = flags(prot, PROT)?;
        engine.mprotect(mm_id(mm)?, &range(start, end)?, prot)?;
        Ok(0)
    })
}

/// Moves, grows or shrinks a range of one mapping. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_mremap(
    cpu: *mut Cpu,
    mm: u64,
    old_start: u64,
    old_end: u64,
    new_start: u64,
    new_end: u64,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let (old, new) = (range(old_start, old_end)?, range(new_start, new_end)?);
        engine.mremap(mm_id(mm)?, &old, &new)?;
        Ok(0)
    })
}

/// Takes advice about a range: one of `enum pageout_advice`. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_madvise(
    cpu: *mut Cpu,
    mm: u64,
    start: u64,
    end: u64,
    of: u32,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.madvise(mm_id(mm)?, &range(start, end)?, advice(of)?)?;
        Ok(0)
    })
}

/// Locks a range into memory: pages that are there at once, others when they come. Returns 0, or an
/// error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_mlock(cpu: *mut Cpu, mm: u64, start: u64, end: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.mlock(mm_id(mm)?, &range(start, end)?)?;
        Ok(0)
    })
}

/// Unlocks a range. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_munlock(cpu: *mut Cpu, mm: u64, start: u64, end: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.munlock(mm_id(mm)?, &range(start, end)?)?;
        Ok(0)
    })
}

/// Sets userfaultfd's write protection of a range if `on` is 1, or ends it if `on` is 0. Returns 0,
/// or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_uffd_wp(
    cpu: *mut Cpu,
    mm: u64,
    start: u64,
    end: u64,
    on: u32,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        engine.set_uffd_wp(mm_id(mm)?, &range(start, end)?, switch(on)?)?;
        Ok(0)
    })
}

/// Returns the fault as C sees it.
fn fault(of: reclaim::Fault) -> Result<Fault, Error> {
    let (mut folio, mut memcg, mut failure) = (NO_FOLIO, 0, Transfer::Done);
    let outcome = match of {
        reclaim::Fault::Done(reclaim::FaultKind::Minor) => Outcome::Minor,
        reclaim::Fault::Done(reclaim::FaultKind::Major) => Outcome::Major,
        reclaim::Fault::Pending(id) => {
            folio = id.to_bits();
            Outcome::Pending
        }
        reclaim::Fault::BadAddress => Outcome::BadAddress,
        reclaim::Fault::WriteProtected => Outcome::WriteProtected,
        reclaim::Fault::PastEnd => Outcome::PastEnd,
        reclaim::Fault::IoError(error) => {
            failure = Transfer::failed(error);
            Outcome::IoError
        }
        reclaim::Fault::Unsupported => Outcome::Unsupported,
        reclaim::Fault::OutOfMemory(OutOfMemory::Frames) => Outcome::NoFrame,
        reclaim::Fault::OutOfMemory(OutOfMemory::PageTables) => Outcome::NoPageTable,
        reclaim::Fault::OutOfMemory(OutOfMemory::Table(_)) => Outcome::TableFull,
        reclaim::Fault::OutOfMemory(OutOfMemory::Limit(id)) => {
            memcg = id.to_bits();
            Outcome::OverLimit
        }
        reclaim::Fault::OutOfMemory(OutOfMemory::SlotEntries) => Outcome::SlotEntries,
        reclaim::Fault::BadId(bad) => return Err(bad.into()),
    };
    Ok(Fault { outcome: outcome as u32, folio, memcg, failure: failure as u32 })
}

/// Resolves the fault of an access (one of `enum pageout_access`) to an address, and stores its
/// result. Never waits for storage. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_handle_fault(
    cpu: *mut Cpu,
    mm: u64,
    addr: u64,
    of: u32,
    result: *mut Fault,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(result)? };
        let done = engine.handle_fault(mm_id(mm)?, VirtAddr::new(addr), access(of)?);
        to.write(fault(done)?);
        Ok(0)
    })
}

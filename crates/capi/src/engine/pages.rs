//! Mappings and their folios: files, shared memory, anonymous memory, and transfers.
#![allow(unsafe_code)]

use pageout_paging::{Format, Order, Pfn};
use pageout_reclaim::{
    DirtyFolios, Engine, FolioFlags, FolioId, MappingId, MappingKind, MemcgId, NewFolio, Submitted,
    TruncateError, World,
};

use super::handle::{Cpu, given, mapping_id, on_engine, pages, place};
use super::types::{Folio, NO_FOLIO, Transfer, kind};
use crate::error::Error;

/// Adds a mapping, of one of `enum pageout_kind`, and stores its number. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_add_mapping(cpu: *mut Cpu, of: u32, mapping: *mut u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(mapping)? };
        to.write(engine.add_mapping(kind(of)?)?.to_bits());
        Ok(0)
    })
}

/// Ends a mapping that nothing maps. A file or shared memory has been truncated to page 0. Returns
/// 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_remove_mapping(cpu: *mut Cpu, mapping: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let (maps, id) = (engine.maps(), mapping_id(mapping)?);
        // Folios of anonymous memory may outlive it; those of others would be found again.
        if maps.mapping(id)?.kind() != MappingKind::Anon && maps.mapping_is_used(id)? {
            return Err(Error::MappingUsed);
        }
        engine.remove_mapping(id)?;
        Ok(0)
    })
}

/// Sets the number of pages of a file or of shared memory, past which faults end with
/// `PAGEOUT_OUTCOME_PAST_END`. To shrink one, call `pageout_truncate` too. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_size(cpu: *mut Cpu, mapping: u64, size: u64) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let size = pages(0, size)?.end;
        engine.maps().mapping(mapping_id(mapping)?)?.set_size(size);
        Ok(0)
    })
}

/// Stores an error of the writes of a mapping's pages since the last call, for fsync or close to
/// report: one of `enum pageout_transfer`, 0 if there was none. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_take_write_error(
    cpu: *mut Cpu,
    mapping: u64,
    failure: *mut u32,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(failure)? };
        let error = engine.maps().mapping(mapping_id(mapping)?)?.take_write_error();
        to.write(error.map_or(Transfer::Done, Transfer::failed) as u32);
        Ok(0)
    })
}

/// Returns an order up to that of the range of a page table.
fn order_of<W: World>(_: &Engine<'_, W>, order: u32) -> Result<Order, Error> {
    let small = order <= <W::Format as Format>::TABLE_SHIFT;
    let order = Order::new(order as u8).filter(|_| small);
    order.ok_or(Error::Pages)
}

/// Sets the largest order of the folios that faults make for a mapping; 0 at first. Returns 0, or
/// an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_set_order(cpu: *mut Cpu, mapping: u64, order: u32) -> i32 {
    on_engine!(cpu, |engine, _world| {
        let order = order_of(engine, order)?;
        engine.maps().mapping(mapping_id(mapping)?)?.set_order(order);
        Ok(0)
    })
}

/// Removes the pages of a file or of shared memory from page `from` on. If a transfer of one is in
/// progress, stores its folio, returns `PAGEOUT_ERROR_PENDING`, and is to be called again at its
/// end. Otherwise stores `PAGEOUT_NO_FOLIO`. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_truncate(
    cpu: *mut Cpu,
    mapping: u64,
    from: u64,
    folio: *mut u64,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(folio)? };
        to.write(NO_FOLIO);
        let from = pages(from, 0)?.start;
        match engine.truncate(mapping_id(mapping)?, from) {
            Ok(()) => Ok(0),
            Err(TruncateError::Pending(id)) => {
                to.write(id.to_bits());
                Err(Error::Pending)
            }
            Err(TruncateError::Anonymous) => Err(Error::Kind),
            Err(TruncateError::BadId(bad)) => Err(bad.into()),
        }
    })
}

/// Charges a new folio of a file, and puts it into the index and on a list. The caller has its only
/// reference, and keeps it.
fn insert<W: World>(
    engine: &mut Engine<'_, W>,
    world: &W,
    (id, memcg): (FolioId, MemcgId),
) -> Result<(), Error> {
    engine.charge(id, memcg)?;
    // No one else knows the folio, but a late end of a transfer may ask under its number.
    let guard = loop {
        match engine.maps().folio(id)?.try_lock() {
            Some(guard) => break guard,
            None => world.relax(),
        }
    };
    let added = engine.filemap_add_folio(id);
    drop(guard);
    if let Some(shadow) = added? {
        engine.workingset_refault(id, shadow)?;
    }
    engine.lru_add(id)?;
    Ok(())
}

fn add_folio<W: World>(
    engine: &mut Engine<'_, W>,
    world: &W,
    new: &Folio,
) -> Result<FolioId, Error> {
    let order = order_of(engine, new.order)?;
    let mapping = mapping_id(new.mapping)?;
    if engine.maps().mapping(mapping)?.kind() != MappingKind::File {
        return Err(Error::Kind);
    }
    let nr = order.nr_pages() as u64;
    pages(new.index, nr)?;
    if !new.index.is_multiple_of(nr) {
        return Err(Error::Pages);
    }
    let memcg = MemcgId::from_bits(new.memcg);
    engine.maps().memcg(memcg)?;
    let (pfn, flags) = (Pfn::new(new.pfn), FolioFlags::UPTODATE);
    let id = engine.add_folio(NewFolio { pfn, order, mapping, index: new.index, flags })?;
    if let Err(error) = insert(engine, world, (id, memcg)) {
        // The frames stay the caller's.
        engine.remove_folio(id)?;
        return Err(error);
    }
    Ok(id)
}

/// Adds a folio of a file, whose content is there, to the index, and stores its number. The caller
/// has a reference to it, and drops that by `pageout_release`. After an error the frames stay the
/// caller's. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_add_folio(
    cpu: *mut Cpu,
    new: *const Folio,
    folio: *mut u64,
) -> i32 {
    on_engine!(cpu, |engine, world| {
        // SAFETY: the promise.
        let (new, to) = unsafe { (given(new)?, place(folio)?) };
        to.write(add_folio(engine, world, new)?.to_bits());
        Ok(0)
    })
}

/// Looks for the folio that has a page of a file or of shared memory in the index. Stores its
/// number, with a reference that the caller drops by `pageout_release`, or `PAGEOUT_NO_FOLIO`.
/// Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_get_folio(
    cpu: *mut Cpu,
    mapping: u64,
    index: u64,
    folio: *mut u64,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(folio)? };
        let index = pages(index, 1)?.start;
        let found = engine.filemap_get_folio(mapping_id(mapping)?, index)?;
        to.write(found.map_or(NO_FOLIO, FolioId::to_bits));
        Ok(0)
    })
}

/// Stores the first frame and the order of a folio that the caller has a reference to. Returns 0,
/// or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_folio_frames(
    cpu: *mut Cpu,
    folio: u64,
    pfn: *mut u64,
    order: *mut u32,
) -> i32 {
    on_engine!(cpu, |engine, world| {
        // SAFETY: the promise.
        let (pfn, order) = unsafe { (place(pfn)?, place(order)?) };
        let folio = live(engine, folio_id(folio)?)?;
        pfn.write(folio.pfn().get());
        order.write(folio.order().get().into());
        Ok(0)
    })
}

/// Returns the folio if it is in use.
fn live<'e, W: World>(
    engine: &Engine<'e, W>,
    id: FolioId,
) -> Result<&'e pageout_reclaim::Folio, Error> {
    let folio = engine.maps().folio(id)?;
    (folio.refs() > 0).then_some(folio).ok_or(Error::Folio)
}

fn folio_id(number: u64) -> Result<FolioId, Error> {
    FolioId::from_bits(number).ok_or(Error::Folio)
}

/// Drops references that the caller has to a folio. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_release(cpu: *mut Cpu, folio: u64, refs: u32) -> i32 {
    on_engine!(cpu, |engine, world| {
        engine.release(folio_id(folio)?, refs)?;
        Ok(0)
    })
}

/// Notes a use of a folio by a call such as read(2). The caller has a reference. Returns 0, or an
/// error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_mark_accessed(cpu: *mut Cpu, folio: u64) -> i32 {
    on_engine!(cpu, |engine, world| {
        let id = folio_id(folio)?;
        live(engine, id)?;
        engine.mark_accessed(id)?;
        Ok(0)
    })
}

/// Notes that a call such as write(2), or a device, stored to a folio. The caller has a reference.
/// Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_note_dirty(cpu: *mut Cpu, folio: u64) -> i32 {
    on_engine!(cpu, |engine, world| {
        engine.maps().note_dirty(live(engine, folio_id(folio)?)?);
        Ok(0)
    })
}

fn write_back<W: World>(
    engine: &mut Engine<'_, W>,
    mapping: MappingId,
    most: u64,
) -> Result<u64, Error> {
    if engine.maps().mapping(mapping)?.kind() != MappingKind::File {
        return Err(Error::Kind);
    }
    let (mut walk, mut started) = (DirtyFolios::of(mapping), 0);
    while started < most {
        let Some(id) = engine.next_dirty(&mut walk)? else { break };
        let written = engine.write_back(id)?;
        started += u64::from(matches!(written, Some(Submitted::Done | Submitted::Pending)));
        engine.release(id, 1)?;
    }
    Ok(started)
}

/// Starts to write out up to `most` dirty folios of a file, as a flusher does, and stores the
/// number begun. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_write_back(
    cpu: *mut Cpu,
    mapping: u64,
    most: u64,
    started: *mut u64,
) -> i32 {
    on_engine!(cpu, |engine, _world| {
        // SAFETY: the promise.
        let to = unsafe { place(started)? };
        to.write(write_back(engine, mapping_id(mapping)?, most)?);
        Ok(0)
    })
}

/// Ends the read of a folio that the callback left pending, with a result of `enum
/// pageout_transfer` other than pending. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_read_done(cpu: *mut Cpu, folio: u64, result: u32) -> i32 {
    on_engine!(cpu, |engine, world| {
        engine.read_done(folio_id(folio)?, Transfer::ended(result)?)?;
        Ok(0)
    })
}

/// Ends the write of a folio that the callback left pending, with a result of `enum
/// pageout_transfer` other than pending. Returns 0, or an error.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_write_done(cpu: *mut Cpu, folio: u64, result: u32) -> i32 {
    on_engine!(cpu, |engine, world| {
        engine.write_done(folio_id(folio)?, Transfer::ended(result)?)?;
        Ok(0)
    })
}

/// Returns 1 while a transfer of a folio is in progress, 0 if none is, or an error. A task queues
/// itself before it calls this, and sleeps only if the answer is 1.
///
/// # Safety
/// The promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pageout_transfer_is_pending(cpu: *mut Cpu, folio: u64) -> i32 {
    on_engine!(cpu, |engine, world| {
        Ok(i32::from(engine.maps().transfer_is_pending(folio_id(folio)?)))
    })
}

//! The flushes that are owed: invalidations not complete yet, and the folios that wait for them.
//!
//! Frames to free and folios to write move into a [`TlbBatch`] and come out only after its
//! completed flush. So none can be freed or written too early. A TLB batch stays on one CPU, since
//! a barrier completes only the invalidations that the same CPU issued.

use crate::cpu::CpuCtx;
use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::folio_list::FolioList;
use crate::id::{FolioId, FolioNr};
use crate::memory::{BadId, ReleaseError, TableKind};
use crate::mm::Mm;
use crate::mm_state::MmState;
use crate::tuning::{FlushTiming, Tuning};
use crate::world::{Submitted, World};
use core::mem;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::{Env, Format, Level, Mmu, Pte, Rules, VirtAddr, tlb};

/// The number of folios freed after one flush (Linux 7.3.4, the size of a `folio_batch`).
pub const FREE_BATCH: usize = 31;

/// The number of folios whose references may wait for one flush.
const PUTS: usize = 64;

/// The flush owed for entries taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owed {
    Nothing,
    /// The barrier after broadcast invalidations.
    Completion,
    /// A round of interrupts that flushes one address space.
    AddressSpace(Asid),
    /// A round of interrupts that flushes all address spaces.
    Everything,
}

/// The flushes that are owed, and the folios that wait for them. End it with [`TlbBatch::finish`].
/// Dropping it does the same, but is counted in [`MmState::dropped_tlb_batches`]. If it is leaked
/// (`mem::forget`), the folios that wait for its flush leak too, so nothing is reused too early.
#[derive(Debug)]
#[must_use = "what it owes is paid when it is finished"]
pub struct TlbBatch<'e, W: World> {
    maps: &'e MmState<'e>,
    world: &'e W,
    tuning: Tuning,
    owed: Owed,
    /// True if a flush is owed for an entry through which a CPU may still write.
    writable: bool,
    /// The folios that wait, with the number of references to drop.
    puts: [(FolioNr, u32); PUTS],
    waiting: usize,
    /// The folios without references that wait to be freed.
    frozen: FolioList,
}

impl<'e, W: World> TlbBatch<'e, W> {
    /// Makes a TLB batch that owes nothing.
    pub fn new(engine: &Engine<'e, W>) -> Self {
        Self {
            maps: engine.maps,
            world: engine.world,
            tuning: engine.tuning,
            owed: Owed::Nothing,
            writable: false,
            puts: [(FolioNr(0), 0); PUTS],
            waiting: 0,
            frozen: FolioList::default(),
        }
    }

    /// Notes that `nr` entries of `level` from `start` on were taken out of the address space,
    /// under their table's lock, which is still held. `was` is their old value, merged. The caller
    /// notifies secondary MMUs. Non-present entries need no flush. If the shootdown is not
    /// deferred, the entries are flushed now. If it is deferred and hardware broadcasts
    /// invalidations, they are issued now and completed later. If it is deferred and other CPUs are
    /// interrupted, the interrupts wait, unless no other CPU may hold the translations (Linux
    /// 7.3.4, set_tlb_ubc_flush_pending).
    pub fn cleared(
        &mut self,
        mm: &Mm,
        when: FlushTiming,
        start: VirtAddr,
        nr: usize,
        level: Level,
        was: Pte,
    ) {
        if !<W::Format as Format>::is_valid(was) {
            return;
        }
        let (mmu, asid) = (self.world.mmu(), mm.asid());
        let Caps { shootdown, cpus, .. } = mmu.caps();
        let deferred = when.defers(cpus);
        if deferred && shootdown == Shootdown::Ipi && mmu.remote(asid) {
            mmu.defer(asid);
            self.owed = match self.owed {
                Owed::Nothing => Owed::AddressSpace(asid),
                Owed::AddressSpace(one) if one == asid => Owed::AddressSpace(one),
                _ => Owed::Everything,
            };
        } else {
            tlb::issue(self.world, asid, start, nr, level);
            if !deferred || shootdown == Shootdown::Ipi {
                mmu.barrier(Barrier::Complete);
                return;
            }
            self.owed = Owed::Completion;
        }
        mm.flush_batch.note_deferral();
        self.writable |= <W::Format as Format>::is_dirty(was);
    }

    /// Gives up `refs` references to the folio once no flush is owed for its entries. The caller
    /// holds no lock.
    ///
    /// # Errors
    /// As of [`Engine::release`]; nothing is changed then.
    pub fn put_after(
        &mut self,
        engine: &mut Engine<'_, W>,
        id: FolioId,
        refs: u32,
    ) -> Result<(), ReleaseError> {
        let id = self.maps.folio_nr(id)?;
        let waiting = self.puts[..self.waiting].iter().filter(|put| put.0 == id);
        let all = waiting.fold(refs, |all, (_, had)| all.saturating_add(*had));
        engine.maps.check_spare(id, all)?;
        if let Some((last, had)) = self.puts[..self.waiting].last_mut().filter(|put| put.0 == id) {
            debug_assert_eq!(*last, id, "the same folio");
            *had += refs;
            return Ok(());
        }
        if self.waiting == PUTS {
            self.flush_and_release(engine);
        }
        self.puts[self.waiting] = (id, refs);
        self.waiting += 1;
        Ok(())
    }

    /// Frees a folio in [`TlbBatch::flush_and_release`], once no flush is owed for its entries. The
    /// folio is frozen (without references), and off every list and index.
    pub(crate) fn free_after(&mut self, frozen: FolioNr) {
        debug_assert_eq!(self.maps.folio_at(frozen).refs(), 0, "a frozen folio");
        self.frozen.push(self.maps, frozen);
    }

    /// Starts to write out a locked dirty folio, which is clean from here on. If a flush is owed
    /// for entries through which it may still be written, flushes first (Linux 7.3.4,
    /// try_to_unmap_flush_dirty). This is for folios that this TLB batch's [`Engine::try_to_unmap`]
    /// unmapped; flushers call [`Engine::write_back`]. Returns `None` if one is pending already.
    ///
    /// # Errors
    /// [`BadId`] if `id` is not the folio that `guard` has locked.
    pub fn write_out(
        &mut self,
        guard: &FolioGuard<'_>,
        id: FolioId,
    ) -> Result<Option<Submitted>, BadId> {
        let nr = self.maps.locked_nr(guard, id)?;
        let busy = FolioFlags::WRITEBACK | FolioFlags::READING;
        let ready = !guard.folio().flags().intersects(busy);
        Ok(ready.then(|| self.write_out_at(guard, nr)))
    }

    /// Starts to write out a folio, by its entry.
    pub(crate) fn write_out_at(&mut self, guard: &FolioGuard<'_>, id: FolioNr) -> Submitted {
        self.flush_writable();
        self.maps.start_write(self.world, guard, id)
    }

    /// Completes the flushes owed if a CPU may still write through an entry.
    pub(crate) fn flush_writable(&mut self) {
        if self.writable && <W::Rules as Rules>::flush_before_write_out() {
            self.flush();
        }
    }

    /// Completes all flushes owed, then releases the folios that waited for them.
    pub fn finish(mut self, engine: &mut Engine<'_, W>) {
        self.flush_and_release(engine);
    }

    /// Returns true if a flush is owed.
    pub(crate) fn is_owing(&self) -> bool {
        self.owed != Owed::Nothing
    }

    /// Completes the flushes owed (Linux 7.3.4, try_to_unmap_flush).
    pub(crate) fn flush(&mut self) {
        self.writable = false;
        let mmu = self.world.mmu();
        let what = match mem::replace(&mut self.owed, Owed::Nothing) {
            Owed::Nothing => return,
            Owed::Completion => None,
            Owed::AddressSpace(asid) => Some(Invalidate::AddressSpace(asid)),
            Owed::Everything => Some(Invalidate::Everything),
        };
        if let Some(what) = what {
            mmu.barrier(Barrier::Publish);
            mmu.invalidate(what);
        }
        mmu.barrier(Barrier::Complete);
    }

    /// Flushes, then releases the folios that waited. The caller holds no lock.
    pub(crate) fn flush_and_release(&mut self, engine: &mut Engine<'_, W>) {
        if <W::Rules as Rules>::flush_before_free() {
            self.flush();
        }
        for (id, refs) in &self.puts[..mem::take(&mut self.waiting)] {
            engine.put_folio(*id, *refs);
        }
        engine.free_folios(mem::take(&mut self.frozen));
        self.flush();
    }
}

impl<W: World> Drop for TlbBatch<'_, W> {
    fn drop(&mut self) {
        let empty = self.waiting == 0 && self.frozen.len == 0 && self.owed == Owed::Nothing;
        if !empty {
            self.maps.dropped_tlb_batches.fetch_add(1, Relaxed);
            let (maps, cpu) = (self.maps, &mut CpuCtx::new());
            self.flush_and_release(&mut maps.on(self.world, cpu, self.tuning));
        }
    }
}

/// Completes the flushes that reclaim on another CPU may have deferred (Linux 7.3.4). To be called
/// before the caller relies on entries of the address space, under the lock of their table.
pub fn flush_tlb_batched_pending<E: Env>(env: &E, mm: &Mm) {
    if !E::Rules::flush_pending_before_change() {
        return;
    }
    if let Some(seen) = mm.flush_batch.pending() {
        tlb::flush_address_space(env, mm.asid());
        mm.flush_batch.mark_flushed(seen);
    }
}

impl MmState<'_> {
    /// Checks that a folio has as many references beyond those of its entries and its index.
    fn check_spare(&self, id: FolioNr, refs: u32) -> Result<(), ReleaseError> {
        let folio = self.folio_at(id);
        if folio.refs() == 0 {
            return Err(BadId(TableKind::Folios).into());
        }
        // Entries and references change while this looks: only what it finds twice is an error.
        match folio.can_spare(refs) || folio.can_spare(refs) {
            true => Ok(()),
            false => Err(ReleaseError::TooMany),
        }
    }

    /// Returns the number of gathers that were dropped, not finished, while they owed something.
    /// Nothing was lost, but each is an error of its owner.
    pub fn dropped_tlb_batches(&self) -> u32 {
        self.dropped_tlb_batches.load(Relaxed)
    }
}

impl<W: World> Engine<'_, W> {
    /// Drops references that the caller has, for whose entries no flush is owed any more. A folio
    /// that only the swap cache still holds, and whose slots no entry names, leaves the swap cache
    /// (Linux 7.3.4, free_folio_and_swap_cache).
    ///
    /// # Errors
    /// [`ReleaseError`]; nothing is changed then. References that another task holds for a moment
    /// hide that the caller has too few.
    pub fn release(&mut self, id: FolioId, refs: u32) -> Result<(), ReleaseError> {
        let nr = self.maps.folio_nr(id)?;
        self.maps.check_spare(nr, refs)?;
        self.put_folio(nr, refs);
        Ok(())
    }
}

//! What is owed: invalidations not complete yet, and the folios that wait for them.
//!
//! Frames to free and folios to write move into a [`Gather`] and come out only of its completed
//! flush, so none can be freed or written too early. All of a gather happens on one CPU: a barrier
//! completes what that CPU issued.

use crate::CpuCtx;
use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::folio_list::FolioList;
use crate::id::FolioId;
use crate::maps::Maps;
use crate::mm::Mm;
use crate::tuning::{ShootdownWhen, Tuning};
use crate::world::{Submitted, World};
use core::mem;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::{Env, Format, Level, Mmu, Pte, Rules, VirtAddr, tlb};

/// Folios freed after one flush (Linux 7.3.4, the size of a `folio_batch`).
pub const FREE_BATCH: usize = 31;

/// Folios whose references wait for one flush.
const PUTS: usize = 64;

/// The flush owed for entries taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owed {
    Nothing,
    /// The barrier after invalidations that were broadcast.
    Completion,
    /// One round of interrupts for one address space.
    AddressSpace(Asid),
    /// One for several.
    Everything,
}

/// Flushes that are owed, and what waits for them. Finish it; dropped, it does the same but is
/// counted in [`Maps::dropped_gathers`]. Forgotten, it leaks what waits, and nothing is reused.
#[derive(Debug)]
#[must_use = "what it owes is paid when it is finished"]
pub struct Gather<'e, W: World> {
    maps: &'e Maps<'e>,
    world: &'e W,
    tuning: Tuning,
    owed: Owed,
    /// A flush is owed for an entry through which a CPU may still write.
    writable: bool,
    /// References to give up.
    puts: [(FolioId, u32); PUTS],
    waiting: usize,
    /// Folios without references.
    frozen: FolioList,
}

impl<'e, W: World> Gather<'e, W> {
    /// Owes nothing yet.
    pub fn new(engine: &Engine<'e, W>) -> Self {
        Self {
            maps: engine.maps,
            world: engine.world,
            tuning: engine.tuning,
            owed: Owed::Nothing,
            writable: false,
            puts: [(FolioId(0), 0); PUTS],
            waiting: 0,
            frozen: FolioList::default(),
        }
    }

    /// `nr` entries of `level` from `start` on were taken out of the address space under their
    /// table's lock, which is still held; `was` is what they were, merged. What a secondary MMU has
    /// to forget is the caller's to say. Nothing is owed for what
    /// hardware could not reach. Deferred invalidations go out now where hardware broadcasts them
    /// and are completed later; where they are interrupts, they wait, unless no other CPU may hold
    /// the translations (Linux 7.3.4, set_tlb_ubc_flush_pending).
    pub fn cleared(
        &mut self,
        mm: &Mm,
        when: ShootdownWhen,
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

    /// Gives up `refs` references to the folio once nothing is owed for its entries. The caller
    /// holds no lock.
    pub fn put_after(&mut self, engine: &mut Engine<'_, W>, id: FolioId, refs: u32) {
        if let Some((last, had)) = self.puts[..self.waiting].last_mut().filter(|put| put.0 == id) {
            debug_assert_eq!(*last, id, "the same folio");
            *had += refs;
            return;
        }
        if self.waiting == PUTS {
            self.settle(engine);
        }
        self.puts[self.waiting] = (id, refs);
        self.waiting += 1;
    }

    /// Frees a folio once nothing is owed for its entries, by [`Gather::settle`]: it is frozen
    /// (without references), off every list and index.
    pub(crate) fn free_after(&mut self, frozen: FolioId) {
        debug_assert_eq!(self.maps.folio(frozen).refs(), 0, "a frozen folio");
        self.frozen.push(self.maps, frozen);
    }

    /// Starts to write out a locked dirty folio, clean from here on; what is owed for entries
    /// through which it may still be written is flushed first (Linux 7.3.4,
    /// try_to_unmap_flush_dirty). It is for folios that this gather's [`Engine::try_to_unmap`]
    /// unmapped; flushers call [`Engine::write_back`].
    pub fn write_out(&mut self, guard: &FolioGuard<'_>, id: FolioId) -> Submitted {
        self.flush_writable();
        self.maps.start_write(self.world, guard, id)
    }

    /// Completes the flushes owed if a CPU may still write through an entry.
    pub(crate) fn flush_writable(&mut self) {
        if self.writable && <W::Rules as Rules>::flush_before_write_out() {
            self.flush();
        }
    }

    /// Completes all flushes owed, and what waited for them.
    pub fn finish(mut self, engine: &mut Engine<'_, W>) {
        self.settle(engine);
    }

    /// Whether a flush is owed.
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

    /// Flushes, then releases all that waited. The caller holds no lock.
    pub(crate) fn settle(&mut self, engine: &mut Engine<'_, W>) {
        if <W::Rules as Rules>::flush_before_free() {
            self.flush();
        }
        for (id, refs) in &self.puts[..mem::take(&mut self.waiting)] {
            engine.release(*id, *refs);
        }
        engine.free_folios(mem::take(&mut self.frozen));
        self.flush();
    }
}

impl<W: World> Drop for Gather<'_, W> {
    fn drop(&mut self) {
        let empty = self.waiting == 0 && self.frozen.len == 0 && self.owed == Owed::Nothing;
        if !empty {
            self.maps.dropped_gathers.fetch_add(1, Relaxed);
            let (maps, cpu) = (self.maps, &mut CpuCtx::new());
            self.settle(&mut maps.on(self.world, cpu, self.tuning));
        }
    }
}

/// Before anyone relies on entries of the address space, under the lock of their table: completes
/// what reclaim on another CPU may have put off (Linux 7.3.4).
pub fn flush_tlb_batched_pending<E: Env>(env: &E, mm: &Mm) {
    if !E::Rules::flush_pending_before_change() {
        return;
    }
    if let Some(seen) = mm.flush_batch.pending() {
        tlb::flush_address_space(env, mm.asid());
        mm.flush_batch.mark_flushed(seen);
    }
}

impl Maps<'_> {
    /// Gathers that were dropped with something owed instead of finished: an error of whoever
    /// dropped them, though nothing was lost.
    pub fn dropped_gathers(&self) -> u32 {
        self.dropped_gathers.load(Relaxed)
    }
}

impl<W: World> Engine<'_, W> {
    /// Gives up references for whose entries nothing is owed any more. A folio that is left to the
    /// swap cache alone, with no entry that names its slots, leaves it (Linux 7.3.4,
    /// free_folio_and_swap_cache).
    pub fn release(&mut self, id: FolioId, refs: u32) {
        let folio = self.maps.folio(id);
        if folio.flags().contains(FolioFlags::SWAPCACHE)
            && folio.mapcount() == 0
            && let Some(guard) = self.try_lock_folio(id)
        {
            self.try_to_free_swap(&guard);
        }
        if folio.put(refs) {
            self.free_folio(id);
        }
    }
}

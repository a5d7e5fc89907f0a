//! Transfers between folios and what backs them: how they start, and what their end means.

use crate::folio::{FolioFlags, FolioGuard, FolioId};
use crate::maps::Maps;
use crate::recency::Recency;
use crate::world::{Io, Place, Submitted, World};
use crate::{CpuCtx, Rank};
use pageout_paging::Env;

impl Maps<'_> {
    /// The transfer that would fill or save the folio.
    fn io(&self, id: FolioId) -> Io {
        let folio = self.folio(id);
        let place = match folio.flags().contains(FolioFlags::SWAPCACHE) {
            true => Place::Swap(folio.swap()),
            false => Place::File(folio.mapping(), folio.index()),
        };
        Io { folio: id, place, pfn: folio.pfn(), nr: folio.nr_pages() }
    }

    /// Starts to write out a locked dirty folio. It is clean from here on, so that whoever writes
    /// to it meanwhile makes it dirty again. While the transfer is pending it is `WRITEBACK`, and
    /// has a reference for that.
    pub(crate) fn start_write<W: World>(
        &self,
        world: &W,
        guard: &FolioGuard<'_>,
        id: FolioId,
    ) -> Submitted {
        guard.test_and_clear(FolioFlags::DIRTY | FolioFlags::ERROR);
        guard.set(FolioFlags::WRITEBACK);
        // Before the transfer starts: its end may come from another CPU at any time.
        guard.folio().get(1);
        let submitted = world.write(self.io(id));
        if submitted != Submitted::Pending {
            end_write(guard, submitted == Submitted::Done);
            let last = guard.folio().put(1);
            debug_assert!(!last, "the caller holds a reference");
        }
        submitted
    }

    /// A write that [`Backing::write`](crate::Backing::write) left pending has ended, well or not.
    /// A folio that reclaim is waiting for moves to where it is taken next, unless it is dirty
    /// again (Linux 7.1.5, folio_end_writeback).
    pub fn write_done<W: World>(&self, world: &W, cpu: &mut CpuCtx, id: FolioId, ok: bool) {
        cpu.enter(Rank::Folio);
        let guard = self.lock_folio(world, id);
        let awaited = end_write(&guard, ok) && !guard.is_dirty();
        drop(guard);
        cpu.leave(Rank::Folio);
        if awaited {
            self.rotate(world, cpu, id);
        }
        self.release(world, cpu, id, 1);
    }

    /// A read of a folio marked `READING`, with a reference for that, has ended, well or not.
    pub fn read_done<W: World>(&self, world: &W, cpu: &mut CpuCtx, id: FolioId, ok: bool) {
        cpu.enter(Rank::Folio);
        let guard = self.lock_folio(world, id);
        let was = guard.test_and_clear(FolioFlags::READING);
        assert!(!was.is_empty(), "a read that ends was going on");
        guard.set(if ok { FolioFlags::UPTODATE } else { FolioFlags::ERROR });
        drop(guard);
        cpu.leave(Rank::Folio);
        self.release(world, cpu, id, 1);
    }

    /// The folio's lock, waited for: whoever holds it does so briefly.
    pub(crate) fn lock_folio<E: Env>(&self, env: &E, id: FolioId) -> FolioGuard<'_> {
        let folio = self.folio(id);
        loop {
            if let Some(guard) = folio.try_lock() {
                return guard;
            }
            env.relax();
        }
    }
}

/// Marks the end of a write; whether reclaim waits for the folio. What failed stays dirty.
fn end_write(guard: &FolioGuard<'_>, ok: bool) -> bool {
    let was = guard.test_and_clear(FolioFlags::WRITEBACK);
    assert!(!was.is_empty(), "a write that ends was going on");
    let before = guard.folio().note_use(Recency::NONE, Recency::RECLAIM);
    if !ok {
        guard.set(FolioFlags::DIRTY | FolioFlags::ERROR);
    }
    before.contains(Recency::RECLAIM)
}

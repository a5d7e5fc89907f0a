//! Transfers between folios and storage: their start, and the handling of their end.

use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::id::{FolioId, FolioNr};
use crate::memory::BadId;
use crate::mm::{Mm, Vma, leaf_at, rewrite_leaf};
use crate::mm_state::MmState;
use crate::rank::{Rank, Ranked};
use crate::recency::Recency;
use crate::world::{Io, IoError, Place, Submitted, World};
use pageout_paging::contig::{Getter, get_and_clear_ptes, set_ptes};
use pageout_paging::walk::{Hit, LockWhen, Match, RmapTarget};
use pageout_paging::{Format, Level, LockedTable, Pte, VirtAddr, tlb};

/// The reason why a transfer was not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransferError {
    /// No such transfer of the folio is in progress: it has ended already, or none was begun.
    #[error("no such transfer of the folio is in progress")]
    NotPending,
    /// The folio is gone.
    #[error(transparent)]
    BadId(#[from] BadId),
}

impl MmState<'_> {
    /// Returns the transfer that would fill or save the folio.
    #[inline]
    fn io(&self, id: FolioNr) -> Io {
        let folio = self.folio_at(id);
        let place = match folio.flags().contains(FolioFlags::SWAPCACHE) {
            true => Place::Swap(folio.swap()),
            false => Place::File(self.mapping_of(folio), folio.index()),
        };
        Io { folio: self.folio_id(id), place, pfn: folio.pfn(), nr: folio.nr_pages() }
    }

    /// Starts to write out a locked dirty folio. It is clean from here on, so that a store to it
    /// meanwhile makes it dirty again. While the transfer is pending, the folio is `WRITEBACK`, and
    /// the transfer holds a reference.
    pub(super) fn start_write<W: World>(
        &self,
        world: &W,
        guard: &FolioGuard<'_>,
        id: FolioNr,
    ) -> Submitted {
        guard.test_and_clear(FolioFlags::DIRTY | FolioFlags::ERROR);
        guard.set(FolioFlags::WRITEBACK);
        // This comes before the transfer: its end may come from another CPU at any time.
        guard.folio().get(1);
        let submitted = world.write(self.io(id));
        let result = match submitted {
            Submitted::Pending => return submitted,
            Submitted::Done => Ok(()),
            Submitted::Failed(error) => Err(error),
        };
        self.end_write(guard, result);
        let last = guard.folio().put(1);
        debug_assert!(!last, "the caller holds a reference");
        submitted
    }
}

impl<'e, W: World> Engine<'e, W> {
    /// Starts to write out a dirty folio of a file. Flushers call it, with a reference of their own
    /// to the folio. First, every entry that maps the folio is made clean and read-only (Linux
    /// 7.3.4, folio_clear_dirty_for_io and folio_mkclean). A later store then faults and makes the
    /// folio dirty again. Returns `None` if the folio is clean, in a transfer, or shared memory,
    /// which has no flusher.
    ///
    /// # Errors
    /// [`BadId`] if it was freed.
    pub fn write_back(&mut self, id: FolioId) -> Result<Option<Submitted>, BadId> {
        let id = self.maps.folio_nr(id)?;
        let guard = self.lock_folio(id);
        let busy = FolioFlags::WRITEBACK | FolioFlags::READING | FolioFlags::SWAPBACKED;
        let mut ready = !guard.folio().flags().intersects(busy);
        if ready {
            self.make_clean(&guard);
            ready = guard.is_dirty();
        }
        let submitted = ready.then(|| self.maps.start_write(self.world, &guard, id));
        drop(guard);
        Ok(submitted)
    }

    /// Moves the dirty bits of the folio's entries to the folio, and makes the entries read-only.
    fn make_clean(&mut self, guard: &FolioGuard<'_>) {
        let maps = self.maps;
        let folio = guard.folio();
        let mapping = maps.mapping_at(folio.mapping());
        let _lock = self.lock_read(Rank::Rmap, &mapping.lock);
        let vmas = maps.vmas_of::<W::Format>(mapping, folio.range());
        // Private entries of a file's pages never permit stores.
        vmas.filter(|vma| !vma.is_private()).for_each(|vma| self.make_clean_in(guard, vma));
    }

    fn make_clean_in(&mut self, guard: &FolioGuard<'_>, vma: &Vma) {
        let world = self.world;
        let folio = guard.folio();
        let Some((range, _)) = vma.range_of::<W::Format>(folio) else {
            return;
        };
        let mm = self.maps.mm_at(vma.mm());
        let target = RmapTarget {
            root: mm.root(),
            range,
            pfn: folio.pfn(),
            nr_pages: folio.nr_pages(),
            matches: Match::Mapped,
            lock: LockWhen::Always,
            getter: Getter::Raw,
        };
        let mut walk = self.walk_mapped(target);
        while let Some(hit) = walk.next_hit() {
            match hit {
                // The page is lent to a device, which writes to it and reports so when it gives it
                // back.
                Hit::Pte(_, pte) if !W::Format::is_present(pte) => {}
                Hit::Pte(at, pte) if W::Format::is_write(pte) || W::Format::is_dirty(pte) => {
                    if take_stores(world, walk.locked(), mm, at) {
                        guard.set(FolioFlags::DIRTY);
                    }
                }
                Hit::Pte(..) => {}
                Hit::Pmd(at) => {
                    let stores = |pmd| W::Format::is_write(pmd) || W::Format::is_dirty(pmd);
                    let pt = walk.locked();
                    if leaf_at(pt, at).is_some_and(stores)
                        && W::Format::is_dirty(rewrite_leaf(world, pt, mm, at, without_stores::<W>))
                    {
                        guard.set(FolioFlags::DIRTY);
                    }
                }
            }
        }
        drop(walk);
    }

    /// Ends a write that [`Backing::write`](crate::Backing::write) left pending. If it failed, the
    /// folio stays dirty, and its file has the error
    /// ([`Mapping::take_write_error`](crate::Mapping::take_write_error)). If reclaim waits for the
    /// folio and it is not dirty again, it moves to the place where reclaim takes it next (Linux
    /// 7.3.4, folio_end_writeback).
    ///
    /// # Errors
    /// [`TransferError`]; nothing is changed then.
    pub fn write_done(
        &mut self,
        id: FolioId,
        result: Result<(), IoError>,
    ) -> Result<(), TransferError> {
        let id = self.maps.folio_nr(id)?;
        let guard = self.lock_transfer(id, FolioFlags::WRITEBACK)?;
        let awaited = self.maps.end_write(&guard, result) && !guard.is_dirty();
        drop(guard);
        if awaited {
            self.rotate(id);
        }
        self.put_folio(id, 1);
        Ok(())
    }

    /// Ends a read that [`Backing::read`](crate::Backing::read) left pending. If it failed, a later
    /// fault reads again: where that is of no use, those who wait for it should get SIGBUS.
    ///
    /// # Errors
    /// [`TransferError`]; nothing is changed then.
    pub fn read_done(
        &mut self,
        id: FolioId,
        result: Result<(), IoError>,
    ) -> Result<(), TransferError> {
        self.read_done_at(self.maps.folio_nr(id)?, result)
    }

    /// Ends a read, by the folio's entry.
    pub(crate) fn read_done_at(
        &mut self,
        id: FolioNr,
        result: Result<(), IoError>,
    ) -> Result<(), TransferError> {
        let guard = self.lock_transfer(id, FolioFlags::READING)?;
        guard.test_and_clear(FolioFlags::READING);
        guard.set(if result.is_ok() { FolioFlags::UPTODATE } else { FolioFlags::ERROR });
        drop(guard);
        self.put_folio(id, 1);
        Ok(())
    }

    /// Locks a folio whose transfer ends. Its flag, `kind`, says that one is in progress.
    fn lock_transfer(
        &self,
        id: FolioNr,
        kind: FolioFlags,
    ) -> Result<Ranked<'e, FolioGuard<'e>>, TransferError> {
        let guard = self.lock_folio(id);
        match guard.folio().flags().contains(kind) {
            true => Ok(guard),
            false => Err(TransferError::NotPending),
        }
    }
}

/// Makes one entry clean and read-only, and flushes it from every TLB. Returns true if it was dirty
/// (Linux 7.3.4, page_vma_mkclean_one).
fn take_stores<W: World>(world: &W, pt: &LockedTable<'_, W>, mm: &Mm, at: VirtAddr) -> bool {
    let was = get_and_clear_ptes(world, pt, mm.asid(), at, 1);
    if W::Format::is_valid(was) {
        tlb::forget(world, mm.asid(), at, 1, Level::Pte);
    }
    let clean = without_stores::<W>(W::Format::mknoncont(was));
    set_ptes::<W::Format, _>(pt.table(), W::Format::index(Level::Pte, at), clean, 1);
    W::Format::is_dirty(was)
}

/// Returns the entry, clean and read-only.
fn without_stores<W: World>(pte: Pte) -> Pte {
    W::Format::mkclean(W::Format::wrprotect(pte))
}

impl MmState<'_> {
    /// Ends a write. Returns true if reclaim waits for the folio. If the write failed, the folio
    /// stays dirty.
    #[inline]
    fn end_write(&self, guard: &FolioGuard<'_>, result: Result<(), IoError>) -> bool {
        guard.test_and_clear(FolioFlags::WRITEBACK);
        let before = guard.folio().note_use(Recency::NONE, Recency::RECLAIM);
        if let Err(error) = result {
            guard.set(FolioFlags::DIRTY | FolioFlags::ERROR);
            self.tag_dirty(guard.folio());
            // A swapped folio may outlive its mapping, and no file has it.
            if !guard.folio().flags().contains(FolioFlags::SWAPCACHE) {
                self.mapping_at(guard.folio().mapping()).note_write_error(error);
            }
        }
        before.contains(Recency::RECLAIM)
    }
}

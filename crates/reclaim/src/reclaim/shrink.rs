//! Scans of one list of one cgroup, and the decision on each folio at its tail.

use super::decision::FolioRef;
use super::referenced::Refs;
use super::scan::ScanControl;
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, FolioGuard, LruFlags};
use crate::folio_list::FolioList;
use crate::id::{FolioNr, MemcgNr};
use crate::lru::{Isolate, LruList};
use crate::mm::VmFlags;
use crate::page_cache::{delete_from_swap_cache, unlink};
use crate::rank::Rank;
use crate::recency::Recency;
use crate::unmap::{FREE_BATCH, TlbBatch};
use crate::vmstat::Counter;
use crate::world::{Submitted, World};
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Format, Observer, Rules, Stage};

/// The findings of [`shrink_folio_list`], in pages (the kernel's `struct reclaim_stat`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReclaimStat {
    /// The dirty pages of files that are not being written yet. Pages that swap backs have no
    /// flusher.
    pub(super) nr_unqueued_dirty: u64,
    /// The number of pages activated.
    pub(super) nr_activate: u64,
}

/// The decision on a folio.
enum FolioAction {
    /// To be freed, once the TLB batch's flush is complete.
    Freed,
    /// To be put back on the list it came from.
    Kept,
    /// To be activated, or made unevictable if it is mlocked.
    Activated,
}

/// The number of folios that are unmapped before one flush, and stay locked until it is complete.
const ROUND: usize = FREE_BATCH;

impl<W: World> Engine<'_, W> {
    /// Reclaims the isolated folios that can be reclaimed (Linux 7.3.4). Returns the pages freed,
    /// and the rejects, which the caller puts back. No flush is owed for them any more.
    pub(crate) fn shrink_folio_list(
        &mut self,
        mut list: FolioList,
        sc: &mut ScanControl,
        stat: &mut ReclaimStat,
    ) -> (u64, FolioList) {
        let world = self.world;
        let (tlb_batch, rejects) = (TlbBatch::new(self), FolioList::default());
        let mut shrink = Shrink { engine: self, sc, stat, tlb_batch, rejects, nr_reclaimed: 0 };
        loop {
            shrink.round(&mut list);
            world.observer().enter(Stage::Free);
            if list.len == 0 {
                break;
            }
            shrink.tlb_batch.flush_and_release(shrink.engine);
        }
        let Shrink { tlb_batch, nr_reclaimed, rejects, .. } = shrink;
        tlb_batch.finish(self);
        world.observer().enter(Stage::Other);
        (nr_reclaimed, rejects)
    }
}

struct Shrink<'a, 'e, W: World> {
    engine: &'a mut Engine<'e, W>,
    sc: &'a mut ScanControl,
    stat: &'a mut ReclaimStat,
    tlb_batch: TlbBatch<'e, W>,
    rejects: FolioList,
    nr_reclaimed: u64,
}

/// The result of the first half of a round for a folio.
enum Begun {
    Decided(FolioAction),
    /// To be freed: all entries that could be are unmapped, and the folio stays locked. That many
    /// references of entries are to be given up along with the reclaimer's own.
    Unmapped(u32),
}

impl<W: World> Shrink<'_, '_, W> {
    /// Locks and unmaps folios, and then, after one flush, releases them. Until that flush is
    /// complete a CPU may use their entries. So they stay locked and in their indices: no one
    /// starts to write them out, and no fault maps another page in their place. The second half
    /// waits for no other folio's lock. Kernels unlock each folio, and remove those that they will
    /// free from their indices, while the flush is still owed (Linux 7.3.4, shrink_folio_list).
    fn round(&mut self, list: &mut FolioList) {
        let mut held = [(FolioNr(0), 0); ROUND];
        let mut nr = 0;
        let _rank = self.engine.ranks.enter(Rank::Folio);
        while nr < ROUND
            && let Some(id) = list.pop(self.engine.maps)
        {
            match self.begin(id, list) {
                Begun::Decided(fate) => self.sort(id, fate),
                Begun::Unmapped(refs) => {
                    held[nr] = (id, refs);
                    nr += 1;
                }
            }
        }
        for (id, refs) in &held[..nr] {
            let guard = self.engine.maps.folio_at(*id).assume_locked();
            let fate = self.end(guard, *id, *refs);
            self.sort(*id, fate);
        }
    }

    fn begin(&mut self, id: FolioNr, list: &mut FolioList) -> Begun {
        let Some(guard) = self.engine.maps.folio_at(id).try_lock() else {
            return Begun::Decided(FolioAction::Kept);
        };
        if let Some(fate) = self.judge(&guard, id, list) {
            return Begun::Decided(fate);
        }
        let mut refs = 0;
        if guard.folio().mapcount() > 0 {
            let done = self.engine.try_to_unmap(&guard, &mut self.tlb_batch);
            refs = done.refs;
        }
        guard.leak_lock();
        Begun::Unmapped(refs)
    }

    /// Carries out the decision on a folio.
    fn sort(&mut self, id: FolioNr, fate: FolioAction) {
        let folio = self.engine.maps.folio_at(id);
        let nr = folio.nr_pages() as u64;
        match fate {
            FolioAction::Freed => {
                self.nr_reclaimed += nr;
                self.tlb_batch.free_after(id);
            }
            FolioAction::Kept => self.rejects.push(self.engine.maps, id),
            FolioAction::Activated => {
                if !folio.flags().contains(FolioFlags::MLOCKED) {
                    folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
                    self.stat.nr_activate += nr;
                }
                self.rejects.push(self.engine.maps, id);
            }
        }
    }

    /// Decides on a locked folio. Returns `None` if it is to be unmapped and freed. If it has to be
    /// split for that, the pages after its first are added to the list.
    fn judge(
        &mut self,
        guard: &FolioGuard<'_>,
        id: FolioNr,
        list: &mut FolioList,
    ) -> Option<FolioAction> {
        let folio = guard.folio();
        let flags = folio.flags();
        self.sc.nr_scanned += folio.nr_pages() as u64;
        if flags.contains(FolioFlags::MLOCKED) {
            return Some(FolioAction::Activated);
        }
        let untouchable = !self.sc.may_unmap && folio.mapcount() > 0;
        if untouchable || flags.contains(FolioFlags::READING) {
            return Some(FolioAction::Kept);
        }
        if flags.contains(FolioFlags::WRITEBACK) {
            // It comes back to the tail when its write-out ends. Until then it is among the active,
            // out of the way: reclaim never waits for it.
            folio.note_use(Recency::RECLAIM, Recency::NONE);
            return Some(FolioAction::Activated);
        }
        let flushed = !flags.intersects(FolioFlags::ANON | FolioFlags::SWAPBACKED);
        if flushed && guard.is_dirty() {
            self.stat.nr_unqueued_dirty += folio.nr_pages() as u64;
        }
        let decision = match self.sc.ignore_references {
            true => FolioRef::Reclaim,
            false => self.check_references(guard, id),
        };
        match decision {
            FolioRef::Activate => Some(FolioAction::Activated),
            FolioRef::Keep => Some(FolioAction::Kept),
            FolioRef::Reclaim
                if flushed && guard.is_dirty() && <W::Rules as Rules>::flush_before_unlock() =>
            {
                Some(self.leave_to_flusher(folio))
            }
            FolioRef::Reclaim => self.prepare(guard, id, list),
        }
    }

    fn check_references(&mut self, guard: &FolioGuard<'_>, id: FolioNr) -> FolioRef {
        self.engine.world.observer().enter(Stage::RmapWalk);
        let found = self.engine.folio_referenced_at(id, Some(guard), self.sc.target);
        self.engine.maps.check_references(guard, found)
    }

    /// Allocates swap slots for anonymous memory. Returns the decision on the folio if it is not to
    /// be unmapped. If a large one finds no slots in a row, it is split, and each of its pages is
    /// handled by itself.
    fn prepare(
        &mut self,
        guard: &FolioGuard<'_>,
        id: FolioNr,
        list: &mut FolioList,
    ) -> Option<FolioAction> {
        let folio = guard.folio();
        let anon = FolioFlags::ANON | FolioFlags::SWAPBACKED;
        if folio.flags() & (anon | FolioFlags::SWAPCACHE) != anon {
            return None;
        }
        if folio.freeze(1) {
            return Some(FolioAction::Freed); // its process gave it up meanwhile
        }
        if !self.sc.may_swap || self.engine.maps.free_slots() == 0 {
            return Some(FolioAction::Kept);
        }
        let added = self.engine.add_to_swap(guard, id)
            || self.split(guard, list) && self.engine.add_to_swap(guard, id);
        (!added).then_some(FolioAction::Activated)
    }

    /// Splits a large folio that was counted as scanned, and returns true if that succeeded. The
    /// pages after the first are counted in their own turn.
    #[cold]
    fn split(&mut self, guard: &FolioGuard<'_>, list: &mut FolioList) -> bool {
        let nr = guard.folio().nr_pages();
        let split = nr > 1 && self.engine.split_folio(guard, &mut self.tlb_batch, list);
        if split {
            self.sc.nr_scanned -= nr as u64 - 1;
            if nr >= <W::Format as Format>::PTES {
                self.count(guard.folio(), Counter::ThpSwpoutFallback);
            }
        }
        split
    }

    /// Writes an unmapped folio if needed, takes it out of its index, and unlocks it. A folio that
    /// an entry still maps is kept.
    fn end(&mut self, guard: FolioGuard<'_>, id: FolioNr, refs: u32) -> FolioAction {
        let mut fate = (guard.folio().mapcount() > 0).then_some(FolioAction::Activated);
        if fate.is_none() && guard.is_dirty() {
            fate = self.clean(&guard, id, refs);
        }
        let fate = fate.unwrap_or_else(|| self.remove(&guard, id, refs));
        if !matches!(fate, FolioAction::Freed) {
            if refs > 0 {
                let last = guard.folio().put(refs);
                debug_assert!(!last, "whoever isolated the folio holds a reference");
            }
            if <W::Rules as Rules>::flush_before_unlock() {
                self.flush();
            }
        }
        fate
    }

    /// Completes the flush owed for the folios of this round.
    fn flush(&mut self) {
        if self.tlb_batch.is_owing() {
            self.engine.world.observer().enter(Stage::Flush);
            self.tlb_batch.flush();
        }
    }

    /// Leaves a dirty folio of a file to the flushers. It waits for them among the active.
    fn leave_to_flusher(&self, folio: &Folio) -> FolioAction {
        self.count(folio, Counter::NrVmscanImmediateReclaim);
        folio.note_use(Recency::RECLAIM, Recency::NONE);
        FolioAction::Activated
    }

    /// Writes a dirty folio out. Returns the decision on it if it is not clean then. Reclaim writes
    /// only folios that swap backs, one at a time.
    fn clean(&mut self, guard: &FolioGuard<'_>, id: FolioNr, refs: u32) -> Option<FolioAction> {
        let folio = guard.folio();
        if is_file(folio) {
            return Some(self.leave_to_flusher(folio));
        }
        // The holder of another reference may write to it again, and it would not be freed anyway.
        if !self.sc.may_writepage || folio.refs() != 2 + refs {
            return Some(FolioAction::Kept);
        }
        let swapped = FolioFlags::ANON | FolioFlags::SWAPCACHE;
        if !folio.flags().intersects(swapped | FolioFlags::INDEXED) {
            return Some(FolioAction::Kept); // it was truncated meanwhile
        }
        if !folio.flags().intersects(swapped) {
            // When the index names its slot, no CPU may store to the page any more.
            self.engine.world.observer().enter(Stage::Flush);
            self.tlb_batch.flush_writable();
            if !self.sc.may_swap || !self.engine.shmem_writeout(guard, id) {
                return Some(FolioAction::Activated);
            }
        }
        folio.note_use(Recency::RECLAIM, Recency::NONE);
        self.engine.world.observer().enter(Stage::Flush);
        let submitted = self.tlb_batch.write_out_at(guard, id);
        self.engine.world.observer().enter(Stage::Other);
        self.count(folio, Counter::NrVmscanWrite);
        let stat = &self.engine.maps.lruvec(folio.lruvec()).stat;
        stat.written.fetch_add(folio.nr_pages() as u64, Relaxed);
        let failed = matches!(submitted, Submitted::Failed(_));
        if folio.flags().contains(FolioFlags::SWAPCACHE) && !failed {
            self.count(folio, Counter::Pswpout);
        }
        (submitted != Submitted::Done).then_some(FolioAction::Kept)
    }

    /// Takes a clean, unmapped folio out of its index, unless someone else has a reference.
    fn remove(&mut self, guard: &FolioGuard<'_>, id: FolioNr, refs: u32) -> FolioAction {
        if <W::Rules as Rules>::flush_before_remove() {
            self.flush();
        }
        self.engine.world.observer().enter(Stage::CacheRemoval);
        let folio = guard.folio();
        let lazyfree = folio.flags() & (FolioFlags::ANON | FolioFlags::SWAPBACKED);
        let freed = if lazyfree == FolioFlags::ANON {
            folio.freeze(1 + refs) && {
                self.count(folio, Counter::Pglazyfreed);
                true
            }
        } else {
            self.remove_mapping(guard, id, 2 + refs)
        };
        if freed { FolioAction::Freed } else { FolioAction::Kept }
    }

    /// Drops all `expected` references at once, under the lock by which the folio is found, and
    /// leaves a shadow in its place (Linux 7.3.4, __remove_mapping).
    fn remove_mapping(&mut self, guard: &FolioGuard<'_>, id: FolioNr, expected: u32) -> bool {
        let (maps, folio) = (self.engine.maps, guard.folio());
        let flags = folio.flags();
        let shadow = || maps.workingset_eviction_for(folio, self.sc.target);
        if flags.contains(FolioFlags::SWAPCACHE) {
            let locked = self.engine.lock_swap();
            let frozen = freeze_clean(guard, expected);
            if frozen {
                delete_from_swap_cache(maps, &locked, guard, Some(shadow()));
            }
            drop(locked);
            return frozen;
        }
        // A folio that was truncated meanwhile is freed with its last reference.
        if !flags.contains(FolioFlags::INDEXED) {
            return false;
        }
        let mut bucket = self.engine.lock_bucket_of(folio);
        let frozen = freeze_clean(guard, expected);
        if frozen {
            // Clean shared memory is zeros: it leaves no shadow.
            unlink(maps, &mut bucket, id, is_file(folio).then(shadow));
        }
        drop(bucket);
        frozen
    }

    fn count(&self, folio: &Folio, counter: Counter) {
        let vmstat = &self.engine.maps.memcg_at(folio.memcg()).vmstat;
        vmstat.add(counter, folio.nr_pages() as u64);
    }
}

/// Drops all `expected` references of a locked folio at once, unless it is dirty.
#[inline]
fn freeze_clean(guard: &FolioGuard<'_>, expected: u32) -> bool {
    let frozen = guard.folio().freeze(expected);
    // A reference that was dropped just before may have been that of a dirty entry.
    let dirty = frozen && guard.is_dirty();
    if dirty {
        guard.folio().unfreeze(expected);
    }
    frozen && !dirty
}

/// Returns true if swap does not back the folio (the kernel's `folio_is_file_lru`).
#[inline]
fn is_file(folio: &Folio) -> bool {
    !folio.flags().contains(FolioFlags::SWAPBACKED)
}

impl<W: World> Engine<'_, W> {
    /// Reclaims from the tail of an inactive list, and returns the pages freed (Linux 7.3.4).
    pub(super) fn shrink_inactive_list(
        &mut self,
        memcg: MemcgNr,
        list: LruList,
        nr_to_scan: u64,
        sc: &mut ScanControl,
    ) -> u64 {
        let mut isolated = FolioList::default();
        self.world.observer().enter(Stage::Isolate);
        let (lruvec, reclaim_idx) = (sc.lruvec(memcg), sc.reclaim_idx);
        let what = Isolate { lruvec, list, nr_to_scan, reclaim_idx };
        let seen = self.isolate(what, &mut isolated);
        let vmstat = &self.maps.memcg_at(memcg).vmstat;
        let [scan, steal, rotate] = match list.is_file() {
            true => [Counter::PgscanFile, Counter::PgstealFile, Counter::PgrotateFile],
            false => [Counter::PgscanAnon, Counter::PgstealAnon, Counter::PgrotateAnon],
        };
        vmstat.add(sc.agent.pgscan(), seen.scanned);
        vmstat.add(scan, seen.scanned);
        if seen.taken == 0 {
            return 0;
        }
        let mut stat = ReclaimStat::default();
        let (nr_reclaimed, mut rejects) = self.shrink_folio_list(isolated, sc, &mut stat);
        self.putback(&mut rejects);
        vmstat.add(sc.agent.pgsteal(), nr_reclaimed);
        vmstat.add(steal, nr_reclaimed);
        vmstat.add(Counter::Pgactivate, stat.nr_activate);
        let nr_rotated = seen.scanned - nr_reclaimed;
        vmstat.add(rotate, nr_rotated);
        let stats = &self.maps.lruvec(lruvec).stat;
        stats.add_rotated(usize::from(list.is_file()), nr_rotated);
        // All are dirty folios that are not being written: the flushers are behind.
        if stat.nr_unqueued_dirty == seen.taken {
            self.cpu.events.wakeup_flusher += 1;
        }
        nr_reclaimed
    }

    /// Moves folios from the tail of an active list to the inactive one, except executable pages of
    /// files that are in use. Returns the number of pages moved (Linux 7.3.4).
    pub(super) fn shrink_active_list(
        &mut self,
        memcg: MemcgNr,
        list: LruList,
        nr_to_scan: u64,
        sc: &mut ScanControl,
    ) -> u64 {
        let (maps, world) = (self.maps, self.world);
        let mut isolated = FolioList::default();
        world.observer().enter(Stage::Isolate);
        let (lruvec, reclaim_idx) = (sc.lruvec(memcg), sc.reclaim_idx);
        let what = Isolate { lruvec, list, nr_to_scan, reclaim_idx };
        let seen = self.isolate(what, &mut isolated);
        world.observer().enter(Stage::RmapWalk);
        let mut settled = FolioList::default();
        let (mut nr_rotated, mut nr_deactivated) = (0, 0);
        while let Some(id) = isolated.pop(maps) {
            let folio = maps.folio_at(id);
            let nr = folio.nr_pages() as u64;
            if !folio.flags().contains(FolioFlags::MLOCKED) {
                let found = self.folio_referenced_at(id, None, sc.target);
                let used = found.refs != Refs::Vmas(0);
                if used && found.vm_flags.contains(VmFlags::EXEC) && is_file(folio) {
                    nr_rotated += nr;
                } else {
                    folio.update_lru(LruFlags::empty(), LruFlags::ACTIVE);
                    folio.note_use(Recency::WORKINGSET, Recency::NONE);
                    nr_deactivated += nr;
                }
            }
            settled.push(maps, id);
        }
        world.observer().enter(Stage::Other);
        self.putback(&mut settled);
        let vmstat = &maps.memcg_at(memcg).vmstat;
        vmstat.add(Counter::Pgrefill, seen.scanned);
        vmstat.add(Counter::Pgdeactivate, nr_deactivated);
        let rotate = if list.is_file() { Counter::PgrotateFile } else { Counter::PgrotateAnon };
        vmstat.add(rotate, nr_rotated);
        let stats = &maps.lruvec(lruvec).stat;
        stats.add_rotated(usize::from(list.is_file()), nr_rotated);
        nr_deactivated
    }
}

//! Scanning one list of one cgroup: what becomes of each folio at its tail.

use crate::decision::FolioRef;
use crate::folio::{Folio, FolioFlags, FolioGuard, FolioId, LruFlags};
use crate::gather::Gather;
use crate::list::FolioList;
use crate::lru::Isolate;
use crate::lruvec::LruList;
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::recency::Recency;
use crate::referenced::{Refs, folio_referenced};
use crate::scan::ScanControl;
use crate::unmap::try_to_unmap;
use crate::vma::VmFlags;
use crate::vmstat::Counter;
use crate::world::{Submitted, World};
use crate::{CpuCtx, Rank, cache, swap};
use pageout_paging::Stage;

/// What [`shrink_folio_list`] met, in pages (the kernel's `struct reclaim_stat`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReclaimStat {
    /// Dirty pages of files that no one writes out yet. What swap backs has no flusher.
    pub(crate) nr_unqueued_dirty: u64,
    /// Made active.
    pub(crate) nr_activate: u64,
}

/// What becomes of a folio.
enum Fate {
    /// Freed, once the gather's flush allows.
    Freed,
    /// Put back on the list it came from.
    Kept,
    /// Made active, or unevictable if it is mlocked.
    Activated,
}

/// Reclaims what can be reclaimed of isolated folios (Linux 7.3.4): pages freed, and the rejects,
/// which the caller puts back. Nothing is owed for them any more.
pub(crate) fn shrink_folio_list<W: World>(
    maps: &Maps<'_>,
    world: &W,
    cpu: &mut CpuCtx,
    mut list: FolioList,
    sc: &mut ScanControl,
    stat: &mut ReclaimStat,
) -> (u64, FolioList) {
    let mut rejects = FolioList::default();
    let mut nr_reclaimed = 0;
    let mut shrink = Shrink { maps, world, sc, stat, gather: Gather::new(maps, world) };
    while let Some(id) = list.pop(maps) {
        let folio = maps.folio(id);
        let nr = folio.nr_pages() as u64;
        cpu.enter(Rank::Folio);
        let fate = match folio.try_lock() {
            Some(guard) => shrink.locked(cpu, &guard, id),
            None => Fate::Kept,
        };
        cpu.leave(Rank::Folio);
        match fate {
            Fate::Freed => {
                nr_reclaimed += nr;
                world.enter(Stage::Free);
                shrink.gather.free_after(cpu, id);
            }
            Fate::Kept => rejects.push(maps, id),
            Fate::Activated => {
                if !folio.flags().contains(FolioFlags::MLOCKED) {
                    folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
                    shrink.stat.nr_activate += nr;
                }
                rejects.push(maps, id);
            }
        }
    }
    world.enter(Stage::Flush);
    shrink.gather.finish(cpu);
    world.enter(Stage::Other);
    (nr_reclaimed, rejects)
}

struct Shrink<'a, 'm, W: World> {
    maps: &'a Maps<'m>,
    world: &'a W,
    sc: &'a mut ScanControl,
    stat: &'a mut ReclaimStat,
    gather: Gather<'a, 'm, W>,
}

impl<W: World> Shrink<'_, '_, W> {
    /// Decides on a locked folio and carries it out.
    fn locked(&mut self, cpu: &mut CpuCtx, guard: &FolioGuard<'_>, id: FolioId) -> Fate {
        let folio = guard.folio();
        let flags = folio.flags();
        self.sc.nr_scanned += folio.nr_pages() as u64;
        if flags.contains(FolioFlags::MLOCKED) {
            return Fate::Activated;
        }
        let untouchable = !self.sc.may_unmap && folio.mapcount() > 0;
        if untouchable || flags.contains(FolioFlags::READING) {
            return Fate::Kept;
        }
        if flags.contains(FolioFlags::WRITEBACK) {
            // It comes back to the tail when its write-out ends; until then it is out of the way
            // among the active. Waiting for it is no reclaim's business.
            folio.note_use(Recency::RECLAIM, Recency::NONE);
            return Fate::Activated;
        }
        let flushed = !flags.intersects(FolioFlags::ANON | FolioFlags::SWAPBACKED);
        if flushed && guard.is_dirty() {
            self.stat.nr_unqueued_dirty += folio.nr_pages() as u64;
        }
        let decision = match self.sc.ignore_references {
            true => FolioRef::Reclaim,
            false => self.check_references(cpu, guard, id),
        };
        match decision {
            FolioRef::Activate => Fate::Activated,
            FolioRef::Keep => Fate::Kept,
            FolioRef::Reclaim => self.reclaim(cpu, guard, id),
        }
    }

    fn check_references(&self, cpu: &mut CpuCtx, guard: &FolioGuard<'_>, id: FolioId) -> FolioRef {
        self.world.enter(Stage::RmapWalk);
        let (target, aging) = (self.sc.target, self.sc.tuning.aging);
        let found = folio_referenced(self.maps, self.world, cpu, id, Some(guard), target, aging);
        self.maps.check_references(guard, found)
    }

    /// Unmaps the folio, writes it if it must be, and takes it out of its index.
    fn reclaim(&mut self, cpu: &mut CpuCtx, guard: &FolioGuard<'_>, id: FolioId) -> Fate {
        let folio = guard.folio();
        let anon = FolioFlags::ANON | FolioFlags::SWAPBACKED;
        if folio.flags() & (anon | FolioFlags::SWAPCACHE) == anon {
            if folio.freeze(1) {
                return Fate::Freed; // its process gave it up meanwhile
            }
            if !self.sc.may_swap || self.maps.free_slots() == 0 {
                return Fate::Kept;
            }
            if !swap::add_to_swap(self.maps, self.world, cpu, guard, id) {
                return Fate::Activated;
            }
        }
        let mut refs = 0;
        let mut fate = None;
        if folio.mapcount() > 0 {
            let how = self.sc.tuning.unmapping;
            let done = try_to_unmap(self.maps, self.world, cpu, guard, how, &mut self.gather);
            refs = done.refs;
            fate = (!done.all).then_some(Fate::Activated);
        }
        if fate.is_none() && guard.is_dirty() {
            fate = self.clean(guard, id, refs);
        }
        let fate = fate.unwrap_or_else(|| self.remove(cpu, guard, id, refs));
        if !matches!(fate, Fate::Freed) && refs > 0 {
            let last = folio.put(refs);
            debug_assert!(!last, "whoever isolated the folio holds a reference");
        }
        fate
    }

    /// Gets a dirty folio written out; what becomes of it if it is not clean then. Files are left
    /// to their flushers: reclaim writes what swap backs, one folio at a time.
    fn clean(&mut self, guard: &FolioGuard<'_>, id: FolioId, refs: u32) -> Option<Fate> {
        let folio = guard.folio();
        if is_file(folio) {
            self.count(folio, Counter::NrVmscanImmediateReclaim);
            folio.note_use(Recency::RECLAIM, Recency::NONE);
            return Some(Fate::Activated);
        }
        // Someone who holds a reference may write to it again: it would not be freed anyhow.
        if !self.sc.may_writepage || folio.refs() != 2 + refs {
            return Some(Fate::Kept);
        }
        folio.note_use(Recency::RECLAIM, Recency::NONE);
        self.world.enter(Stage::Flush);
        let submitted = self.gather.write_out(guard, id);
        self.world.enter(Stage::Other);
        self.count(folio, Counter::NrVmscanWrite);
        if folio.flags().contains(FolioFlags::SWAPCACHE) && submitted != Submitted::Failed {
            self.count(folio, Counter::Pswpout);
        }
        (submitted != Submitted::Done).then_some(Fate::Kept)
    }

    /// Takes a clean, unmapped folio from whoever could still find it, unless someone holds it.
    fn remove(&mut self, cpu: &mut CpuCtx, guard: &FolioGuard<'_>, id: FolioId, refs: u32) -> Fate {
        self.world.enter(Stage::CacheRemoval);
        let folio = guard.folio();
        let lazyfree = folio.flags() & (FolioFlags::ANON | FolioFlags::SWAPBACKED);
        let freed = if lazyfree == FolioFlags::ANON {
            folio.freeze(1 + refs) && {
                self.count(folio, Counter::Pglazyfreed);
                true
            }
        } else {
            self.remove_mapping(cpu, guard, id, 2 + refs)
        };
        if freed { Fate::Freed } else { Fate::Kept }
    }

    /// Drops all `expected` references at once, under the lock that finding the folio takes, and
    /// leaves a shadow in its place (Linux 7.3.4, __remove_mapping).
    fn remove_mapping(
        &mut self,
        cpu: &mut CpuCtx,
        guard: &FolioGuard<'_>,
        id: FolioId,
        expected: u32,
    ) -> bool {
        let (maps, folio) = (self.maps, guard.folio());
        let locked = maps.lock_index(self.world, cpu);
        let mut frozen = folio.freeze(expected);
        // A dirty entry taken out by whoever dropped a reference just before.
        if frozen && guard.is_dirty() {
            folio.unfreeze(expected);
            frozen = false;
        }
        if frozen {
            let shadow = Some(maps.workingset_eviction(folio, self.sc.target));
            if folio.flags().contains(FolioFlags::SWAPCACHE) {
                swap::unlink(maps, &locked, guard, shadow);
            } else {
                cache::unlink(maps, &locked, id, shadow);
            }
        }
        Maps::unlock_index(cpu, locked);
        frozen
    }

    fn count(&self, folio: &Folio, counter: Counter) {
        let vmstat = &self.maps.memcg(folio.memcg()).vmstat;
        vmstat.add(counter, folio.nr_pages() as u64);
    }
}

/// Whether swap has no part in the folio (the kernel's `folio_is_file_lru`).
fn is_file(folio: &Folio) -> bool {
    !folio.flags().contains(FolioFlags::SWAPBACKED)
}

/// Reclaims from the tail of an inactive list: pages freed (Linux 7.3.4).
pub(crate) fn shrink_inactive_list<W: World>(
    maps: &Maps<'_>,
    world: &W,
    cpu: &mut CpuCtx,
    memcg: MemcgId,
    list: LruList,
    nr_to_scan: u64,
    sc: &mut ScanControl,
) -> u64 {
    let mut isolated = FolioList::default();
    world.enter(Stage::Isolate);
    let what = Isolate { memcg, list, nr_to_scan, reclaim_idx: sc.reclaim_idx };
    let seen = maps.isolate(world, cpu, what, &mut isolated);
    let vmstat = &maps.memcg(memcg).vmstat;
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
    let (nr_reclaimed, mut rejects) = shrink_folio_list(maps, world, cpu, isolated, sc, &mut stat);
    maps.putback(world, cpu, &mut rejects);
    vmstat.add(sc.agent.pgsteal(), nr_reclaimed);
    vmstat.add(steal, nr_reclaimed);
    vmstat.add(Counter::Pgactivate, stat.nr_activate);
    vmstat.add(rotate, seen.scanned - nr_reclaimed);
    // Nothing but dirty folios that no one writes: the flushers are behind.
    if stat.nr_unqueued_dirty == seen.taken {
        cpu.events.wakeup_flusher += 1;
    }
    nr_reclaimed
}

/// Moves folios from the tail of an active list to the inactive one, but for executable pages of
/// files that are in use: pages moved (Linux 7.3.4).
pub(crate) fn shrink_active_list<W: World>(
    maps: &Maps<'_>,
    world: &W,
    cpu: &mut CpuCtx,
    memcg: MemcgId,
    list: LruList,
    nr_to_scan: u64,
    sc: &mut ScanControl,
) -> u64 {
    let mut isolated = FolioList::default();
    world.enter(Stage::Isolate);
    let what = Isolate { memcg, list, nr_to_scan, reclaim_idx: sc.reclaim_idx };
    let seen = maps.isolate(world, cpu, what, &mut isolated);
    world.enter(Stage::RmapWalk);
    let mut settled = FolioList::default();
    let (mut nr_rotated, mut nr_deactivated) = (0, 0);
    let aging = sc.tuning.aging;
    while let Some(id) = isolated.pop(maps) {
        let folio = maps.folio(id);
        let nr = folio.nr_pages() as u64;
        if !folio.flags().contains(FolioFlags::MLOCKED) {
            let found = folio_referenced(maps, world, cpu, id, None, sc.target, aging);
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
    world.enter(Stage::Other);
    maps.putback(world, cpu, &mut settled);
    let vmstat = &maps.memcg(memcg).vmstat;
    vmstat.add(Counter::Pgrefill, seen.scanned);
    vmstat.add(Counter::Pgdeactivate, nr_deactivated);
    let rotate = if list.is_file() { Counter::PgrotateFile } else { Counter::PgrotateAnon };
    vmstat.add(rotate, nr_rotated);
    nr_deactivated
}

//! Eviction: folios of the oldest generation are reclaimed, or move on to where they belong (Linux
//! 7.1.5, vmscan.c).

use super::generation::{End, kind_of};
use super::seq::evictable_types;
use super::tier::{get_tier_idx, get_type_to_scan, is_lazily_promoted, tier_of};
use super::{MAX_LRU_BATCH, MAX_NR_ZONES, MIN_LRU_BATCH, MIN_NR_GENS, gen_from_seq};
use crate::CpuCtx;
use crate::folio::{Folio, FolioFlags, FolioId, LruFlags};
use crate::list::FolioList;
use crate::lruvec::{LruGuard, LruList};
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::recency::Recency;
use crate::scan::{ANON, FILE, ScanControl};
use crate::shrink::{ReclaimStat, shrink_folio_list};
use crate::tuning::LruGenLoop;
use crate::vmstat::Counter;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Stage;

/// Folios taken off the lists of one type.
#[derive(Debug, Default)]
struct Isolated {
    kind: usize,
    folios: FolioList,
    /// Their pages.
    nr: u64,
}

/// What one scan of an oldest generation did.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// Pages looked at.
    scanned: u64,
    /// Pages isolated.
    isolated: u64,
    /// It stopped because it had looked at as many folios as it was to.
    full: bool,
}

impl Scan {
    /// What it counts as in Linux 7.1.5: nothing, if it met no folio of use and no end of others.
    fn progress(self) -> u64 {
        if self.isolated > 0 || self.full { self.scanned } else { 0 }
    }
}

/// Whether a type that gave nothing is given up for the other: if it had nothing, or nothing else
/// helps.
fn may_fall_back(scan: Scan, priority: u8) -> bool {
    scan.scanned == 0 || priority == 0
}

/// Whether what the folio holds is not what backs it, for all that is known without its lock.
fn may_be_dirty(folio: &Folio) -> bool {
    folio.flags().contains(FolioFlags::DIRTY) || folio.is_dirtied()
}

impl Maps<'_> {
    /// Moves a folio of the oldest generation's list to where it belongs, if that is elsewhere;
    /// false if it is to be evicted (`sort_folio`).
    fn sort_folio(
        &self,
        guard: &LruGuard<'_>,
        id: FolioId,
        sc: &mut ScanControl,
        tier_idx: usize,
    ) -> bool {
        let (folio, lrugen) = (self.folio(id), self.lru_gen(guard.memcg));
        let (kind, recency) = (kind_of(folio), folio.recency());
        if folio.flags().contains(FolioFlags::MLOCKED) {
            self.lru_unlink(guard, id);
            self.lru_link(guard, id);
            return true;
        }
        let generation = recency.generation().expect("what is on a generation's list is in one");
        if generation != gen_from_seq(lrugen.min_seq(kind)) {
            self.lru_gen_move(guard, id, generation, End::Head);
            return true;
        }
        let (tier, lazily) = (tier_of(recency), is_lazily_promoted(recency));
        let (reclaiming, end) = if tier > tier_idx || lazily {
            let nr = if lazily { 0 } else { folio.nr_pages() as u64 };
            lrugen.protected[kind][tier].fetch_add(nr, Relaxed);
            (false, End::Head)
        } else if self.zone_of(folio) > sc.reclaim_idx {
            (false, End::Tail)
        } else if sc.tuning.lru_gen == LruGenLoop::V7_1 && waits_for_writeback(folio, sc) {
            (true, End::Head)
        } else {
            return false;
        };
        let generation = self.folio_inc_gen(guard, id, reclaiming);
        self.lru_gen_move(guard, id, generation, end);
        true
    }

    /// Takes a folio off its generation's list, with a reference: which classic list it counted as,
    /// whose sizes are left to the caller; none if it is on its way to being freed
    /// (`isolate_folio`).
    fn isolate_folio(
        &self,
        guard: &LruGuard<'_>,
        id: FolioId,
        sc: &ScanControl,
    ) -> Option<LruList> {
        let folio = self.folio(id);
        if !folio.try_get() {
            return None;
        }
        let reclaim = match sc.tuning.lru_gen {
            LruGenLoop::V7_1 => Recency::RECLAIM,
            LruGenLoop::Mm => Recency::NONE,
        };
        // A counter of uses without the first is a refault's memory, which has served.
        let _ = folio.update_recency(|now| {
            let refs =
                if now.contains(Recency::REFERENCED) { Recency::NONE } else { Recency::REFS };
            let new = now.with(Recency::NONE, refs.union(reclaim));
            (new != now).then_some(new)
        });
        let from = self.lru_gen_del(guard, id, true);
        folio.update_lru(LruFlags::empty(), LruFlags::LRU);
        Some(from.expect("what is on a generation's list is in one"))
    }

    /// Goes through the oldest generation of a type: zones from the highest wanted one downwards,
    /// up to `nr_to_scan` folios or until 64 pages are isolated (`scan_folios`).
    fn scan_folios(
        &self,
        guard: &LruGuard<'_>,
        sc: &mut ScanControl,
        nr_to_scan: u64,
        kind: usize,
        out: &mut FolioList,
    ) -> Scan {
        let lrugen = self.lru_gen(guard.memcg);
        let (mut scan, mut sorted, mut taken) = (Scan::default(), 0, [0; 5]);
        if lrugen.nr_gens(kind) == MIN_NR_GENS {
            return scan;
        }
        let tier_idx = get_tier_idx(lrugen, kind);
        let oldest = gen_from_seq(lrugen.min_seq(kind));
        let mut remaining = nr_to_scan.min(MAX_LRU_BATCH);
        for above in (1..=MAX_NR_ZONES).rev() {
            let list = &lrugen.lists[oldest][kind][(sc.reclaim_idx + above) % MAX_NR_ZONES];
            let (mut skipped, mut first_skipped) = (0, None);
            while remaining > 0 && scan.isolated.max(skipped) < MIN_LRU_BATCH {
                let Some(id) = list.tail().filter(|id| Some(*id) != first_skipped) else {
                    break;
                };
                let nr = self.folio(id).nr_pages() as u64;
                scan.scanned += nr;
                remaining -= 1;
                if self.sort_folio(guard, id, sc, tier_idx) {
                    sorted += nr;
                } else if let Some(from) = self.isolate_folio(guard, id, sc) {
                    out.push(self, id);
                    scan.isolated += nr;
                    taken[from as usize] += nr;
                } else {
                    self.lru_gen_move(guard, id, oldest, End::Head);
                    skipped += nr;
                    first_skipped.get_or_insert(id);
                }
            }
        }
        scan.full = remaining == 0;
        for (list, nr) in LruList::ALL.into_iter().zip(taken).filter(|(_, nr)| *nr > 0) {
            self.resize(guard, list, u64::wrapping_neg(nr));
        }
        self.count_scan(guard.memcg, sc, kind, scan.isolated, sorted);
        scan
    }

    /// Counts what a scan isolated and what it moved on, in pages.
    fn count_scan(
        &self,
        memcg: MemcgId,
        sc: &mut ScanControl,
        kind: usize,
        isolated: u64,
        sorted: u64,
    ) {
        let vmstat = &self.memcg(memcg).vmstat;
        vmstat.add(sc.agent.pgscan(), isolated);
        vmstat.add([Counter::PgscanAnon, Counter::PgscanFile][kind], isolated);
        vmstat.add(Counter::Pgrefill, sorted);
        if kind == FILE {
            sc.state.file_taken += isolated;
        }
    }

    /// Isolates folios of the type that comes back less, or of the other: pages looked at
    /// (`isolate_folios`).
    fn isolate_folios(
        &self,
        guard: &LruGuard<'_>,
        sc: &mut ScanControl,
        nr_to_scan: u64,
        swappiness: u8,
        out: &mut Isolated,
    ) -> u64 {
        out.kind = get_type_to_scan(self.lru_gen(guard.memcg), swappiness);
        let mut total = 0;
        for _ in evictable_types(swappiness) {
            let scan = self.scan_folios(guard, sc, nr_to_scan, out.kind, &mut out.folios);
            out.nr = scan.isolated;
            let (progress, enough, other) = match sc.tuning.lru_gen {
                LruGenLoop::V7_1 => (scan.progress(), scan.progress() > 0, true),
                LruGenLoop::Mm => {
                    (scan.scanned, scan.isolated > 0, may_fall_back(scan, sc.priority))
                }
            };
            total += progress;
            if enough {
                break;
            }
            if other {
                out.kind = ANON + FILE - out.kind;
            }
        }
        total
    }

    /// Reclaims from the oldest generations of a cgroup, up to `nr_to_scan` folios of one type:
    /// pages looked at, 0 if there is no more to be had before a new generation is opened
    /// (`evict_folios`).
    ///
    /// # Panics
    /// In debug builds, if `nr_to_scan` is 0.
    pub(crate) fn evict_folios<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        nr_to_scan: u64,
        swappiness: u8,
        sc: &mut ScanControl,
    ) -> u64 {
        debug_assert!(nr_to_scan > 0, "there is something to scan for");
        world.enter(Stage::Isolate);
        let mut isolated = Isolated::default();
        let guard = self.lock_lruvec(world, cpu, memcg);
        let scanned = match sc.tuning.lru_gen {
            LruGenLoop::V7_1 => {
                let seen = self.isolate_folios(&guard, sc, nr_to_scan, swappiness, &mut isolated);
                let retired = self.try_to_inc_min_seq(&guard, swappiness);
                let left = self.evictable_min_seq(memcg, swappiness) + MIN_NR_GENS
                    <= self.lru_gen(memcg).max_seq();
                if left { seen + u64::from(retired) } else { 0 }
            }
            LruGenLoop::Mm => {
                self.try_to_inc_min_seq(&guard, swappiness);
                let seen = self.isolate_folios(&guard, sc, nr_to_scan, swappiness, &mut isolated);
                if seen > 0 {
                    self.try_to_inc_min_seq(&guard, swappiness);
                }
                seen
            }
        };
        self.unlock_lruvec(cpu, guard);
        world.enter(Stage::Other);
        self.shrink_isolated(world, cpu, memcg, isolated, sc);
        scanned
    }

    /// Reclaims isolated folios, tries clean ones that were rejected once more, which may have been
    /// written out meanwhile, and puts the others back.
    fn shrink_isolated<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        memcg: MemcgId,
        isolated: Isolated,
        sc: &mut ScanControl,
    ) {
        let Isolated { kind, mut folios, nr } = isolated;
        let mut retry = true;
        while folios.len > 0 {
            let mut stat = ReclaimStat::default();
            let (nr_reclaimed, rejects) =
                shrink_folio_list(self, world, cpu, folios, sc, &mut stat);
            sc.nr_reclaimed += nr_reclaimed;
            sc.state.unqueued_dirty += stat.nr_unqueued_dirty;
            let all_dirty = retry && stat.nr_unqueued_dirty == nr;
            if sc.tuning.lru_gen == LruGenLoop::Mm && all_dirty {
                cpu.events.wakeup_flusher += 1;
            }
            let (clean, mut settled) = self.sort_rejects(memcg, kind, rejects, retry);
            self.putback(world, cpu, &mut settled);
            self.reset_batch_size(world, cpu, memcg);
            let vmstat = &self.memcg(memcg).vmstat;
            vmstat.add(sc.agent.pgsteal(), nr_reclaimed);
            vmstat.add([Counter::PgstealAnon, Counter::PgstealFile][kind], nr_reclaimed);
            vmstat.add(Counter::Pgactivate, stat.nr_activate);
            (folios, retry) = (clean, false);
        }
    }

    /// Parts rejects into those worth another try, if there is to be one, and the others; those of
    /// them that would join the oldest generation again are made active.
    fn sort_rejects(
        &self,
        memcg: MemcgId,
        kind: usize,
        mut rejects: FolioList,
        retry: bool,
    ) -> (FolioList, FolioList) {
        let (mut clean, mut settled) = (FolioList::default(), FolioList::default());
        let lrugen = self.lru_gen(memcg);
        while let Some(id) = rejects.pop(self) {
            let (folio, flags) = (self.folio(id), self.folio(id).flags());
            let evictable = !flags.contains(FolioFlags::MLOCKED);
            let idle = !folio.lru().contains(LruFlags::ACTIVE)
                && folio.mapcount() == 0
                && !flags.contains(FolioFlags::WRITEBACK)
                && !may_be_dirty(folio);
            if evictable && retry && idle {
                clean.push(self, id);
                continue;
            }
            if evictable && lrugen.folio_seq(folio, false) == lrugen.min_seq(kind) {
                folio.note_use(Recency::NONE, Recency::USES);
                folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
            }
            settled.push(self, id);
        }
        (clean, settled)
    }
}

/// Whether a folio cannot be reclaimed before it was written out: one that is being written, and a
/// dirty one of a file, which waits for its flushers. Notes the latter.
fn waits_for_writeback(folio: &Folio, sc: &mut ScanControl) -> bool {
    let writeback = folio.flags().contains(FolioFlags::WRITEBACK);
    let dirty = kind_of(folio) == FILE && may_be_dirty(folio);
    if dirty {
        let nr = folio.nr_pages() as u64;
        sc.state.file_taken += nr;
        sc.state.unqueued_dirty += if writeback { 0 } else { nr };
    }
    writeback || dirty
}

#[cfg(test)]
mod tests;

//! Eviction: folios of the oldest generation are reclaimed, or moved to the generation where they
//! belong (Linux 7.3.4, vmscan.c).

use crate::engine::Engine;
use crate::folio::{FolioFlags, LruFlags, MAX_NR_ZONES};
use crate::folio_list::FolioList;
use crate::id::{FolioNr, LruvecNr, MemcgNr};
use crate::lru::mglru::{
    End, MAX_LRU_BATCH, MIN_LRU_BATCH, MIN_NR_GENS, PerGeneration, evictable_types, gen_from_seq,
    get_tier_idx, get_type_to_scan, is_lazily_promoted, tier_of,
};
use crate::lru::{ANON, FILE, LruGuard, kind_of};
use crate::mm_state::MmState;
use crate::recency::Recency;
use crate::reclaim::scan::ScanControl;
use crate::reclaim::shrink::ReclaimStat;
use crate::vmstat::Counter;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Observer, Stage};

/// The folios taken off the lists of one type.
#[derive(Debug, Default)]
struct Isolated {
    kind: usize,
    folios: FolioList,
    /// The number of their pages.
    nr: u64,
}

/// The result of one scan of an oldest generation.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// The number of pages examined.
    scanned: u64,
    /// The number of pages isolated.
    isolated: u64,
}

impl MmState<'_> {
    /// Moves a folio of the oldest generation's list to the generation where it belongs, if that is
    /// another. Returns false if it is to be evicted, or if it is locked into memory: those are
    /// sorted out when evicted folios are put back. Adds the changes of sizes to `sizes`
    /// (`sort_folio`).
    fn sort_folio(
        &self,
        guard: &LruGuard<'_>,
        id: FolioNr,
        sc: &ScanControl,
        tier_idx: usize,
        sizes: &mut PerGeneration<i64>,
    ) -> bool {
        let (folio, lrugen) = (self.folio_at(id), &guard.lruvec.generations);
        let (kind, recency) = (kind_of(folio), folio.recency());
        if folio.flags().contains(FolioFlags::MLOCKED) {
            return false;
        }
        let generation = recency.generation().expect("what is on a generation's list is in one");
        if generation != gen_from_seq(lrugen.min_seq(kind)) {
            self.lru_gen_move(guard, id, generation, End::Head);
            return true;
        }
        let (tier, lazily) = (tier_of(recency), is_lazily_promoted(recency));
        let end = if tier > tier_idx || lazily {
            if !lazily {
                lrugen.protected[kind][tier].fetch_add(folio.nr_pages() as u64, Relaxed);
            }
            End::Head
        } else if self.zone_of(folio) > sc.reclaim_idx {
            End::Tail
        } else {
            return false;
        };
        let generation = self.folio_inc_gen(guard, id, sizes);
        self.lru_gen_move(guard, id, generation, end);
        true
    }

    /// Takes a folio off its generation's list, with a reference, and returns the generation it was
    /// in, whose sizes the caller changes. Returns `None` if the folio is being freed
    /// (`isolate_folio`).
    fn isolate_folio(&self, guard: &LruGuard<'_>, id: FolioNr) -> Option<usize> {
        let folio = self.folio_at(id);
        if !folio.try_get() {
            return None;
        }
        // Counted uses without the flag of the first were kept for a refault, which has happened.
        let _ = folio.update_recency(|now| {
            let served = !now.contains(Recency::REFERENCED) && now.intersects(Recency::REFS);
            served.then(|| now.with(Recency::NONE, Recency::REFS))
        });
        let from = self.lru_gen_unlink(guard, id, true);
        folio.update_lru(LruFlags::empty(), LruFlags::LRU);
        Some(from.expect("what is on a generation's list is in one"))
    }

    /// Scans the oldest generation of a type, zone by zone downwards from the highest wanted one,
    /// up to `nr_to_scan` folios or until 64 pages are isolated (`scan_folios`).
    fn scan_folios(
        &self,
        guard: &LruGuard<'_>,
        sc: &ScanControl,
        nr_to_scan: u64,
        kind: usize,
        out: &mut FolioList,
    ) -> Scan {
        let lrugen = &guard.lruvec.generations;
        let (mut scan, mut sorted) = (Scan::default(), 0);
        let mut sizes = PerGeneration::default();
        if lrugen.nr_gens(kind) == MIN_NR_GENS {
            return scan;
        }
        let tier_idx = get_tier_idx(lrugen, kind);
        let oldest = gen_from_seq(lrugen.min_seq(kind));
        let mut remaining = nr_to_scan.min(MAX_LRU_BATCH);
        for above in (1..=MAX_NR_ZONES).rev() {
            let zone = (sc.reclaim_idx + above) % MAX_NR_ZONES;
            let list = &lrugen.lists[oldest][kind][zone];
            let (mut skipped, mut first_skipped) = (0, None);
            while remaining > 0 && scan.isolated.max(skipped) < MIN_LRU_BATCH {
                let Some(id) = list.tail().filter(|id| Some(*id) != first_skipped) else {
                    break;
                };
                let nr = self.folio_at(id).nr_pages() as u64;
                scan.scanned += nr;
                remaining -= 1;
                if self.sort_folio(guard, id, sc, tier_idx, &mut sizes) {
                    sorted += nr;
                } else if let Some(from) = self.isolate_folio(guard, id) {
                    out.push(self, id);
                    scan.isolated += nr;
                    sizes[from][kind][zone] -= nr as i64;
                } else {
                    self.lru_gen_move(guard, id, oldest, End::Head);
                    skipped += nr;
                    first_skipped.get_or_insert(id);
                }
            }
        }
        self.lru_gen_add_sizes(guard, &sizes);
        self.count_scan(guard.id.memcg, sc, kind, scan.isolated, sorted);
        scan
    }

    /// Counts the pages that a scan isolated, and those that it moved on.
    fn count_scan(
        &self,
        memcg: MemcgNr,
        sc: &ScanControl,
        kind: usize,
        isolated: u64,
        sorted: u64,
    ) {
        let vmstat = &self.memcg_at(memcg).vmstat;
        vmstat.add(sc.agent.pgscan(), isolated);
        vmstat.add([Counter::PgscanAnon, Counter::PgscanFile][kind], isolated);
        vmstat.add(Counter::Pgrefill, sorted);
    }

    /// Isolates folios of the type that refaults less, or of the other one if that had none to
    /// examine. Returns the number of pages examined. If a type had folios but none could be
    /// isolated, it is tried again: changing the type would upset the balance of the two
    /// (`isolate_folios`).
    fn isolate_folios(
        &self,
        guard: &LruGuard<'_>,
        sc: &ScanControl,
        nr_to_scan: u64,
        swappiness: u8,
        out: &mut Isolated,
    ) -> u64 {
        out.kind = get_type_to_scan(&guard.lruvec.generations, swappiness);
        let mut total = 0;
        for _ in evictable_types(swappiness) {
            let scan = self.scan_folios(guard, sc, nr_to_scan, out.kind, &mut out.folios);
            out.nr = scan.isolated;
            total += scan.scanned;
            if scan.isolated > 0 {
                break;
            }
            if scan.scanned == 0 {
                out.kind = ANON + FILE - out.kind;
            }
        }
        total
    }
}

impl<W: World> Engine<'_, W> {
    /// Reclaims from the oldest generations of a cgroup on the node of this pass, up to
    /// `nr_to_scan` folios of one type. Returns the number of pages examined; 0 means that a new
    /// generation must be opened first (`evict_folios`).
    ///
    /// # Panics
    /// In debug builds, if `nr_to_scan` is 0.
    pub(super) fn evict_folios(
        &mut self,
        memcg: MemcgNr,
        nr_to_scan: u64,
        swappiness: u8,
        sc: &mut ScanControl,
    ) -> u64 {
        let (maps, world) = (self.maps, self.world);
        debug_assert!(nr_to_scan > 0, "there is something to scan for");
        world.observer().enter(Stage::Isolate);
        let mut isolated = Isolated::default();
        let guard = self.lock_lruvec(sc.lruvec(memcg));
        // Freed folios may have left old generations empty, and so may the scan.
        maps.try_to_inc_min_seq(&guard, swappiness);
        let scanned = maps.isolate_folios(&guard, sc, nr_to_scan, swappiness, &mut isolated);
        if scanned > 0 {
            maps.try_to_inc_min_seq(&guard, swappiness);
        }
        drop(guard);
        world.observer().enter(Stage::Other);
        self.shrink_isolated(memcg, isolated, sc);
        scanned
    }

    /// Reclaims isolated folios. Rejected clean ones are tried once more, since they may have been
    /// written out meanwhile; the others are put back.
    fn shrink_isolated(&mut self, memcg: MemcgNr, isolated: Isolated, sc: &mut ScanControl) {
        let maps = self.maps;
        let lruvec = sc.lruvec(memcg);
        let Isolated { kind, mut folios, nr } = isolated;
        let (mut retry, mut total) = (true, 0);
        while folios.len > 0 {
            let mut stat = ReclaimStat::default();
            let (nr_reclaimed, rejects) = self.shrink_folio_list(folios, sc, &mut stat);
            sc.nr_reclaimed += nr_reclaimed;
            total += nr_reclaimed;
            // All are dirty folios that are not being written: the flushers are behind.
            if retry && stat.nr_unqueued_dirty == nr {
                self.cpu.events.wakeup_flusher += 1;
            }
            let (clean, mut settled) = maps.sort_rejects(lruvec, kind, rejects, retry);
            self.putback(&mut settled);
            self.reset_batch_size(lruvec);
            let vmstat = &maps.memcg_at(memcg).vmstat;
            vmstat.add(sc.agent.pgsteal(), nr_reclaimed);
            vmstat.add([Counter::PgstealAnon, Counter::PgstealFile][kind], nr_reclaimed);
            vmstat.add(Counter::Pgactivate, stat.nr_activate);
            (folios, retry) = (clean, false);
        }
        let nr_rotated = nr.saturating_sub(total);
        let counter = [Counter::PgrotateAnon, Counter::PgrotateFile][kind];
        maps.memcg_at(memcg).vmstat.add(counter, nr_rotated);
        maps.lruvec(lruvec).stat.add_rotated(kind, nr_rotated);
    }
}

impl MmState<'_> {
    /// Splits rejects into those worth another try, if there is to be one, and the others. Of the
    /// others, those that would join the oldest generation again are activated.
    #[inline]
    fn sort_rejects(
        &self,
        lruvec: LruvecNr,
        kind: usize,
        mut rejects: FolioList,
        retry: bool,
    ) -> (FolioList, FolioList) {
        let (mut clean, mut settled) = (FolioList::default(), FolioList::default());
        let lrugen = self.lru_gen(lruvec);
        while let Some(id) = rejects.pop(self) {
            let (folio, flags) = (self.folio_at(id), self.folio_at(id).flags());
            let evictable = !flags.contains(FolioFlags::MLOCKED);
            let idle = !folio.lru().contains(LruFlags::ACTIVE)
                && folio.mapcount() == 0
                && !flags.contains(FolioFlags::WRITEBACK)
                && !folio.may_be_dirty();
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

#[cfg(test)]
mod tests;

//! The generations of one cgroup: their lists, sizes, and where a folio belongs.

use super::{MAX_NR_GENS, MAX_NR_TIERS, MIN_NR_GENS, PerGeneration, gen_from_seq};
use crate::decision::is_executable;
use crate::folio::{Folio, FolioFlags, FolioId, LruFlags};
use crate::list::Ends;
use crate::lruvec::{LruGuard, LruList, Zones};
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::recency::Recency;
use crate::scan::{ANON, FILE};
use crate::vma::VmFlags;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// Pages refaulted, or examined, of each type and tier.
pub(crate) type PerTier = [[AtomicU64; MAX_NR_TIERS]; 2];

/// The generations of a cgroup (the kernel's `lru_gen_folio`). Everything changes under the
/// lruvec's lock but `refaulted` and `evicted`, which are counted at any time.
#[derive(Debug, Default)]
pub(crate) struct LruGen {
    /// New folios go to a generation's list; otherwise to the classic ones.
    pub(crate) enabled: AtomicBool,
    /// The youngest generation's sequence number.
    pub(crate) max_seq: AtomicU64,
    /// The oldest generation's, of each type.
    pub(crate) min_seq: [AtomicU64; 2],
    /// When each generation was born, in milliseconds of the world's clock.
    pub(crate) timestamps: [AtomicU64; MAX_NR_GENS],
    pub(crate) lists: PerGeneration<Ends>,
    /// Pages in each generation, wherever they are listed. A walk that has not handed in its
    /// changes may leave a number negative.
    pub(crate) nr_pages: PerGeneration<AtomicI64>,
    /// Moving averages over generations gone by.
    pub(crate) avg_refaulted: PerTier,
    pub(crate) avg_total: PerTier,
    /// Of the oldest generation: pages kept because their tier refaults more, evicted, and come
    /// back since.
    pub(crate) protected: PerTier,
    pub(crate) evicted: PerTier,
    pub(crate) refaulted: PerTier,
    /// How often a size of a list or a generation was changed.
    #[cfg(test)]
    pub(crate) size_updates: AtomicU64,
}

impl LruGen {
    /// Four generations, all empty, born `now`.
    pub(crate) fn init(&self, enabled: bool, now: u64) {
        self.enabled.store(enabled, Relaxed);
        self.max_seq.store(MIN_NR_GENS + 1, Relaxed);
        self.min_seq.iter().for_each(|seq| seq.store(0, Relaxed));
        self.timestamps.iter().for_each(|at| at.store(now, Relaxed));
        self.lists.iter().flatten().flatten().for_each(Ends::clear);
        self.nr_pages.iter().flatten().flatten().for_each(|n| n.store(0, Relaxed));
        let tiers = [&self.avg_refaulted, &self.avg_total, &self.protected];
        let tiers = tiers.into_iter().chain([&self.evicted, &self.refaulted]);
        tiers.flatten().flatten().for_each(|n| n.store(0, Relaxed));
    }

    #[inline]
    pub(crate) fn max_seq(&self) -> u64 {
        self.max_seq.load(Relaxed)
    }

    #[inline]
    pub(crate) fn min_seq(&self, kind: usize) -> u64 {
        self.min_seq[kind].load(Relaxed)
    }

    /// Generations of a type, 2 to 4 (`get_nr_gens`).
    pub(crate) fn nr_gens(&self, kind: usize) -> u64 {
        self.max_seq() - self.min_seq(kind) + 1
    }

    /// Whether a generation is one of the two youngest, which count as active
    /// (`lru_gen_is_active`).
    pub(crate) fn is_active(&self, generation: usize) -> bool {
        let max = self.max_seq();
        generation == gen_from_seq(max) || generation == gen_from_seq(max - 1)
    }

    /// Changes the size of a generation by pages of a type and zone.
    #[inline]
    fn grow(&self, generation: usize, kind: usize, zone: usize, by: i64) {
        #[cfg(test)]
        self.size_updates.fetch_add(1, Relaxed);
        let size = &self.nr_pages[generation][kind][zone];
        size.store(size.load(Relaxed) + by, Relaxed);
    }

    /// Pages of a type in the generation of a sequence number, in all zones.
    pub(crate) fn size(&self, seq: u64, kind: usize) -> u64 {
        let zones = &self.nr_pages[gen_from_seq(seq)][kind];
        zones.iter().map(|n| n.load(Relaxed).max(0) as u64).sum()
    }

    pub(crate) fn list_of(&self, generation: usize, kind: usize) -> LruList {
        LruList::of_kind(kind, self.is_active(generation))
    }

    /// Where a folio belongs that joins (`lru_gen_folio_seq`): the younger, the likelier it is to
    /// be used again; one that is `reclaiming` in the oldest generation.
    pub(crate) fn folio_seq(&self, folio: &Folio, reclaiming: bool) -> u64 {
        let (flags, recency) = (folio.flags(), folio.recency());
        let workingset = u64::from(recency.contains(Recency::WORKINGSET));
        let used = recency.intersects(Recency::WORKINGSET.union(Recency::REFERENCED));
        let unwritten = flags.intersects(FolioFlags::DIRTY | FolioFlags::WRITEBACK)
            && recency.contains(Recency::RECLAIM);
        let anon = flags & (FolioFlags::SWAPBACKED | FolioFlags::SWAPCACHE);
        let from_youngest = if folio.lru().contains(LruFlags::ACTIVE) {
            MIN_NR_GENS - workingset
        } else if reclaiming {
            MAX_NR_GENS as u64
        } else if anon == FolioFlags::SWAPBACKED || unwritten {
            MIN_NR_GENS
        } else {
            MAX_NR_GENS as u64 - u64::from(used)
        };
        (self.max_seq() + 1).saturating_sub(from_youngest).max(self.min_seq(kind_of(folio)))
    }
}

/// Its type: whether swap backs it.
#[inline]
pub(crate) fn kind_of(folio: &Folio) -> usize {
    if folio.flags().contains(FolioFlags::SWAPBACKED) { ANON } else { FILE }
}

/// Which end of a generation's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Where folios join.
    Head,
    /// Where eviction takes them.
    Tail,
}

impl Maps<'_> {
    /// The generations of a cgroup.
    pub(crate) fn lru_gen(&self, memcg: MemcgId) -> &LruGen {
        &self.memcg(memcg).lruvec.generations
    }

    /// Puts a folio that is on no list on its generation's, if generations are in use and it can be
    /// evicted: which classic list it counts as, whose sizes are left to the caller
    /// (`lru_gen_add_folio`).
    #[inline]
    pub(crate) fn lru_gen_add(
        &self,
        guard: &LruGuard<'_>,
        id: FolioId,
        reclaiming: bool,
    ) -> Option<LruList> {
        let (folio, lrugen) = (self.folio(id), self.lru_gen(guard.memcg));
        if folio.lru().contains(LruFlags::UNEVICTABLE) || !guard.generations {
            return None;
        }
        let seq = lrugen.folio_seq(folio, reclaiming);
        let end = if reclaiming { End::Tail } else { End::Head };
        Some(self.lru_gen_join(guard, id, gen_from_seq(seq), end))
    }

    /// Puts a folio that is on no list on that of a generation, which it then is in.
    pub(crate) fn lru_gen_join(
        &self,
        guard: &LruGuard<'_>,
        id: FolioId,
        generation: usize,
        end: End,
    ) -> LruList {
        let (folio, lrugen) = (self.folio(id), self.lru_gen(guard.memcg));
        let _ = folio.update_recency(|now| Some(now.in_generation(Some(generation))));
        folio.update_lru(LruFlags::empty(), LruFlags::ACTIVE);
        self.lru_gen_list(guard, id, generation, end);
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        let nr = folio.nr_pages() as i64;
        lrugen.grow(generation, kind, zone, nr);
        lrugen.list_of(generation, kind)
    }

    /// Takes a folio off its generation's list, if it is on one: which classic list it counted as,
    /// whose sizes are left to the caller. It stays active if its generation was
    /// (`lru_gen_del_folio`).
    #[inline]
    pub(crate) fn lru_gen_del(&self, guard: &LruGuard<'_>, id: FolioId) -> Option<LruList> {
        let (folio, lrugen) = (self.folio(id), self.lru_gen(guard.memcg));
        let generation = self.lru_gen_unlink(guard, id, false)?;
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        lrugen.grow(generation, kind, zone, -(folio.nr_pages() as i64));
        Some(lrugen.list_of(generation, kind))
    }

    /// Takes a folio off its generation's list, if it is on one: the generation it was in, whose
    /// sizes are left to the caller. It stays active if its generation was, unless it is
    /// `reclaiming`.
    #[inline]
    pub(crate) fn lru_gen_unlink(
        &self,
        guard: &LruGuard<'_>,
        id: FolioId,
        reclaiming: bool,
    ) -> Option<usize> {
        let (folio, lrugen) = (self.folio(id), self.lru_gen(guard.memcg));
        folio.recency().generation()?;
        self.lru_gen_unlist(guard, id);
        let before = folio.update_recency(|now| Some(now.in_generation(None)));
        let before = before.unwrap_or_else(|same| same);
        // A walk may have moved it since it was last looked at: what counts is the word replaced.
        let generation = before.generation().expect("only the lock's holder takes it off");
        if !reclaiming && lrugen.is_active(generation) {
            folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
        }
        Some(generation)
    }

    /// Forgets a folio's uses; whether there is no need to move it besides, since it is in the
    /// oldest generation or in none (`lru_gen_clear_refs`).
    #[inline]
    pub(crate) fn lru_gen_clear_refs(&self, folio: &Folio) -> bool {
        let Some(generation) = folio.recency().generation() else {
            return true;
        };
        folio.note_use(Recency::NONE, Recency::USES.union(Recency::WORKINGSET));
        let oldest = self.lru_gen(folio.memcg()).min_seq(kind_of(folio));
        generation == gen_from_seq(oldest)
    }

    /// Moves a folio from the list it is on to that of `generation`.
    pub(crate) fn lru_gen_move(
        &self,
        guard: &LruGuard<'_>,
        id: FolioId,
        generation: usize,
        end: End,
    ) {
        self.lru_gen_unlist(guard, id);
        self.lru_gen_list(guard, id, generation, end);
    }

    fn lru_gen_list(&self, guard: &LruGuard<'_>, id: FolioId, generation: usize, end: End) {
        let folio = self.folio(id);
        folio.set_listed_in(Some(generation));
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        let list = &self.lru_gen(guard.memcg).lists[generation][kind][zone];
        match end {
            End::Head => list.push_head(self, id),
            End::Tail => list.push_tail(self, id),
        }
    }

    fn lru_gen_unlist(&self, guard: &LruGuard<'_>, id: FolioId) {
        let folio = self.folio(id);
        let generation = folio.listed_in().expect("a folio of a generation is on a list");
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        self.lru_gen(guard.memcg).lists[generation][kind][zone].remove(self, id);
        folio.set_listed_in(None);
    }

    /// Moves a folio of the oldest generation to the next, as if no one had used it, unless a walk
    /// has moved it already: the generation it is in then, to whose list the caller moves it. By
    /// how much sizes of generations change is added to `sizes` (`folio_inc_gen`).
    #[inline]
    pub(crate) fn folio_inc_gen(
        &self,
        guard: &LruGuard<'_>,
        id: FolioId,
        sizes: &mut PerGeneration<i64>,
    ) -> usize {
        let folio = self.folio(id);
        let oldest = gen_from_seq(self.lru_gen(guard.memcg).min_seq(kind_of(folio)));
        let next = (oldest + 1) % MAX_NR_GENS;
        let changed = folio.update_recency(|now| {
            let there = now.generation() == Some(oldest);
            there.then(|| now.with(Recency::NONE, Recency::USES).in_generation(Some(next)))
        });
        match changed {
            Ok(_) => {
                let (kind, zone) = (kind_of(folio), self.zone_of(folio));
                let nr = folio.nr_pages() as i64;
                sizes[oldest][kind][zone] -= nr;
                sizes[next][kind][zone] += nr;
                next
            }
            Err(now) => now.generation().expect("a folio on a generation's list is in one"),
        }
    }

    /// Changes the sizes of generations, and of the classic lists that they count as, by what many
    /// folios come to that moved together: each once, and by nothing none.
    #[inline]
    pub(crate) fn lru_gen_add_sizes(&self, guard: &LruGuard<'_>, deltas: &PerGeneration<i64>) {
        let lrugen = self.lru_gen(guard.memcg);
        let mut lists = [Zones::default(); 5];
        for (generation, kinds) in deltas.iter().enumerate() {
            for (kind, zones) in kinds.iter().enumerate() {
                if *zones == Zones::default() {
                    continue;
                }
                let list = &mut lists[lrugen.list_of(generation, kind) as usize];
                for (zone, delta) in zones.iter().enumerate() {
                    if *delta != 0 {
                        lrugen.grow(generation, kind, zone, *delta);
                        list[zone] += delta;
                    }
                }
            }
        }
        self.resize_all(guard, &lists);
    }
}

/// A walk found the folio young through a VMA with such flags: the first sighting marks it as
/// referenced, the next, or the first of a file's executable page, moves it to `generation`; the
/// generation it was in, or none if it stays where it is (`folio_update_gen`). Needs no lock but
/// the page table's, which keeps the folio in being.
#[inline]
pub(crate) fn folio_update_gen(
    folio: &Folio,
    generation: usize,
    vm_flags: VmFlags,
) -> Option<usize> {
    let seen = Recency::REFERENCED.union(Recency::WORKINGSET);
    let executable = is_executable(folio, vm_flags);
    let moves = |now: Recency| now.intersects(seen) || executable;
    let changed = folio.update_recency(|now| {
        if !moves(now) {
            return Some(now.with(Recency::REFERENCED, Recency::REFS));
        }
        now.generation()?;
        Some(now.with(Recency::WORKINGSET, Recency::USES).in_generation(Some(generation)))
    });
    changed.ok().filter(|before| moves(*before)).and_then(Recency::generation)
}

/// Counts a use through a file descriptor (`lru_gen_inc_refs`).
#[inline]
pub(crate) fn lru_gen_inc_refs(folio: &Folio) {
    if folio.lru().contains(LruFlags::UNEVICTABLE) {
        return;
    }
    let _ = folio.update_recency(one_more_use);
}

/// With one more use: the first is marked, the next three are counted, the fifth makes it part of a
/// working set. `None` if that changes nothing.
fn one_more_use(now: Recency) -> Option<Recency> {
    if !now.contains(Recency::REFERENCED) {
        return Some(now.with(Recency::REFERENCED, Recency::REFS));
    }
    let full = now.with(Recency::WORKINGSET, Recency::NONE);
    now.counted().or((full != now).then_some(full))
}

/// Notes a use of a folio, through VMAs with such flags, that no walk batches: whether it is to be
/// activated, which the second use is for, or the first of a file's executable page. The third
/// makes it part of a working set (`lru_gen_set_refs`).
#[inline]
pub(crate) fn lru_gen_set_refs(folio: &Folio, vm_flags: VmFlags) -> bool {
    let seen = Recency::REFERENCED.union(Recency::WORKINGSET);
    let executable = is_executable(folio, vm_flags);
    let changed = folio.update_recency(|now| match now.intersects(seen) {
        false if executable => Some(now.with(Recency::WORKINGSET, Recency::USES)),
        false => Some(now.with(Recency::REFERENCED, Recency::REFS)),
        true if now.refs() > 1 => Some(now.with(Recency::WORKINGSET, Recency::USES)),
        true => one_more_use(now),
    });
    executable || changed.unwrap_or_else(|same| same).intersects(seen)
}

#[cfg(test)]
mod tests;

//! The generations of one cgroup: their lists, sizes, and where a folio belongs.

use crate::decision::is_executable;
use crate::folio::{Folio, LruFlags};
use crate::id::{FolioId, MemcgId};
use crate::lru_list::{LruList, Zones, kind_of};
use crate::lruvec::place::LruGuard;
use crate::maps::Maps;
use crate::mglru::lrugen::LruGen;
use crate::mglru::{MAX_NR_GENS, PerGeneration, gen_from_seq};
use crate::recency::Recency;
use crate::vma::VmFlags;

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
            End::Head => list.push_head(self.folios.table, id),
            End::Tail => list.push_tail(self.folios.table, id),
        }
    }

    fn lru_gen_unlist(&self, guard: &LruGuard<'_>, id: FolioId) {
        let folio = self.folio(id);
        let generation = folio.listed_in().expect("a folio of a generation is on a list");
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        self.lru_gen(guard.memcg).lists[generation][kind][zone].remove(self.folios.table, id);
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

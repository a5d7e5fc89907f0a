//! The generations of one cgroup on a node: their lists and sizes, and the generation where a folio
//! belongs.

use super::lrugen::LruGen;
use super::{MAX_NR_GENS, PerGeneration, gen_from_seq};
use crate::folio::{Folio, FolioFlags, LruFlags};
use crate::id::{FolioNr, LruvecNr};
use crate::lru::lru_list::{LruList, Zones, kind_of};
use crate::lru::lruvec::place::LruGuard;
use crate::mm::VmFlags;
use crate::mm_state::MmState;
use crate::recency::Recency;

/// An end of a generation's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The end where folios join.
    Head,
    /// The end where eviction takes folios.
    Tail,
}

impl MmState<'_> {
    /// Returns the generations of a cgroup on a node.
    #[inline]
    pub(crate) fn lru_gen(&self, id: LruvecNr) -> &LruGen {
        &self.lruvec(id).generations
    }

    /// Puts a folio that is on no list on its generation's list, if generations are in use and the
    /// folio is evictable. Returns the classic list that it counts as, whose sizes the caller
    /// changes (`lru_gen_add_folio`).
    #[inline]
    pub(in crate::lru) fn lru_gen_add(
        &self,
        guard: &LruGuard<'_>,
        id: FolioNr,
        reclaiming: bool,
    ) -> Option<LruList> {
        let (folio, lrugen) = (self.folio_at(id), &guard.lruvec.generations);
        if folio.lru().contains(LruFlags::UNEVICTABLE) || !guard.generations {
            return None;
        }
        let seq = lrugen.folio_seq(folio, reclaiming);
        let end = if reclaiming { End::Tail } else { End::Head };
        Some(self.lru_gen_join(guard, id, gen_from_seq(seq), end))
    }

    /// Puts a folio that is on no list into a generation and on its list.
    pub(in crate::lru) fn lru_gen_join(
        &self,
        guard: &LruGuard<'_>,
        id: FolioNr,
        generation: usize,
        end: End,
    ) -> LruList {
        let (folio, lrugen) = (self.folio_at(id), &guard.lruvec.generations);
        let _ = folio.update_recency(|now| Some(now.in_generation(Some(generation))));
        folio.update_lru(LruFlags::empty(), LruFlags::ACTIVE);
        self.lru_gen_list(guard, id, generation, end);
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        let nr = folio.nr_pages() as i64;
        lrugen.grow(generation, kind, zone, nr);
        lrugen.list_of(generation, kind)
    }

    /// Takes a folio off its generation's list, if it is on one. Returns the classic list that it
    /// counted as, whose sizes the caller changes. The folio stays active if its generation was
    /// (`lru_gen_del_folio`).
    #[inline]
    pub(in crate::lru) fn lru_gen_del(&self, guard: &LruGuard<'_>, id: FolioNr) -> Option<LruList> {
        let (folio, lrugen) = (self.folio_at(id), &guard.lruvec.generations);
        let generation = self.lru_gen_unlink(guard, id, false)?;
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        lrugen.grow(generation, kind, zone, -(folio.nr_pages() as i64));
        Some(lrugen.list_of(generation, kind))
    }

    /// Takes a folio off its generation's list, if it is on one. Returns the generation it was in,
    /// whose sizes the caller changes. The folio stays active if its generation was, unless it is
    /// `reclaiming`.
    #[inline]
    pub(crate) fn lru_gen_unlink(
        &self,
        guard: &LruGuard<'_>,
        id: FolioNr,
        reclaiming: bool,
    ) -> Option<usize> {
        let (folio, lrugen) = (self.folio_at(id), &guard.lruvec.generations);
        folio.recency().generation()?;
        self.lru_gen_unlist(guard, id);
        let before = folio.update_recency(|now| Some(now.in_generation(None)));
        let before = before.unwrap_or_else(|same| same);
        // A walk may have moved it since the check above: the replaced word has its generation.
        let generation = before.generation().expect("only the lock's holder takes it off");
        if !reclaiming && lrugen.is_active(generation) {
            folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
        }
        Some(generation)
    }

    /// Forgets a folio's uses. Returns true if it need not move as well, since it is in the oldest
    /// generation or in none (`lru_gen_clear_refs`).
    #[inline]
    pub(in crate::lru) fn lru_gen_clear_refs(&self, folio: &Folio) -> bool {
        let Some(generation) = folio.recency().generation() else {
            return true;
        };
        folio.note_use(Recency::NONE, Recency::USES.union(Recency::WORKINGSET));
        let oldest = self.lru_gen(folio.lruvec()).min_seq(kind_of(folio));
        generation == gen_from_seq(oldest)
    }

    /// Moves a folio from its list to that of `generation`.
    pub(crate) fn lru_gen_move(
        &self,
        guard: &LruGuard<'_>,
        id: FolioNr,
        generation: usize,
        end: End,
    ) {
        self.lru_gen_unlist(guard, id);
        self.lru_gen_list(guard, id, generation, end);
    }

    fn lru_gen_list(&self, guard: &LruGuard<'_>, id: FolioNr, generation: usize, end: End) {
        let folio = self.folio_at(id);
        folio.set_listed_in(Some(generation));
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        let list = &guard.lruvec.generations.lists[generation][kind][zone];
        match end {
            End::Head => list.push_head(self.folios.table, id),
            End::Tail => list.push_tail(self.folios.table, id),
        }
    }

    fn lru_gen_unlist(&self, guard: &LruGuard<'_>, id: FolioNr) {
        let folio = self.folio_at(id);
        let generation = folio.listed_in().expect("a folio of a generation is on a list");
        let (kind, zone) = (kind_of(folio), self.zone_of(folio));
        guard.lruvec.generations.lists[generation][kind][zone].remove(self.folios.table, id);
        folio.set_listed_in(None);
    }

    /// Moves a folio of the oldest generation to the next, as if it was not used, unless a walk has
    /// moved it already. Returns the folio's generation, to whose list the caller moves it. Adds
    /// the changes of generations' sizes to `sizes` (`folio_inc_gen`).
    #[inline]
    pub(crate) fn folio_inc_gen(
        &self,
        guard: &LruGuard<'_>,
        id: FolioNr,
        sizes: &mut PerGeneration<i64>,
    ) -> usize {
        let folio = self.folio_at(id);
        let oldest = gen_from_seq(guard.lruvec.generations.min_seq(kind_of(folio)));
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

    /// Adds the batched changes to the sizes of generations, and of the classic lists that they
    /// count as. Each size changes at most once.
    #[inline]
    pub(crate) fn lru_gen_add_sizes(&self, guard: &LruGuard<'_>, deltas: &PerGeneration<i64>) {
        let lrugen = &guard.lruvec.generations;
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

/// Notes that a walk found the folio young through a VMA with such flags. The first time marks it
/// as referenced. The next time, or the first for an executable page of a file, moves it to
/// `generation`. Returns the generation that it left, or `None` if it stays (`folio_update_gen`).
/// The only lock needed is the page table's, which keeps the folio from being freed.
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
pub(in crate::lru) fn lru_gen_inc_refs(folio: &Folio) {
    if folio.lru().contains(LruFlags::UNEVICTABLE) {
        return;
    }
    let _ = folio.update_recency(one_more_use);
}

/// Returns the record with one more use. The first use is marked, the next three are counted, and
/// the fifth makes the folio part of a working set. Returns `None` if nothing changes.
fn one_more_use(now: Recency) -> Option<Recency> {
    if !now.contains(Recency::REFERENCED) {
        return Some(now.with(Recency::REFERENCED, Recency::REFS));
    }
    let full = now.with(Recency::WORKINGSET, Recency::NONE);
    now.counted().or((full != now).then_some(full))
}

/// Notes a use of a folio, through VMAs with such flags, that no walk batches. Returns true if the
/// folio is to be activated. That is at the second use, or at the first use of a file's executable
/// page. The third use makes it part of a working set (`lru_gen_set_refs`).
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

/// Returns true if a VMA with such flags maps the folio as executable pages of a file
/// (`is_exec_file_folio`). Such pages are kept at their first use, since programs wait for their
/// own code.
#[inline]
pub(crate) fn is_executable(folio: &Folio, vm_flags: VmFlags) -> bool {
    vm_flags.contains(VmFlags::EXEC) && !folio.flags().contains(FolioFlags::SWAPBACKED)
}

#[cfg(test)]
mod tests;

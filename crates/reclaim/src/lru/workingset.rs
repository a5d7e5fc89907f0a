//! Refault distance: the shadows of evicted folios, and the judgement of refaults by them.
//!
//! Each cgroup has a clock on each node that counts the pages evicted and activated in its subtree.
//! An evicted folio leaves the time in its shadow. If it refaults after fewer pages than the lists
//! could have kept for it, it is part of the working set, and activated at once.

use super::lru_list::{LruList, kind_of};
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, LruFlags};
use crate::id::{FolioId, FolioNr, LruvecNr, MemcgId, MemcgNr};
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::page_cache::Shadow;
use crate::recency::Recency;
use crate::vmstat::Counter;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Env;

/// The pages of a cgroup's lists, by type. If there is swap, a refaulting folio could have
/// displaced both types. Of its own type it could have displaced only the active pages, which the
/// inactive ones had to outlive.
#[derive(Clone, Copy, Debug, Default)]
struct ListSizes {
    inactive: [u64; 2],
    active: [u64; 2],
}

/// Returns the largest refault distance at which a folio counts as part of the working set.
fn workingset_size(sizes: ListSizes, file: bool, swap: bool) -> u64 {
    let mut size = sizes.active[1];
    if !file {
        size += sizes.inactive[1];
    }
    if swap {
        size += sizes.active[0];
        if file {
            size += sizes.inactive[0];
        }
    }
    size
}

impl MmState<'_> {
    /// Advances the clocks that shadows read, of the lruvec and all above (Linux 7.3.4,
    /// `workingset_age_nonresident`).
    #[inline]
    pub(super) fn age_nonresident(&self, id: LruvecNr, nr_pages: u64) {
        for lruvec in self.lruvecs_up(id) {
            lruvec.nonresident_age.fetch_add(nr_pages, Relaxed);
        }
    }

    /// Makes the shadow of a folio that is about to be evicted by a reclaim of `target`, and
    /// advances that cgroup's clock (Linux 7.3.4, `workingset_eviction`).
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed.
    pub fn workingset_eviction(
        &self,
        folio: &Folio,
        target: Option<MemcgId>,
    ) -> Result<Shadow, BadId> {
        let target = target.map(|id| self.memcg_nr(id)).transpose()?;
        Ok(self.workingset_eviction_for(folio, target))
    }

    /// Makes a shadow like `workingset_eviction`, by the target's entry.
    #[inline]
    pub(crate) fn workingset_eviction_for(&self, folio: &Folio, target: Option<MemcgNr>) -> Shadow {
        if self.lru_gen_enabled() {
            return self.lru_gen_eviction(folio);
        }
        let of = LruvecNr { memcg: target.unwrap_or(MemcgNr::ROOT), node: folio.node() };
        let age = self.lruvec(of).nonresident_age.load(Relaxed);
        self.age_nonresident(of, folio.nr_pages() as u64);
        Shadow::new(age, of, folio.recency().contains(Recency::WORKINGSET))
    }
}

impl<E: Env> Engine<'_, E> {
    /// Judges a folio that refaulted and is on no list yet, by its shadow. If it was evicted
    /// recently enough, it will go to the active list (Linux 7.3.4, `workingset_refault`).
    ///
    /// # Errors
    /// [`BadId`] if it was freed.
    pub fn workingset_refault(&self, id: FolioId, shadow: Shadow) -> Result<(), BadId> {
        self.workingset_refault_at(self.maps.folio_nr(id)?, shadow);
        Ok(())
    }

    /// Judges a folio that refaulted, by its entry.
    pub(crate) fn workingset_refault_at(&self, id: FolioNr, shadow: Shadow) {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        debug_assert!(
            !folio.lru().contains(LruFlags::LRU),
            "a folio is judged before it is listed"
        );
        if maps.lru_gen_enabled() {
            return self.lru_gen_refault(folio, shadow);
        }
        let file = !folio.flags().contains(FolioFlags::SWAPBACKED);
        let (nr, memcg) = (folio.nr_pages() as u64, folio.memcg());
        let (of, kind) = (folio.lruvec(), kind_of(folio));
        let count = |anon: Counter, of_file: Counter| {
            maps.memcg_at(memcg).vmstat.add(if file { of_file } else { anon }, nr);
        };
        count(Counter::WorkingsetRefaultAnon, Counter::WorkingsetRefaultFile);
        if !maps.is_recent(shadow, file) {
            return;
        }
        folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
        maps.age_nonresident(of, nr);
        count(Counter::WorkingsetActivateAnon, Counter::WorkingsetActivateFile);
        maps.lruvec(of).stat.activated[kind].fetch_add(nr, Relaxed);
        if shadow.was_workingset() {
            folio.note_use(Recency::WORKINGSET, Recency::NONE);
            count(Counter::WorkingsetRestoreAnon, Counter::WorkingsetRestoreFile);
            maps.lruvec(of).stat.restored[kind].fetch_add(nr, Relaxed);
        }
    }
}

impl MmState<'_> {
    /// Returns true if the folio was evicted so recently that a little more room would have kept it
    /// (`workingset_test_recent`). If the cgroup was removed since and its entry used anew, the
    /// answer is a guess, as in kernels.
    #[inline]
    fn is_recent(&self, shadow: Shadow, file: bool) -> bool {
        let lruvec = self.lruvec(shadow.lruvec());
        let of = |anon, file| [lruvec.subtree_size(anon), lruvec.subtree_size(file)];
        let sizes = ListSizes {
            inactive: of(LruList::InactiveAnon, LruList::InactiveFile),
            active: of(LruList::ActiveAnon, LruList::ActiveFile),
        };
        let distance = shadow.distance(lruvec.nonresident_age.load(Relaxed));
        distance <= workingset_size(sizes, file, self.can_reclaim_anon())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_competes_with_all_but_the_inactive_ones_of_its_type() {
        let sizes = ListSizes { inactive: [1, 10], active: [100, 1000] };
        assert_eq!(workingset_size(sizes, true, false), 1000);
        assert_eq!(workingset_size(sizes, true, true), 1101);
        assert_eq!(workingset_size(sizes, false, false), 1010);
        assert_eq!(workingset_size(sizes, false, true), 1110);
    }
}

//! The entry points of reclaim: direct, in the background, for a cgroup.

use super::balance::rescale;
use super::scan::{Agent, DEF_PRIORITY, ScanControl, ScanState};
use crate::cgroup::Protected;
use crate::engine::Engine;
use crate::folio::MAX_NR_ZONES;
use crate::id::{LruvecNr, MemcgId, MemcgNr, NodeId};
use crate::lru::{ANON, FILE, LruList, SWAP_CLUSTER_MAX};
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::vmstat::Counter;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Format;

/// The options of a cgroup's reclaim.
#[derive(Clone, Copy, Debug)]
pub struct ReclaimOptions {
    /// True if anonymous folios may be swapped out.
    pub may_swap: bool,
    /// The swappiness to use instead of the cgroups' own: 0 to 200, or 201 for only anonymous
    /// memory.
    pub swappiness: Option<u8>,
    /// The agent that reclaims.
    pub agent: Agent,
}

impl<W: World> Engine<'_, W> {
    /// Reclaims some 32 pages from the whole machine, for a caller that found no free frame.
    /// Returns the number of pages reclaimed; 0 means that there is nothing to reclaim (Linux
    /// 7.3.4, `try_to_free_pages`).
    pub fn try_to_free_pages(&mut self) -> u64 {
        self.try_to_free_pages_of(MAX_NR_ZONES - 1)
    }

    /// Reclaims like `try_to_free_pages`, but takes only from the zones up to `reclaim_idx`.
    pub fn try_to_free_pages_of(&mut self, reclaim_idx: usize) -> u64 {
        self.maps.memcg_at(MemcgNr::ROOT).vmstat.add(Counter::Allocstall, 1);
        let all = ScanControl::new(None, SWAP_CLUSTER_MAX, Agent::Direct);
        self.do_try_to_free_pages(&mut ScanControl { reclaim_idx, ..all })
    }

    /// Reclaims about `nr_pages` pages, at least 32, from a cgroup and all below it. Returns the
    /// number of pages reclaimed, which may be larger (Linux 7.3.4,
    /// `try_to_free_mem_cgroup_pages`).
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed.
    pub fn try_to_free_mem_cgroup_pages(
        &mut self,
        memcg: MemcgId,
        nr_pages: u64,
        options: ReclaimOptions,
    ) -> Result<u64, BadId> {
        Ok(self.try_to_free_from(self.maps.memcg_nr(memcg)?, nr_pages, options))
    }

    /// Reclaims like `try_to_free_mem_cgroup_pages`, by the cgroup's entry.
    pub(super) fn try_to_free_from(
        &mut self,
        memcg: MemcgNr,
        nr_pages: u64,
        options: ReclaimOptions,
    ) -> u64 {
        let nr_pages = nr_pages.max(SWAP_CLUSTER_MAX);
        let mut sc = ScanControl {
            may_swap: options.may_swap,
            swappiness: options.swappiness,
            ..ScanControl::new(Some(memcg), nr_pages, options.agent)
        };
        self.do_try_to_free_pages(&mut sc)
    }

    /// Reclaims from a node in the background until its high watermark is met or nothing more can
    /// be reclaimed. Returns true if it is met; while writes are in progress a later call may do
    /// more (Linux 7.3.4, `balance_pgdat`, for one zone). If only inactive pages of files were
    /// tried and none was reclaimed, tries again with both types.
    ///
    /// # Errors
    /// [`BadId`] if there is no such node.
    pub fn balance(&mut self, node: NodeId) -> Result<bool, BadId> {
        let maps = self.maps;
        maps.check_node(node)?;
        maps.memcg_at(MemcgNr::ROOT).vmstat.add(Counter::Pageoutrun, 1);
        let goal = maps.high_watermark(node).max(SWAP_CLUSTER_MAX);
        let mut sc = ScanControl { node, ..ScanControl::new(None, goal, Agent::Kswapd) };
        self.balance_with(&mut sc);
        let in_vain = sc.nr_reclaimed == 0 && sc.priority == 0;
        if in_vain && sc.state.cache_trim_mode_failed {
            sc.state.no_cache_trim_mode = true;
            sc.priority = DEF_PRIORITY;
            self.balance_with(&mut sc);
        }
        self.snapshot_refaults(sc.lruvec(MemcgNr::ROOT));
        Ok(self.is_balanced(node))
    }

    fn is_balanced(&self, node: NodeId) -> bool {
        self.world.free_pages_on(node) as u64 >= self.maps.high_watermark(node)
    }

    fn balance_with(&mut self, sc: &mut ScanControl) {
        while !self.is_balanced(sc.node) && sc.priority > 0 {
            self.age_node(sc);
            sc.nr_scanned = 0;
            let before = sc.nr_reclaimed;
            self.shrink_node(sc);
            if sc.nr_scanned < sc.nr_to_reclaim || sc.nr_reclaimed == before {
                sc.priority -= 1;
            }
        }
    }

    /// Reclaims with rising urgency until the goal is met. While nothing at all is reclaimed, it
    /// extends the reclaim in turn to every cgroup, to active lists, and to memory that
    /// `memory.low` protects.
    fn do_try_to_free_pages(&mut self, sc: &mut ScanControl) -> u64 {
        loop {
            self.rising_urgency(sc);
            for node in self.maps.nodes() {
                self.snapshot_refaults(LruvecNr { memcg: sc.top(), node });
            }
            let state = &mut sc.state;
            if sc.nr_reclaimed > 0 {
                return sc.nr_reclaimed;
            } else if !state.memcg_full_walk {
                state.memcg_full_walk = true;
            } else if state.skipped_deactivate {
                state.force_deactivate = true;
                state.skipped_deactivate = false;
            } else if state.memcg_low_skipped {
                state.force_deactivate = false;
                state.memcg_low_reclaim = true;
                state.memcg_low_skipped = false;
            } else {
                return 0;
            }
        }
    }

    fn rising_urgency(&mut self, sc: &mut ScanControl) {
        sc.priority = DEF_PRIORITY;
        loop {
            sc.nr_scanned = 0;
            for node in self.maps.nodes() {
                sc.node = node;
                self.shrink_node(sc);
            }
            if sc.nr_reclaimed >= sc.nr_to_reclaim || sc.priority == 0 {
                return;
            }
            sc.priority -= 1;
        }
    }

    /// Makes one pass over the target's subtree on one node, and over both kinds of lists while
    /// they are being switched (Linux 7.3.4, `shrink_node`).
    fn shrink_node(&mut self, sc: &mut ScanControl) {
        let maps = self.maps;
        let tree = self.lock_tree();
        let by_memcg_lru = sc.root_reclaim() && maps.uses_generations();
        if by_memcg_lru {
            self.lru_gen_shrink_node(sc);
        }
        if !by_memcg_lru || maps.lru_gen_switching() {
            self.shrink_subtree(sc);
        }
        drop(tree);
    }
}

impl MmState<'_> {
    /// Returns true if there may be folios on the lists of generations.
    #[inline]
    fn uses_generations(&self) -> bool {
        self.lru_gen_enabled() || self.lru_gen_switching()
    }
}

impl<W: World> Engine<'_, W> {
    fn shrink_subtree(&mut self, sc: &mut ScanControl) {
        let before = sc.nr_reclaimed;
        if !self.maps.lru_gen_settled() {
            self.prepare_scan_control(sc);
        }
        self.shrink_memcgs(sc);
        if sc.nr_reclaimed == before && sc.state.cache_trim_mode {
            sc.state.cache_trim_mode_failed = true;
        }
    }

    /// Computes the state that concerns the target as a whole (Linux 7.3.4,
    /// `prepare_scan_control`).
    fn prepare_scan_control(&mut self, sc: &mut ScanControl) {
        let maps = self.maps;
        let top = sc.lruvec(sc.top());
        let lruvec = maps.lruvec(top);
        let refaults = maps.refaults(top);
        sc.state.cost = self.update_cost(top);
        for kind in [ANON, FILE] {
            let page_shift = <W::Format as Format>::PAGE_SHIFT;
            sc.state.may_deactivate[kind] = sc.state.force_deactivate
                || refaults[kind] != lruvec.refaults[kind].load(Relaxed)
                || maps.inactive_list_is_low(top, kind == FILE, page_shift);
        }
        let ScanState { may_deactivate, no_cache_trim_mode, .. } = sc.state;
        let inactive_file = lruvec.subtree_size(LruList::InactiveFile);
        sc.state.cache_trim_mode =
            inactive_file >> sc.priority > 0 && !may_deactivate[FILE] && !no_cache_trim_mode;
        if !sc.cgroup_reclaim() {
            let file = inactive_file + lruvec.subtree_size(LruList::ActiveFile);
            let anon = lruvec.subtree_size(LruList::InactiveAnon);
            let free = self.world.free_pages_on(sc.node) as u64;
            sc.state.file_is_tiny = file + free <= maps.high_watermark(sc.node)
                && !may_deactivate[ANON]
                && anon >> sc.priority > 0;
        }
    }

    /// Visits the cgroups of the target's subtree. Background reclaim visits all of them. Other
    /// reclaims go on where the last one stopped, until they have enough (Linux 7.3.4,
    /// `shrink_node_memcgs`).
    fn shrink_memcgs(&mut self, sc: &mut ScanControl) {
        let maps = self.maps;
        let top = sc.top();
        let partial = sc.agent != Agent::Kswapd && !sc.state.memcg_full_walk;
        let on_node = sc.lruvec(top);
        let mut next = if partial { maps.walk_on(on_node, true) } else { Some(top) };
        while let Some(id) = next {
            self.shrink_memcg(id, sc);
            if partial && sc.nr_reclaimed >= sc.nr_to_reclaim {
                return;
            }
            next = if partial { maps.walk_on(on_node, false) } else { maps.next_memcg(top, id) };
        }
    }

    fn shrink_memcg(&mut self, id: MemcgNr, sc: &mut ScanControl) {
        let maps = self.maps;
        maps.calculate_protection(sc.top(), id);
        match maps.protected(sc.top(), id) {
            Protected::BelowMin => return,
            Protected::BelowLow if !sc.state.memcg_low_reclaim => {
                sc.state.memcg_low_skipped = true;
                return;
            }
            Protected::BelowLow => maps.memcg_at(id).vmstat.add(Counter::EventLow, 1),
            Protected::Above => {}
        }
        self.shrink_lruvec(id, sc);
    }

    /// Scans one cgroup, and both kinds of its lists while they are being switched (Linux 7.3.4,
    /// `shrink_lruvec`).
    fn shrink_lruvec(&mut self, id: MemcgNr, sc: &mut ScanControl) {
        let maps = self.maps;
        // A reclaim of the whole machine has scanned its generations before.
        let generations = !sc.root_reclaim() && maps.uses_generations();
        if generations {
            self.lru_gen_shrink_lruvec(id, sc);
        }
        if !generations || maps.lru_gen_switching() {
            self.shrink_lists(id, sc);
        }
    }

    /// Scans the classic lists of one cgroup, 32 pages of each in turn.
    fn shrink_lists(&mut self, id: MemcgNr, sc: &mut ScanControl) {
        let maps = self.maps;
        let targets = maps.get_scan_count(id, sc);
        let mut nr = targets;
        let mut reclaimed = 0;
        let [inactive_anon, inactive_file, active_file] =
            [LruList::InactiveAnon, LruList::InactiveFile, LruList::ActiveFile].map(|l| l as usize);
        let all = sc.agent == Agent::Direct && !sc.cgroup_reclaim() && sc.priority == DEF_PRIORITY;
        while nr[inactive_anon] > 0 || nr[active_file] > 0 || nr[inactive_file] > 0 {
            for list in LruList::EVICTABLE {
                let batch = nr[list as usize].min(SWAP_CLUSTER_MAX);
                nr[list as usize] -= batch;
                if batch > 0 {
                    reclaimed += self.shrink_list(id, list, batch, sc);
                }
            }
            if reclaimed >= sc.nr_to_reclaim && !all {
                match rescale(targets, nr) {
                    Some(rescaled) => nr = rescaled,
                    None => break,
                }
            }
        }
        sc.nr_reclaimed += reclaimed;
        let page_shift = <W::Format as Format>::PAGE_SHIFT;
        if maps.can_age_anon() && maps.inactive_list_is_low(sc.lruvec(id), false, page_shift) {
            self.shrink_active_list(id, LruList::ActiveAnon, SWAP_CLUSTER_MAX, sc);
        }
    }

    fn shrink_list(
        &mut self,
        id: MemcgNr,
        list: LruList,
        nr_to_scan: u64,
        sc: &mut ScanControl,
    ) -> u64 {
        if !list.is_active() {
            return self.shrink_inactive_list(id, list, nr_to_scan, sc);
        }
        if sc.state.may_deactivate[usize::from(list.is_file())] {
            self.shrink_active_list(id, list, nr_to_scan, sc);
        } else {
            sc.state.skipped_deactivate = true;
        }
        0
    }

    /// Ages lists or generations before background reclaim starts (Linux 7.3.4, `kswapd_age_node`).
    fn age_node(&mut self, sc: &mut ScanControl) {
        let maps = self.maps;
        let generations = maps.uses_generations();
        if generations {
            self.lru_gen_age_node(sc);
        }
        if !generations || maps.lru_gen_switching() {
            self.age_active_anon(sc);
        }
    }

    /// Keeps anonymous memory aging while background reclaim gets enough elsewhere.
    fn age_active_anon(&mut self, sc: &mut ScanControl) {
        let maps = self.maps;
        let page_shift = <W::Format as Format>::PAGE_SHIFT;
        let root = sc.lruvec(MemcgNr::ROOT);
        if !maps.can_age_anon() || !maps.inactive_list_is_low(root, false, page_shift) {
            return;
        }
        let tree = self.lock_tree();
        for id in maps.subtree(MemcgNr::ROOT) {
            self.shrink_active_list(id, LruList::ActiveAnon, SWAP_CLUSTER_MAX, sc);
        }
        drop(tree);
    }

    /// Stores the number of refaults, so that the next reclaim can tell if there were more.
    fn snapshot_refaults(&mut self, top: LruvecNr) {
        let maps = self.maps;
        if maps.lru_gen_settled() {
            return;
        }
        let tree = self.lock_tree();
        let refaults = maps.refaults(top);
        for kind in [ANON, FILE] {
            maps.lruvec(top).refaults[kind].store(refaults[kind], Relaxed);
        }
        drop(tree);
    }
}

impl MmState<'_> {
    /// Returns the refaults of each type in a subtree on a node that were activated at once.
    fn refaults(&self, top: LruvecNr) -> [u64; 2] {
        [ANON, FILE].map(|kind| self.sum_on_node(top, |of| &of.stat.activated[kind]))
    }
}

//! The number of pages to scan of each list (Linux 7.3.4, `get_scan_count` and its callees).

use super::scan::{DEF_PRIORITY, ScanControl};
use crate::engine::Engine;
use crate::id::{LruvecNr, MemcgNr};
use crate::lru::{ANON, FILE, LruList, SWAP_CLUSTER_MAX};
use crate::mm_state::MmState;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Env;
use pageout_uapi::{MAX_SWAPPINESS, SWAPPINESS_ANON_ONLY};

/// The number of pages to scan of each list, in the order of [`LruList::EVICTABLE`].
type Targets = [u64; 4];

/// The types of pages to scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ScanBalance {
    /// Both types, in proportion to their sizes.
    Equal,
    /// Both types, each for its part of its size.
    Fract([u64; 2]),
    /// Only anonymous memory.
    Anon,
    /// Only pages of files.
    File,
    /// No pages: only anonymous memory is wanted, and there is no room to swap it to.
    Nothing,
}

/// Returns true if the inactive list is too short compared with the active one. The larger both
/// are, the smaller a part of them needs to be inactive. Active may be longer by the square root of
/// ten times their gigabytes.
fn inactive_is_low(inactive: u64, active: u64, page_shift: u32) -> bool {
    let gigabytes = (inactive + active) >> (30 - page_shift);
    let ratio = if gigabytes > 0 { (10 * gigabytes).isqrt() } else { 1 };
    inactive * ratio < active
}

/// Chooses the types to scan. The first rule that applies decides.
fn scan_balance(sc: &ScanControl, swap: bool, swappiness: u8) -> ScanBalance {
    if swappiness == SWAPPINESS_ANON_ONLY {
        if swap { ScanBalance::Anon } else { ScanBalance::Nothing }
    } else if !sc.may_swap || !swap || (sc.cgroup_reclaim() && swappiness == 0) {
        ScanBalance::File
    } else if sc.priority == 0 && swappiness > 0 {
        ScanBalance::Equal
    } else if sc.state.file_is_tiny {
        ScanBalance::Anon
    } else if sc.state.cache_trim_mode {
        ScanBalance::File
    } else {
        ScanBalance::Fract(pressure(sc.state.cost, swappiness))
    }
}

/// Returns each type's weight: its swappiness, divided by its recent cost
/// (`calculate_pressure_balance`).
fn pressure(cost: [u64; 2], swappiness: u8) -> [u64; 2] {
    let both = cost[ANON] + cost[FILE];
    let (anon, file) = (both + cost[ANON], both + cost[FILE]);
    let total = anon + file + 1;
    let part = |weight: u8, cost: u64| u64::from(weight) * total / (cost + 1);
    [part(swappiness, anon), part(MAX_SWAPPINESS - swappiness, file)]
}

/// Returns the part of `size` pages that protection leaves to scan, for a cgroup that uses `usage`
/// pages of which `protection` are protected.
pub(super) fn unprotected(size: u64, usage: u64, protection: u64) -> u64 {
    if protection == 0 {
        return size;
    }
    let usage = u128::from(usage.max(protection)) + 1;
    let kept = u128::from(size) * u128::from(protection) / usage;
    (size - kept as u64).max(SWAP_CLUSTER_MAX)
}

/// Returns the pages left to scan once enough was reclaimed. The type with fewer pages left is
/// scanned no further. The other is scanned until the same part of it was scanned as of the first.
/// Returns `None` if either type is done: the scan stops.
pub(super) fn rescale(targets: Targets, nr: Targets) -> Option<Targets> {
    let sum = |of: &Targets, kind: usize| of[2 * kind] + of[2 * kind + 1];
    let left = [sum(&nr, ANON), sum(&nr, FILE)];
    if left[ANON] == 0 || left[FILE] == 0 {
        return None;
    }
    let (smaller, larger) = if left[FILE] > left[ANON] { (ANON, FILE) } else { (FILE, ANON) };
    let percentage = left[smaller] * 100 / (sum(&targets, smaller) + 1);
    let mut rescaled = [0; 4];
    for list in [2 * larger, 2 * larger + 1] {
        let scanned = targets[list] - nr[list];
        rescaled[list] = (targets[list] * (100 - percentage) / 100).saturating_sub(scanned);
    }
    Some(rescaled)
}

impl<E: Env> Engine<'_, E> {
    /// Returns the recent cost of reclaiming each type from a cgroup on a node and all below it,
    /// with the cost since the last call added. Each page scanned in vain costs 1, and each
    /// transfer 32. Both costs are halved until their sum is at most a quarter of the lists (Linux
    /// 7.3.4, `prepare_scan_control`). The caller holds the tree's lock.
    pub(super) fn update_cost(&mut self, top: LruvecNr) -> [u64; 2] {
        let maps = self.maps;
        let guard = self.lock_lruvec(top);
        let lruvec = guard.lruvec;
        let mut costs = [ANON, FILE].map(|kind| {
            let rotated = maps.sum_on_node(top, |of| &of.stat.rotated[kind]);
            let restored = maps.sum_on_node(top, |of| &of.stat.restored[kind]);
            let written =
                if kind == ANON { maps.sum_on_node(top, |of| &of.stat.written) } else { 0 };
            let io = restored + written;
            let cost = &lruvec.cost[kind];
            let nr_rotated = rotated - cost.last_rotated.swap(rotated, Relaxed);
            let nr_io = io - cost.last_io.swap(io, Relaxed);
            cost.count.load(Relaxed) + nr_io * SWAP_CLUSTER_MAX + nr_rotated
        });
        let size: u64 = LruList::EVICTABLE.map(|list| lruvec.subtree_size(list)).iter().sum();
        while costs[ANON] + costs[FILE] > size / 4 {
            costs = costs.map(|cost| cost / 2);
        }
        lruvec.cost.iter().zip(costs).for_each(|(of, cost)| of.count.store(cost, Relaxed));
        drop(guard);
        costs
    }
}

impl MmState<'_> {
    /// Returns true if an inactive list of a cgroup on a node and all below it is too short.
    pub(super) fn inactive_list_is_low(&self, of: LruvecNr, file: bool, page_shift: u32) -> bool {
        let lruvec = self.lruvec(of);
        let (inactive, active) = match file {
            false => (LruList::InactiveAnon, LruList::ActiveAnon),
            true => (LruList::InactiveFile, LruList::ActiveFile),
        };
        inactive_is_low(lruvec.subtree_size(inactive), lruvec.subtree_size(active), page_shift)
    }

    /// Returns the number of pages to scan of each list of one cgroup on the node of this pass, in
    /// usable zones. Notes in `sc` if low protection spared some.
    pub(super) fn get_scan_count(&self, id: MemcgNr, sc: &mut ScanControl) -> Targets {
        let (memcg, lruvec) = (self.memcg_at(id), self.lruvec(sc.lruvec(id)));
        let swappiness = sc.swappiness.unwrap_or_else(|| memcg.swappiness());
        let balance = scan_balance(sc, self.can_reclaim_anon(), swappiness);
        let protection = self.spare(id, sc);
        LruList::EVICTABLE.map(|list| {
            let size = lruvec.size(list, ..=sc.reclaim_idx);
            let size = unprotected(size, memcg.usage(), protection);
            let scan = size >> sc.priority;
            match balance {
                ScanBalance::Equal => scan,
                ScanBalance::Nothing => 0,
                ScanBalance::Anon => {
                    if list.is_file() {
                        0
                    } else {
                        scan
                    }
                }
                ScanBalance::File => {
                    if list.is_file() {
                        scan
                    } else {
                        0
                    }
                }
                ScanBalance::Fract(parts) => {
                    let part = u128::from(parts[usize::from(list.is_file())]);
                    let of = u128::from(parts[ANON] + parts[FILE]);
                    (u128::from(scan) * part / of) as u64
                }
            }
        })
    }

    /// Returns the number of pages that are protected in this pass.
    pub(super) fn spare(&self, id: MemcgNr, sc: &mut ScanControl) -> u64 {
        let (min, low) = self.protection(sc.top(), id);
        if !sc.state.memcg_low_reclaim && low > min {
            sc.state.memcg_low_skipped = true;
            return low;
        }
        min
    }
}

const _: () = assert!(DEF_PRIORITY < 64, "a size is shifted by priority");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reclaim::scan::{Agent, ScanState};

    fn control(target: Option<MemcgNr>, priority: u8, state: ScanState) -> ScanControl {
        ScanControl { priority, state, ..ScanControl::new(target, 32, Agent::Direct) }
    }

    #[test]
    fn the_ratio_of_active_to_inactive_grows_with_the_square_root() {
        const GB: u64 = 1 << 18;
        for (gigabytes, ratio) in [(1, 3), (10, 10), (100, 31), (1024, 101)] {
            // The largest inactive list that is still low, and the next.
            let all = gigabytes * GB;
            let low = (all - 1) / (ratio + 1);
            assert!(inactive_is_low(low, all - low, 12), "{gigabytes} GB");
            let enough = low + 1;
            assert!(!inactive_is_low(enough, all - enough, 12), "{gigabytes} GB");
        }
        assert!(inactive_is_low(49, 50, 12), "below 1 GB both are to be as long");
        assert!(!inactive_is_low(50, 50, 12));
        assert!(!inactive_is_low(0, 0, 12));
        assert!(inactive_is_low(10, 30, 12));
        assert!(!inactive_is_low(10, 30, 30), "40 pages of 1 GB");
    }

    #[test]
    fn the_first_rule_that_applies_decides_what_is_scanned() {
        let plain = ScanState::default();
        let tiny = ScanState { file_is_tiny: true, ..plain };
        let trim = ScanState { cache_trim_mode: true, ..plain };
        let both = ScanState { file_is_tiny: true, cache_trim_mode: true, ..plain };
        let (node, cgroup) = (None, Some(MemcgNr(1)));
        let fract = |swappiness| ScanBalance::Fract(pressure([0, 0], swappiness));
        let cases = [
            (node, 12, plain, false, 60, ScanBalance::File),
            (node, 0, both, false, 201, ScanBalance::Nothing),
            (cgroup, 0, both, true, 0, ScanBalance::File),
            (node, 0, plain, true, 0, fract(0)),
            (node, 0, trim, true, 0, ScanBalance::File),
            (cgroup, 0, trim, true, 201, ScanBalance::Anon),
            (cgroup, 0, trim, true, 60, ScanBalance::Equal),
            (node, 0, both, true, 60, ScanBalance::Equal),
            (node, 1, both, true, 60, ScanBalance::Anon),
            (node, 1, tiny, true, 0, ScanBalance::Anon),
            (cgroup, 1, trim, true, 200, ScanBalance::File),
            (cgroup, 1, plain, true, 100, fract(100)),
        ];
        for (target, priority, state, swap, swappiness, wanted) in cases {
            let sc = control(target, priority, state);
            let found = scan_balance(&sc, swap, swappiness);
            assert_eq!(found, wanted, "{target:?} {priority} {state:?} {swap} {swappiness}");
        }
        let no_swap = ScanControl { may_swap: false, ..control(node, 0, both) };
        assert_eq!(scan_balance(&no_swap, true, 60), ScanBalance::File);
    }

    #[test]
    fn what_cost_little_is_scanned_more() {
        // By hand, from the sheet's formula: T = 30, a = 40, f = 50, S = 90.
        assert_eq!(pressure([10, 20], 60), [60 * 91 / 41, 140 * 91 / 51]);
        assert_eq!(pressure([0, 0], 60), [60, 140]);
        assert_eq!(pressure([0, 0], 200), [200, 0]);
        for cost in [[0, 0], [1, 1000], [1000, 1], [1 << 40, 7]] {
            for swappiness in 0..=MAX_SWAPPINESS {
                let [anon, file] = pressure(cost, swappiness);
                assert!(anon + file > 0, "never divides by 0");
                let mirrored = pressure([cost[1], cost[0]], MAX_SWAPPINESS - swappiness);
                assert_eq!(mirrored, [file, anon], "anon and file differ in name only");
            }
        }
    }

    #[test]
    fn protection_takes_its_part_of_what_is_scanned() {
        assert_eq!(unprotected(1000, 1000, 0), 1000);
        assert_eq!(unprotected(1000, 1999, 500), 750);
        assert_eq!(unprotected(1000, 999, 999), 32, "one page would be left: at least a batch");
        assert_eq!(unprotected(8, 1000, 0), 8);
    }

    #[test]
    fn enough_reclaimed_stops_the_smaller_type() {
        // Of 200 anonymous pages 100 were scanned, and of 800 pages of files 100. Half of the
        // files' pages are to be scanned.
        let targets = [200, 0, 400, 400];
        let left = rescale(targets, [100, 0, 350, 350]).expect("both types are left");
        // 100 · 100 / 201 = 49 per cent of anonymous memory are left.
        assert_eq!(left, [0, 0, 400 * 51 / 100 - 50, 400 * 51 / 100 - 50]);
        assert_eq!(rescale(targets, [0, 0, 350, 350]), None);
        assert_eq!(rescale(targets, [100, 0, 0, 0]), None);
        let files_first = rescale([400, 400, 200, 0], [350, 350, 100, 0]);
        let mirrored = 400 * 51 / 100 - 50;
        assert_eq!(files_first, Some([mirrored, mirrored, 0, 0]));
    }
}

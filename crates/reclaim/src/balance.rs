//! How much of each list is scanned (Linux 7.1.5, `get_scan_count` and what it calls).

use crate::lruvec::LruList;
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::scan::{
    ANON, DEF_PRIORITY, FILE, MAX_SWAPPINESS, SWAP_CLUSTER_MAX, SWAPPINESS_ANON_ONLY, ScanControl,
};

/// Pages to scan of each list, by [`LruList::EVICTABLE`]'s order.
pub(crate) type Targets = [u64; 4];

/// Which types are scanned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScanBalance {
    /// Both, as their sizes are.
    Equal,
    /// Both, each for this part of its size.
    Fract([u64; 2]),
    /// Anonymous memory alone.
    Anon,
    /// Pages of files alone.
    File,
}

/// Whether the inactive list is too short beside the active one: the larger both are, the smaller
/// a part of them needs to be inactive, by the square root of ten times their gigabytes.
pub(crate) fn inactive_is_low(inactive: u64, active: u64, page_shift: u32) -> bool {
    let gigabytes = (inactive + active) >> (30 - page_shift);
    let ratio = if gigabytes > 0 { (10 * gigabytes).isqrt() } else { 1 };
    inactive * ratio < active
}

/// Which types to scan: the first rule that applies decides.
pub(crate) fn scan_balance(sc: &ScanControl, swap: bool, swappiness: u8) -> ScanBalance {
    if !sc.may_swap || !swap || (sc.cgroup_reclaim() && swappiness == 0) {
        ScanBalance::File
    } else if swappiness == SWAPPINESS_ANON_ONLY {
        ScanBalance::Anon
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

/// The parts of both types: by swappiness, and by how little each cost lately
/// (`calculate_pressure_balance`).
pub(crate) fn pressure(cost: [u64; 2], swappiness: u8) -> [u64; 2] {
    let both = cost[ANON] + cost[FILE];
    let (anon, file) = (both + cost[ANON], both + cost[FILE]);
    let total = anon + file + 1;
    let part = |weight: u8, cost: u64| u64::from(weight) * total / (cost + 1);
    [part(swappiness, anon), part(MAX_SWAPPINESS - swappiness, file)]
}

/// What of `size` pages a cgroup that uses `usage` and keeps `protection` leaves to scan.
pub(crate) fn unprotected(size: u64, usage: u64, protection: u64) -> u64 {
    if protection == 0 {
        return size;
    }
    let usage = u128::from(usage.max(protection)) + 1;
    let kept = u128::from(size) * u128::from(protection) / usage;
    (size - kept as u64).max(SWAP_CLUSTER_MAX)
}

/// What is left to scan when enough was reclaimed: of the type with less left nothing, of the
/// other as great a part as was scanned of the first. `None` if one type is done: stop.
pub(crate) fn rescale(targets: Targets, nr: Targets) -> Option<Targets> {
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

impl Maps<'_> {
    /// Whether anonymous folios can be swapped out.
    pub(crate) fn can_reclaim_anon(&self) -> bool {
        self.free_slots() > 0
    }

    /// Whether there is swap at all, so that anonymous folios are worth aging.
    pub(crate) fn can_age_anon(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Whether an inactive list of a cgroup and all below it is too short.
    pub(crate) fn inactive_list_is_low(&self, memcg: MemcgId, file: bool, page_shift: u32) -> bool {
        let (inactive, active) = match file {
            false => (LruList::InactiveAnon, LruList::ActiveAnon),
            true => (LruList::InactiveFile, LruList::ActiveFile),
        };
        inactive_is_low(self.lru_size(memcg, inactive), self.lru_size(memcg, active), page_shift)
    }

    /// Pages to scan of each list of one cgroup. Notes where low protection spared some.
    pub(crate) fn get_scan_count(&self, id: MemcgId, sc: &mut ScanControl) -> Targets {
        let memcg = self.memcg(id);
        let swappiness = sc.swappiness.unwrap_or_else(|| memcg.swappiness());
        let balance = scan_balance(sc, self.can_reclaim_anon(), swappiness);
        let protection = self.spare(id, sc);
        LruList::EVICTABLE.map(|list| {
            let size = unprotected(memcg.lruvec.size(list), memcg.usage(), protection);
            let scan = size >> sc.priority;
            match balance {
                ScanBalance::Equal => scan,
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

    /// What a cgroup keeps in this pass.
    fn spare(&self, id: MemcgId, sc: &mut ScanControl) -> u64 {
        let (min, low) = self.protection(sc.top(), id);
        if !sc.state.memcg_low_reclaim && low > min {
            sc.state.memcg_low_skipped = true;
            return low;
        }
        min
    }
}

const _: () = assert!(DEF_PRIORITY < 64, "a size is shifted by priority");

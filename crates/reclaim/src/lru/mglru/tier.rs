//! Tiers: within a generation, folios that were used more often through file descriptors are kept
//! if such folios refault more. Of the two types, the one that refaults less is evicted.
//!
//! Both compare the parts of examined pages that refaulted (Linux 7.3.4, vmscan.c). They are
//! counted in the oldest generation, and in those before it, halved with each generation that goes
//! by.

use super::lrugen::{LruGen, PerTier};
use super::{MAX_NR_TIERS, MIN_LRU_BATCH};
use crate::lru::lru_list::{ANON, FILE};
use crate::recency::{REFS_WIDTH, Recency};
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use pageout_uapi::MAX_SWAPPINESS;

/// Returns the tier of a folio, 0 to 3.
pub(crate) const fn tier_of(recency: Recency) -> usize {
    tier_from_refs(recency.refs(), recency.contains(Recency::WORKINGSET))
}

/// Returns the tier of 0 to 4 uses: their logarithm, rounded up. Folios of a working set are in the
/// last (`lru_tier_from_refs`).
pub(super) const fn tier_from_refs(refs: u32, workingset: bool) -> usize {
    match workingset {
        true => MAX_NR_TIERS - 1,
        false => (u32::BITS - refs.saturating_sub(1).leading_zeros()) as usize,
    }
}

/// Returns true if a folio's counter of uses is full and it is part of a working set. Such a folio
/// moves to the next generation whatever its tier, and does not count as protected.
pub(crate) const fn is_lazily_promoted(recency: Recency) -> bool {
    recency.contains(Recency::WORKINGSET) && recency.refs() == 1 << REFS_WIDTH
}

/// The refaults of some tiers, and the weight that they have (`struct ctrl_pos`), in pages.
#[derive(Clone, Copy, Debug)]
struct CtrlPos {
    refaulted: u64,
    total: u64,
    gain: u8,
}

impl CtrlPos {
    /// Reads the refaults of some tiers of a type (`read_ctrl_pos`).
    fn read(lrugen: &LruGen, kind: usize, tiers: Range<usize>, gain: u8) -> Self {
        let (mut refaulted, mut total) = (0, 0);
        for tier in tiers {
            let n = |of: &PerTier| of[kind][tier].load(Relaxed);
            refaulted += n(&lrugen.avg_refaulted) + n(&lrugen.refaulted);
            total += n(&lrugen.avg_total) + n(&lrugen.protected) + n(&lrugen.evicted);
        }
        Self { refaulted, total, gain }
    }

    /// Returns true if the other may be evicted like this one (`positive_ctrl_err`). It may if too
    /// few of its pages refaulted to judge, or no greater a part than of this one.
    fn allows(self, other: Self) -> bool {
        let wide =
            |n: u64, total: u64, gain: u8| u128::from(n) * u128::from(total) * u128::from(gain);
        other.refaulted < MIN_LRU_BATCH
            || wide(other.refaulted, self.total + MIN_LRU_BATCH, self.gain)
                <= wide(self.refaulted + 1, other.total, other.gain)
    }
}

/// Returns the type to evict: the one that refaults less, weighted by swappiness. At 0 and 1 it is
/// always files' pages, at 200 and 201 always anonymous memory (`get_type_to_scan`).
pub(crate) fn get_type_to_scan(lrugen: &LruGen, swappiness: u8) -> usize {
    if swappiness <= 1 {
        return FILE;
    }
    if swappiness >= MAX_SWAPPINESS {
        return ANON;
    }
    let all = |kind, gain| CtrlPos::read(lrugen, kind, 0..MAX_NR_TIERS, gain);
    let anon = all(ANON, swappiness);
    if anon.allows(all(FILE, MAX_SWAPPINESS - swappiness)) { FILE } else { ANON }
}

/// Returns the last tier of a type to evict. The tiers after it refault at least half as often
/// again as the first (`get_tier_idx`).
pub(crate) fn get_tier_idx(lrugen: &LruGen, kind: usize) -> usize {
    let first = CtrlPos::read(lrugen, kind, 0..1, 2);
    let evicted = |tier: &usize| first.allows(CtrlPos::read(lrugen, kind, *tier..*tier + 1, 3));
    (1..MAX_NR_TIERS).take_while(evicted).last().unwrap_or(0)
}

/// Resets the counts when the oldest generation of a type ends (`reset_ctrl_pos`; no history is
/// kept). They join the averages, and the next generation is counted from 0. The caller holds the
/// lruvec's lock.
pub(super) fn reset_ctrl_pos(lrugen: &LruGen, kind: usize) {
    for tier in 0..MAX_NR_TIERS {
        // Other CPUs count concurrently, and none of their counts may be lost.
        let [refaulted, evicted, protected] =
            [&lrugen.refaulted, &lrugen.evicted, &lrugen.protected]
                .map(|of| of[kind][tier].swap(0, Relaxed));
        let joins = |avg: &PerTier, n: u64| {
            let avg = &avg[kind][tier];
            avg.store((avg.load(Relaxed) + n) / 2, Relaxed);
        };
        joins(&lrugen.avg_refaulted, refaulted);
        joins(&lrugen.avg_total, evicted + protected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets a type's counts of one tier: refaulted and evicted pages.
    fn count(lrugen: &LruGen, kind: usize, tier: usize, refaulted: u64, evicted: u64) {
        lrugen.refaulted[kind][tier].store(refaulted, Relaxed);
        lrugen.evicted[kind][tier].store(evicted, Relaxed);
    }

    #[test]
    fn a_tier_is_the_logarithm_of_uses() {
        let tiers = [0, 1, 2, 3, 4].map(|refs| tier_from_refs(refs, false));
        assert_eq!(tiers, [0, 0, 1, 2, 2]);
        for refs in 0..=4 {
            assert_eq!(tier_from_refs(refs, true), 3);
        }
        let used = Recency::REFERENCED.union(Recency::REFS);
        assert_eq!(tier_of(used), 2);
        assert!(!is_lazily_promoted(used));
        assert_eq!(tier_of(used.union(Recency::WORKINGSET)), 3);
        assert!(is_lazily_promoted(used.union(Recency::WORKINGSET)));
        assert!(!is_lazily_promoted(Recency::REFERENCED.union(Recency::WORKINGSET)));
    }

    #[test]
    fn a_tier_is_kept_that_comes_back_half_as_often_again() {
        // Of the first tier 100 of 936 pages refaulted. By hand: refs · (936 + 64) · 2 against 101
        // · total · 3. With 303 examined, the limit would be 45.9, but fewer than 64 refaults are
        // too few to judge. With 660 examined it is 99.99.
        let cases = [(63, 303, 1), (64, 303, 0), (99, 660, 1), (100, 660, 0)];
        for (refaulted, evicted, last) in cases {
            let lrugen = LruGen::default();
            count(&lrugen, FILE, 0, 100, 936);
            count(&lrugen, FILE, 1, refaulted, evicted);
            count(&lrugen, FILE, 2, 64, 64);
            assert_eq!(get_tier_idx(&lrugen, FILE), last, "{refaulted} of {evicted}");
            assert_eq!(get_tier_idx(&lrugen, ANON), 3, "nothing is known of it");
        }
        let lrugen = LruGen::default();
        count(&lrugen, ANON, 0, 100, 936);
        count(&lrugen, ANON, 2, 64, 64);
        count(&lrugen, ANON, 3, 0, 1);
        assert_eq!(get_tier_idx(&lrugen, ANON), 1, "what follows a tier that is kept is kept too");
    }

    #[test]
    fn what_was_protected_counts_as_examined() {
        let lrugen = LruGen::default();
        count(&lrugen, FILE, 0, 100, 936);
        count(&lrugen, FILE, 1, 100, 560);
        assert_eq!(get_tier_idx(&lrugen, FILE), 0);
        lrugen.protected[FILE][1].store(100, Relaxed);
        assert_eq!(get_tier_idx(&lrugen, FILE), 0, "660 examined are too few by a hair");
        lrugen.avg_total[FILE][1].store(1, Relaxed);
        assert_eq!(get_tier_idx(&lrugen, FILE), 3, "661 are enough");
    }

    #[test]
    fn the_type_is_evicted_that_comes_back_less() {
        let cases = [
            // Nothing is known: files' pages.
            (60, [0, 0], [0, 0], FILE),
            (60, [1000, 1000], [63, 63], FILE),
            // The same part of both refaulted, so the type with the larger weight is evicted. At
            // 100 it is anonymous memory, because of the 64 pages that are added as examined
            // without a refault.
            (100, [640, 6400], [640, 6400], ANON),
            (101, [640, 6400], [640, 6400], ANON),
            (99, [640, 6400], [640, 6400], FILE),
            // By hand, at 60: 128 · (936 + 64) · 60 against (a + 1) · 1000 · 140: 54.9 − 1.
            (60, [53, 936], [128, 1000], ANON),
            (60, [54, 936], [128, 1000], FILE),
        ];
        for (swappiness, anon, file, wanted) in cases {
            let lrugen = LruGen::default();
            // The counts are spread over tiers, since their sum is compared.
            count(&lrugen, ANON, 0, anon[0], 0);
            count(&lrugen, ANON, 3, 0, anon[1]);
            count(&lrugen, FILE, 1, file[0], 0);
            count(&lrugen, FILE, 2, 0, file[1]);
            let found = get_type_to_scan(&lrugen, swappiness);
            assert_eq!(found, wanted, "{swappiness} {anon:?} {file:?}");
            let ends = [0, 1, 200, 201].map(|swappiness| get_type_to_scan(&lrugen, swappiness));
            assert_eq!(ends, [FILE, FILE, ANON, ANON], "whatever came back");
        }
    }

    #[test]
    fn what_went_by_counts_half() {
        let lrugen = LruGen::default();
        let (averages, now) = ([&lrugen.avg_refaulted, &lrugen.avg_total], &lrugen.protected);
        count(&lrugen, FILE, 2, 11, 20);
        now[FILE][2].store(7, Relaxed);
        count(&lrugen, ANON, 2, 5, 5);
        for (refaulted, total) in [(5, 13), (2, 6), (1, 3)] {
            reset_ctrl_pos(&lrugen, FILE);
            assert_eq!(averages.map(|of| of[FILE][2].load(Relaxed)), [refaulted, total]);
            assert_eq!(now[FILE][2].load(Relaxed), 0);
        }
        assert_eq!(lrugen.evicted[ANON][2].load(Relaxed), 5, "the other type is not concerned");
    }
}

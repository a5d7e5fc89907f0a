//! The memory that `memory.min` and `memory.low` keep from reclaim.

use super::memcg::Memcg;
use crate::id::MemcgNr;
use crate::mm_state::MmState;
use core::sync::atomic::Ordering::Relaxed;

/// The permission of reclaim to take from one cgroup of its subtree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protected {
    /// The cgroup uses more than its protection: reclaim may take the part above.
    Above,
    /// The cgroup uses no more than its low protection: reclaim may take only if nothing else is
    /// left.
    BelowLow,
    /// The cgroup uses no more than its minimum: reclaim may take nothing.
    BelowMin,
}

/// A claim on one kind of protection, in pages.
#[derive(Clone, Copy, Debug)]
struct Claim {
    /// The usage of the cgroup.
    usage: u64,
    /// The protection that the cgroup asks for.
    setting: u64,
    /// The usage of the cgroup's parent.
    parent_usage: u64,
    /// The effective protection of the cgroup's parent.
    parent_effective: u64,
    /// The claims of the cgroup and its siblings together.
    siblings: u64,
}

impl Claim {
    /// Returns the cgroup's effective protection (Linux 7.3.4, `effective_protection`). It is the
    /// part of the setting that the cgroup uses. If all claims exceed the parent's protection, they
    /// are reduced in proportion. If they are less and `recursive` is set, each cgroup gets a share
    /// of the rest, in proportion to its usage without a claim.
    fn effective(self, recursive: bool) -> u64 {
        let protected = self.usage.min(self.setting);
        if self.siblings > self.parent_effective {
            return share(protected, self.parent_effective, self.siblings);
        }
        let rest = self.parent_effective - self.siblings;
        let unclaimed = self.parent_usage.saturating_sub(self.siblings);
        if !recursive || rest == 0 || unclaimed == 0 {
            return protected;
        }
        protected.saturating_add(share(rest, self.usage - protected, unclaimed))
    }
}

/// Returns `of` × `part` / `whole`. `whole` is not 0.
fn share(of: u64, part: u64, whole: u64) -> u64 {
    let shared = u128::from(of) * u128::from(part) / u128::from(whole);
    u64::try_from(shared).unwrap_or(u64::MAX)
}

impl MmState<'_> {
    /// Computes a cgroup's effective protection for a reclaim of the subtree of `target`, and the
    /// claims of its children. Call it for parents before children (Linux 7.3.4,
    /// `page_counter_calculate_protection`).
    pub(crate) fn calculate_protection(&self, target: MemcgNr, id: MemcgNr) {
        let memcg = self.memcg_at(id);
        let claims = |setting: fn(&Memcg) -> u64| {
            self.children(id)
                .map(|child| setting(child).min(child.usage()))
                .fold(0, u64::saturating_add)
        };
        memcg.children_min.store(claims(min), Relaxed);
        memcg.children_low.store(claims(low), Relaxed);
        if id == target {
            return;
        }
        let parent_id = memcg.parent();
        if parent_id == target {
            memcg.emin.store(min(memcg), Relaxed);
            memcg.elow.store(low(memcg), Relaxed);
            return;
        }
        let parent = self.memcg_at(parent_id);
        let recursive = self.cgroups.tree.recursive.load(Relaxed);
        let claim = |setting, parent_effective, siblings| Claim {
            usage: memcg.usage(),
            setting,
            parent_usage: parent.usage(),
            parent_effective,
            siblings,
        };
        let [emin, elow, smin, slow] =
            [&parent.emin, &parent.elow, &parent.children_min, &parent.children_low]
                .map(|amount| amount.load(Relaxed));
        memcg.emin.store(claim(min(memcg), emin, smin).effective(recursive), Relaxed);
        memcg.elow.store(claim(low(memcg), elow, slow).effective(recursive), Relaxed);
    }

    /// Returns the permission of reclaim for `target` to take from a cgroup whose protection was
    /// computed.
    #[inline]
    pub(crate) fn protected(&self, target: MemcgNr, id: MemcgNr) -> Protected {
        let memcg = self.memcg_at(id);
        let usage = memcg.usage();
        if id == target {
            Protected::Above
        } else if usage <= memcg.emin.load(Relaxed) {
            Protected::BelowMin
        } else if usage <= memcg.elow.load(Relaxed) {
            Protected::BelowLow
        } else {
            Protected::Above
        }
    }

    /// Returns the effective protection (minimum, low) of a cgroup from reclaim for `target`.
    pub(crate) fn protection(&self, target: MemcgNr, id: MemcgNr) -> (u64, u64) {
        let memcg = self.memcg_at(id);
        match id == target {
            true => (0, 0),
            false => (memcg.emin.load(Relaxed), memcg.elow.load(Relaxed)),
        }
    }
}

fn min(memcg: &Memcg) -> u64 {
    memcg.min.load(Relaxed)
}

fn low(memcg: &Memcg) -> u64 {
    memcg.low.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(usage: u64, setting: u64, siblings: u64) -> Claim {
        Claim { usage, setting, parent_usage: 1000, parent_effective: 400, siblings }
    }

    #[test]
    fn claims_within_the_parents_are_kept_as_far_as_they_are_used() {
        assert_eq!(claim(300, 100, 400).effective(false), 100);
        assert_eq!(claim(60, 100, 60).effective(false), 60);
        assert_eq!(claim(300, 0, 0).effective(false), 0);
    }

    #[test]
    fn claims_beyond_the_parents_are_scaled_down() {
        assert_eq!(claim(300, 200, 800).effective(false), 100);
        assert_eq!(claim(300, 200, 800).effective(true), 100);
        assert_eq!(Claim { parent_effective: 0, ..claim(300, 200, 200) }.effective(true), 0);
    }

    #[test]
    fn what_no_one_claims_is_shared_by_use() {
        // 300 of the parent's 400 are unclaimed, for 900 pages that are used without a claim: a
        // third each.
        assert_eq!(claim(400, 100, 100).effective(true), 100 + 300 * 300 / 900);
        assert_eq!(claim(600, 0, 100).effective(true), 200);
        assert_eq!(claim(100, 100, 100).effective(true), 100);
        // If concurrent changes make the usages inconsistent, nothing divides by 0.
        let racing = Claim { parent_usage: 50, ..claim(600, 0, 100) };
        assert_eq!(racing.effective(true), 0);
        // The siblings' claims may be older than the usages, and a parent may protect everything.
        let stale = Claim { parent_usage: 960, parent_effective: u64::MAX, ..claim(600, 10, 910) };
        assert_eq!(stale.effective(true), u64::MAX);
    }

    #[test]
    fn children_never_keep_more_than_their_parent() {
        for settings in [[0, 0, 0], [1, 2, 3], [500, 500, 500], [100, 0, 700], [400, 0, 0]] {
            for usages in [[1, 1, 998], [300, 300, 400], [1000, 0, 0], [0, 500, 500]] {
                for recursive in [false, true] {
                    let pairs = || settings.into_iter().zip(usages);
                    let siblings = pairs().map(|(s, u): (u64, u64)| s.min(u)).sum();
                    let kept: u64 =
                        pairs().map(|(s, u)| claim(u, s, siblings).effective(recursive)).sum();
                    assert!(kept <= 400, "{settings:?} {usages:?} {recursive}");
                }
            }
        }
    }
}

//! What `memory.min` and `memory.low` keep from reclaim.

use crate::maps::Maps;
use crate::memcg::{Memcg, MemcgId};
use core::sync::atomic::Ordering::Relaxed;

/// What reclaim may do with one cgroup of the subtree it works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protected {
    /// No more than it must leave.
    Above,
    /// Uses no more than its low protection: only if nothing else is left.
    BelowLow,
    /// Uses no more than its minimum: nothing.
    BelowMin,
}

/// Claims on one kind of protection, in pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// What the cgroup uses.
    pub(crate) usage: u64,
    /// What it asks to keep.
    pub(crate) setting: u64,
    /// What its parent uses.
    pub(crate) parent_usage: u64,
    /// What its parent may keep.
    pub(crate) parent_effective: u64,
    /// What it and its siblings claim together.
    pub(crate) siblings: u64,
}

impl Claim {
    /// What the cgroup keeps in fact: what it asks and uses; in proportion, where all claims are
    /// more than the parent's; where they are less and `recursive`, with a share of the rest in
    /// proportion to what each uses without claiming it (Linux 7.1.5, `effective_protection`).
    pub(crate) fn effective(self, recursive: bool) -> u64 {
        let protected = self.usage.min(self.setting);
        if self.siblings > self.parent_effective {
            return share(protected, self.parent_effective, self.siblings);
        }
        let rest = self.parent_effective - self.siblings;
        let unclaimed = self.parent_usage.saturating_sub(self.siblings);
        if !recursive || rest == 0 || unclaimed == 0 {
            return protected;
        }
        protected + share(rest, self.usage - protected, unclaimed)
    }
}

/// `of` × `part` / `whole`, whole not 0.
fn share(of: u64, part: u64, whole: u64) -> u64 {
    let shared = u128::from(of) * u128::from(part) / u128::from(whole);
    u64::try_from(shared).unwrap_or(u64::MAX)
}

impl Maps<'_> {
    /// Computes what a cgroup keeps when reclaim works on the subtree of `target`, and what its
    /// children claim. Parents come before children (Linux 7.1.5,
    /// `page_counter_calculate_protection`).
    pub(crate) fn calculate_protection(&self, target: MemcgId, id: MemcgId) {
        let memcg = self.memcg(id);
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
        let parent_id = MemcgId(memcg.parent.load(Relaxed));
        if parent_id == target {
            memcg.emin.store(min(memcg), Relaxed);
            memcg.elow.store(low(memcg), Relaxed);
            return;
        }
        let parent = self.memcg(parent_id);
        let recursive = self.tree.recursive.load(Relaxed);
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

    /// What reclaim for `target` may do with a cgroup whose protection was computed.
    pub(crate) fn protected(&self, target: MemcgId, id: MemcgId) -> Protected {
        let memcg = self.memcg(id);
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

    /// What a cgroup keeps (minimum, low) from reclaim for `target`.
    pub(crate) fn protection(&self, target: MemcgId, id: MemcgId) -> (u64, u64) {
        let memcg = self.memcg(id);
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

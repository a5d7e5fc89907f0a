//! Refault distance: what is left of an evicted folio, and what it says when it comes back.

use crate::maps::Maps;
use crate::memcg::MemcgId;
use core::num::NonZeroU64;
use core::sync::atomic::Ordering::Relaxed;

/// What an evicted folio leaves where it was: when that was, on the clock of evictions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow(pub(crate) NonZeroU64);

impl Maps<'_> {
    /// Lets the clocks that shadows read go on, of the cgroup and all above (Linux 7.1.5,
    /// `workingset_age_nonresident`).
    pub(crate) fn age_nonresident(&self, memcg: MemcgId, nr_pages: u64) {
        for memcg in self.ancestors(memcg) {
            memcg.lruvec.nonresident_age.fetch_add(nr_pages, Relaxed);
        }
    }
}

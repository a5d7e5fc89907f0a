//! Shadows: the traces that evicted folios leave.

use crate::id::{LruvecNr, MAX_NUMNODES, MemcgNr, NodeId};
use core::num::NonZeroU64;

/// The shadow of an evicted folio. It has the time of its eviction, the cgroup and the node whose
/// clock has that time, and if the folio had been part of a working set. The time is 42 bits wide,
/// in pages, and wraps. In the multi-generational LRU it is a generation and uses instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow(pub(crate) NonZeroU64);

const USED: u64 = 1;

const WORKINGSET: u64 = 1 << 1;

const MEMCG_SHIFT: u32 = 2;

const NODE_SHIFT: u32 = MEMCG_SHIFT + u16::BITS;

const NODES: u64 = MAX_NUMNODES as u64 - 1;

const AGE_SHIFT: u32 = NODE_SHIFT + NODES.count_ones();

impl Shadow {
    /// The mask of the times that fit.
    pub(crate) const AGE_MASK: u64 = u64::MAX >> AGE_SHIFT;

    #[inline]
    pub(crate) fn new(age: u64, of: LruvecNr, workingset: bool) -> Self {
        let flags = if workingset { USED | WORKINGSET } else { USED };
        let LruvecNr { memcg: MemcgNr(memcg), node: NodeId(node) } = of;
        let of = u64::from(node) << NODE_SHIFT | u64::from(memcg) << MEMCG_SHIFT;
        let packed = age << AGE_SHIFT | of | flags;
        Self(NonZeroU64::new(packed).expect("bit 0 is set"))
    }

    /// Returns the name of the lists from whose clock the time was read.
    pub(crate) fn lruvec(self) -> LruvecNr {
        let memcg = MemcgNr((self.0.get() >> MEMCG_SHIFT) as u16);
        LruvecNr { memcg, node: NodeId((self.0.get() >> NODE_SHIFT & NODES) as u8) }
    }

    /// Returns true if the folio had been part of a working set.
    pub(crate) fn was_workingset(self) -> bool {
        self.0.get() & WORKINGSET != 0
    }

    /// Returns the time at which the folio was evicted.
    pub(crate) fn age(self) -> u64 {
        self.0.get() >> AGE_SHIFT
    }

    /// Returns the number of pages evicted or activated since, if the clock is at `now`.
    pub(crate) fn distance(self, now: u64) -> u64 {
        now.wrapping_sub(self.age()) & Self::AGE_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shadow_says_what_was_packed() {
        let last = MAX_NUMNODES as u8 - 1;
        for (age, memcg, node) in
            [(0, 0, 0), (1, u16::MAX, last), (Shadow::AGE_MASK, 7, 0), (Shadow::AGE_MASK - 5, 1, 3)]
        {
            let of = LruvecNr { memcg: MemcgNr(memcg), node: NodeId(node) };
            for workingset in [false, true] {
                let shadow = Shadow::new(age, of, workingset);
                assert_eq!(shadow.lruvec(), of);
                assert_eq!(shadow.was_workingset(), workingset);
                assert_eq!(shadow.distance(age), 0);
                assert_eq!(shadow.distance(age + 10), 10, "over the edge of 42 bits too");
            }
        }
    }
}

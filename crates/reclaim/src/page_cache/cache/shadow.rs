//! Shadows: the traces that evicted folios leave.

use crate::id::MemcgId;
use core::num::NonZeroU64;

/// The shadow of an evicted folio. It has the time of its eviction, the cgroup whose clock has that
/// time, and if the folio had been part of a working set. The time is 46 bits wide, in pages, and
/// wraps. In the multi-generational LRU it is a generation and uses instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow(pub(crate) NonZeroU64);

const USED: u64 = 1;

const WORKINGSET: u64 = 1 << 1;

const MEMCG_SHIFT: u32 = 2;

const AGE_SHIFT: u32 = MEMCG_SHIFT + u16::BITS;

impl Shadow {
    /// The mask of the times that fit.
    pub(crate) const AGE_MASK: u64 = u64::MAX >> AGE_SHIFT;

    #[inline]
    pub(crate) fn new(age: u64, memcg: MemcgId, workingset: bool) -> Self {
        let flags = if workingset { USED | WORKINGSET } else { USED };
        let packed = age << AGE_SHIFT | u64::from(memcg.0) << MEMCG_SHIFT | flags;
        Self(NonZeroU64::new(packed).expect("bit 0 is set"))
    }

    /// Returns the cgroup from whose clock the time was read.
    pub(crate) fn memcg(self) -> MemcgId {
        MemcgId((self.0.get() >> MEMCG_SHIFT) as u16)
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
        for (age, memcg) in
            [(0, 0), (1, u16::MAX), (Shadow::AGE_MASK, 7), (Shadow::AGE_MASK - 5, 1)]
        {
            for workingset in [false, true] {
                let shadow = Shadow::new(age, MemcgId(memcg), workingset);
                assert_eq!(shadow.memcg(), MemcgId(memcg));
                assert_eq!(shadow.was_workingset(), workingset);
                assert_eq!(shadow.distance(age), 0);
                assert_eq!(shadow.distance(age + 10), 10, "over the edge of 46 bits too");
            }
        }
    }
}

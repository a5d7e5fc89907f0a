//! The record of a folio's use (the generation, reference and workingset bits of kernels'
//! `folio->flags`). It is one small word that walkers of page tables change without any of the
//! folio's locks.

use core::fmt;

/// A folio's generation, its counted uses, and its marks of use.
///
/// | bits | |
/// |---|---|
/// | 0 | `REFERENCED`: seen referenced once |
/// | 1 | `WORKINGSET`: was active before, or used again and again |
/// | 2 | `RECLAIM`: to be reclaimed as soon as its write-out ends |
/// | 4:3 | uses through file descriptors after the first, on generations (`LRU_REFS`) |
/// | 7:5 | its generation, from 1; 0 on none (`LRU_GEN`) |
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Recency(pub(crate) u16);

const REFS_SHIFT: u32 = 3;
/// The number of bits that count uses (`LRU_REFS_WIDTH`).
pub(crate) const REFS_WIDTH: u32 = 2;
const GEN_SHIFT: u32 = REFS_SHIFT + REFS_WIDTH;
const GEN_MASK: u16 = 0b111 << GEN_SHIFT;
const ONE_REF: u16 = 1 << REFS_SHIFT;

impl Recency {
    /// No generation, uses or marks.
    pub const NONE: Self = Self(0);
    /// The mark of a folio that was seen referenced once since the mark was last cleared.
    pub const REFERENCED: Self = Self(1 << 0);
    /// The mark of a folio of a working set: it was active before, or used again and again.
    pub const WORKINGSET: Self = Self(1 << 1);
    /// The mark of a folio to reclaim as soon as its write-out ends.
    pub const RECLAIM: Self = Self(1 << 2);
    /// The counter of uses (`LRU_REFS_MASK`).
    pub(crate) const REFS: Self = Self(0b11 << REFS_SHIFT);
    /// The mark of the first use and the counter of the others (`LRU_REFS_FLAGS`).
    pub(crate) const USES: Self = Self(Self::REFERENCED.0 | Self::REFS.0);

    /// Returns true if all of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if any of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns all that is set in either.
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the record with `set` set and then `clear` cleared.
    #[inline]
    pub const fn with(self, set: Self, clear: Self) -> Self {
        Self((self.0 | set.0) & !clear.0)
    }

    /// Returns the folio's generation, 0 to 3, or `None` if it is in none.
    #[inline]
    pub const fn generation(self) -> Option<usize> {
        match self.0 >> GEN_SHIFT {
            0 => None,
            n => Some((n - 1) as usize),
        }
    }

    /// Returns the record in another generation, or in none.
    #[inline]
    pub(crate) const fn in_generation(self, generation: Option<usize>) -> Self {
        let n = match generation {
            None => 0,
            Some(generation) => generation as u16 + 1,
        };
        Self(self.0 & !GEN_MASK | n << GEN_SHIFT)
    }

    /// Returns the number of uses seen, 0 to 4. The first one marks it referenced, the others are
    /// counted (`folio_lru_refs`).
    #[inline]
    pub const fn refs(self) -> u32 {
        if !self.contains(Self::REFERENCED) {
            return 0;
        }
        1 + ((self.0 & Self::REFS.0) >> REFS_SHIFT) as u32
    }

    /// Returns the record with one more use counted, or `None` if the counter is full.
    #[inline]
    pub(crate) const fn counted(self) -> Option<Self> {
        if self.contains(Self::REFS) { None } else { Some(Self(self.0 + ONE_REF)) }
    }

    /// Returns the record with the counter of uses at `n`, 0 to 3, and the same marks.
    #[inline]
    pub(crate) const fn with_count(self, n: u32) -> Self {
        Self(self.0 & !Self::REFS.0 | (n as u16) << REFS_SHIFT)
    }
}

impl fmt::Debug for Recency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recency")
            .field("referenced", &self.contains(Self::REFERENCED))
            .field("workingset", &self.contains(Self::WORKINGSET))
            .field("reclaim", &self.contains(Self::RECLAIM))
            .field("refs", &self.refs())
            .field("generation", &self.generation())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_changes_nothing_else() {
        for bits in 0..1 << GEN_SHIFT {
            for generation in [None, Some(0), Some(1), Some(2), Some(3)] {
                let word = Recency(bits).in_generation(generation);
                assert_eq!(word.generation(), generation);
                assert_eq!(word.in_generation(None), Recency(bits));
            }
        }
    }

    #[test]
    fn uses_are_counted_from_the_first_mark_to_four() {
        assert_eq!(Recency::REFS.refs(), 0, "a counter without its mark counts nothing");
        let mut word = Recency::REFERENCED;
        for refs in 1..4 {
            assert_eq!(word.refs(), refs);
            word = word.counted().expect("room for three more");
        }
        assert_eq!((word.refs(), word.counted()), (4, None));
        assert_eq!(word.with_count(1).refs(), 2);
    }
}

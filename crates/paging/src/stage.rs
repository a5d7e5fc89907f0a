//! The stages of reclaim, for grounds that attribute time.

/// The current task of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Stage {
    /// Taking folios off the LRU lists.
    Isolate,
    /// Walking a folio's reverse map and page tables to check if it was referenced.
    RmapWalk,
    /// Reading and clearing young bits, and the flush that follows. In walks and look-arounds of
    /// the multi-generational LRU, all work on one table: this stage is entered once for it.
    Young,
    /// Walking address spaces for the multi-generational LRU: lists, upper levels, and the opening
    /// of a generation.
    Aging,
    /// Taking entries out, the walk to them included.
    Unmap,
    /// Completing the invalidations that unmapping owes.
    Flush,
    /// Taking folios out of the page cache or the swap cache.
    CacheRemoval,
    /// Freeing frames.
    Free,
    /// Anything else.
    Other,
}

impl Stage {
    /// Every stage, in order of its number.
    pub const ALL: [Self; 9] = [
        Self::Isolate,
        Self::RmapWalk,
        Self::Young,
        Self::Aging,
        Self::Unmap,
        Self::Flush,
        Self::CacheRemoval,
        Self::Free,
        Self::Other,
    ];

    /// Returns the name that records and tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Isolate => "isolate",
            Self::RmapWalk => "rmap walk",
            Self::Young => "young",
            Self::Aging => "aging",
            Self::Unmap => "unmap",
            Self::Flush => "flush",
            Self::CacheRemoval => "cache removal",
            Self::Free => "free",
            Self::Other => "other",
        }
    }
}

// `ALL` is indexed by a stage's number.
const _: () = {
    let mut k = 0;
    while k < Stage::ALL.len() {
        assert!(Stage::ALL[k] as usize == k);
        k += 1;
    }
};

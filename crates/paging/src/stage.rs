//! The stages of reclaim, for grounds that attribute time.

/// What the engine is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Stage {
    /// Taking folios off the LRU lists.
    Isolate,
    /// Walking a folio's reverse map and page tables to ask whether it was referenced.
    RmapWalk,
    /// Reading and clearing young bits, and the flush that follows. In walks and look-arounds of
    /// the multi-generational LRU all that is done to one table: it is entered once.
    Young,
    /// Walking address spaces for the multi-generational LRU: lists and upper levels, and what
    /// opening a generation takes.
    Aging,
    /// Taking entries out, the walk to them included.
    Unmap,
    /// Completing the invalidations that unmapping owes.
    Flush,
    /// Taking folios out of the page cache or the swap cache.
    CacheRemoval,
    /// Giving frames back.
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

    /// The name that records and tables use.
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

//! The shape of a TLB: its sizes, and what its hardware may hold.

/// The shape of a level: `sets` of `ways` entries. A page's number modulo `sets` is its set; one
/// set is a fully associative level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelShape {
    /// The number of sets: a power of two.
    pub sets: u16,
    /// The number of entries in a set.
    pub ways: u16,
}

/// The TLB of one core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlbShape {
    /// The first level, asked on every access.
    pub l1: LevelShape,
    /// The second level, asked where the first has no answer.
    pub l2: Option<LevelShape>,
    /// True if one entry holds a contiguous block; otherwise the block's pages have entries of
    /// their own.
    pub contiguous: bool,
    /// The number of pages of an aligned run that one entry holds if their table entries are alike,
    /// though nothing in them says so. Values are 1 (hardware does not look), 2, 4, 8 or 16.
    pub coalesce: u8,
    /// True if entries that map nothing are held too, as on some riscv cores (Linux bf587caae305).
    /// What was mapped since can then fault once more.
    pub caches_invalid: bool,
    /// The number of entries that lead to tables in the page-walk cache; 0 where there is none.
    pub walk_cache: u16,
    /// The entries that the page-walk cache loses when a page is invalidated.
    pub page_drops: Walks,
}

/// The entries of the page-walk cache that an invalidation of a page removes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walks {
    /// None. arm64's TLBI VALE1IS is of the last level only (Arm ARM, DDI 0487). riscv's SFENCE.VMA
    /// with an address orders only leaf entries (privileged ISA, Supervisor Memory-Management Fence
    /// Instruction).
    None,
    /// The entries that lead to the page: AMD's INVLPG with EFER.TCE (AMD64 APM, volume 2, 3.1.7),
    /// which Linux sets (7.3.4, arch/x86/kernel/cpu/amd.c).
    ToPage,
    /// All entries of the address space: Intel's INVLPG (SDM, volume 3A, 4.10.4.1).
    AddressSpace,
}

/// A reason why a shape is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ShapeError {
    /// A level without entries.
    #[error("{0} has no {1}")]
    Empty(&'static str, &'static str),
    /// Sets that a page number's low bits cannot choose.
    #[error("{0} has {1} sets: a power of two is needed")]
    Sets(&'static str, u16),
    /// More entries than an entry's index can number.
    #[error("{0} has {1} entries: at most {max}", max = LevelShape::MOST)]
    Size(&'static str, u32),
    /// A second level that cannot hold the first.
    #[error("l2 has {l2} entries, fewer than l1's {l1}")]
    Smaller {
        /// The number of entries of the first level.
        l1: u32,
        /// The number of entries of the second level.
        l2: u32,
    },
    /// Runs of another length.
    #[error("runs of {0} pages: 1, 2, 4, 8 or 16 are accepted")]
    Coalesce(u8),
    /// More page-walk cache than is searched as one set.
    #[error("a page-walk cache of {0} entries: at most {max}", max = TlbShape::MOST_WALK_CACHE)]
    WalkCache(u16),
}

impl LevelShape {
    /// The maximum number of entries that a level may have.
    pub const MOST: u32 = 1 << 15;

    /// Returns the number of entries.
    pub const fn entries(self) -> u32 {
        self.sets as u32 * self.ways as u32
    }

    fn check(self, name: &'static str) -> Result<(), ShapeError> {
        match self {
            Self { sets: 0, .. } => Err(ShapeError::Empty(name, "sets")),
            Self { ways: 0, .. } => Err(ShapeError::Empty(name, "ways")),
            Self { sets, .. } if !sets.is_power_of_two() => Err(ShapeError::Sets(name, sets)),
            _ if self.entries() > Self::MOST => Err(ShapeError::Size(name, self.entries())),
            _ => Ok(()),
        }
    }
}

impl TlbShape {
    /// The maximum number of entries that a page-walk cache may have.
    pub const MOST_WALK_CACHE: u16 = 256;

    /// Checks that there can be such a TLB.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn check(self) -> Result<(), ShapeError> {
        self.l1.check("l1")?;
        if let Some(l2) = self.l2 {
            l2.check("l2")?;
            if l2.entries() < self.l1.entries() {
                return Err(ShapeError::Smaller { l1: self.l1.entries(), l2: l2.entries() });
            }
        }
        if !matches!(self.coalesce, 1 | 2 | 4 | 8 | 16) {
            return Err(ShapeError::Coalesce(self.coalesce));
        }
        if self.walk_cache > Self::MOST_WALK_CACHE {
            return Err(ShapeError::WalkCache(self.walk_cache));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: TlbShape = TlbShape {
        l1: LevelShape { sets: 16, ways: 4 },
        l2: Some(LevelShape { sets: 128, ways: 8 }),
        contiguous: true,
        coalesce: 4,
        caches_invalid: false,
        walk_cache: 32,
        page_drops: Walks::None,
    };

    #[test]
    fn each_inconsistency_is_named() {
        assert_eq!(SHAPE.check(), Ok(()));
        assert_eq!(TlbShape { l2: None, walk_cache: 0, ..SHAPE }.check(), Ok(()));
        let level = |sets, ways| LevelShape { sets, ways };
        let refused: [(TlbShape, &str); 9] = [
            (TlbShape { l1: level(0, 4), ..SHAPE }, "l1 has no sets"),
            (TlbShape { l1: level(4, 0), ..SHAPE }, "l1 has no ways"),
            (TlbShape { l2: Some(level(4, 0)), ..SHAPE }, "l2 has no ways"),
            (
                TlbShape { l2: Some(level(96, 8)), ..SHAPE },
                "l2 has 96 sets: a power of two is needed",
            ),
            (TlbShape { l2: Some(level(4096, 9)), ..SHAPE }, "l2 has 36864 entries: at most 32768"),
            (TlbShape { l2: Some(level(2, 4)), ..SHAPE }, "l2 has 8 entries, fewer than l1's 64"),
            (TlbShape { coalesce: 0, ..SHAPE }, "runs of 0 pages: 1, 2, 4, 8 or 16 are accepted"),
            (TlbShape { coalesce: 3, ..SHAPE }, "runs of 3 pages: 1, 2, 4, 8 or 16 are accepted"),
            (
                TlbShape { walk_cache: 257, ..SHAPE },
                "a page-walk cache of 257 entries: at most 256",
            ),
        ];
        for (shape, why) in refused {
            assert_eq!(shape.check().expect_err(why).to_string(), why);
        }
    }
}

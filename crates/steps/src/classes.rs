//! Classes of instructions.

use std::ops::Sub;

/// The work of a region, by classes of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Classes {
    /// All instructions; one that repeats itself (`rep`) counts once.
    pub instructions: u64,
    /// The atomic ones among them: with a `lock` prefix, or an `xchg` with memory.
    pub atomics: u64,
    /// Lines of 64 bytes that were read or written for the first time in the region.
    pub lines: u64,
}

impl Sub for Classes {
    type Output = Self;

    /// Subtracts each class, down to zero.
    fn sub(self, other: Self) -> Self {
        Self {
            instructions: self.instructions.saturating_sub(other.instructions),
            atomics: self.atomics.saturating_sub(other.atomics),
            lines: self.lines.saturating_sub(other.lines),
        }
    }
}

//! The sizes of what is run for answers.

/// How thorough to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Bytes of the file that is reclaimed here.
    pub bytes: u64,
    /// Rounds of it.
    pub rounds: usize,
    /// Draws of a platform's prices for S0's and S1's benchmark on the modelled machine.
    pub draws: u32,
    /// Bytes of the file that is reclaimed there.
    pub memory: u64,
}

impl Effort {
    /// What tables are shown of.
    pub const FULL: Self = Self { bytes: 1 << 30, rounds: 9, draws: 100, memory: 64 << 20 };
    /// Whether all of it works.
    pub const QUICK: Self = Self { bytes: 32 << 20, rounds: 2, draws: 20, memory: 48 << 20 };
}

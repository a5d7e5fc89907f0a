//! The sizes of what is run for answers.

use super::patterns;

/// How thorough to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Bytes of the file that is reclaimed here.
    pub bytes: u64,
    /// Rounds of it.
    pub rounds: usize,
    /// Draws of a platform's prices for S0's and S1's benchmark on the modelled machine.
    pub draws: u32,
    /// About the bytes of memory of scenarios on the modelled machine that fill it.
    pub memory: u64,
    /// Draws of prices for each of them.
    pub modelled: u32,
    /// Runs of S3's tests.
    pub patterns: patterns::Runs,
}

impl Effort {
    /// What tables are shown of.
    pub const FULL: Self = Self {
        bytes: 1 << 30,
        rounds: 9,
        draws: 200,
        memory: 256 << 20,
        modelled: 10,
        patterns: patterns::Runs { memory: 16 << 20, nominal: 31, draws: 20, each: 4 },
    };
    /// Whether all of it works.
    pub const QUICK: Self = Self {
        bytes: 32 << 20,
        rounds: 2,
        draws: 20,
        memory: 48 << 20,
        modelled: 1,
        patterns: patterns::Runs { memory: 4 << 20, nominal: 3, draws: 2, each: 2 },
    };
}

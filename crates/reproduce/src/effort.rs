//! The sizes of the runs for answers.

/// The thoroughness of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Bytes of the file that the engine reclaims on this machine.
    pub bytes: u64,
    /// The number of rounds of that reclaim.
    pub rounds: usize,
    /// The number of draws of a platform's prices for S0's and S1's benchmark on the modelled
    /// machine.
    pub draws: u32,
    /// Bytes of the file that is reclaimed on the modelled machine.
    pub memory: u64,
}

impl Effort {
    /// The effort for tables.
    pub const FULL: Self = Self { bytes: 1 << 30, rounds: 9, draws: 100, memory: 64 << 20 };
    /// The effort for tests that everything works.
    pub const QUICK: Self = Self { bytes: 32 << 20, rounds: 2, draws: 20, memory: 48 << 20 };
}

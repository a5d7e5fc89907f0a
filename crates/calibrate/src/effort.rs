//! How much is measured.

use pageout_experiment::this_machine;
use std::time::Duration;

/// How much to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Repetitions of everything,
    pub(super) rounds: usize,
    /// or as many as begin within the time, for each kind of measurement.
    pub(super) budget: Duration,
    /// Memory over which loads are far.
    pub(super) far_bytes: usize,
    /// Pages touched where each has a line of page tables for itself; they take address space, and
    /// memory for their tables.
    pub(super) sparse_entries: usize,
    /// Memory cleared, and as much copied.
    pub(super) copied_bytes: usize,
}

impl Effort {
    /// Enough for a platform file: about a minute, two where the machine is busy.
    pub const FULL: Self = Self {
        rounds: 201,
        budget: Duration::from_secs(20),
        far_bytes: 1 << 30,
        sparse_entries: 1 << 19,
        copied_bytes: 128 << 20,
    };

    /// A look, in a few seconds: large caches still hold what should be far.
    pub const QUICK: Self = Self {
        rounds: 7,
        budget: Duration::from_secs(2),
        far_bytes: 64 << 20,
        sparse_entries: 1 << 16,
        copied_bytes: 16 << 20,
    };

    /// No more than a part of the memory that is there.
    pub(super) fn within_memory(mut self) -> Self {
        let available = this_machine::available_memory().unwrap_or(u64::MAX);
        let quarter = usize::try_from(available / 4).unwrap_or(usize::MAX);
        // Whole mebibytes, of which there is always one.
        let bytes = |bytes: usize| (bytes.min(quarter) >> 20 << 20).max(1 << 20);
        self.far_bytes = bytes(self.far_bytes);
        self.copied_bytes = bytes(self.copied_bytes / 2 * 2);
        self
    }
}

//! The effort of measuring.

use pageout_experiment::this_machine;
use std::time::Duration;

/// The amount of measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// The maximum number of repetitions of each kind of measurement.
    pub(super) rounds: usize,
    /// The time within which repetitions of each kind begin.
    pub(super) budget: Duration,
    /// The bytes of memory that far loads are spread over.
    pub(super) far_bytes: usize,
    /// The number of pages that are touched of which each has its own line of page tables. They
    /// take address space, and memory for their tables.
    pub(super) sparse_entries: usize,
    /// The bytes of memory that are cleared, and that are copied.
    pub(super) copied_bytes: usize,
}

impl Effort {
    /// The effort for a platform file: about a minute, or two if the machine is busy.
    pub const FULL: Self = Self {
        rounds: 201,
        budget: Duration::from_secs(20),
        far_bytes: 1 << 30,
        sparse_entries: 1 << 19,
        copied_bytes: 128 << 20,
    };

    /// The effort for a first look, in a few seconds: large caches still hold memory that should be
    /// far.
    pub const QUICK: Self = Self {
        rounds: 7,
        budget: Duration::from_secs(2),
        far_bytes: 64 << 20,
        sparse_entries: 1 << 16,
        copied_bytes: 16 << 20,
    };

    /// Limits the memory to a part of what is available.
    pub(super) fn within_memory(mut self) -> Self {
        let available = this_machine::available_memory().unwrap_or(u64::MAX);
        let quarter = usize::try_from(available / 4).unwrap_or(usize::MAX);
        // Whole mebibytes, at least one.
        let bytes = |bytes: usize| (bytes.min(quarter) >> 20 << 20).max(1 << 20);
        self.far_bytes = bytes(self.far_bytes);
        self.copied_bytes = bytes(self.copied_bytes / 2 * 2);
        self
    }
}

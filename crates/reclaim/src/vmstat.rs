//! Counters, under the kernel's names.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted of a cgroup, in pages unless named otherwise. Hierarchical figures are sums
/// over the subtree, taken when they are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Counter {
    /// Pages examined by background reclaim.
    PgscanKswapd,
    /// Pages examined by direct reclaim.
    PgscanDirect,
}

/// Number of [`Counter`]s.
const COUNTERS: usize = Counter::PgscanDirect as usize + 1;

/// The counters of one cgroup.
#[derive(Debug, Default)]
pub struct VmStat {
    counters: [AtomicU64; COUNTERS],
}

impl VmStat {
    /// Adds to a counter.
    pub(crate) fn add(&self, counter: Counter, nr: u64) {
        self.counters[counter as usize].fetch_add(nr, Relaxed);
    }

    /// A counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize].load(Relaxed)
    }
}

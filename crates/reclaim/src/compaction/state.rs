//! The state kept from one compaction to the next: the scanners' positions, and the number of
//! failures.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::Order;

/// The limit of deferral: failures put tries off to at most every 64th (`COMPACT_MAX_DEFER_SHIFT`).
const MAX_DEFER_SHIFT: u32 = 6;

/// The state kept from one compaction to the next (in the kernel, in `struct zone`).
#[derive(Debug, Default)]
pub(crate) struct CompactionState {
    /// The number of frames at the bottom that the migration scanner has done.
    pub(super) migrate: AtomicU64,
    /// The number of frames at the top that the free scanner has done.
    pub(super) free: AtomicU64,
    /// The number of tries asked for since the last failure.
    considered: AtomicU32,
    /// The shift n: only every 2^n-th try is made,
    defer_shift: AtomicU32,
    /// for orders from this one on. 0 before the first failure.
    order_failed: AtomicU32,
}

impl CompactionState {
    /// Returns true if a try for `order` is to be left out, and counts that try
    /// (`compaction_deferred`).
    pub(super) fn is_deferred(&self, order: Order) -> bool {
        let failed = self.order_failed.load(Relaxed);
        if failed == 0 || u32::from(order.get()) < failed {
            return false;
        }
        let limit = 1 << self.defer_shift.load(Relaxed);
        let considered = (self.considered.load(Relaxed) + 1).min(limit);
        self.considered.store(considered, Relaxed);
        considered < limit
    }

    /// Notes that a compaction for `order` failed (`defer_compaction`).
    pub(super) fn defer(&self, order: Order) {
        self.considered.store(0, Relaxed);
        let shift = (self.defer_shift.load(Relaxed) + 1).min(MAX_DEFER_SHIFT);
        self.defer_shift.store(shift, Relaxed);
        let failed = self.order_failed.load(Relaxed);
        let order = u32::from(order.get());
        if failed == 0 || order < failed {
            self.order_failed.store(order, Relaxed);
        }
    }

    /// Notes that a compaction for `order` succeeded: its block was `allocated`, or at least is
    /// free (`compaction_defer_reset`).
    pub(super) fn reset(&self, order: Order, allocated: bool) {
        if allocated {
            self.considered.store(0, Relaxed);
            self.defer_shift.store(0, Relaxed);
        }
        let order = u32::from(order.get());
        if order >= self.order_failed.load(Relaxed) {
            self.order_failed.store(order + 1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_put_off_ever_more_tries() {
        let state = CompactionState::default();
        let [small, large] = [3, 9].map(|order| Order::new(order).expect("small"));
        assert!(!state.is_deferred(large));
        for failures in 1..9_u32 {
            state.defer(large);
            assert!(!state.is_deferred(small), "a smaller order never failed");
            let left_out = (0..200).take_while(|_| state.is_deferred(large)).count();
            assert_eq!(left_out, (1 << failures.min(MAX_DEFER_SHIFT)) - 1);
        }
        state.reset(small, true);
        state.defer(large);
        assert!(state.is_deferred(large), "a success of a smaller order says nothing of it");
        state.reset(large, true);
        assert!(!state.is_deferred(large));
    }
}

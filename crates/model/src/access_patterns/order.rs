//! Which pages are used, in which order.

use super::AccessPatterns;
use fastrand::Rng;
use pageout_experiment::scenarios::AccessPattern as Pattern;

/// The pages that one run uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    /// Before anything is measured: at random, as many as memory has pages, so that it is full, and
    /// its lists have an order of their own in every run.
    pub(super) warm_up: Vec<u32>,
    /// Then.
    pub(super) measured: Vec<u32>,
}

impl AccessPatterns {
    /// The order of a seed: as many uses as the file has pages, whatever the pattern.
    pub(super) fn order(&self, seed: u64) -> Order {
        let mut random = Rng::with_seed(seed);
        let pages = self.pages() as u32;
        let memory = (self.memory >> self.format.page_shift()) as u32;
        let warm_up = (0..memory).map(|_| random.u32(0..pages)).collect();
        let first = random.u32(0..pages);
        let measured = (0..pages).map(|k| match self.pattern {
            Pattern::Seq => (first + k) % pages,
            Pattern::Random => random.u32(0..pages),
            Pattern::HotRandom if random.u8(0..100) < self.hot_percent => first,
            Pattern::HotRandom => random.u32(0..pages),
        });
        let measured = measured.collect();
        Order { warm_up, measured }
    }
}

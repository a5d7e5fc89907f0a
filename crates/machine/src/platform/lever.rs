//! Prices that are moved while all others stay, to find the price from which on a change pays.

use super::prices::{InvalidationPrices, Prices};
use super::{Draw, Platform};
use crate::time::Time;

/// A price, or all prices of one operation, that a machine can have at a multiple of its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Lever {
    /// Invalidating translations of other cores, and the wait until they have obeyed.
    Flush,
    /// An instruction of kernel code.
    Instruction,
    /// An atomic read-modify-write of an entry.
    Atomic,
}

/// The number of draws from which the range of a sum of prices is computed.
const DRAWS: u64 = 1000;

impl Lever {
    /// Every lever.
    pub const ALL: [Self; 3] = [Self::Flush, Self::Instruction, Self::Atomic];

    /// Returns the duration of the lever's operation: a TLBI and the DSB that waits only for it, an
    /// interrupt of one core up to its acknowledgement, one instruction, or one atomic.
    pub fn time(self, prices: &Prices, cores: u16) -> Time {
        match (self, &prices.invalidation) {
            (Self::Flush, InvalidationPrices::Broadcast(of)) => {
                of.tlbi_issue + of.latency(cores, 1)
            }
            (Self::Flush, InvalidationPrices::Ipi(of)) => {
                of.ipi_send + of.ipi_latency + of.ipi_handler + of.ipi_ack
            }
            (Self::Instruction, _) => prices.instruction,
            (Self::Atomic, _) => prices.rmw,
        }
    }

    /// Returns true if the lever moves the price of this name.
    pub(super) fn moves(self, price: &str) -> bool {
        match self {
            Self::Flush => ["tlbi_", "dsb_", "propagation", "snoop", "ipi_"]
                .iter()
                .any(|begins| price.starts_with(begins)),
            Self::Instruction => price == "instruction",
            Self::Atomic => price == "rmw",
        }
    }
}

impl Platform {
    /// Returns the 5th and the 95th percentile of a lever's duration. A single price has them from
    /// its file; for a sum of prices they come from draws.
    pub fn range_of(&self, lever: Lever, cores: u16) -> [Time; 2] {
        let mut moved = self.prices.iter().filter(|price| lever.moves(price.name));
        if let (Some(price), None) = (moved.next(), moved.next()) {
            return [price.low, price.high].map(Time::from_ps);
        }
        let drawn = |seed| lever.time(&self.prices(Draw::Seeded(seed)), cores);
        let mut drawn: Vec<Time> = (0..DRAWS).map(drawn).collect();
        drawn.sort_unstable();
        [5, 95].map(|percent| drawn[(DRAWS as usize - 1) * percent / 100])
    }
}

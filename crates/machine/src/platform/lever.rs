//! Prices that are moved while all others stay, to find the price from which on a change pays.

use super::prices::{InvalidationPrices, Prices};
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

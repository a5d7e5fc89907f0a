//! Drawing prices from their ranges.

use super::price::Price;
use super::prices::Publish;

/// Which prices a machine has, of those that its platform leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Draw {
    /// The values that the file gives.
    Nominal,
    /// Each price by itself from its range, log-uniformly: half of the draws lie below the
    /// geometric mean of the range's ends. The same seed gives the same prices on every host, and
    /// a price's place in its range depends on the seed and its name alone.
    Seeded(u64),
}

impl Draw {
    /// What a DSB ISHST waits for: TLBIs that are outstanding, and in one draw of four a round trip
    /// whatever is.
    pub(super) fn publish(self) -> Publish {
        match self {
            Self::Seeded(seed) if bits(seed, "publish") >> 62 == 0 => Publish::RoundTrip,
            _ => Publish::Outstanding,
        }
    }

    /// The price in its base unit.
    pub(super) fn of(self, price: &Price) -> u64 {
        match self {
            Self::Nominal => price.value,
            Self::Seeded(seed) => log_uniform(price.low, price.high, bits(seed, price.name)),
        }
    }
}

/// The whole number that lies `place / 2^64` of the way from `low` to `high`, by ratio.
///
/// Bisection by geometric means: multiplication and square root are exact to the last bit in
/// IEEE 754, where a host's logarithm is not.
pub(super) fn log_uniform(low: u64, high: u64, place: u64) -> u64 {
    let (mut below, mut above) = (low as f64, high as f64);
    for bit in (0..u64::BITS).rev() {
        let middle = (below * above).sqrt();
        if place >> bit & 1 == 1 {
            below = middle;
        } else {
            above = middle;
        }
    }
    ((below * above).sqrt().round() as u64).clamp(low, high)
}

/// 64 uniform bits that depend on the seed and the price's name: its FNV-1a hash, mixed.
fn bits(seed: u64, name: &str) -> u64 {
    let hashed = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(mix(seed) ^ hashed)
}

/// One step of SplitMix64 (Steele, Lea and Flood, 2014).
const fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

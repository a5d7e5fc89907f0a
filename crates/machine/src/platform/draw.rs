//! Draws of prices from their ranges.

use super::lever::Lever;
use super::price::Price;
use super::prices::Publish;

/// The choice of each price within the range that the platform gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Draw {
    /// The values that the file gives.
    Nominal,
    /// Each price is drawn from a log-normal distribution on either side of its value, which is the
    /// median. 5 % of the draws lie below the range's low end, and 5 % above its high end. Prices
    /// that depend on the core's clock share half of their variance. The same seed gives the same
    /// prices on every host. A price's position in its range depends only on the seed and its name.
    Seeded(u64),
    /// The values that the file gives, except for a lever's prices. These are multiplied by the
    /// second field, in millionths.
    Moved(Lever, u64),
}

/// The 95th percentile of [`deviation`], in its unit.
const P95: f64 = 1.65;

impl Draw {
    /// The unit of [`Draw::Moved`]: with this many millionths, all prices are the file's.
    pub const ONE: u64 = 1_000_000;

    /// Chooses the wait of a DSB ISHST. It waits for outstanding TLBIs; in one draw of four it
    /// takes a round trip, whatever is outstanding.
    pub(super) fn publish(self) -> Publish {
        match self {
            Self::Seeded(seed) if bits(seed, "publish") >> 62 == 0 => Publish::RoundTrip,
            _ => Publish::Outstanding,
        }
    }

    /// Returns the price in its base unit.
    pub(super) fn of(self, price: &Price) -> u64 {
        let seed = match self {
            Self::Seeded(seed) => seed,
            Self::Moved(lever, millionths) if lever.moves(price.name) => {
                let moved =
                    u128::from(price.value) * u128::from(millionths) / u128::from(Self::ONE);
                return u64::try_from(moved).expect("a price within 10^15 ps, times 100");
            }
            Self::Nominal | Self::Moved(..) => return price.value,
        };
        let own = deviation(seed, price.name);
        let deviation = if price.clocked {
            (own + deviation(seed, "clock")) * std::f64::consts::FRAC_1_SQRT_2
        } else {
            own
        };
        log_normal([price.low, price.value, price.high], deviation)
    }
}

/// Returns the price that lies `deviation` standard deviations from the middle of the range, whose
/// ends are the 5th and the 95th percentile.
pub(super) fn log_normal([low, value, high]: [u64; 3], deviation: f64) -> u64 {
    let (low, middle, high) = (low.max(1) as f64, value as f64, high as f64);
    if value == 0 {
        return 0;
    }
    let drawn = if deviation < 0.0 {
        middle / power(middle / low, -deviation / P95)
    } else {
        middle * power(high / middle, deviation / P95)
    };
    drawn.round() as u64
}

/// Returns `base` to the power of `exponent`, which is not negative. It uses only operations that
/// IEEE 754 defines to the last bit; hosts' logarithms differ.
fn power(base: f64, exponent: f64) -> f64 {
    let whole = exponent.floor();
    let mut result = (0..whole as u32).fold(1.0, |product, _| product * base);
    let (mut root, mut rest) = (base, exponent - whole);
    for _ in 0..f64::MANTISSA_DIGITS {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            rest -= 1.0;
            result *= root;
        }
    }
    result
}

/// Returns a deviate of mean 0 and variance 1 that is nearly normal: the sum of twelve uniform
/// ones.
fn deviation(seed: u64, name: &str) -> f64 {
    let mut state = bits(seed, name);
    let sum = (0..12).fold(0, |sum, _| {
        state = mix(state);
        sum + (state >> 32)
    });
    sum as f64 / (1_u64 << 32) as f64 - 6.0
}

/// Returns 64 uniform bits that depend on the seed and the price's name (its FNV-1a hash, mixed).
fn bits(seed: u64, name: &str) -> u64 {
    let hashed = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(mix(seed) ^ hashed)
}

/// Makes a step of SplitMix64 (Steele, Lea and Flood, 2014).
const fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

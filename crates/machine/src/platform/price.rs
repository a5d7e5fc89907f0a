//! One price as a file gives it: value, range, unit and where they come from.

use super::provenance::Provenance;
use std::fmt;

/// What a price measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A duration; base unit: picoseconds.
    Time,
    /// Bytes a time; base unit: bytes a second.
    Bandwidth,
}

impl Kind {
    /// The units that a price of the kind is given in.
    pub const fn units(self) -> &'static [Unit] {
        match self {
            Self::Time => &[Unit::Ps, Unit::Ns, Unit::Us, Unit::Ms],
            Self::Bandwidth => &[Unit::MBs, Unit::GBs],
        }
    }

    /// The highest price of the kind, in its base unit: 1000 seconds; 1000 GB/s. Sums of prices
    /// stay far from where `u64` ends.
    pub(super) const fn highest(self) -> u64 {
        match self {
            Self::Time => 1_000_000_000_000_000,
            Self::Bandwidth => 1_000_000_000_000,
        }
    }
}

/// The unit that a price is given in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Picoseconds.
    Ps,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// 10^6 bytes a second.
    MBs,
    /// 10^9 bytes a second.
    GBs,
}

impl Unit {
    /// How files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ps => "ps",
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::MBs => "MB/s",
            Self::GBs => "GB/s",
        }
    }

    /// How many base units it is.
    pub const fn in_base(self) -> u64 {
        match self {
            Self::Ps => 1,
            Self::Ns => 1_000,
            Self::Us | Self::MBs => 1_000_000,
            Self::Ms | Self::GBs => 1_000_000_000,
        }
    }
}

/// A price as a file gives it, in base units of its kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Price {
    /// Its name, as the field of [`Prices`](super::Prices) is called.
    pub name: &'static str,
    /// What the platform is taken to have, in base units.
    pub value: u64,
    /// The least it may be, in base units.
    pub low: u64,
    /// The most it may be, in base units.
    pub high: u64,
    /// The unit that the file gives it in.
    pub unit: Unit,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Value, unit and range: `2.5 ns (1.5 to 4)`.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = |base: u64| base as f64 / self.unit.in_base() as f64;
        let (value, low, high) = (given(self.value), given(self.low), given(self.high));
        write!(f, "{value} {} ({low} to {high})", self.unit.name())
    }
}

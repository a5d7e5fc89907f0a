//! A price as a file gives it: value, range, unit and origin.

use super::provenance::Provenance;
use std::fmt;

/// The quantity that a price measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A duration; base unit: picoseconds.
    Time,
    /// A bandwidth; base unit: bytes a second.
    Bandwidth,
}

impl Kind {
    /// Returns the units in which files may give a price of the kind.
    pub const fn units(self) -> &'static [Unit] {
        match self {
            Self::Time => &[Unit::Ps, Unit::Ns, Unit::Us, Unit::Ms],
            Self::Bandwidth => &[Unit::MBs, Unit::GBs],
        }
    }

    /// Returns the highest price of the kind, in its base unit: 1000 seconds; 1000 GB/s. It is so
    /// low that sums of prices do not overflow `u64`.
    pub(super) const fn highest(self) -> u64 {
        match self {
            Self::Time => 1_000_000_000_000_000,
            Self::Bandwidth => 1_000_000_000_000,
        }
    }
}

/// The unit in which a file gives a price.
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
    /// Returns the unit's name in files.
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

    /// Returns the number of base units in it.
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
    /// The price's name: the name of a field of [`Prices`](super::Prices).
    pub name: &'static str,
    /// True if a faster clock lowers it.
    pub clocked: bool,
    /// The platform's nominal price, in base units.
    pub value: u64,
    /// The low end of the range, in base units.
    pub low: u64,
    /// The high end of the range, in base units.
    pub high: u64,
    /// The unit in which the file gives it.
    pub unit: Unit,
    /// The origin of the price.
    pub provenance: Provenance,
}

/// Writes value, unit and range: `2.5 ns (1.5 to 4)`.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = |base: u64| base as f64 / self.unit.in_base() as f64;
        let (value, low, high) = (given(self.value), given(self.low), given(self.high));
        write!(f, "{value} {} ({low} to {high})", self.unit.name())
    }
}

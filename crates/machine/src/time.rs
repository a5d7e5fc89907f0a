//! Time: whole picoseconds, so that sums do not depend on their order.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A span of modelled time, or a moment as the span since the machine began, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
    /// No time; the moment at which the machine begins.
    pub const ZERO: Self = Self(0);
    /// A time later than any other.
    pub const NEVER: Self = Self(u64::MAX);

    /// Makes a time of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Makes a time of `ns` nanoseconds.
    ///
    /// # Panics
    /// If it is beyond 213 days.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.checked_mul(1000).expect("a time within 213 days"))
    }

    /// Returns the time in picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Returns the time in nanoseconds.
    pub fn ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Returns the span since an earlier moment, or zero since a later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Time {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}

/// Shows the time in nanoseconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.ns(), f)?;
        f.write_str(" ns")
    }
}

//! Cores by number, and sets of them.

use std::fmt;

/// A core, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CoreId(pub u16);

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {}", self.0)
    }
}

/// A set of cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CoreSet([u64; 4]);

impl CoreSet {
    pub(crate) fn insert(&mut self, core: CoreId) {
        self.0[usize::from(core.0 / 64)] |= 1 << (core.0 % 64);
    }

    pub(crate) fn remove(&mut self, core: CoreId) {
        self.0[usize::from(core.0 / 64)] &= !(1 << (core.0 % 64));
    }

    pub(crate) fn contains(self, core: CoreId) -> bool {
        self.without(core) != self
    }

    /// Returns the set without one core.
    pub(crate) fn without(mut self, core: CoreId) -> Self {
        self.remove(core);
        self
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Returns the number of cores.
    pub(crate) fn len(self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns the cores, by number.
    pub(crate) fn iter(self) -> impl Iterator<Item = CoreId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let word = left.iter().position(|word| *word != 0)?;
            let bit = left[word].trailing_zeros();
            left[word] &= left[word] - 1;
            Some(CoreId(word as u16 * 64 + bit as u16))
        })
    }
}

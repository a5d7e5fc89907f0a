//! A run of entries: indices in one table.

use core::ops::Range;

/// The entries of one table that follow one another: `nr` from index `first` on.
///
/// ```
/// use pageout_paging::Run;
///
/// let run = Run { first: 8, nr: 4 };
/// assert_eq!(run, Run::between(8, 12));
/// assert!(run.indices().eq([8, 9, 10, 11]));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// The index of the first.
    pub first: usize,
    /// The number of entries.
    pub nr: usize,
}

impl Run {
    /// Makes the run of the one entry `i`.
    #[inline]
    pub const fn one(i: usize) -> Self {
        Self { first: i, nr: 1 }
    }

    /// Makes the run of the entries from `start` up to, not including, `end`, which does not lie
    /// before.
    #[inline]
    pub const fn between(start: usize, end: usize) -> Self {
        Self { first: start, nr: end - start }
    }

    /// Returns the index after the last.
    #[inline]
    pub const fn end(self) -> usize {
        self.first + self.nr
    }

    /// Returns the indices, in order.
    #[inline]
    pub const fn indices(self) -> Range<usize> {
        self.first..self.end()
    }
}

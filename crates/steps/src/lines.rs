//! Lines of memory that a region has touched.

use std::collections::HashSet;

/// The bytes of a line.
const LINE: u64 = 64;

/// A set of lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    touched: HashSet<u64>,
}

impl Lines {
    /// Adds the lines of `bytes` bytes at an address.
    pub(super) fn touch(&mut self, address: u64, bytes: u64) {
        let last = address.saturating_add(bytes.max(1) - 1);
        self.touched.extend(address / LINE..=last / LINE);
    }

    /// Returns the number of lines.
    pub(super) fn count(&self) -> u64 {
        self.touched.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_once_and_an_access_across_two_as_two() {
        let mut lines = Lines::default();
        lines.touch(64, 8);
        lines.touch(127, 1);
        assert_eq!(lines.count(), 1);
        lines.touch(124, 8);
        assert_eq!(lines.count(), 2);
        lines.touch(u64::MAX, 8);
        assert_eq!(lines.count(), 3);
    }
}

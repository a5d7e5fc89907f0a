//! A reference of a program, as logs of any format have it.

use super::event::Page;

/// The widest access accepted, in bytes: no instruction touches more than two pages.
pub(crate) const MAX_SIZE: u64 = 4096;

/// A fetch of an instruction, or a load, store or modify of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    address: u64,
    size: u64,
    pub(crate) store: bool,
    pub(crate) fetch: bool,
}

impl Reference {
    /// Returns a reference of `size` bytes from `address` on; `None` if there are none, or more
    /// than [`MAX_SIZE`].
    pub(crate) fn new(address: u64, size: u64, store: bool, fetch: bool) -> Option<Self> {
        (1..=MAX_SIZE).contains(&size).then_some(Self { address, size, store, fetch })
    }

    /// Returns a load or store of one byte at `address`, for a log without sizes.
    pub(crate) fn at(address: u64, store: bool) -> Self {
        Self { address, size: 1, store, fetch: false }
    }

    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Returns the page of the first byte, and that of the last if it is another.
    pub(crate) fn pages(&self, page_shift: u8) -> (Page, Option<Page>) {
        let first = Page::of_address(self.address, page_shift);
        let last = Page::of_address(self.address.saturating_add(self.size - 1), page_shift);
        (first, Some(last).filter(|last| *last != first))
    }
}

/// Parses hexadecimal digits without a prefix; returns `None` beyond 64 bits.
pub(crate) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        Some(number << 4 | u64::from(char::from(*digit).to_digit(16)?))
    })
}

/// Parses decimal digits; returns `None` beyond 64 bits.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_over_a_page_boundary_touches_both() {
        let pages = |address, size| {
            let reference = Reference::new(address, size, false, false).expect("a reference");
            let (first, last) = reference.pages(12);
            (first.number(), last.map(Page::number))
        };
        assert_eq!(pages(0x1fff, 1), (1, None));
        assert_eq!(pages(0x1fff, 2), (1, Some(2)));
        assert_eq!(pages(u64::MAX, 8), ((1 << 52) - 1, None));
        assert_eq!(Reference::new(0, 0, false, false), None);
        assert_eq!(Reference::new(0, MAX_SIZE + 1, false, false), None);
    }

    #[test]
    fn numbers_have_at_most_64_bits() {
        assert_eq!(hexadecimal(b"ffffFFFFffffffff"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for text in ["", "+1", "0x1", " 1", "18446744073709551616", "1a"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        for text in ["", "0x1", "-1", "10000000000000000"] {
            assert_eq!(hexadecimal(text.as_bytes()), None, "{text}");
        }
    }
}

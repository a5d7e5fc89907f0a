//! Addresses, frame numbers and orders. Each type stands for its unit.

use core::fmt;
use core::ops::Range;

/// A virtual address, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VirtAddr(u64);

/// The virtual addresses from `start` up to, not including, `end`.
pub type VirtRange = Range<VirtAddr>;

/// A page frame number: a physical address divided by the page size of the entry format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pfn(u64);

/// The size of a folio as a power of two: 2^order pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Order(u8);

impl VirtAddr {
    /// Makes the address `bytes` bytes from zero.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the address in bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the address `bytes` further.
    #[inline]
    pub const fn add(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Returns the next address at or above this one that is a multiple of 2^`shift` bytes.
    #[inline]
    pub const fn align_up(self, shift: u32) -> Self {
        self.add((1 << shift) - 1).align_down(shift)
    }

    /// Returns the last address at or below this one that is a multiple of 2^`shift` bytes.
    #[inline]
    pub const fn align_down(self, shift: u32) -> Self {
        Self(self.0 >> shift << shift)
    }
}

impl Pfn {
    /// Makes frame number `number`.
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the frame number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the frame `nr` frames further.
    #[inline]
    pub const fn add(self, nr: u64) -> Self {
        Self(self.0.wrapping_add(nr))
    }

    /// Returns the number of frames from `base` to this one. It wraps to a large number if this one
    /// lies below.
    #[inline]
    pub const fn offset_from(self, base: Self) -> u64 {
        self.0.wrapping_sub(base.0)
    }
}

impl Order {
    /// The largest order accepted: 2^30 pages.
    pub const MAX: Self = Self(30);

    /// Makes order `order`, or returns `None` above [`Order::MAX`].
    #[inline]
    pub const fn new(order: u8) -> Option<Self> {
        if order <= Self::MAX.0 { Some(Self(order)) } else { None }
    }

    /// Returns the order as a number.
    #[inline]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns the number of pages in a folio of this order.
    #[inline]
    pub const fn nr_pages(self) -> usize {
        1 << self.0
    }
}

impl fmt::Debug for VirtAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Pfn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pfn {:#x}", self.0)
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order {}", self.0)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

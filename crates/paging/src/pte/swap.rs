//! Swap entries: the content of a non-present, non-empty entry.

use crate::Pfn;

/// The meaning of a swap entry's type number. Kernels use the highest numbers for entries that are
/// no swap at all; the numbering here is ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwapKind {
    /// A slot on swap device 0 to 26; the offset is the slot, never 0 (the device's header).
    Device(u8),
    /// A page of device memory; the offset is its frame.
    DevicePrivate,
    /// A page lent to a device for exclusive access; the offset is its frame.
    DeviceExclusive,
    /// A page under migration; the offset is its frame, with the bits of [`Moving`].
    Migration,
    /// A poisoned page; the offset is its frame.
    Hwpoison,
    /// No page, only a mark (userfaultfd write protection over a hole); the offset is zero.
    Marker,
}

/// The state that a migration entry keeps of the entry that it replaces, in addition to the flags
/// of every swap entry. It has bits of the offset above the frame (Linux 7.3.4, leafops.h).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moving {
    /// True if the page was writable.
    pub write: bool,
    /// True if the page was young.
    pub young: bool,
    /// True if the page was dirty.
    pub dirty: bool,
}

impl Moving {
    /// The number of bits of a migration entry's offset that hold the frame.
    const PFN_BITS: u32 = SwapEntry::OFFSET_BITS - 3;

    const fn bits(self) -> u64 {
        (self.write as u64 | (self.young as u64) << 1 | (self.dirty as u64) << 2) << Self::PFN_BITS
    }

    const fn of(offset: u64) -> Self {
        let bits = offset >> Self::PFN_BITS;
        Self { write: bits & 1 != 0, young: bits & 2 != 0, dirty: bits & 4 != 0 }
    }
}

/// A swap entry, decoded. The offset has [`SwapEntry::OFFSET_BITS`] bits and is never all ones, so
/// that no encoding is the empty entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwapEntry {
    /// The kind of the entry.
    pub kind: SwapKind,
    /// The slot or the frame.
    pub offset: u64,
    /// True if the anonymous page was exclusive to its process.
    pub exclusive: bool,
    /// True if the entry is soft-dirty; kept only by formats that have the bit.
    pub soft_dirty: bool,
    /// True if the entry is write-protected by userfaultfd.
    pub uffd_wp: bool,
}

impl SwapEntry {
    /// The number of bits of an offset, in every format.
    pub const OFFSET_BITS: u32 = 50;
    /// The number of swap devices that an entry can name.
    pub const DEVICES: u8 = 27;

    /// Makes an entry of `kind` with no flag set, or returns `None` if the offset or the device
    /// does not fit.
    pub const fn new(kind: SwapKind, offset: u64) -> Option<Self> {
        let device_fits = match kind {
            SwapKind::Device(number) => number < Self::DEVICES && offset != 0,
            _ => true,
        };
        if device_fits && offset < (1 << Self::OFFSET_BITS) - 1 {
            Some(Self { kind, offset, exclusive: false, soft_dirty: false, uffd_wp: false })
        } else {
            None
        }
    }

    /// Makes the entry of a page under migration from `pfn`, with no other flag set. Returns `None`
    /// if the frame's number does not fit 47 bits.
    pub const fn migration(pfn: Pfn, moving: Moving) -> Option<Self> {
        if pfn.get() >= (1 << Moving::PFN_BITS) - 1 {
            return None;
        }
        Self::new(SwapKind::Migration, pfn.get() | moving.bits())
    }

    /// Returns the state that a migration entry keeps, or `None` for any other entry.
    pub const fn moving(self) -> Option<Moving> {
        match self.kind {
            SwapKind::Migration => Some(Moving::of(self.offset)),
            _ => None,
        }
    }

    /// Returns a migration entry whose page permits no stores once it has moved. Any other entry is
    /// unchanged.
    #[must_use]
    pub const fn wrprotect(self) -> Self {
        match self.moving() {
            Some(_) => Self { offset: self.offset & !(1 << Moving::PFN_BITS), ..self },
            None => self,
        }
    }

    /// Returns the frame of a page that is lent to a device: the entry counts as a mapping of it.
    pub const fn lent(self) -> Option<Pfn> {
        match self.kind {
            SwapKind::DevicePrivate | SwapKind::DeviceExclusive => self.pfn(),
            _ => None,
        }
    }

    /// Returns the frame behind the entry, if the kind has one.
    pub const fn pfn(self) -> Option<Pfn> {
        match self.kind {
            SwapKind::Device(_) | SwapKind::Marker => None,
            SwapKind::Migration => Some(Pfn::new(self.offset & ((1 << Moving::PFN_BITS) - 1))),
            _ => Some(Pfn::new(self.offset)),
        }
    }
}

impl SwapKind {
    pub(super) const fn number(self) -> u64 {
        match self {
            Self::Device(number) => number as u64,
            Self::DevicePrivate => 27,
            Self::DeviceExclusive => 28,
            Self::Migration => 29,
            Self::Hwpoison => 30,
            Self::Marker => 31,
        }
    }

    /// Returns the kind of a five-bit type number.
    pub(super) const fn from_number(number: u64) -> Self {
        match number {
            27 => Self::DevicePrivate,
            28 => Self::DeviceExclusive,
            29 => Self::Migration,
            30 => Self::Hwpoison,
            31 => Self::Marker,
            device => Self::Device(device as u8),
        }
    }
}

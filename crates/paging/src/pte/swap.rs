//! Swap entries: what a non-present, non-empty entry says.

use crate::Pfn;

/// What a swap entry's number of type stands for. Kernels spend the highest numbers on entries that
/// are no swap at all; the numbering here is ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwapKind {
    /// A slot on swap device 0 to 26; the offset is the slot, never 0 (the device's header).
    Device(u8),
    /// A page of device memory; the offset is its frame.
    DevicePrivate,
    /// A page lent to a device for exclusive access; the offset is its frame.
    DeviceExclusive,
    /// A page under migration; the offset is its frame, and what [`Moving`] says.
    Migration,
    /// A poisoned page; the offset is its frame.
    Hwpoison,
    /// No page, only a mark (userfaultfd write protection over a hole); the offset is zero.
    Marker,
}

/// What a migration entry keeps of the entry in whose place it stands, besides the flags that every
/// swap entry has (Linux 7.3.4, leafops.h: bits of the offset above the frame).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moving {
    /// Writable.
    pub write: bool,
    /// Young.
    pub young: bool,
    /// Dirty.
    pub dirty: bool,
}

impl Moving {
    /// Bits of a migration entry's offset that hold the frame.
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
    /// What it stands for.
    pub kind: SwapKind,
    /// Slot or frame.
    pub offset: u64,
    /// The anonymous page was exclusive to its process.
    pub exclusive: bool,
    /// Soft-dirty; kept only by formats that have the bit.
    pub soft_dirty: bool,
    /// Write-protected by userfaultfd.
    pub uffd_wp: bool,
}

impl SwapEntry {
    /// Bits of an offset, in every format.
    pub const OFFSET_BITS: u32 = 50;
    /// Swap devices that an entry can name.
    pub const DEVICES: u8 = 27;

    /// An entry of `kind` with no flag set, or `None` if the offset or the device does not fit.
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

    /// The entry of a page under migration from `pfn`, with no other flag set; `None` if the
    /// frame's number does not fit 47 bits.
    pub const fn migration(pfn: Pfn, moving: Moving) -> Option<Self> {
        if pfn.get() >= (1 << Moving::PFN_BITS) - 1 {
            return None;
        }
        Self::new(SwapKind::Migration, pfn.get() | moving.bits())
    }

    /// What a migration entry keeps of the entry it stands for; `None` for any other.
    pub const fn moving(self) -> Option<Moving> {
        match self.kind {
            SwapKind::Migration => Some(Moving::of(self.offset)),
            _ => None,
        }
    }

    /// The entry, which permits no stores once its page has moved; any other than a migration entry
    /// as it is.
    #[must_use]
    pub const fn wrprotect(self) -> Self {
        match self.moving() {
            Some(_) => Self { offset: self.offset & !(1 << Moving::PFN_BITS), ..self },
            None => self,
        }
    }

    /// The frame of a page that is lent to a device: the entry counts as a mapping of it.
    pub const fn lent(self) -> Option<Pfn> {
        match self.kind {
            SwapKind::DevicePrivate | SwapKind::DeviceExclusive => self.pfn(),
            _ => None,
        }
    }

    /// The frame behind the entry, where the kind has one.
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

    /// The kind of a five-bit type number.
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

//! The numbers that name entries of the caller's tables.

use pageout_paging::pte::{SwapEntry, SwapKind};

/// No entry: the end of a list, a frame without a folio.
pub(crate) const NONE: u32 = u32::MAX;

/// Index of a folio in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FolioId(pub u32);

/// Index of a VMA in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VmaId(pub u32);

/// Index of an address space in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MmId(pub u32);

/// Index of a mapping in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MappingId(pub u32);

/// Index of a cgroup in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemcgId(pub u16);

impl MemcgId {
    /// The root of the hierarchy: everything is charged to it in the end, nothing limits it.
    pub const ROOT: Self = Self(0);
    /// No cgroup.
    pub(crate) const NONE: Self = Self(u16::MAX);
}

/// Index of a slot, one page, in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwapSlot(pub u32);

impl SwapSlot {
    /// The entry that names it. Slot 0 has offset 1: offset 0 is a swap device's header.
    #[inline]
    pub fn entry(self) -> SwapEntry {
        let entry = SwapEntry::new(SwapKind::Device(0), u64::from(self.0) + 1);
        entry.expect("32 bits fit an offset of 50, and are not 0")
    }

    /// The slot that an entry names, if it names one.
    pub fn named_by(entry: SwapEntry) -> Option<Self> {
        let slot = u32::try_from(entry.offset.checked_sub(1)?).ok()?;
        matches!(entry.kind, SwapKind::Device(0)).then_some(Self(slot))
    }

    /// The `k`-th slot after this one.
    #[must_use]
    pub fn nth(self, k: usize) -> Self {
        Self(self.0 + k as u32)
    }
}

//! Keys of the file index: places of folios and of swap slots in their file.

use super::SLOT;
use crate::folio::Folio;
use crate::id::{FolioNr, MappingNr, SwapSlot};
use crate::mm_state::MmState;
use crate::page_cache::swap::Slot;
use core::sync::atomic::Ordering::Relaxed;

/// The place of a folio: its number among the folios of its order in its file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) mapping: MappingNr,
    pub(super) order: u32,
    pub(super) number: u64,
}

impl Key {
    #[inline]
    pub(super) fn of(folio: &Folio) -> Self {
        Self::at(folio.mapping(), folio.index(), folio.nr_pages().ilog2())
    }

    #[inline]
    pub(super) fn at(mapping: MappingNr, index: u64, order: u32) -> Self {
        Self { mapping, order, number: index >> order }
    }

    pub(super) fn of_slot(slot: &Slot) -> Self {
        Self::at(MappingNr(slot.mapping.load(Relaxed)), slot.index.load(Relaxed), 0)
    }

    /// Returns the key of an entry in a bucket that the caller has taken.
    #[inline]
    pub(super) fn of_entry(maps: &MmState<'_>, number: u32) -> Self {
        match number & SLOT {
            0 => Self::of(maps.folio_at(FolioNr(number))),
            _ => Self::of_slot(maps.slot(SwapSlot(number & !SLOT))),
        }
    }

    /// Returns a hash that is consecutive for consecutive folios. Each file and order begins
    /// anywhere.
    #[inline]
    pub(super) fn place(self) -> u64 {
        let file = u64::from(self.mapping.0) << 4 | u64::from(self.order);
        file.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32).wrapping_add(self.number)
    }

    /// Returns the number of the bucket.
    #[inline]
    pub(super) fn bucket(self, maps: &MmState<'_>) -> u64 {
        self.place() & nr_buckets(maps).wrapping_sub(1)
    }

    /// Returns a fingerprint, never 0.
    #[inline]
    pub(super) fn print(self, maps: &MmState<'_>) -> u64 {
        let salt = u64::from(maps.mapping_at(self.mapping).salt.load(Relaxed)).rotate_right(24);
        let mixed = (self.place() ^ u64::from(self.mapping.0) << 40 ^ salt)
            .wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 33 | 1
    }
}

/// Returns the number of buckets: that of the entries for folios, rounded down to a power of two.
#[inline]
pub(super) fn nr_buckets(maps: &MmState<'_>) -> u64 {
    maps.folios.table.len().checked_ilog2().map_or(0, |order| 1 << order)
}

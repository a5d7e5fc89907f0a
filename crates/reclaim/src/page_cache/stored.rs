//! The records of pages that are not in memory: shadows of evicted folios, and swap slots.

use super::cache::ShadowEntry;
use super::swap::Slot;
use crate::lock::QueuedLock;
use crate::page_cache::cache::tags::Tags;
use core::sync::atomic::AtomicU32;

/// The tables of shadows and of swap slots.
#[derive(Debug)]
pub(crate) struct Stored<'m> {
    /// The lock of the swap cache and of swap slots.
    pub(super) swap: QueuedLock,
    /// The tags of buckets of the index that lead to dirty folios.
    pub(super) tags: Tags<'m>,
    pub(super) shadows: &'m [ShadowEntry],
    /// The number of shadows stored so far.
    pub(super) shadow_clock: AtomicU32,
    pub(super) slots: &'m [Slot],
    pub(super) free_slots: AtomicU32,
    /// The slot at which the last search for free slots ended.
    pub(super) slot_cursor: AtomicU32,
}

impl<'m> Stored<'m> {
    /// Makes tables without shadows, in which all slots are free.
    pub(crate) fn new(tags: Tags<'m>, shadows: &'m [ShadowEntry], slots: &'m [Slot]) -> Self {
        shadows.iter().for_each(ShadowEntry::clear);
        slots.iter().for_each(Slot::clear);
        Self {
            swap: QueuedLock::default(),
            tags,
            shadows,
            shadow_clock: AtomicU32::new(0),
            slots,
            free_slots: AtomicU32::new(slots.len() as u32),
            slot_cursor: AtomicU32::new(0),
        }
    }
}

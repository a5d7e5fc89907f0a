//! The records of pages that are not in memory: shadows of evicted folios, and swap slots.

use crate::cache::ShadowEntry;
use crate::cache::tags::Tags;
use crate::lock::Lock;
use crate::swap::Slot;
use core::sync::atomic::AtomicU32;

/// The tables of shadows and of swap slots. They change under the lock of the file index and the
/// swap cache.
#[derive(Debug)]
pub(crate) struct Stored<'m> {
    pub(crate) lock: Lock,
    /// The tags of buckets of the index that lead to dirty folios.
    pub(crate) tags: Tags<'m>,
    pub(crate) shadows: &'m [ShadowEntry],
    /// The number of shadows stored so far.
    pub(crate) shadow_clock: AtomicU32,
    pub(crate) slots: &'m [Slot],
    pub(crate) free_slots: AtomicU32,
    /// The slot at which the last search for free slots ended.
    pub(crate) slot_cursor: AtomicU32,
}

impl<'m> Stored<'m> {
    /// Makes tables without shadows, in which all slots are free.
    pub(super) fn new(tags: Tags<'m>, shadows: &'m [ShadowEntry], slots: &'m [Slot]) -> Self {
        shadows.iter().for_each(ShadowEntry::clear);
        slots.iter().for_each(Slot::clear);
        Self {
            lock: Lock::default(),
            tags,
            shadows,
            shadow_clock: AtomicU32::new(0),
            slots,
            free_slots: AtomicU32::new(slots.len() as u32),
            slot_cursor: AtomicU32::new(0),
        }
    }
}

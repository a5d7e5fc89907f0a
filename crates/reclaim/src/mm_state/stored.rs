//! The records of pages that are not in memory: shadows of evicted folios, and swap slots.

use crate::cache::ShadowEntry;
use crate::id::MappingNr;
use crate::lock::Lock;
use crate::swap::Slot;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The tables of shadows and of swap slots. They change under the lock of the file index and the
/// swap cache.
#[derive(Debug)]
pub(crate) struct Stored<'m> {
    pub(crate) lock: Lock,
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
    pub(super) fn new(shadows: &'m [ShadowEntry], slots: &'m [Slot]) -> Self {
        shadows.iter().for_each(ShadowEntry::clear);
        slots.iter().for_each(Slot::clear);
        Self {
            lock: Lock::default(),
            shadows,
            shadow_clock: AtomicU32::new(0),
            slots,
            free_slots: AtomicU32::new(slots.len() as u32),
            slot_cursor: AtomicU32::new(0),
        }
    }

    /// Returns true if a slot keeps a page of a mapping.
    pub(super) fn holds_page_of(&self, mapping: MappingNr) -> bool {
        self.slots.iter().any(|slot| slot.mapping.load(Relaxed) == mapping.0)
    }
}

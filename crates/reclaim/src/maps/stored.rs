//! What is out of memory: shadows of evicted folios, and swap slots.

use crate::cache::ShadowEntry;
use crate::id::MappingId;
use crate::lock::Lock;
use crate::swap::Slot;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The tables of shadows and of swap slots, and the lock of the file index and the swap cache,
/// under which they change.
#[derive(Debug)]
pub(crate) struct Stored<'m> {
    pub(crate) lock: Lock,
    pub(crate) shadows: &'m [ShadowEntry],
    /// Shadows stored so far.
    pub(crate) shadow_clock: AtomicU32,
    pub(crate) slots: &'m [Slot],
    pub(crate) free_slots: AtomicU32,
    /// Where the last search for free slots ended.
    pub(crate) slot_cursor: AtomicU32,
}

impl<'m> Stored<'m> {
    /// No shadows, and all slots free.
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

    /// Whether a slot keeps a page of a mapping.
    pub(super) fn holds_page_of(&self, mapping: MappingId) -> bool {
        self.slots.iter().any(|slot| slot.mapping.load(Relaxed) == mapping.0)
    }
}

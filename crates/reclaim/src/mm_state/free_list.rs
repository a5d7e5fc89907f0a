//! Lists of the free entries of a table.

use crate::id::NONE;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The number of a table's first free entry. Each free entry names the next. All such lists change
/// under one lock.
#[derive(Debug)]
pub(crate) struct FreeList(AtomicU32);

impl FreeList {
    /// Makes a list of all entries of a table, in order, from the link of each.
    pub(crate) fn of<'a>(links: impl ExactSizeIterator<Item = &'a AtomicU32>) -> Self {
        let len = links.len() as u32;
        for (i, link) in (1..).zip(links) {
            link.store(if i < len { i } else { NONE }, Relaxed);
        }
        Self(AtomicU32::new(if len > 0 { 0 } else { NONE }))
    }

    /// Returns the first entry.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        let id = self.0.load(Relaxed);
        (id != NONE).then_some(id)
    }

    /// Takes the first entry off. `next` finds an entry's link.
    #[inline]
    pub(crate) fn take<'a>(&self, next: impl Fn(u32) -> &'a AtomicU32) -> Option<u32> {
        let id = self.first()?;
        self.0.store(next(id).load(Relaxed), Relaxed);
        Some(id)
    }

    /// Puts an entry before the others.
    #[inline]
    pub(crate) fn put(&self, link: &AtomicU32, id: u32) {
        link.store(self.0.load(Relaxed), Relaxed);
        self.0.store(id, Relaxed);
    }
}

//! Free entries of a table, in a list.

use crate::id::NONE;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The first of a table's free entries, each of which names the next. All such lists change under
/// one lock.
#[derive(Debug)]
pub(crate) struct FreeList(AtomicU32);

impl FreeList {
    /// All entries of a table, in order, by the link of each.
    pub(super) fn of<'a>(links: impl ExactSizeIterator<Item = &'a AtomicU32>) -> Self {
        let len = links.len() as u32;
        for (i, link) in (1..).zip(links) {
            link.store(if i < len { i } else { NONE }, Relaxed);
        }
        Self(AtomicU32::new(if len > 0 { 0 } else { NONE }))
    }

    /// The first.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        let id = self.0.load(Relaxed);
        (id != NONE).then_some(id)
    }

    /// Takes the first, whose link `next` finds.
    #[inline]
    pub(super) fn take<'a>(&self, next: impl Fn(usize) -> &'a AtomicU32) -> Option<u32> {
        let id = self.first()?;
        self.0.store(next(id as usize).load(Relaxed), Relaxed);
        Some(id)
    }

    /// Puts an entry before the others.
    #[inline]
    pub(super) fn put(&self, link: &AtomicU32, id: u32) {
        link.store(self.0.load(Relaxed), Relaxed);
        self.0.store(id, Relaxed);
    }
}

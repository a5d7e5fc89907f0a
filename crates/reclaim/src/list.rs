//! Lists of folios, linked by the folios' own indices, so that they need no memory.

use crate::folio::Folio;
use crate::id::{FolioNr, NONE};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Both ends of a list. They are read and written under the lock of the list's owner. Folios are
/// added at the head, and reclaim takes them from the tail.
#[derive(Debug)]
pub(crate) struct Ends {
    head: AtomicU32,
    tail: AtomicU32,
}

impl Default for Ends {
    fn default() -> Self {
        Self { head: AtomicU32::new(NONE), tail: AtomicU32::new(NONE) }
    }
}

impl Ends {
    pub(crate) fn clear(&self) {
        self.head.store(NONE, Relaxed);
        self.tail.store(NONE, Relaxed);
    }

    /// Returns the folio at the tail.
    #[inline]
    pub(crate) fn tail(&self) -> Option<FolioNr> {
        let id = self.tail.load(Relaxed);
        (id != NONE).then_some(FolioNr(id))
    }

    /// Returns the folio at the head.
    #[inline]
    pub(crate) fn head(&self) -> Option<FolioNr> {
        let id = self.head.load(Relaxed);
        (id != NONE).then_some(FolioNr(id))
    }

    /// Adds a folio that is on no list at the head of this one.
    #[inline]
    pub(crate) fn push_head(&self, folios: &[Folio], id: FolioNr) {
        let (folio, next) = (&folios[id.0 as usize], self.head.load(Relaxed));
        folio.prev.store(NONE, Relaxed);
        folio.next.store(next, Relaxed);
        self.head.store(id.0, Relaxed);
        let back = if next == NONE { &self.tail } else { &folios[next as usize].prev };
        back.store(id.0, Relaxed);
    }

    /// Adds a folio that is on no list at the tail of this one.
    pub(crate) fn push_tail(&self, folios: &[Folio], id: FolioNr) {
        let (folio, prev) = (&folios[id.0 as usize], self.tail.load(Relaxed));
        folio.next.store(NONE, Relaxed);
        folio.prev.store(prev, Relaxed);
        self.tail.store(id.0, Relaxed);
        let forth = if prev == NONE { &self.head } else { &folios[prev as usize].next };
        forth.store(id.0, Relaxed);
    }

    /// Removes a folio that is on this list.
    #[inline]
    pub(crate) fn remove(&self, folios: &[Folio], id: FolioNr) {
        let folio = &folios[id.0 as usize];
        let (prev, next) = (folio.prev.load(Relaxed), folio.next.load(Relaxed));
        let forth = if prev == NONE { &self.head } else { &folios[prev as usize].next };
        let back = if next == NONE { &self.tail } else { &folios[next as usize].prev };
        forth.store(next, Relaxed);
        back.store(prev, Relaxed);
    }

    /// Removes and returns the folio at the tail.
    #[inline]
    pub(crate) fn pop_tail(&self, folios: &[Folio]) -> Option<FolioNr> {
        let id = self.tail()?;
        self.remove(folios, id);
        Some(id)
    }

    /// Returns the folios from head to tail.
    #[inline]
    pub(crate) fn iter<'a>(&self, folios: &'a [Folio]) -> impl Iterator<Item = FolioNr> + use<'a> {
        core::iter::successors(self.head(), |id| {
            let next = folios[id.0 as usize].next.load(Relaxed);
            (next != NONE).then_some(FolioNr(next))
        })
    }
}

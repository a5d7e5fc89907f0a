//! Lists of folios: linked by the folios' own indices, so that they need no memory.

use crate::folio::FolioId;
use crate::maps::{Maps, NONE};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Both ends of a list. Read and written under the lock of whoever owns it. The head is the end
/// where folios are added, the tail the end that reclaim takes from.
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

    /// The folio at the tail.
    #[inline]
    pub(crate) fn tail(&self) -> Option<FolioId> {
        let id = self.tail.load(Relaxed);
        (id != NONE).then_some(FolioId(id))
    }

    /// The folio at the head.
    #[inline]
    pub(crate) fn head(&self) -> Option<FolioId> {
        let id = self.head.load(Relaxed);
        (id != NONE).then_some(FolioId(id))
    }

    /// Adds a folio that is on no list at the head.
    #[inline]
    pub(crate) fn push_head(&self, maps: &Maps<'_>, id: FolioId) {
        let (folio, next) = (maps.folio(id), self.head.load(Relaxed));
        folio.prev.store(NONE, Relaxed);
        folio.next.store(next, Relaxed);
        self.head.store(id.0, Relaxed);
        let back = if next == NONE { &self.tail } else { &maps.folio(FolioId(next)).prev };
        back.store(id.0, Relaxed);
    }

    /// Adds a folio that is on no list at the tail.
    pub(crate) fn push_tail(&self, maps: &Maps<'_>, id: FolioId) {
        let (folio, prev) = (maps.folio(id), self.tail.load(Relaxed));
        folio.next.store(NONE, Relaxed);
        folio.prev.store(prev, Relaxed);
        self.tail.store(id.0, Relaxed);
        let forth = if prev == NONE { &self.head } else { &maps.folio(FolioId(prev)).next };
        forth.store(id.0, Relaxed);
    }

    /// Takes a folio of this list off it.
    #[inline]
    pub(crate) fn remove(&self, maps: &Maps<'_>, id: FolioId) {
        let folio = maps.folio(id);
        let (prev, next) = (folio.prev.load(Relaxed), folio.next.load(Relaxed));
        let forth = if prev == NONE { &self.head } else { &maps.folio(FolioId(prev)).next };
        let back = if next == NONE { &self.tail } else { &maps.folio(FolioId(next)).prev };
        forth.store(next, Relaxed);
        back.store(prev, Relaxed);
    }

    /// Takes the folio at the tail off the list.
    #[inline]
    pub(crate) fn pop_tail(&self, maps: &Maps<'_>) -> Option<FolioId> {
        let id = self.tail()?;
        self.remove(maps, id);
        Some(id)
    }

    /// The folios from head to tail.
    #[inline]
    pub(crate) fn iter<'a>(&self, maps: &'a Maps<'_>) -> impl Iterator<Item = FolioId> + use<'a> {
        core::iter::successors(self.head(), |id| {
            let next = maps.folio(*id).next.load(Relaxed);
            (next != NONE).then_some(FolioId(next))
        })
    }
}

/// A list that belongs to one call: folios isolated from the LRU.
#[derive(Debug, Default)]
pub(crate) struct FolioList {
    ends: Ends,
    /// Folios on it.
    pub(crate) len: usize,
}

impl FolioList {
    #[inline]
    pub(crate) fn push(&mut self, maps: &Maps<'_>, id: FolioId) {
        self.ends.push_head(maps, id);
        self.len += 1;
    }

    /// The folio pushed first.
    #[inline]
    pub(crate) fn tail(&self) -> Option<FolioId> {
        self.ends.tail()
    }

    /// Takes the folio pushed first off the list.
    #[inline]
    pub(crate) fn pop(&mut self, maps: &Maps<'_>) -> Option<FolioId> {
        let id = self.ends.pop_tail(maps)?;
        self.len -= 1;
        Some(id)
    }

    /// The folios, the last one pushed first.
    #[inline]
    pub(crate) fn iter<'a>(&self, maps: &'a Maps<'_>) -> impl Iterator<Item = FolioId> + use<'a> {
        self.ends.iter(maps)
    }
}

//! Folios isolated from the LRU lists.

use crate::id::FolioId;
use crate::list::Ends;
use crate::maps::Maps;

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
        self.ends.push_head(maps.folios.table, id);
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
        let id = self.ends.pop_tail(maps.folios.table)?;
        self.len -= 1;
        Some(id)
    }

    /// The folios, the last one pushed first.
    #[inline]
    pub(crate) fn iter<'a>(&self, maps: &'a Maps<'_>) -> impl Iterator<Item = FolioId> + use<'a> {
        self.ends.iter(maps.folios.table)
    }
}

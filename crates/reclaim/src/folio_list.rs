//! Folios isolated from the LRU lists.

use crate::id::FolioNr;
use crate::list::Ends;
use crate::mm_state::MmState;

/// A list of folios isolated from the LRU. It belongs to one call.
#[derive(Debug, Default)]
pub(crate) struct FolioList {
    ends: Ends,
    /// The number of folios.
    pub(crate) len: usize,
}

impl FolioList {
    #[inline]
    pub(crate) fn push(&mut self, maps: &MmState<'_>, id: FolioNr) {
        self.ends.push_head(maps.folios.table, id);
        self.len += 1;
    }

    /// Returns the folio that was pushed first.
    #[inline]
    pub(crate) fn tail(&self) -> Option<FolioNr> {
        self.ends.tail()
    }

    /// Takes off and returns the folio that was pushed first.
    #[inline]
    pub(crate) fn pop(&mut self, maps: &MmState<'_>) -> Option<FolioNr> {
        let id = self.ends.pop_tail(maps.folios.table)?;
        self.len -= 1;
        Some(id)
    }

    /// Returns the folios, beginning with the last one pushed.
    #[inline]
    pub(crate) fn iter<'a>(
        &self,
        maps: &'a MmState<'_>,
    ) -> impl Iterator<Item = FolioNr> + use<'a> {
        self.ends.iter(maps.folios.table)
    }
}

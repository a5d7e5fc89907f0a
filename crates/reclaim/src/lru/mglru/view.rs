//! Generations as seen from outside, for audits. The caller keeps others from changing them
//! meanwhile. A cgroup stands for its lists on node 0.

use crate::id::{FolioId, LruvecId};
use crate::memory::BadId;
use crate::mm_state::MmState;
use core::sync::atomic::Ordering::Relaxed;

impl MmState<'_> {
    /// Returns the sequence number of a lruvec's youngest generation, and those of its oldest of
    /// anonymous memory and of files' pages.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node, as in the others.
    pub fn lru_gen_seqs(&self, lruvec: impl Into<LruvecId>) -> Result<(u64, [u64; 2]), BadId> {
        let lrugen = self.lru_gen(self.lruvec_nr(lruvec)?);
        Ok((lrugen.max_seq(), [0, 1].map(|kind| lrugen.min_seq(kind))))
    }

    /// Returns the folios on a list of a lruvec in a zone, head first. `generation` is a sequence
    /// number modulo [`MAX_NR_GENS`](super::MAX_NR_GENS). `kind` is 0 for anonymous memory and 1
    /// for files' pages.
    ///
    /// # Errors
    /// [`BadId`].
    pub fn lru_gen_folios(
        &self,
        lruvec: impl Into<LruvecId>,
        generation: usize,
        kind: usize,
        zone: usize,
    ) -> Result<impl Iterator<Item = FolioId>, BadId> {
        let lrugen = self.lru_gen(self.lruvec_nr(lruvec)?);
        let listed = lrugen.lists[generation][kind][zone].iter(self.folios.table);
        Ok(listed.map(|nr| self.folio_id(nr)))
    }

    /// Returns the pages counted in a generation, whatever list they are on; see
    /// [`MmState::lru_gen_folios`]. The number is negative, or too small, while a walk has not
    /// handed in its changes.
    ///
    /// # Errors
    /// [`BadId`].
    pub fn lru_gen_size(
        &self,
        lruvec: impl Into<LruvecId>,
        generation: usize,
        kind: usize,
        zone: usize,
    ) -> Result<i64, BadId> {
        let lrugen = self.lru_gen(self.lruvec_nr(lruvec)?);
        Ok(lrugen.nr_pages[generation][kind][zone].load(Relaxed))
    }
}

//! Generations as seen from outside, for audits. The caller keeps others from changing them
//! meanwhile. A cgroup stands for its lists on node 0.

use crate::id::{FolioId, LruvecId};
use crate::mm_state::MmState;
use core::sync::atomic::Ordering::Relaxed;

impl MmState<'_> {
    /// Returns the sequence number of a lruvec's youngest generation, and those of its oldest of
    /// anonymous memory and of files' pages.
    #[inline]
    pub fn lru_gen_seqs(&self, lruvec: impl Into<LruvecId>) -> (u64, [u64; 2]) {
        let lrugen = self.lru_gen(lruvec.into());
        (lrugen.max_seq(), [0, 1].map(|kind| lrugen.min_seq(kind)))
    }

    /// Returns the folios on a list of a lruvec in a zone, head first. `generation` is a sequence
    /// number modulo [`MAX_NR_GENS`](super::MAX_NR_GENS). `kind` is 0 for anonymous memory and 1
    /// for files' pages.
    pub fn lru_gen_folios(
        &self,
        lruvec: impl Into<LruvecId>,
        generation: usize,
        kind: usize,
        zone: usize,
    ) -> impl Iterator<Item = FolioId> {
        let listed =
            self.lru_gen(lruvec.into()).lists[generation][kind][zone].iter(self.folios.table);
        listed.map(|nr| self.folio_id(nr))
    }

    /// Returns the pages counted in a generation, whatever list they are on; see
    /// [`MmState::lru_gen_folios`]. The number is negative, or too small, while a walk has not
    /// handed in its changes.
    pub fn lru_gen_size(
        &self,
        lruvec: impl Into<LruvecId>,
        generation: usize,
        kind: usize,
        zone: usize,
    ) -> i64 {
        self.lru_gen(lruvec.into()).nr_pages[generation][kind][zone].load(Relaxed)
    }
}

//! Reverse maps: from a mapping's pages to the VMAs that map them.

use crate::engine::Engine;
use crate::id::{MappingNr, NONE, VmaId};
use crate::lock::WriteGuard;
use crate::mapping::Mapping;
use crate::mm_state::MmState;
use crate::rank::{Rank, Ranked};
use crate::vma::Vma;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Env;

/// The guards of the locks of one VMA's reverse maps.
#[derive(Debug)]
pub(crate) struct RmapGuards<'m> {
    _file: Option<Ranked<'m, WriteGuard<'m>>>,
    _anon: Option<Ranked<'m, WriteGuard<'m>>>,
}

impl<'m> MmState<'m> {
    /// Returns the VMAs of a mapping, by page offset. The caller holds the mapping's lock.
    #[inline]
    pub(crate) fn vmas_of(&self, mapping: &Mapping) -> impl Iterator<Item = &'m Vma> {
        let kind = mapping.kind();
        let first = self.vma_at(&mapping.head);
        core::iter::successors(first, move |vma| self.vma_at(vma.next_of(kind)))
    }
}

impl<'e, E: Env> Engine<'e, E> {
    /// Takes the locks of the VMA's reverse maps for writing, the file's first.
    pub(crate) fn lock_rmaps(&self, vma: &Vma) -> RmapGuards<'e> {
        let take = |rank, id: Option<MappingNr>| {
            id.map(|id| self.lock_write(rank, &self.maps.mapping_at(id).lock))
        };
        let file = take(Rank::Rmap, vma.file());
        RmapGuards { _file: file, _anon: take(Rank::RmapOfAnon, vma.anon()) }
    }
}

impl<'m> MmState<'m> {
    /// Adds a VMA to its reverse maps, whose locks are held.
    pub(crate) fn rmap_insert(&self, id: VmaId) {
        let vma = self.vma(id);
        for mapping in [vma.file(), vma.anon()].into_iter().flatten() {
            self.rmap_insert_in(mapping, id);
        }
    }

    /// Adds a VMA to one of its reverse maps, whose lock is held.
    pub(crate) fn rmap_insert_in(&self, mapping: MappingNr, id: VmaId) {
        let (mapping, vma) = (self.mapping_at(mapping), self.vma(id));
        let kind = mapping.kind();
        let mut link = &mapping.head;
        while let Some(next) = self.vma_at(link).filter(|next| next.pgoff() < vma.pgoff()) {
            link = next.next_of(kind);
        }
        vma.next_of(kind).store(link.load(Relaxed), Relaxed);
        link.store(id.0, Relaxed);
    }

    /// Removes a VMA from its reverse maps, whose locks are held.
    ///
    /// # Panics
    /// If it is not in them.
    pub(crate) fn rmap_remove(&self, id: VmaId) {
        let vma = self.vma(id);
        for mapping in [vma.file(), vma.anon()].into_iter().flatten().map(|m| self.mapping_at(m)) {
            let kind = mapping.kind();
            let mut link = &mapping.head;
            while link.load(Relaxed) != id.0 {
                let next = self.vma_at(link).expect("a VMA to remove is in its mapping's list");
                link = next.next_of(kind);
            }
            link.store(vma.next_of(kind).load(Relaxed), Relaxed);
            vma.next_of(kind).store(NONE, Relaxed);
        }
    }
}

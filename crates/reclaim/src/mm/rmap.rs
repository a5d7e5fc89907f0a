//! Reverse maps: from a mapping's pages to the VMAs that map them.
//!
//! A reverse map is an interval tree: a tree of VMAs by their first page, in which each VMA keeps
//! the greatest end of those below it (Linux 7.3.4, mm/interval_tree.c). A walk visits the VMAs
//! that map some page of a range, in the order of their first pages. Of two that begin at the same
//! page, the one that was added last comes first.

use super::mapping::Mapping;
use super::tree::{Entries, Links, Side, Tree};
use super::vma::{Interval, Vma};
use crate::engine::Engine;
use crate::folio::MappingKind;
use crate::guards::Write;
use crate::id::{MappingNr, VmaNr};
use crate::mm_state::MmState;
use crate::rank::Rank;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Env, Format};

/// The guards of the locks of one VMA's reverse maps.
pub(crate) struct RmapGuards<'e, E: Env> {
    _file: Option<Write<'e, E>>,
    _anon: Option<Write<'e, E>>,
}

/// The VMAs of a mapping, by page offset.
struct ByOffset<'a, 'm, F> {
    maps: &'a MmState<'m>,
    kind: MappingKind,
    _format: PhantomData<F>,
}

impl<'m, F: Format> ByOffset<'_, 'm, F> {
    #[inline]
    fn vma(&self, id: u32) -> &'m Vma {
        self.maps.vma_at(VmaNr(id))
    }

    #[inline]
    fn interval_of<'v>(&self, vma: &'v Vma) -> &'v Interval {
        vma.interval(self.kind)
    }

    #[inline]
    fn interval(&self, id: u32) -> &'m Interval {
        self.interval_of(self.vma(id))
    }

    /// Returns true if the VMA or one below it ends after page `from`.
    #[inline]
    fn some_past(&self, id: u32, from: u64) -> bool {
        self.interval(id).past.load(Relaxed) > from
    }
}

impl<'m, F: Format> Entries<'m> for ByOffset<'_, 'm, F> {
    #[inline]
    fn links(&self, id: u32) -> &'m Links {
        &self.interval(id).links
    }

    fn summarize(&self, id: u32, children: [Option<u32>; 2]) {
        let below = children.into_iter().flatten().map(|id| self.interval(id).past.load(Relaxed));
        self.interval(id).past.store(below.fold(self.vma(id).past::<F>(), u64::max), Relaxed);
    }
}

impl<'m, F: Format> Tree<'_, ByOffset<'_, 'm, F>> {
    /// Returns the first VMA of a subtree that ends after page `from`.
    #[inline(always)] // so that a reverse map of one VMA costs little more than that VMA
    fn first_past(&self, top: Option<u32>, from: u64) -> Option<(u32, &'m Vma)> {
        let mut at = top?;
        let mut vma = self.entries.vma(at);
        if self.entries.interval_of(vma).past.load(Relaxed) <= from {
            return None;
        }
        loop {
            let links = &self.entries.interval_of(vma).links;
            let before = links.below(Side::Before);
            at = match (before, links.below(Side::After)) {
                (Some(before), _) if self.entries.some_past(before, from) => before,
                (_, Some(after)) if vma.past::<F>() <= from => after,
                _ => return Some((at, vma)),
            };
            vma = self.entries.vma(at);
        }
    }

    /// Returns the next VMA after this one that ends after page `from`.
    #[inline(never)] // most walks end with the first
    fn next_past(&self, id: u32, from: u64) -> Option<(u32, &'m Vma)> {
        let mut at = id;
        loop {
            let found = self.first_past(self.below(at, Side::After), from);
            if found.is_some() {
                return found;
            }
            at = self.next_above(at, Side::After)?;
            let vma = self.entries.vma(at);
            if vma.past::<F>() > from {
                return Some((at, vma));
            }
        }
    }
}

impl<'m> MmState<'m> {
    #[inline]
    fn by_offset<'a, F: Format>(&'a self, mapping: &'a Mapping) -> Tree<'a, ByOffset<'a, 'm, F>> {
        let entries = ByOffset { maps: self, kind: mapping.kind(), _format: PhantomData };
        Tree { top: &mapping.vmas, entries }
    }

    /// Returns the VMAs that map some of `pages` of a mapping, by page offset. The caller holds the
    /// mapping's lock.
    #[inline]
    pub(crate) fn vmas_of<'a, F: Format>(
        &'a self,
        mapping: &'a Mapping,
        pages: Range<u64>,
    ) -> VmasOf<'a, 'm, F> {
        VmasOf { tree: self.by_offset(mapping), pages, last: None }
    }
}

/// The VMAs that map some of a range of pages, by page offset.
pub(crate) struct VmasOf<'a, 'm, F> {
    tree: Tree<'a, ByOffset<'a, 'm, F>>,
    pages: Range<u64>,
    /// The VMA returned last. The next one is looked for when it is asked for: most walks end with
    /// the first.
    last: Option<u32>,
}

impl<'m, F: Format> Iterator for VmasOf<'_, 'm, F> {
    type Item = &'m Vma;

    #[inline(always)] // as above
    fn next(&mut self) -> Option<&'m Vma> {
        let from = self.pages.start;
        let (id, vma) = match self.last {
            None => self.tree.first_past(self.tree.top(), from)?,
            Some(last) => self.tree.next_past(last, from)?,
        };
        self.last = Some(id);
        (vma.pgoff() < self.pages.end).then_some(vma)
    }
}

impl<'e, E: Env> Engine<'e, E> {
    /// Takes the locks of the VMA's reverse maps for writing, the file's first.
    pub(crate) fn lock_rmaps(&self, vma: &Vma) -> RmapGuards<'e, E> {
        let take = |rank, id: Option<MappingNr>| {
            id.map(|id| self.lock_write(rank, &self.maps.mapping_at(id).lock))
        };
        let file = take(Rank::Rmap, vma.file());
        RmapGuards { _file: file, _anon: take(Rank::RmapOfAnon, vma.anon()) }
    }
}

impl MmState<'_> {
    /// Adds a VMA to its reverse maps, whose locks are held.
    pub(super) fn rmap_insert<F: Format>(&self, id: VmaNr) {
        for mapping in self.mappings_of(id) {
            self.rmap_insert_in::<F>(mapping, id);
        }
    }

    /// Adds a VMA to one of its reverse maps, whose lock is held.
    pub(crate) fn rmap_insert_in<F: Format>(&self, mapping: MappingNr, id: VmaNr) {
        let pgoff = self.vma_at(id).pgoff();
        let precedes = |other: u32| pgoff <= self.vma_at(VmaNr(other)).pgoff();
        self.by_offset::<F>(self.mapping_at(mapping)).insert(id.0, precedes);
    }

    /// Removes a VMA from its reverse maps, whose locks are held.
    ///
    /// # Panics
    /// If it is not in them.
    pub(super) fn rmap_remove<F: Format>(&self, id: VmaNr) {
        for mapping in self.mappings_of(id) {
            self.by_offset::<F>(self.mapping_at(mapping)).remove(id.0);
        }
    }

    /// Brings the reverse maps of a VMA up to date after its end has changed. Their locks have been
    /// held since before.
    pub(crate) fn rmap_resized<F: Format>(&self, id: VmaNr) {
        for mapping in self.mappings_of(id) {
            self.by_offset::<F>(self.mapping_at(mapping)).mend(id.0);
        }
    }

    /// Returns the mappings in whose reverse maps a VMA is.
    fn mappings_of(&self, id: VmaNr) -> impl Iterator<Item = MappingNr> {
        let vma = self.vma_at(id);
        [vma.file(), vma.anon()].into_iter().flatten()
    }
}

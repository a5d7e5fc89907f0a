//! Truncation: removal of the pages of a file, or of shared memory, from some page on.

use super::zap::Batch;
use crate::engine::Engine;
use crate::folio::{FolioFlags, MappingKind};
use crate::id::{FolioId, FolioNr, MappingId, MappingNr};
use crate::memory::BadId;
use crate::mm::{Mm, Vma};
use crate::page_cache::{Found, IndexWalk, forget_shadows, unlink};
use crate::rank::Rank;
use crate::world::World;
use core::ops::Range;
use pageout_paging::walk::{Span, spans};
use pageout_paging::{Format, VirtRange};

/// The number of pages of a mapping that are unmapped at a time.
const WINDOW: u64 = 512;

/// The reason why [`Engine::truncate`] is not complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TruncateError {
    /// A transfer of the given folio is in progress. No entry maps the pages any more, and the
    /// other folios have left the index. Call again when the transfer has ended.
    #[error("a transfer of folio {} is in progress", .0.index())]
    Pending(FolioId),
    /// The mapping is anonymous memory, which has no index (EINVAL).
    #[error("anonymous memory is not truncated")]
    Anonymous,
    /// The mapping has ended.
    #[error(transparent)]
    BadId(#[from] BadId),
}

impl<W: World> Engine<'_, W> {
    /// Removes the pages of a file or of shared memory from page `from` on, from memory and from
    /// swap. They are unmapped, as are private copies of them, mlocked or not, and leave the index.
    /// Stores to them are lost. If a folio begins before `from`, its pages from there on become
    /// zeros; it is otherwise unchanged, and not split. Shadows are forgotten (Linux 7.3.4,
    /// truncate_pagecache, truncate_inode_pages_range, truncate_inode_partial_folio and
    /// shmem_undo_range).
    ///
    /// The caller has set the new size ([`Mapping::set_size`](crate::Mapping::set_size)). Meanwhile
    /// it keeps out faults on the mapping and forks of processes that map it, which could bring
    /// pages back. Reclaim and write-out may go on. Shared memory that ends is truncated to nothing
    /// before [`Engine::remove_mapping`].
    ///
    /// # Errors
    /// [`TruncateError`].
    pub fn truncate(&mut self, mapping: MappingId, from: u64) -> Result<(), TruncateError> {
        if self.maps.mapping(mapping)?.kind() == MappingKind::Anon {
            return Err(TruncateError::Anonymous);
        }
        let mapping = MappingNr(mapping.nr);
        self.unmap_mapping_pages(mapping, from..u64::MAX);
        // A folio that begins before `from` is handled only here.
        let mut awaited = self.truncate_page(mapping, from, from);
        let mut walk = IndexWalk::new(self.maps, mapping, from);
        loop {
            let locked = self.lock_places(mapping);
            let next = walk.step(self, &locked);
            drop(locked);
            match next {
                Some(Some(index)) => {
                    let busy = self.truncate_page(mapping, index, from);
                    walk.passed(busy.is_some());
                    awaited = awaited.or(busy);
                }
                Some(None) => {}
                None => break,
            }
        }
        if let Some(id) = awaited {
            return Err(TruncateError::Pending(id));
        }
        let locked = self.lock_places(mapping);
        forget_shadows(self.maps, mapping, from);
        self.set_past(&locked, mapping, from);
        drop(locked);
        Ok(())
    }

    /// Takes the index's entry for a page out, in a mapping that ends at `from`. Returns the folio
    /// whose transfer has to end first, if there is one.
    fn truncate_page(&mut self, mapping: MappingNr, index: u64, from: u64) -> Option<FolioId> {
        loop {
            match self.filemap_get_entry(mapping, index)? {
                Found::Folio(id) => return self.truncate_folio(id, from),
                Found::Slot(slot) => {
                    let cached = self.swap_cache_get(slot);
                    let Some(id) = cached else {
                        if self.shmem_forget_slot(slot, (mapping, index)) {
                            self.free_slot(slot);
                            return None;
                        }
                        continue; // a fault was faster
                    };
                    let guard = self.lock_folio(id);
                    let flags = guard.folio().flags();
                    let busy = flags.intersects(FolioFlags::READING | FolioFlags::WRITEBACK);
                    let whole = guard.folio().index() >= from;
                    let there = !busy && flags.contains(FolioFlags::UPTODATE);
                    if there && self.shmem_take_back(&guard, id) {
                        // The folio is found again, in the index.
                    } else if whole && self.shmem_forget_slot(slot, (mapping, index)) {
                        // The folio is freed when its transfer has ended.
                        drop(guard);
                        self.free_slot(slot);
                        self.put_folio(id, 1);
                        return None;
                    }
                    drop(guard);
                    let awaited = (busy && !whole).then(|| self.maps.folio_id(id));
                    self.put_folio(id, 1);
                    if awaited.is_some() {
                        return awaited;
                    }
                }
            }
        }
    }

    /// Takes a folio out of the index. If it begins before `from`, only zeros its content from
    /// there on. The caller gives a reference. Returns the folio if its transfer has to end first.
    fn truncate_folio(&mut self, id: FolioNr, from: u64) -> Option<FolioId> {
        let maps = self.maps;
        let (mut refs, mut awaited) = (1, None);
        loop {
            let guard = self.lock_folio(id);
            let (folio, flags) = (guard.folio(), guard.folio().flags());
            let (first, nr) = (folio.index(), folio.nr_pages() as u64);
            if !flags.contains(FolioFlags::INDEXED) {
                // Reclaim took it out meanwhile.
            } else if flags.intersects(FolioFlags::READING | FolioFlags::WRITEBACK) {
                awaited = Some(maps.folio_id(id));
            } else if first < from {
                let tail = from - first;
                self.world.zero(folio.pfn().add(tail), (nr - tail) as usize);
                if flags.contains(FolioFlags::SWAPBACKED) {
                    guard.set(FolioFlags::DIRTY);
                }
            } else if folio.mapcount() > 0 {
                drop(guard);
                self.unmap_mapping_pages(folio.mapping(), first..first + nr);
                continue;
            } else {
                guard.forget_dirty();
                unlink(maps, &mut self.lock_bucket_of(folio), id, None);
                refs += 1; // the index's
            }
            drop(guard);
            self.put_folio(id, refs);
            return awaited;
        }
    }
}

/// Returns the range in which a VMA maps `pages` of its mapping.
fn part_of<F: Format>(vma: &Vma, pages: &Range<u64>) -> Option<VirtRange> {
    let past = vma.past::<F>();
    let (first, last) = (pages.start.max(vma.pgoff()), pages.end.min(past));
    let at = |page: u64| vma.start().add((page - vma.pgoff()) << F::PAGE_SHIFT);
    (first < last).then(|| at(first)..at(last))
}

impl<W: World> Engine<'_, W> {
    /// Takes out all entries that map pages of a file or of shared memory, or private copies of
    /// them (Linux 7.3.4, unmap_mapping_range with even_cows). A PMD leaf is taken out whole.
    fn unmap_mapping_pages(&mut self, mapping: MappingNr, pages: Range<u64>) {
        let maps = self.maps;
        let of = maps.mapping_at(mapping);
        let mut at = pages.start;
        loop {
            let locked = self.lock_read(Rank::Rmap, &of.lock);
            let next = maps.vmas_of::<W::Format>(of, at..pages.end).next();
            let first = next.map(|vma| vma.pgoff().max(at));
            drop(locked);
            let Some(first) = first else {
                return;
            };
            let window = first..pages.end.min(first.saturating_add(WINDOW));
            at = window.end;
            self.unmap_window(mapping, &window);
        }
    }

    /// Takes out the entries of `unmap_mapping_pages` for a few pages. Folios are released without
    /// the lock of the reverse map, so that VMAs may change meanwhile. The loop ends when a pass
    /// over all of them finds nothing.
    fn unmap_window(&mut self, mapping: MappingNr, window: &Range<u64>) {
        let maps = self.maps;
        let of = maps.mapping_at(mapping);
        let (mut skip, mut all) = (0, true);
        loop {
            let locked = self.lock_read(Rank::Rmap, &of.lock);
            let vmas = maps.vmas_of::<W::Format>(of, window.clone()).enumerate().skip(skip);
            let found = vmas
                .filter_map(|(k, vma)| Some((k, vma, part_of::<W::Format>(vma, window)?)))
                .find_map(|(k, vma, part)| {
                    let batch = self.take_first(maps.mm_at(vma.mm()), &part)?;
                    Some((k, vma.flags(), batch))
                });
            drop(locked);
            match found {
                Some((k, flags, batch)) => {
                    self.put_batch(flags, batch);
                    (skip, all) = (k, false);
                }
                None if all => return,
                None => (skip, all) = (0, true),
            }
        }
    }

    /// Takes out the first entries of a range, or returns `None` if it has none.
    fn take_first(&self, mm: &Mm, range: &VirtRange) -> Option<Batch> {
        for span in spans(self.world, mm.root(), range.clone()) {
            match span {
                Span::Ptes { frame, range, .. } => {
                    let mut addr = range.start;
                    while addr < range.end {
                        let (next, batch) = self.take_batch(mm, frame, addr..range.end);
                        if batch.nr > 0 {
                            return Some(batch);
                        }
                        addr = next;
                    }
                }
                Span::PmdLeaf { frame, range } => {
                    let Some(taken) = self.take_leaf(mm, frame, range.start) else {
                        continue;
                    };
                    debug_assert!(taken.table.is_none(), "a file's leaf has no table in reserve");
                    if let Some(id) = taken.folio {
                        return Some(Batch::of_leaf(id, taken.was));
                    }
                }
            }
        }
        None
    }
}

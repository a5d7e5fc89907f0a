//! The dirty folios of files: the tags of their buckets, and a flusher's walk over those of one
//! file.
//!
//! The task that makes a folio dirty sets the bucket's tag after that. A walk clears the tag of a
//! bucket before it looks for dirty folios there, and sets it again if there are any. So a dirty
//! folio in the index always has its tag, or is about to get it.

use super::SLOT;
use super::bucket::Bucket;
use super::key::{Key, nr_buckets};
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags};
use crate::id::{FolioId, FolioNr, MappingId, MappingNr};
use crate::memory::BadId;
use crate::mm_state::MmState;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Env;

impl MmState<'_> {
    /// Notes that the content of a folio changed: that a write or a device stored to it, or that a
    /// dirty entry was taken out. Walks of flushers find a file's folio from then on
    /// ([`DirtyFolios`]). It is called before the entry's or the device's reference is given up, so
    /// that the holder of all remaining references knows. No lock is needed.
    #[inline]
    pub fn note_dirty(&self, folio: &Folio) {
        folio.note_dirty();
        self.tag_dirty(folio);
    }

    /// Sets the tag of the bucket of a folio that was just made dirty, if a flusher writes it.
    #[inline]
    pub(crate) fn tag_dirty(&self, folio: &Folio) {
        if !folio.flags().intersects(FolioFlags::SWAPBACKED | FolioFlags::ANON) {
            self.stored.tags.set(Key::of(folio).bucket(self));
        }
    }
}

/// A flusher's walk over the dirty folios of a file, those of each size in the order of their
/// pages. It reads one word for 262,144 pages that are clean. Folios that become dirty while it is
/// under way may be found or not.
#[derive(Debug)]
pub struct DirtyFolios {
    mapping: MappingId,
    order: u32,
    /// The next bucket, counted from that of the file's first folio of the order.
    at: u64,
    /// The number among the folios of the order of the first that may be found in that bucket.
    from: u64,
}

impl DirtyFolios {
    /// Makes a walk over all of a file.
    pub const fn of(mapping: MappingId) -> Self {
        Self { mapping, order: 0, at: 0, from: 0 }
    }

    fn nr(&self) -> MappingNr {
        MappingNr(self.mapping.nr)
    }

    /// Goes on to the next tag of this order. Returns its bucket.
    fn next_tag(&mut self, maps: &MmState<'_>) -> Option<u64> {
        let (all, mapping) = (nr_buckets(maps), maps.mapping_at(self.nr()));
        let len = mapping.past.load(Relaxed).div_ceil(1 << self.order).min(all);
        if self.at >= len {
            return None;
        }
        let first = Key::at(self.nr(), 0, self.order).bucket(maps);
        // Buckets follow each other around the end of the table.
        let end = first + len;
        let mut start = first + self.at;
        let tags = &maps.stored.tags;
        let mut found = None;
        if start < all {
            found = tags.first_in(start..end.min(all));
            start = all;
        }
        let found = match found {
            None if end > start => tags.first_in(start - all..end - all).map(|tag| tag + all),
            found => found,
        };
        let at = found.map_or(len, |tag| tag - first);
        if at != self.at {
            (self.at, self.from) = (at, 0);
        }
        found.map(|tag| tag & (all - 1))
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns the next folio of a flusher's walk, with a reference, which the caller drops by
    /// [`Engine::release`] after [`Engine::write_back`]. Entries that [`Engine::map_folio`] made
    /// writable are not asked: stores through them are found once the entries are taken out, or
    /// after [`MmState::note_dirty`].
    ///
    /// # Errors
    /// [`BadId`] if the file has ended.
    pub fn next_dirty(&mut self, walk: &mut DirtyFolios) -> Result<Option<FolioId>, BadId> {
        let maps = self.maps;
        let orders = maps.mapping(walk.mapping)?.orders.load(Relaxed);
        while walk.order < u32::BITS {
            if orders & 1 << walk.order != 0 {
                while let Some(bucket) = walk.next_tag(maps) {
                    let found = self.take_dirty_in(bucket, walk);
                    if let Some(nr) = found {
                        return Ok(Some(maps.folio_id(nr)));
                    }
                    (walk.at, walk.from) = (walk.at + 1, 0);
                }
            }
            *walk = DirtyFolios { order: walk.order + 1, ..DirtyFolios::of(walk.mapping) };
        }
        Ok(None)
    }

    /// Takes a reference to the next dirty folio of a walk in a bucket. It waits for one that is
    /// moving to other frames.
    fn take_dirty_in(&mut self, bucket: u64, walk: &mut DirtyFolios) -> Option<FolioNr> {
        loop {
            let taken = self.lock_bucket(bucket);
            let (number, id) = self.maps.first_dirty_in(&taken, bucket, walk)?;
            if self.maps.folio_at(id).try_get() {
                walk.from = number + 1;
                return Some(id);
            }
            drop(taken);
            self.world.relax();
        }
    }
}

impl MmState<'_> {
    /// Finds the next dirty folio of a walk in a bucket, and its number among the folios of its
    /// order. Clears the bucket's tag if it has no dirty folio at all.
    fn first_dirty_in(
        &self,
        taken: &Bucket<'_>,
        bucket: u64,
        walk: &DirtyFolios,
    ) -> Option<(u64, FolioNr)> {
        self.stored.tags.clear(bucket);
        let mut next: Option<(u64, FolioNr)> = None;
        let mut some = false;
        for id in taken.entries(self).filter(|at| at & SLOT == 0).map(FolioNr) {
            let folio = self.folio_at(id);
            if folio.flags().contains(FolioFlags::SWAPBACKED) || !folio.may_be_dirty() {
                continue;
            }
            some = true;
            let Key { mapping, order, number } = Key::of(folio);
            let of_walk = (mapping, order) == (walk.nr(), walk.order) && number >= walk.from;
            if of_walk && next.is_none_or(|(least, _)| number < least) {
                next = Some((number, id));
            }
        }
        if some {
            self.stored.tags.set(bucket);
        }
        next
    }
}

//! The index itself.

use super::bucket::{Bucket, TakenBucket};
use super::key::{Key, nr_buckets};
use super::shadow::Shadow;
use super::shadows::{store_shadow, take_shadow};
use super::{Exists, SLOT};
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags};
use crate::id::{FolioId, FolioNr, MappingId, MappingNr, NONE, SwapSlot};
use crate::lock::WriteGuard;
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::noted::Noted;
use crate::page_cache::cache::IndexError;
use crate::page_cache::swap::cache::SwapLocked;
use crate::rank::{Rank, Ranked};
use crate::vmstat::Counter;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use pageout_paging::Env;

/// The index's entry for a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The folio that holds it.
    Folio(FolioNr),
    /// The slot it was swapped out to.
    Slot(SwapSlot),
}

/// The lock of the places of a file's pages, held.
#[derive(Debug)]
pub(crate) struct PlacesLocked<'e> {
    _lock: Ranked<'e, WriteGuard<'e>>,
}

impl<'e, E: Env> Engine<'e, E> {
    /// Takes the lock of the places of a file's pages: pages enter the index, and change their
    /// places, only under it.
    #[inline]
    pub(crate) fn lock_places(&self, mapping: MappingNr) -> Noted<'e, E, PlacesLocked<'e>> {
        let lock = self.lock_write(Rank::Places, &self.maps.mapping_at(mapping).places);
        lock.map(|lock| PlacesLocked { _lock: lock })
    }

    /// Takes the bucket of a folio.
    #[inline]
    pub(crate) fn lock_bucket_of(&self, folio: &Folio) -> TakenBucket<'e, E> {
        self.lock_bucket(Key::of(folio).bucket(self.maps))
    }

    /// Returns the index's entry for a page, which stays there as long as the caller has its
    /// bucket. A page that changes its place meanwhile may be missed, unless the caller has the
    /// lock of places.
    #[inline]
    pub(in crate::page_cache) fn find(
        &self,
        mapping: MappingNr,
        index: u64,
    ) -> Option<(Found, TakenBucket<'e, E>)> {
        let orders = Orders(self.maps.mapping_at(mapping).orders.load(Relaxed));
        orders.into_iter().find_map(|order| self.lookup(Key::at(mapping, index, order)))
    }

    #[inline]
    fn lookup(&self, key: Key) -> Option<(Found, TakenBucket<'e, E>)> {
        let maps = self.maps;
        let bucket = self.lock_used_bucket(key.bucket(maps))?;
        let at = bucket.entries(maps).find(|at| Key::of_entry(maps, *at) == key)?;
        let found = match at & SLOT {
            0 => Found::Folio(FolioNr(at)),
            _ => Found::Slot(SwapSlot(at & !SLOT)),
        };
        Some((found, bucket))
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns the folio that holds page `index` of the file, with a reference that the caller
    /// drops.
    ///
    /// # Errors
    /// [`BadId`] if the file's mapping has ended.
    pub fn filemap_get_folio(
        &mut self,
        mapping: MappingId,
        index: u64,
    ) -> Result<Option<FolioId>, BadId> {
        self.maps.mapping(mapping)?;
        let found = self.filemap_get(MappingNr(mapping.nr), index);
        Ok(found.map(|nr| self.maps.folio_id(nr)))
    }

    /// Finds a folio like `filemap_get_folio`, in a mapping that lives at least as long as the
    /// call.
    pub(crate) fn filemap_get(&mut self, mapping: MappingNr, index: u64) -> Option<FolioNr> {
        let (found, bucket) = self.find(mapping, index)?;
        let folio = match found {
            Found::Folio(id) if self.maps.folio_at(id).try_get() => Some(id),
            _ => None,
        };
        drop(bucket);
        folio
    }

    /// Puts a folio into its file's index, which takes a reference. The caller holds a reference
    /// and the folio's lock. Returns the shadow of the last folio that was evicted there. The index
    /// forgets that shadow if the new folio covers all of its pages.
    ///
    /// # Errors
    /// [`IndexError::Exists`] if the index has one of its pages already, and
    /// [`IndexError::BadId`]; nothing is changed then.
    pub fn filemap_add_folio(&mut self, id: FolioId) -> Result<Option<Shadow>, IndexError> {
        Ok(self.filemap_add_at(self.maps.folio_nr(id)?)?)
    }

    /// Puts a folio into its file's index, by its entry.
    pub(crate) fn filemap_add_at(&mut self, id: FolioNr) -> Result<Option<Shadow>, Exists> {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let key = Key::of(folio);
        let locked = self.lock_places(key.mapping);
        let known = Orders(maps.mapping_at(key.mapping).orders.load(Relaxed));
        let taken = known.keys_within(folio).any(|key| self.lookup(key).is_some());
        let done = if taken {
            Err(Exists)
        } else {
            let mut shadow = None;
            for at in known.keys_within(folio) {
                shadow = take_shadow(maps, at, at.order > key.order).or(shadow);
            }
            folio.get(1);
            self.link(&locked, id);
            Ok(shadow)
        };
        drop(locked);
        done
    }

    /// Takes a folio out of its file's index, without leaving a shadow. The index's reference
    /// passes to the caller. The caller holds the folio's lock. [`contract`](crate::contract) says
    /// how a file is truncated.
    ///
    /// # Errors
    /// [`IndexError::Absent`] if the folio is not in the index, and [`IndexError::BadId`]; nothing
    /// is changed then.
    pub fn filemap_remove_folio(&mut self, id: FolioId) -> Result<(), IndexError> {
        let nr = self.maps.folio_nr(id)?;
        let folio = self.maps.folio_at(nr);
        let mut bucket = self.lock_bucket_of(folio);
        if !folio.flags().contains(FolioFlags::INDEXED) {
            return Err(IndexError::Absent);
        }
        unlink(self.maps, &mut bucket, nr, None);
        Ok(())
    }

    /// Puts a locked folio into its file's index, which has nothing for its pages. The caller gives
    /// the index a reference to it.
    #[inline]
    pub(in crate::page_cache) fn link(&self, _: &PlacesLocked<'_>, id: FolioNr) {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let mapping = maps.mapping_at(folio.mapping());
        let past = folio.range().end;
        mapping.past.store(mapping.past.load(Relaxed).max(past), Relaxed);
        folio.update_flags(FolioFlags::INDEXED, FolioFlags::empty());
        self.chain(Key::of(folio), &folio.chain, id.0);
        count_shmem(maps, folio, true);
        if folio.may_be_dirty() {
            maps.tag_dirty(folio);
        }
    }

    /// Puts the slot of a page of shared memory into the index, where its folio was.
    pub(in crate::page_cache) fn link_slot(
        &self,
        _: (&PlacesLocked<'_>, &SwapLocked<'_>),
        slot: SwapSlot,
        place: (MappingNr, u64),
    ) {
        let (mapping, index) = place;
        let entry = self.maps.slot(slot);
        entry.mapping.store(mapping.0, Relaxed);
        entry.index.store(index, Relaxed);
        self.maps.mapping_at(mapping).named.fetch_add(1, Relaxed);
        self.chain(Key::at(mapping, index, 0), &entry.chain, slot.0 | SLOT);
    }

    /// Takes a slot out of the index.
    pub(in crate::page_cache) fn unlink_slot(
        &self,
        _: (&PlacesLocked<'_>, &SwapLocked<'_>),
        slot: SwapSlot,
    ) {
        let (maps, entry) = (self.maps, self.maps.slot(slot));
        self.lock_bucket(Key::of_slot(entry).bucket(maps)).remove(maps, slot.0 | SLOT);
        maps.mapping_at(MappingNr(entry.mapping.load(Relaxed))).named.fetch_sub(1, Relaxed);
        entry.mapping.store(NONE, Relaxed);
    }

    /// Puts a number into the bucket of `key`, and notes the order in the mapping.
    #[inline]
    fn chain(&self, key: Key, next: &AtomicU32, number: u32) {
        let orders = &self.maps.mapping_at(key.mapping).orders;
        orders.store(orders.load(Relaxed) | 1 << key.order, Relaxed);
        self.lock_bucket(key.bucket(self.maps)).push(next, number);
    }
}

/// Takes a locked folio out of its bucket and leaves a shadow.
#[inline]
pub(crate) fn unlink(
    maps: &MmState<'_>,
    bucket: &mut Bucket<'_>,
    id: FolioNr,
    shadow: Option<Shadow>,
) {
    let folio = maps.folio_at(id);
    bucket.remove(maps, id.0);
    count_shmem(maps, folio, false);
    folio.update_flags(FolioFlags::empty(), FolioFlags::INDEXED);
    if let Some(shadow) = shadow {
        store_shadow(maps, Key::of(folio), shadow);
    }
}

/// Counts the pages that enter or leave the index of shared memory (Linux 7.3.4,
/// shmem_update_stats).
#[inline]
fn count_shmem(maps: &MmState<'_>, folio: &Folio, added: bool) {
    if !folio.flags().contains(FolioFlags::SWAPBACKED) || !folio.is_charged() {
        return;
    }
    let vmstat = &maps.memcg_at(folio.memcg()).vmstat;
    for counter in [Counter::NrFilePages, Counter::NrShmem] {
        match added {
            true => vmstat.add(counter, folio.nr_pages() as u64),
            false => vmstat.sub(counter, folio.nr_pages() as u64),
        }
    }
}

/// A walk over all that the index has for a mapping from some page on, except a folio that begins
/// before that page. If the range may have fewer pages than there are buckets, the walk looks up
/// each page. Otherwise it looks into each bucket.
#[derive(Debug)]
pub(crate) struct IndexWalk {
    mapping: MappingNr,
    from: u64,
    past: u64,
    buckets: bool,
    /// The next page, or the next bucket.
    next: u64,
    /// The number of the mapping's entries in this bucket that the caller left there.
    left: usize,
}

/// The number of pages, or of buckets, that a walk examines under one hold of the lock of places.
const STEP: u64 = 512;

impl IndexWalk {
    pub(crate) fn new(maps: &MmState<'_>, mapping: MappingNr, from: u64) -> Self {
        let past = maps.mapping_at(mapping).past.load(Relaxed);
        let buckets = past.saturating_sub(from) > nr_buckets(maps);
        let next = if buckets { 0 } else { from };
        Self { mapping, from, past, buckets, next, left: 0 }
    }

    /// Returns a page for which the index has an entry, `Some(None)` if this step found none, or
    /// `None` at the end of the walk.
    pub(crate) fn step<E: Env>(
        &mut self,
        engine: &Engine<'_, E>,
        _: &PlacesLocked<'_>,
    ) -> Option<Option<u64>> {
        let end = if self.buckets { nr_buckets(engine.maps) } else { self.past };
        if self.next >= end {
            return None;
        }
        let stop = end.min(self.next + STEP);
        while self.next < stop {
            let found = match self.buckets {
                true => self.in_bucket(engine).ok_or(self.next + 1),
                false => self.at_page(engine),
            };
            match found {
                Ok(page) => return Some(Some(page)),
                Err(next) => (self.next, self.left) = (next, 0),
            }
        }
        Some(None)
    }

    /// Returns the next page if the index has an entry for it, or else the page to go on with.
    fn at_page<E: Env>(&self, engine: &Engine<'_, E>) -> Result<u64, u64> {
        match engine.find(self.mapping, self.next) {
            Some((Found::Folio(id), _bucket)) if engine.maps.folio_at(id).index() < self.from => {
                Err(engine.maps.folio_at(id).range().end)
            }
            Some(_) => Ok(self.next),
            None => Err(self.next + 1),
        }
    }

    /// Goes on: the caller has taken the page that was found out, or has `left` it there.
    pub(crate) fn passed(&mut self, left: bool) {
        match self.buckets {
            true => self.left += usize::from(left),
            false => self.next += 1,
        }
    }

    /// Finds a page of the mapping in the next bucket, past those that were left.
    fn in_bucket<E: Env>(&self, engine: &Engine<'_, E>) -> Option<u64> {
        let maps = engine.maps;
        let bucket = engine.lock_used_bucket(self.next)?;
        let keys = bucket.entries(maps).map(|at| Key::of_entry(maps, at));
        let mut ours = keys
            .filter(|key| key.mapping == self.mapping)
            .map(|key| key.number << key.order)
            .filter(|first| *first >= self.from);
        ours.nth(self.left)
    }
}

/// Forgets the shadows of a mapping from some page on. If that range has more pages than the table
/// has entries, forgets all shadows of the mapping.
pub(crate) fn forget_shadows(maps: &MmState<'_>, mapping: MappingNr, from: u64) {
    let of = maps.mapping_at(mapping);
    let (orders, past) = (Orders(of.orders.load(Relaxed)), of.past.load(Relaxed));
    if past.saturating_sub(from) > maps.stored.shadows.len() as u64 {
        return of.forget_shadows();
    }
    for order in orders.into_iter() {
        let (first, past) = (from.div_ceil(1 << order), past.div_ceil(1 << order));
        for number in first..past {
            take_shadow(maps, Key { mapping, order, number }, false);
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Notes that the index has nothing of a mapping from page `from` on, except the rest of a
    /// folio that begins before it.
    pub(crate) fn set_past(&self, _: &PlacesLocked<'_>, mapping: MappingNr, from: u64) {
        let last = from.checked_sub(1).and_then(|last| self.find(mapping, last));
        let end = match last {
            Some((Found::Folio(id), _bucket)) => self.maps.folio_at(id).range().end,
            _ => from,
        };
        let past = &self.maps.mapping_at(mapping).past;
        past.store(past.load(Relaxed).min(end), Relaxed);
    }
}

/// A set of folio orders, one bit each.
#[derive(Clone, Copy)]
struct Orders(u32);

impl Orders {
    fn into_iter(self) -> impl Iterator<Item = u32> {
        core::iter::successors(Some(self.0), |left| Some(left & left.wrapping_sub(1)))
            .take_while(|left| *left != 0)
            .map(u32::trailing_zeros)
    }

    /// Returns every key whose folio would share a page with this one, the largest folios first.
    #[inline]
    fn keys_within(self, folio: &Folio) -> impl Iterator<Item = Key> {
        let (mapping, index) = (folio.mapping(), folio.index());
        let nr = folio.nr_pages() as u64;
        let known = (0..u32::BITS).rev().filter(move |order| self.0 & 1 << order != 0);
        known.flat_map(move |order| {
            let first = Key::at(mapping, index, order);
            let last = (index + nr - 1) >> order;
            (first.number..=last).map(move |number| Key { number, ..first })
        })
    }
}

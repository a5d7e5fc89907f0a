//! The index itself.

use super::shadow::Shadow;
use super::{Exists, SLOT, ShadowEntry};
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags};
use crate::guards::Write;
use crate::id::{FolioId, FolioNr, MappingId, MappingNr, NONE, SwapSlot};
use crate::lock::WriteGuard;
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::page_cache::cache::IndexError;
use crate::page_cache::swap::Slot;
use crate::rank::{Rank, Ranked};
use crate::vmstat::Counter;
use core::num::NonZeroU64;
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

/// The number of entries that may hold one shadow.
const WAYS: usize = 4;

/// The place of a folio: its number among the folios of its order in its file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) mapping: MappingNr,
    pub(super) order: u32,
    pub(super) number: u64,
}

impl Key {
    #[inline]
    pub(super) fn of(folio: &Folio) -> Self {
        Self::at(folio.mapping(), folio.index(), folio.nr_pages().ilog2())
    }

    pub(super) fn at(mapping: MappingNr, index: u64, order: u32) -> Self {
        Self { mapping, order, number: index >> order }
    }

    fn of_slot(slot: &Slot) -> Self {
        Self::at(MappingNr(slot.mapping.load(Relaxed)), slot.index.load(Relaxed), 0)
    }

    /// Returns a hash that is consecutive for consecutive folios. Each file and order begins
    /// anywhere.
    #[inline]
    pub(super) fn place(self) -> u64 {
        let file = u64::from(self.mapping.0) << 4 | u64::from(self.order);
        file.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32).wrapping_add(self.number)
    }

    /// Returns a fingerprint, never 0.
    #[inline]
    fn print(self, maps: &MmState<'_>) -> u64 {
        let salt = u64::from(maps.mapping_at(self.mapping).salt.load(Relaxed)).rotate_right(24);
        let mixed = (self.place() ^ u64::from(self.mapping.0) << 40 ^ salt)
            .wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 33 | 1
    }
}

/// The lock of the file index and the swap cache, held.
pub(in crate::page_cache) type Locked<'e> = Ranked<'e, WriteGuard<'e>>;

impl<'e, E: Env> Engine<'e, E> {
    /// Takes the lock of the file index and the swap cache.
    #[inline]
    pub(crate) fn lock_index(&self) -> Write<'e, E> {
        self.lock_write(Rank::Index, &self.maps.stored.lock)
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
        let maps = self.maps;
        let locked = self.lock_index();
        let found = match find(maps, &locked, mapping, index) {
            Some(Found::Folio(id)) if maps.folio_at(id).try_get() => Some(id),
            _ => None,
        };
        drop(locked);
        found
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
        let locked = self.lock_index();
        let known = Orders(maps.mapping_at(key.mapping).orders.load(Relaxed));
        let taken = known.keys_within(folio).any(|key| lookup(maps, key).is_some());
        let done = if taken {
            Err(Exists)
        } else {
            let mut shadow = None;
            for at in known.keys_within(folio) {
                shadow = take_shadow(maps, at, at.order > key.order).or(shadow);
            }
            link(maps, &locked, id);
            folio.get(1);
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
        let locked = self.lock_index();
        let indexed = self.maps.folio_at(nr).flags().contains(FolioFlags::INDEXED);
        if indexed {
            unlink(self.maps, &locked, nr, None);
        }
        drop(locked);
        indexed.then_some(()).ok_or(IndexError::Absent)
    }
}

/// Puts a locked folio into its file's index, which has nothing for its pages. The caller gives the
/// index a reference to it.
pub(in crate::page_cache) fn link(maps: &MmState<'_>, _: &Locked<'_>, id: FolioNr) {
    let folio = maps.folio_at(id);
    let (key, mapping) = (Key::of(folio), maps.mapping_at(folio.mapping()));
    chain(maps, key, &folio.chain, id.0);
    let past = folio.range().end;
    mapping.past.store(mapping.past.load(Relaxed).max(past), Relaxed);
    folio.update_flags(FolioFlags::INDEXED, FolioFlags::empty());
    count_shmem(maps, folio, true);
    if folio.may_be_dirty() {
        maps.tag_dirty(folio);
    }
}

/// Takes a locked folio out of its file's index and leaves a shadow.
#[inline]
pub(crate) fn unlink(maps: &MmState<'_>, _: &Locked<'_>, id: FolioNr, shadow: Option<Shadow>) {
    let folio = maps.folio_at(id);
    let key = Key::of(folio);
    unchain(maps, key, id.0);
    count_shmem(maps, folio, false);
    folio.update_flags(FolioFlags::empty(), FolioFlags::INDEXED);
    if let Some(shadow) = shadow {
        store_shadow(maps, key, shadow);
    }
}

/// Counts the pages that enter or leave the index of shared memory (Linux 7.3.4,
/// shmem_update_stats).
#[inline]
fn count_shmem(maps: &MmState<'_>, folio: &Folio, added: bool) {
    if !folio.flags().contains(FolioFlags::SWAPBACKED) || !folio.is_charged() {
        return;
    }
    let vmstat = &maps.memcg(folio.memcg()).vmstat;
    for counter in [Counter::NrFilePages, Counter::NrShmem] {
        match added {
            true => vmstat.add(counter, folio.nr_pages() as u64),
            false => vmstat.sub(counter, folio.nr_pages() as u64),
        }
    }
}

/// Puts the slot of a page of shared memory into the index, where its folio was.
pub(in crate::page_cache) fn link_slot(
    maps: &MmState<'_>,
    _: &Locked<'_>,
    slot: SwapSlot,
    place: (MappingNr, u64),
) {
    let (mapping, index) = place;
    let entry = maps.slot(slot);
    entry.mapping.store(mapping.0, Relaxed);
    entry.index.store(index, Relaxed);
    maps.mapping_at(mapping).named.fetch_add(1, Relaxed);
    chain(maps, Key::at(mapping, index, 0), &entry.chain, slot.0 | SLOT);
}

/// Takes a slot out of the index.
pub(in crate::page_cache) fn unlink_slot(maps: &MmState<'_>, _: &Locked<'_>, slot: SwapSlot) {
    let entry = maps.slot(slot);
    unchain(maps, Key::of_slot(entry), slot.0 | SLOT);
    maps.mapping_at(MappingNr(entry.mapping.load(Relaxed))).named.fetch_sub(1, Relaxed);
    entry.mapping.store(NONE, Relaxed);
}

/// Puts a number at the head of the chain of `key`, and notes the order in the mapping.
#[inline]
fn chain(maps: &MmState<'_>, key: Key, next: &AtomicU32, number: u32) {
    let orders = &maps.mapping_at(key.mapping).orders;
    orders.store(orders.load(Relaxed) | 1 << key.order, Relaxed);
    let bucket = bucket(maps, key);
    next.store(bucket.load(Relaxed), Relaxed);
    bucket.store(number, Relaxed);
}

/// Takes a number out of the chain of `key`.
///
/// # Panics
/// If the number is not in the chain.
#[inline]
fn unchain(maps: &MmState<'_>, key: Key, number: u32) {
    let mut link = bucket(maps, key);
    loop {
        let at = link.load(Relaxed);
        assert_ne!(at, NONE, "what is to be taken out is in the index");
        let next = next_of(maps, at);
        if at == number {
            link.store(next.load(Relaxed), Relaxed);
            return;
        }
        link = next;
    }
}

/// Returns the link to the number after `number` in its chain.
#[inline]
fn next_of<'a>(maps: &'a MmState<'_>, number: u32) -> &'a AtomicU32 {
    match number & SLOT {
        0 => &maps.folio_at(FolioNr(number)).chain,
        _ => &maps.slot(SwapSlot(number & !SLOT)).chain,
    }
}

/// Returns the index's entry for a page.
pub(in crate::page_cache) fn find(
    maps: &MmState<'_>,
    _: &Locked<'_>,
    mapping: MappingNr,
    index: u64,
) -> Option<Found> {
    let orders = Orders(maps.mapping_at(mapping).orders.load(Relaxed));
    orders.into_iter().find_map(|order| lookup(maps, Key::at(mapping, index, order)))
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

/// The number of pages, or of buckets, that a walk examines under one hold of the lock.
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
    pub(crate) fn step(&mut self, maps: &MmState<'_>, locked: &Locked<'_>) -> Option<Option<u64>> {
        let end = if self.buckets { nr_buckets(maps) } else { self.past };
        if self.next >= end {
            return None;
        }
        let stop = end.min(self.next + STEP);
        while self.next < stop {
            let mut next = self.next + 1;
            let found = match self.buckets {
                true => self.in_bucket(maps),
                false => match find(maps, locked, self.mapping, self.next) {
                    Some(Found::Folio(id)) if maps.folio_at(id).index() < self.from => {
                        next = maps.folio_at(id).range().end;
                        None
                    }
                    Some(_) => Some(self.next),
                    None => None,
                },
            };
            if found.is_some() {
                return Some(found);
            }
            (self.next, self.left) = (next, 0);
        }
        Some(None)
    }

    /// Goes on: the caller has taken the page that was found out, or has `left` it there.
    pub(crate) fn passed(&mut self, left: bool) {
        match self.buckets {
            true => self.left += usize::from(left),
            false => self.next += 1,
        }
    }

    /// Finds a page of the mapping in the next bucket, past those that were left.
    fn in_bucket(&self, maps: &MmState<'_>) -> Option<u64> {
        let mut left = self.left;
        let mut at = maps.folios.table[self.next as usize].bucket.load(Relaxed);
        while at != NONE {
            let key = match at & SLOT {
                0 => Key::of(maps.folio_at(FolioNr(at))),
                _ => Key::of_slot(maps.slot(SwapSlot(at & !SLOT))),
            };
            let first = key.number << key.order;
            if key.mapping == self.mapping && first >= self.from {
                if left == 0 {
                    return Some(first);
                }
                left -= 1;
            }
            at = next_of(maps, at).load(Relaxed);
        }
        None
    }
}

/// Forgets the shadows of a mapping from some page on. If that range has more pages than the table
/// has entries, forgets all shadows of the mapping.
pub(crate) fn forget_shadows(maps: &MmState<'_>, _: &Locked<'_>, mapping: MappingNr, from: u64) {
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

/// Notes that the index has nothing of a mapping from page `from` on, except the rest of a folio
/// that begins before it.
pub(crate) fn set_past(maps: &MmState<'_>, locked: &Locked<'_>, mapping: MappingNr, from: u64) {
    let last = from.checked_sub(1).and_then(|last| find(maps, locked, mapping, last));
    let end = match last {
        Some(Found::Folio(id)) => maps.folio_at(id).range().end,
        _ => from,
    };
    let past = &maps.mapping_at(mapping).past;
    past.store(past.load(Relaxed).min(end), Relaxed);
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

/// Returns the head of the bucket of `key`. Each entry of the table of folios has one bucket.
#[inline]
fn bucket<'a>(maps: &'a MmState<'_>, key: Key) -> &'a AtomicU32 {
    &maps.folios.table[(key.place() & (nr_buckets(maps) - 1)) as usize].bucket
}

impl MmState<'_> {
    /// Returns the folios in a bucket.
    pub(super) fn folios_in(&self, bucket: u64, _: &Locked<'_>) -> impl Iterator<Item = FolioNr> {
        let named = |link: &AtomicU32| Some(link.load(Relaxed)).filter(|at| *at != NONE);
        let first = named(&self.folios.table[bucket as usize].bucket);
        let chain = core::iter::successors(first, move |at| named(next_of(self, *at)));
        chain.filter(|at| at & SLOT == 0).map(FolioNr)
    }
}

/// Returns the number of buckets: that of the entries for folios, rounded down to a power of two.
#[inline]
pub(super) fn nr_buckets(maps: &MmState<'_>) -> u64 {
    maps.folios.table.len().checked_ilog2().map_or(0, |order| 1 << order)
}

fn lookup(maps: &MmState<'_>, key: Key) -> Option<Found> {
    if maps.folios.table.is_empty() {
        return None;
    }
    let mut at = bucket(maps, key).load(Relaxed);
    while at != NONE {
        let (here, found) = match at & SLOT {
            0 => (Key::of(maps.folio_at(FolioNr(at))), Found::Folio(FolioNr(at))),
            _ => {
                let slot = SwapSlot(at & !SLOT);
                (Key::of_slot(maps.slot(slot)), Found::Slot(slot))
            }
        };
        if here == key {
            return Some(found);
        }
        at = next_of(maps, at).load(Relaxed);
    }
    None
}

/// Returns the entries that may hold the shadow of `key`.
#[inline]
fn ways<'a>(maps: &'a MmState<'_>, key: Key) -> &'a [ShadowEntry] {
    let sets = maps.stored.shadows.len() / WAYS;
    if sets == 0 {
        return maps.stored.shadows;
    }
    let first = (key.place() / WAYS as u64 % sets as u64) as usize * WAYS;
    &maps.stored.shadows[first..first + WAYS]
}

/// Returns the shadow of `key`, and forgets it unless `keep` is set.
#[inline]
fn take_shadow(maps: &MmState<'_>, key: Key, keep: bool) -> Option<Shadow> {
    let print = key.print(maps);
    let entry = ways(maps, key).iter().find(|entry| entry.key.load(Relaxed) == print)?;
    if !keep {
        entry.key.store(0, Relaxed);
    }
    NonZeroU64::new(entry.shadow.load(Relaxed)).map(Shadow)
}

#[inline]
fn store_shadow(maps: &MmState<'_>, key: Key, shadow: Shadow) {
    let print = key.print(maps);
    let now = maps.stored.shadow_clock.load(Relaxed).wrapping_add(1);
    maps.stored.shadow_clock.store(now, Relaxed);
    let age = |entry: &ShadowEntry| match entry.key.load(Relaxed) {
        0 => u32::MAX,
        _ => now.wrapping_sub(entry.stored.load(Relaxed)),
    };
    let ways = ways(maps, key);
    let same = ways.iter().find(|entry| entry.key.load(Relaxed) == print);
    if let Some(entry) = same.or_else(|| ways.iter().max_by_key(|entry| age(entry))) {
        entry.key.store(print, Relaxed);
        entry.shadow.store(shadow.0.get(), Relaxed);
        entry.stored.store(now, Relaxed);
    }
}

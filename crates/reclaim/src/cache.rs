//! The file index: from a file and a page offset to the folio that holds it, and shadows of those
//! evicted.
//!
//! A hash table with a chain a bucket, under one lock. Consecutive folios of a file are in
//! consecutive buckets, and their shadows in consecutive entries, so that a sweep reads memory in
//! order. A file remembers which orders its folios ever had: a look-up asks for each of them.

use crate::engine::Engine;
use crate::folio::{Folio, FolioId};
use crate::lock::WriteGuard;
use crate::maps::{Maps, NONE};
use crate::rank::{Rank, Ranked};
use crate::rmap::MappingId;
use crate::workingset::Shadow;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::Env;

/// What is left of an evicted folio of a file. The table of shadows is bounded: an old shadow gives
/// way to a new one, and its page, if it comes back, seems never to have been there. 24 bytes.
#[derive(Debug, Default)]
pub struct ShadowEntry {
    /// File, order and page offset, hashed; 0 for an unused entry. What collides takes one folio
    /// for another, and misjudges how long it was gone.
    key: AtomicU64,
    /// The shadow (see `workingset`).
    shadow: AtomicU64,
    /// When it was stored, to find the oldest of a set.
    stored: AtomicU32,
}

impl ShadowEntry {
    pub(crate) fn clear(&self) {
        self.key.store(0, Relaxed);
    }
}

/// A page of the file is in the index already (EEXIST).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the file index already has a folio there")]
pub struct Exists;

/// Entries that one shadow may be in.
const WAYS: usize = 4;

/// The place of a folio: which one of its order in its file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    mapping: MappingId,
    order: u32,
    number: u64,
}

impl Key {
    #[inline]
    fn of(folio: &Folio) -> Self {
        Self::at(folio.mapping(), folio.index(), folio.nr_pages().ilog2())
    }

    fn at(mapping: MappingId, index: u64, order: u32) -> Self {
        Self { mapping, order, number: index >> order }
    }

    /// Consecutive for consecutive folios; files and orders begin anywhere.
    fn place(self) -> u64 {
        let file = u64::from(self.mapping.0) << 4 | u64::from(self.order);
        file.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32).wrapping_add(self.number)
    }

    /// A fingerprint, never 0.
    fn print(self) -> u64 {
        let mixed =
            (self.place() ^ u64::from(self.mapping.0) << 40).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 33 | 1
    }
}

/// The lock of the file index and the swap cache, held.
pub(crate) type Locked<'e> = Ranked<'e, WriteGuard<'e>>;

impl<'e, E: Env> Engine<'e, E> {
    /// Takes the lock of the file index and the swap cache.
    #[inline]
    pub(crate) fn lock_index(&self) -> Locked<'e> {
        self.lock_write(Rank::Index, &self.maps.index)
    }
}

impl<E: Env> Engine<'_, E> {
    /// The folio that holds page `index` of the file, with a reference that the caller gives up.
    pub fn filemap_get_folio(&mut self, mapping: MappingId, index: u64) -> Option<FolioId> {
        let maps = self.maps;
        let locked = self.lock_index();
        let orders = Orders(maps.mapping(mapping).orders.load(Relaxed));
        let found =
            orders.into_iter().find_map(|order| lookup(maps, Key::at(mapping, index, order)));
        let found = found.filter(|id| maps.folio(*id).try_get());
        drop(locked);
        found
    }

    /// Puts a folio into its file's index, which takes a reference. The caller holds one and the
    /// folio's lock. The shadow of what was last evicted there, forgotten hereby if the folio
    /// covers all of its pages.
    ///
    /// # Errors
    /// [`Exists`] if one of its pages is there already; nothing is changed then.
    pub fn filemap_add_folio(&mut self, id: FolioId) -> Result<Option<Shadow>, Exists> {
        let maps = self.maps;
        let folio = maps.folio(id);
        let key = Key::of(folio);
        let orders = &maps.mapping(key.mapping).orders;
        let locked = self.lock_index();
        let known = Orders(orders.load(Relaxed));
        let taken = known.keys_within(folio).any(|key| lookup(maps, key).is_some());
        let done = if taken {
            Err(Exists)
        } else {
            let mut shadow = None;
            for at in known.keys_within(folio) {
                shadow = take_shadow(maps, at, at.order > key.order).or(shadow);
            }
            orders.store(known.0 | 1 << key.order, Relaxed);
            let bucket = bucket(maps, key);
            folio.chain.store(bucket.load(Relaxed), Relaxed);
            bucket.store(id.0, Relaxed);
            folio.get(1);
            Ok(shadow)
        };
        drop(locked);
        done
    }

    /// Takes a folio out of its file's index: the index's reference passes to the caller. The
    /// caller holds the folio's lock. It leaves no shadow. How a file is truncated is in
    /// [`contract`](crate::contract).
    ///
    /// # Panics
    /// If it is not there.
    pub fn filemap_remove_folio(&mut self, id: FolioId) {
        let locked = self.lock_index();
        unlink(self.maps, &locked, id, None);
        drop(locked);
    }
}

/// Takes a folio out of its file's index and leaves a shadow.
#[inline]
pub(crate) fn unlink(maps: &Maps<'_>, _: &Locked<'_>, id: FolioId, shadow: Option<Shadow>) {
    let folio = maps.folio(id);
    let key = Key::of(folio);
    let mut link = bucket(maps, key);
    loop {
        let at = link.load(Relaxed);
        assert_ne!(at, NONE, "a folio to take out is in its file's index");
        let next = &maps.folio(FolioId(at)).chain;
        if at == id.0 {
            link.store(next.load(Relaxed), Relaxed);
            break;
        }
        link = next;
    }
    if let Some(shadow) = shadow {
        store_shadow(maps, key, shadow);
    }
}

/// Orders of folios, a bit each.
#[derive(Clone, Copy)]
struct Orders(u32);

impl Orders {
    fn into_iter(self) -> impl Iterator<Item = u32> {
        core::iter::successors(Some(self.0), |left| Some(left & left.wrapping_sub(1)))
            .take_while(|left| *left != 0)
            .map(u32::trailing_zeros)
    }

    /// Every key whose folio would share a page with this one, the largest folios first.
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

/// The head of the bucket of `key`: the folios' own table has one an entry.
#[inline]
fn bucket<'a>(maps: &'a Maps<'_>, key: Key) -> &'a AtomicU32 {
    let buckets = 1 << maps.folios.len().ilog2();
    &maps.folios[key.place() as usize & (buckets - 1)].bucket
}

#[inline]
fn lookup(maps: &Maps<'_>, key: Key) -> Option<FolioId> {
    if maps.folios.is_empty() {
        return None;
    }
    let mut at = bucket(maps, key).load(Relaxed);
    while at != NONE {
        let folio = maps.folio(FolioId(at));
        if Key::of(folio) == key {
            return Some(FolioId(at));
        }
        at = folio.chain.load(Relaxed);
    }
    None
}

/// The entries that may hold the shadow of `key`.
#[inline]
fn ways<'a>(maps: &'a Maps<'_>, key: Key) -> &'a [ShadowEntry] {
    let sets = maps.shadows.len() / WAYS;
    if sets == 0 {
        return maps.shadows;
    }
    let first = (key.place() / WAYS as u64 % sets as u64) as usize * WAYS;
    &maps.shadows[first..first + WAYS]
}

/// The shadow of `key`, forgotten unless it is to be kept.
#[inline]
fn take_shadow(maps: &Maps<'_>, key: Key, keep: bool) -> Option<Shadow> {
    let print = key.print();
    let entry = ways(maps, key).iter().find(|entry| entry.key.load(Relaxed) == print)?;
    if !keep {
        entry.key.store(0, Relaxed);
    }
    NonZeroU64::new(entry.shadow.load(Relaxed)).map(Shadow)
}

#[inline]
fn store_shadow(maps: &Maps<'_>, key: Key, shadow: Shadow) {
    let print = key.print();
    let now = maps.shadow_clock.load(Relaxed).wrapping_add(1);
    maps.shadow_clock.store(now, Relaxed);
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

//! A level of a TLB: sets of entries, of which the one used least recently gives way. The page-walk
//! cache is a level too, of entries that lead to tables.

use super::shape::LevelShape;
use super::tag::{Class, Owner, Tag};
use crate::Time;
use pageout_paging::Pfn;
use pageout_paging::table::Slot;
use std::array;
use std::ops::Range;

/// An entry without its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The tag's [`Tag::mask`].
    pub(super) mask: u64,
    /// The table entry whose young bit was set; for a coalesced run, the first page's.
    pub(super) slot: Slot,
    /// The bits of a page's number that choose its entry in a coalesced run.
    pub(super) run: u32,
    /// The first frame; `None` where it is held that nothing is mapped.
    pub(super) pfn: Option<Pfn>,
    /// True if stores go through.
    pub(super) stores: bool,
    /// The access that the entry hid first, if it hides any: its table entry and its time.
    pub(super) hides: Option<(Slot, Time)>,
    /// The accesses that may take the fast path if the page is young: bit 0 loads, bit 1 stores.
    plain: u8,
}

impl Entry {
    pub(super) fn new(slot: Slot, run: u32, pfn: Option<Pfn>, stores: bool) -> Self {
        let mut entry = Self { mask: 0, slot, run, pfn, stores, hides: None, plain: 0 };
        entry.set_hides(None);
        entry
    }

    /// Sets the first access that the entry hides, if any. While it hides one, no access takes the
    /// fast path.
    pub(super) fn set_hides(&mut self, hides: Option<(Slot, Time)>) {
        self.hides = hides;
        let plain = self.pfn.is_some() && hides.is_none();
        self.plain = u8::from(plain) | u8::from(plain && self.stores) << 1;
    }

    #[inline]
    pub(super) fn is_plain(&self, store: bool) -> bool {
        self.plain >> u8::from(store) & 1 != 0
    }

    /// Returns the table entry of a page.
    #[inline]
    pub(super) fn slot_of(&self, page: u64) -> Slot {
        self.slot.add(page as u32 & self.run)
    }
}

#[derive(Debug)]
pub(super) struct Level {
    sets: u64,
    ways: usize,
    /// The log2 of the pages of each class.
    shifts: [u32; 4],
    tags: Box<[Tag]>,
    /// The time at which each was last used; 0 where there is none.
    used: Box<[u64]>,
    entries: Box<[Entry]>,
    /// The number of entries of each class.
    held: [u32; 4],
    globals: u32,
    /// The number of tags held, by hash. Where it is zero, no set need be searched. Counts past 254
    /// are lost, and say that there may be some.
    counts: Box<[u8]>,
    /// The log2 of the number of counts.
    hash_bits: u32,
}

impl Level {
    pub(super) fn new(shape: LevelShape, shifts: [u32; 4]) -> Self {
        let nr = shape.entries() as usize;
        let mut none = Entry::new(Slot::default(), 0, None, false);
        none.mask = u64::MAX;
        let hash_bits = shape.entries().next_power_of_two().trailing_zeros() + 3;
        Self {
            sets: u64::from(shape.sets),
            ways: usize::from(shape.ways),
            shifts,
            tags: vec![Tag::NONE; nr].into(),
            used: vec![0; nr].into(),
            entries: vec![none; nr].into(),
            held: [0; 4],
            globals: 0,
            counts: vec![0; 1 << hash_bits].into(),
            hash_bits,
        }
    }

    pub(super) fn shift(&self, class: Class) -> u32 {
        self.shifts[class as usize]
    }

    /// Returns entry `i`, if it translates the page with this tag.
    #[inline]
    pub(super) fn covering(&self, i: usize, page: Tag) -> Option<&Entry> {
        let (tag, entry) = (self.tags.get(i)?, self.entries.get(i)?);
        tag.covers(entry.mask, page).then_some(entry)
    }

    #[inline]
    pub(super) fn touch(&mut self, i: usize, now: u64) {
        self.used[i] = now;
    }

    pub(super) fn tag(&self, i: usize) -> Tag {
        self.tags[i]
    }

    pub(super) fn entry(&self, i: usize) -> &Entry {
        &self.entries[i]
    }

    pub(super) fn entry_mut(&mut self, i: usize) -> &mut Entry {
        &mut self.entries[i]
    }

    /// Returns the entry that translates a page, if there is one.
    #[inline]
    pub(super) fn probe(&self, owner: Owner, page: u64) -> Option<usize> {
        let own = self.probe_owner(owner, page);
        if own.is_none() && self.globals > 0 { self.probe_owner(Owner::GLOBAL, page) } else { own }
    }

    fn probe_owner(&self, owner: Owner, page: u64) -> Option<usize> {
        let held = |class: &Class| self.held[*class as usize] > 0;
        Class::ALL.into_iter().filter(held).find_map(|class| {
            let shift = self.shift(class);
            self.exact(Tag::new(owner, class, page >> shift << shift))
        })
    }

    /// Returns the entry with a tag, if there is one.
    pub(super) fn exact(&self, tag: Tag) -> Option<usize> {
        if self.counts[tag.hash(self.hash_bits)] == 0 {
            return None;
        }
        let set = self.set(tag);
        let at = self.tags[set.clone()].iter().position(|held| *held == tag)?;
        Some(set.start + at)
    }

    fn set(&self, tag: Tag) -> Range<usize> {
        let set = (tag.first() >> self.shift(tag.class())) & (self.sets - 1);
        let start = set as usize * self.ways;
        start..start + self.ways
    }

    /// Returns the place that an entry with a tag will have: the one of its set that was used least
    /// recently.
    pub(super) fn victim(&self, tag: Tag) -> usize {
        let set = self.set(tag);
        // Four minima at once, none of which waits for another; a place goes with its time.
        let placed = |way: usize, used: u64| used << LevelShape::MOST.trailing_zeros() | way as u64;
        let (fours, rest) = self.used[set.clone()].as_chunks::<4>();
        let mut oldest = [u64::MAX; 4];
        for (k, four) in fours.iter().enumerate() {
            oldest = array::from_fn(|j| oldest[j].min(placed(4 * k + j, four[j])));
        }
        let rest = rest.iter().enumerate().map(|(k, used)| placed(4 * fours.len() + k, *used));
        let oldest = oldest.into_iter().chain(rest).min().unwrap_or(0);
        set.start + (oldest & u64::from(LevelShape::MOST - 1)) as usize
    }

    /// Puts an entry at its place, which is free.
    pub(super) fn put(&mut self, i: usize, tag: Tag, entry: Entry, now: u64) {
        debug_assert!(self.tags[i] == Tag::NONE, "what was held at a place was taken out before");
        self.tags[i] = tag;
        self.used[i] = now;
        self.entries[i] = Entry { mask: tag.mask(self.shift(tag.class())), ..entry };
        self.held[tag.class() as usize] += 1;
        let count = &mut self.counts[tag.hash(self.hash_bits)];
        *count = count.saturating_add(1);
        self.globals += u32::from(tag.owner() == Owner::GLOBAL);
    }

    /// Takes out entry `i`, if one is there.
    pub(super) fn take(&mut self, i: usize) -> Option<(Tag, Entry)> {
        let tag = std::mem::replace(&mut self.tags[i], Tag::NONE);
        if tag == Tag::NONE {
            return None;
        }
        self.used[i] = 0;
        let entry = self.entries[i];
        self.entries[i].mask = u64::MAX;
        self.held[tag.class() as usize] -= 1;
        let count = &mut self.counts[tag.hash(self.hash_bits)];
        *count -= u8::from(*count < u8::MAX);
        self.globals -= u32::from(tag.owner() == Owner::GLOBAL);
        Some((tag, entry))
    }

    /// Takes out all entries that `chosen` names.
    pub(super) fn take_all(
        &mut self,
        chosen: impl Fn(Tag) -> bool,
        mut taken: impl FnMut(Tag, Entry),
    ) {
        let mut left: u32 = self.held.iter().sum();
        for i in 0..self.tags.len() {
            if left == 0 {
                return;
            }
            left -= u32::from(self.tags[i] != Tag::NONE);
            if self.tags[i] != Tag::NONE
                && chosen(self.tags[i])
                && let Some((tag, entry)) = self.take(i)
            {
                taken(tag, entry);
            }
        }
    }

    /// Takes out the entries that translate any of `nr` pages from `first` on in an address space,
    /// global entries included.
    pub(super) fn take_range(
        &mut self,
        owner: Owner,
        first: u64,
        nr: u64,
        mut taken: impl FnMut(Tag, Entry),
    ) {
        debug_assert!(nr > 0, "a range has pages");
        let all = nr as usize > self.tags.len() || owner == Owner::GLOBAL;
        if all || self.globals > 0 {
            let shifts = self.shifts;
            let chosen = |tag: Tag| {
                let same = [tag.owner(), owner].contains(&Owner::GLOBAL) || tag.owner() == owner;
                let end = tag.first() + (1 << shifts[tag.class() as usize]);
                same && tag.first() < first + nr && first < end
            };
            return self.take_all(chosen, taken);
        }
        for class in Class::ALL {
            if self.held[class as usize] == 0 {
                continue;
            }
            let shift = self.shift(class);
            for number in first >> shift..=(first + nr - 1) >> shift {
                let found = self.exact(Tag::new(owner, class, number << shift));
                if let Some((tag, entry)) = found.and_then(|i| self.take(i)) {
                    taken(tag, entry);
                }
            }
        }
    }

    /// Returns tags and entries, in order of place.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Tag, &Entry)> {
        let held = self.tags.iter().copied().zip(&self.entries);
        held.filter(|(tag, _)| *tag != Tag::NONE)
    }
}

//! The TLB of one core: two levels, the page-walk cache, and the walker that fills them.

mod level;
mod shape;
mod tag;
#[cfg(test)]
mod tests;
mod walk;

pub use shape::{LevelShape, ShapeError, TlbShape, Walks};
pub use walk::{FaultKind, PageFault, Space, Walk};

use crate::Time;
use crate::stale_access::StaleAccessHistogram;
use level::{Entry, Level};
use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::table::{HostTables, Slot, Table};
use pageout_paging::{Format, Pfn, VirtAddr};
use tag::{Class, Owner, Tag};

/// The answer of a TLB to an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The first level has a translation that permits it.
    L1,
    /// The second level had one; the first has it now.
    L2,
    /// Neither has one that permits it: a walk follows ([`Tlb::walk`]). Hardware may also fault on
    /// a held permission that software has loosened since; this model looks at the table.
    Miss,
    /// The entry held says that nothing is mapped here. It is forgotten with this answer, as
    /// software does in the fault that follows (Linux 7.3.4, flush_tlb_fix_spurious_fault of
    /// riscv).
    Fault,
}

/// An entry, as tests see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The level, 1 or 2.
    pub level: u8,
    /// The address space; `None` for a global translation.
    pub asid: Option<Asid>,
    /// The first address.
    pub start: VirtAddr,
    /// The number of pages.
    pub nr_pages: usize,
    /// The first frame; `None` where it is held that nothing is mapped.
    pub pfn: Option<Pfn>,
    /// True if stores go through without a look at the table.
    pub stores: bool,
    /// The table entry whose young bit was set for this entry; for a coalesced run, the first
    /// page's.
    pub slot: Slot,
    /// The time at which the entry first hid an access that would have made its page young, if it
    /// did.
    pub hides_since: Option<Time>,
}

/// The TLB of one core, over the page tables of the machine.
///
/// No two entries of a level overlap, and where the levels overlap they hold the same: a fill drops
/// what it overlaps. Within a set the entry used least recently gives way. A walk fills both
/// levels; the second may lose what the first still has.
#[derive(Debug)]
pub struct Tlb<'a, F> {
    tables: HostTables<'a, F>,
    l1: Level,
    l2: Option<Level>,
    /// The entries that lead to tables: PMD, PUD and PGD entries, in the classes of these sizes.
    walks: Option<Level>,
    /// The place in the first level where a page was last found. The tag there shows if it still
    /// is.
    hints: Box<[u16]>,
    /// The number of accesses so far: the clock by which entries were used.
    uses: u64,
    hidden: StaleAccessHistogram,
    contiguous: bool,
    coalesce: usize,
    caches_invalid: bool,
    page_drops: Walks,
}

impl<'a, F: Format> Tlb<'a, F> {
    /// The bits of a table entry that leave nothing for an access to change when both are set.
    const SEEN: u64 = F::YOUNG | F::VALID;
    /// The log2 of the number of hints: well above the pages that the first level holds.
    const HINT_BITS: u32 = 11;

    /// Makes an empty TLB.
    ///
    /// # Panics
    /// If the shape is invalid ([`TlbShape::check`]), or its runs are longer than a table.
    pub fn new(shape: &TlbShape, tables: HostTables<'a, F>) -> Self {
        shape.check().expect("a TLB's shape was checked");
        let coalesce = usize::from(shape.coalesce);
        assert!(coalesce <= F::PTES, "runs lie in one table");
        let shifts = [0, coalesce.trailing_zeros(), F::CONT_SHIFT, F::TABLE_SHIFT];
        let walks = LevelShape { sets: 1, ways: shape.walk_cache };
        let tables_by_class = [1, 2, 3, 4].map(|level| level * F::TABLE_SHIFT);
        Self {
            tables,
            l1: Level::new(shape.l1, shifts),
            l2: shape.l2.map(|l2| Level::new(l2, shifts)),
            walks: (shape.walk_cache > 0).then(|| Level::new(walks, tables_by_class)),
            hints: vec![0; 1 << Self::HINT_BITS].into(),
            uses: 0,
            hidden: StaleAccessHistogram::default(),
            contiguous: shape.contiguous,
            coalesce,
            caches_invalid: shape.caches_invalid,
            page_drops: shape.page_drops,
        }
    }

    /// Looks for a translation of `at`, at the moment `now` of the core. Counts the access if it is
    /// hidden: the table entry that it would make young, were it asked, is old.
    #[inline]
    pub fn find(&mut self, asid: Asid, at: VirtAddr, store: bool, now: Time) -> Found {
        let page = at.get() >> F::PAGE_SHIFT;
        let tag = Tag::new(Owner::of(asid), Class::Page, page);
        self.uses += 1;
        let i = usize::from(self.hints[tag.hash(Self::HINT_BITS)]);
        if let Some(entry) = self.l1.covering(i, tag)
            && entry.is_plain(store)
            && self.tables.load(entry.slot_of(page)).0 & Self::SEEN == Self::SEEN
        {
            self.l1.touch(i, self.uses);
            return Found::L1;
        }
        self.find_slowly(tag, store, now)
    }

    #[inline(never)]
    fn find_slowly(&mut self, tag: Tag, store: bool, now: Time) -> Found {
        let (owner, page) = (tag.owner(), tag.first());
        let first = self.l1.probe(owner, page);
        let second = match (first, &self.l2) {
            (None, Some(l2)) => l2.probe(owner, page).map(|j| (j, l2.tag(j), *l2.entry(j))),
            _ => None,
        };
        let Some(entry) = first.map(|i| *self.l1.entry(i)).or(second.map(|(.., entry)| entry))
        else {
            return Found::Miss;
        };
        if entry.pfn.is_none() {
            self.forget_pages(owner, page, 1, now);
            return Found::Fault;
        }
        if store && !entry.stores {
            return Found::Miss;
        }
        let i = match (first, second) {
            (Some(i), _) => i,
            (None, Some((_, tag, entry))) => self.put_l1(tag, entry, now),
            (None, None) => unreachable!("an entry was found in a level"),
        };
        self.l1.touch(i, self.uses);
        if let (Some(l2), Some((j, ..))) = (&mut self.l2, second) {
            l2.touch(j, self.uses);
        }
        self.hints[tag.hash(Self::HINT_BITS)] = i as u16;
        self.look(i, page, now);
        if second.is_some() { Found::L2 } else { Found::L1 }
    }

    /// Looks at the table entry behind an access through entry `i` of the first level.
    fn look(&mut self, i: usize, page: u64, now: Time) {
        let slot = self.young_slot(i, page);
        let (tag, entry) = (self.l1.tag(i), *self.l1.entry(i));
        let pte = self.tables.load(slot);
        if !F::is_valid(pte) {
            self.hidden.after_unmap += 1;
        } else if !F::is_young(pte) {
            self.hidden.accesses += 1;
            if entry.hides.is_none() {
                self.l1.entry_mut(i).set_hides(Some((slot, now)));
            }
        } else if let Some((hidden, since)) = entry.hides
            && (hidden == slot || tag.class() != Class::Run)
        {
            self.hidden.ends(now.since(since));
            self.l1.entry_mut(i).set_hides(None);
            if let Some(l2) = &mut self.l2
                && let Some(j) = l2.exact(tag)
            {
                l2.entry_mut(j).set_hides(None);
            }
        }
    }

    /// Returns the table entry whose young bit speaks for a page, among those that entry `i` stands
    /// for. Hardware may have set any of a block's: the young one is remembered.
    fn young_slot(&mut self, i: usize, page: u64) -> Slot {
        let (tag, entry) = (self.l1.tag(i), self.l1.entry_mut(i));
        let slot = entry.slot_of(page);
        if tag.class() != Class::Block || F::is_young(self.tables.load(slot)) {
            return slot;
        }
        let (table, at) = self.tables.at(slot);
        let first = at & !(F::CONT_PTES - 1);
        let seen = |k: &usize| table.load(*k).0 & Self::SEEN == Self::SEEN;
        if let Some(k) = (first..first + F::CONT_PTES).find(seen) {
            entry.slot = slot.add((k as u32).wrapping_sub(at as u32));
        }
        entry.slot
    }

    /// Holds a translation of `page` in both levels, in place of what overlaps it.
    fn fill(&mut self, tag: Tag, page: u64, entry: Entry, now: Time) {
        if let Some(l2) = &mut self.l2 {
            let j = l2.victim(tag);
            if let Some((tag, entry)) = l2.take(j)
                && let Some((_, since)) = entry.hides
                && self.l1.exact(tag).is_none()
            {
                self.hidden.ends(now.since(since));
            }
            l2.put(j, tag, entry, self.uses);
        }
        let i = self.put_l1(tag, entry, now);
        let own = Tag::new(tag.owner(), Class::Page, page);
        self.hints[own.hash(Self::HINT_BITS)] = i as u16;
    }

    /// Puts an entry into the first level, and returns its place.
    fn put_l1(&mut self, tag: Tag, entry: Entry, now: Time) -> usize {
        let i = self.l1.victim(tag);
        if let Some((tag, entry)) = self.l1.take(i)
            && entry.hides.is_some()
        {
            leave_l1(self.l2.as_mut(), &mut self.hidden, now, tag, &entry);
        }
        self.l1.put(i, tag, entry, self.uses);
        i
    }

    /// Applies an invalidation, and returns how many translations it removed.
    ///
    /// # Panics
    /// If a range's address space has a number of more than 22 bits.
    pub fn forget(&mut self, what: Invalidate, now: Time) -> usize {
        match what {
            Invalidate::Range { asid, start, nr, level } => {
                let shift = level as u32 * F::TABLE_SHIFT;
                let first = start.get() >> (F::PAGE_SHIFT + shift) << shift;
                let (owner, nr) = (Owner::of(asid), (nr as u64) << shift);
                match (self.page_drops, &mut self.walks) {
                    (Walks::None, _) | (_, None) => {}
                    (Walks::ToPage, Some(walks)) => walks.take_range(owner, first, nr, |_, _| ()),
                    (Walks::AddressSpace, Some(walks)) => {
                        walks.take_all(|tag| tag.owner() == owner, |_, _| ());
                    }
                }
                self.forget_pages(owner, first, nr, now)
            }
            Invalidate::AddressSpace(asid) => self.forget_asid(asid, now),
            Invalidate::Everything => self.forget_all_but_global(now),
        }
    }

    /// Forgets an address space, walks included, and returns how many translations that removed.
    pub fn forget_asid(&mut self, asid: Asid, now: Time) -> usize {
        let owner = Owner::of(asid);
        if let Some(walks) = &mut self.walks {
            walks.take_all(|tag| tag.owner() == owner, |_, _| ());
        }
        self.forget_if(|tag| tag.owner() == owner, now)
    }

    /// Forgets everything that is not global, and returns how many translations that removed.
    pub fn forget_all_but_global(&mut self, now: Time) -> usize {
        if let Some(walks) = &mut self.walks {
            walks.take_all(|_| true, |_, _| ());
        }
        self.forget_if(|tag| tag.owner() != Owner::GLOBAL, now)
    }

    fn forget_if(&mut self, chosen: impl Fn(Tag) -> bool, now: Time) -> usize {
        let Self { l1, l2, hidden, .. } = self;
        let mut removed = 0;
        l1.take_all(&chosen, |tag, entry| {
            removed += usize::from(leave_l1(l2.as_mut(), hidden, now, tag, &entry));
        });
        if let Some(l2) = l2 {
            l2.take_all(&chosen, |_, entry| {
                removed += 1;
                leave(hidden, now, &entry);
            });
        }
        removed
    }

    fn forget_pages(&mut self, owner: Owner, first: u64, nr: u64, now: Time) -> usize {
        let Self { l1, l2, hidden, .. } = self;
        let mut removed = 0;
        l1.take_range(owner, first, nr, |tag, entry| {
            removed += usize::from(leave_l1(l2.as_mut(), hidden, now, tag, &entry));
        });
        if let Some(l2) = l2 {
            l2.take_range(owner, first, nr, |_, entry| {
                removed += 1;
                leave(hidden, now, &entry);
            });
        }
        removed
    }

    /// Returns the accesses that entries hid, and for how long those that are gone did.
    pub fn hidden(&self) -> &StaleAccessHistogram {
        &self.hidden
    }

    /// Returns the entries held, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = Held> {
        let second = self.l2.iter().flat_map(|l2| l2.iter().map(|held| (2, held)));
        let first = self.l1.iter().map(|held| (1, held));
        first.chain(second).map(|(level, (tag, entry))| Held {
            level,
            asid: tag.owner().asid(),
            start: VirtAddr::new(tag.first() << F::PAGE_SHIFT),
            nr_pages: 1 << self.l1.shift(tag.class()),
            pfn: entry.pfn,
            stores: entry.stores,
            slot: entry.slot,
            hides_since: entry.hides.map(|(_, since)| since),
        })
    }
}

/// Notes that an entry has left the first level. Its hiding goes on where the second level has it.
/// Returns true if it is gone for good.
fn leave_l1(
    l2: Option<&mut Level>,
    hidden: &mut StaleAccessHistogram,
    now: Time,
    tag: Tag,
    entry: &Entry,
) -> bool {
    if let Some(l2) = l2
        && let Some(j) = l2.exact(tag)
    {
        l2.entry_mut(j).set_hides(entry.hides);
        l2.entry_mut(j).slot = entry.slot;
        return false;
    }
    leave(hidden, now, entry);
    true
}

/// Notes that an entry is gone.
fn leave(hidden: &mut StaleAccessHistogram, now: Time, entry: &Entry) {
    if let Some((_, since)) = entry.hides {
        hidden.ends(now.since(since));
    }
}

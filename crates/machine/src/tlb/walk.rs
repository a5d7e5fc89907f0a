//! The walker: from the root to the leaf, setting accessed and dirty bits as hardware does.

use super::Tlb;
use super::level::Entry;
use super::tag::{Class, Owner, Tag};
use crate::Time;
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::table::{Slot, Table};
use pageout_paging::{Format, Level, Pfn, Pte, VirtAddr};

/// The address space that a core runs in user mode, and what its walker can do.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// The tag of the address space.
    pub asid: Asid,
    /// The root table.
    pub root: Pfn,
    /// The bits that hardware sets by itself.
    pub caps: Caps,
}

/// The reason why a walk ended without a translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// No mapping that hardware can reach.
    Absent,
    /// A store to a page that is not writable.
    Permission,
    /// The entry is old, and hardware makes nothing young.
    Accessed,
    /// A store to a clean entry, and hardware makes nothing dirty.
    Dirty,
}

/// An access that needs software.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageFault {
    /// The address.
    pub at: VirtAddr,
    /// True if the access was a store.
    pub store: bool,
    /// The reason.
    pub kind: FaultKind,
}

/// The steps that a walk took, so that it can be priced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// The number of tables read: four, less those that the page-walk cache led past.
    pub levels: u8,
    /// The last entry read: the leaf, or the one that leads no further.
    pub last: Slot,
    /// True if the leaf was changed: young, dirty or both.
    pub changed: bool,
    /// The lowest entry leading to a table that became young, if one did.
    pub made_table_young: Option<Slot>,
    /// The fault, if it ended in one.
    pub fault: Option<PageFault>,
}

/// The levels of the tables that PMD, PUD and PGD entries lead to, by the class of these entries.
const TABLE_LEVELS: [Level; 3] = [Level::Pte, Level::Pmd, Level::Pud];

/// The position of a walk.
struct At {
    frame: Pfn,
    level: Level,
    i: usize,
    slot: Slot,
}

impl<F: Format> Tlb<'_, F> {
    /// Walks the tables for `at`, sets what hardware sets, and holds what may be held: entries that
    /// are young by then. A fault is held only if the shape has `caches_invalid`.
    pub fn walk(&mut self, space: &Space, at: VirtAddr, store: bool, now: Time) -> Walk {
        let owner = Owner::of(space.asid);
        let start = self.lowest_table(owner, at);
        let (mut level, mut frame) = start.unwrap_or((Level::Pgd, space.root));
        let mut walk = Walk {
            levels: 0,
            last: Slot::default(),
            changed: false,
            made_table_young: None,
            fault: None,
        };
        loop {
            let i = F::index(level, at);
            walk.levels += 1;
            walk.last = self.tables.slot(frame, i);
            let pte = self.tables.load(walk.last);
            match level.below() {
                Some(below) if F::is_table(pte) => {
                    if space.caps.nonleaf_af && self.pass(frame, i, pte) {
                        walk.made_table_young = Some(walk.last);
                    }
                    self.keep_table(owner, level, at, walk.last, F::pfn(pte));
                    (level, frame) = (below, F::pfn(pte));
                }
                _ => {
                    let leaf = At { frame, level, i, slot: walk.last };
                    match self.reach(&space.caps, &leaf, pte, store) {
                        Ok(new) => {
                            walk.changed = new != pte;
                            self.hold(owner, at, store, &leaf, new, now);
                        }
                        Err(kind) => {
                            walk.fault = Some(PageFault { at, store, kind });
                            if kind == FaultKind::Absent && self.caches_invalid {
                                self.hold_invalid(owner, at, walk.last, now);
                            }
                        }
                    }
                    return walk;
                }
            }
        }
    }

    /// Returns the lowest table that the page-walk cache knows to cover an address, and its level.
    fn lowest_table(&mut self, owner: Owner, at: VirtAddr) -> Option<(Level, Pfn)> {
        let walks = self.walks.as_mut()?;
        let found = walks.probe(owner, at.get() >> F::PAGE_SHIFT)?;
        walks.touch(found, self.uses);
        let level = TABLE_LEVELS[walks.tag(found).class() as usize];
        Some((level, walks.entry(found).pfn?))
    }

    /// Keeps that the entry of `level` for an address, which was not held, leads to a table.
    fn keep_table(&mut self, owner: Owner, level: Level, at: VirtAddr, slot: Slot, table: Pfn) {
        let Some(walks) = &mut self.walks else {
            return;
        };
        let class = Class::ALL[level as usize - 1];
        let shift = walks.shift(class);
        let tag = Tag::new(owner, class, at.get() >> F::PAGE_SHIFT >> shift << shift);
        self.uses += 1;
        let place = walks.victim(tag);
        walks.take(place);
        walks.put(place, tag, Entry::new(slot, 0, Some(table), false), self.uses);
    }

    /// Makes an entry that leads to a table young, and returns true if it was old.
    fn pass(&self, frame: Pfn, i: usize, mut old: Pte) -> bool {
        let table = self.tables.table(frame);
        while F::is_table(old) && F::mkyoung_table(old) != old {
            match table.cas(i, old, F::mkyoung_table(old)) {
                Ok(()) => return true,
                Err(found) => old = found,
            }
        }
        false
    }

    /// Makes a leaf young, and dirty for a store. Returns it as it is then, or why hardware cannot.
    fn reach(&self, caps: &Caps, at: &At, mut old: Pte, store: bool) -> Result<Pte, FaultKind> {
        let table = self.tables.table(at.frame);
        loop {
            if !F::is_valid(old) {
                return Err(FaultKind::Absent);
            }
            assert!(at.level <= Level::Pmd, "leaves are pages or PMD-sized: {old:?}");
            if !F::is_young(old) && !caps.hardware_af {
                return Err(FaultKind::Accessed);
            }
            let written = match store {
                true => F::hardware_dirty(old).ok_or(FaultKind::Permission)?,
                false => old,
            };
            if written != old && !caps.hardware_dirty {
                return Err(FaultKind::Dirty);
            }
            let new = F::mkyoung(written);
            if new == old {
                return Ok(new);
            }
            match table.cas(at.i, old, new) {
                Ok(()) => return Ok(new),
                Err(found) => old = found,
            }
        }
    }

    /// Holds the translation by the leaf `pte`, as large as hardware makes it.
    fn hold(&mut self, owner: Owner, at: VirtAddr, store: bool, leaf: &At, pte: Pte, now: Time) {
        let owner = if F::is_global(pte) { Owner::GLOBAL } else { owner };
        let page = at.get() >> F::PAGE_SHIFT;
        let (class, run) = match leaf.level {
            Level::Pte => self.class(leaf, pte),
            _ => (Class::Pmd, 0),
        };
        let first = page >> self.l1.shift(class) << self.l1.shift(class);
        let before = page - first;
        let frame = match class {
            Class::Pmd => F::pfn(pte).get(),
            _ => F::pfn(F::decode(pte, leaf.i)).get().wrapping_sub(before),
        };
        let before = if run > 0 { before } else { 0 };
        let slot = leaf.slot.add((before as u32).wrapping_neg());
        let stores = F::hardware_dirty(pte) == Some(pte);
        let tag = Tag::new(owner, class, first);
        // A page that was not found overlaps nothing, unless it did not permit the store.
        if store || class != Class::Page || owner == Owner::GLOBAL {
            self.forget_pages(owner, first, 1 << self.l1.shift(class), now);
        }
        self.fill(tag, page, Entry::new(slot, run, Some(Pfn::new(frame)), stores), now);
    }

    fn hold_invalid(&mut self, owner: Owner, at: VirtAddr, slot: Slot, now: Time) {
        let page = at.get() >> F::PAGE_SHIFT;
        let tag = Tag::new(owner, Class::Page, page);
        self.forget_pages(owner, page, 1, now);
        self.fill(tag, page, Entry::new(slot, 0, None, false), now);
    }

    /// Returns how much one TLB entry makes of a last-level entry; for a run, also the bits of a
    /// page's number that choose its entry.
    fn class(&self, leaf: &At, pte: Pte) -> (Class, u32) {
        if self.contiguous && F::is_cont(pte) {
            return (Class::Block, 0);
        }
        if self.coalesce > 1 && self.is_run(leaf) {
            return (Class::Run, self.coalesce as u32 - 1);
        }
        (Class::Page, 0)
    }

    /// Returns true if the entries about a leaf, which is young, map consecutive frames and are
    /// alike in all else. They are young too, for hardware merges only what it may hold.
    fn is_run(&self, leaf: &At) -> bool {
        let table = self.tables.table(leaf.frame);
        let start = leaf.i & !(self.coalesce - 1);
        let load = |k: usize| F::decode(table.load(start + k), start + k);
        let first = load(0);
        F::is_valid(first) && (1..self.coalesce).all(|k| load(k) == F::advance(first, k))
    }
}

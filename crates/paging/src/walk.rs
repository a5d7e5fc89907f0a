//! Walks of page tables: descent, the spans of a range, and the steps of rmap walks (the kernel's
//! `page_vma_mapped_walk`).

use crate::contig::Getter;
use crate::env::{Env, LockedTable};
use crate::pte::{Entry, Format, Level, Pte, SwapKind};
use crate::table::Table;
use crate::{Pfn, VirtAddr, VirtRange};
use core::ops::Range;
use core::sync::atomic::{Ordering::Release, fence};

/// The end of a descent from the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Descent {
    /// There is no table below the entry at this level.
    Absent(Level),
    /// There is a PMD leaf in the PMD table of this frame.
    PmdLeaf(Pfn),
    /// There is the PTE table in the first frame, reached from the PMD table in the second.
    PteTable(Pfn, Pfn),
}

/// Descends from the root table in frame `root` to the table or leaf that maps `addr`. Takes no
/// lock.
#[inline]
pub fn descend<E: Env>(env: &E, root: Pfn, addr: VirtAddr) -> Descent {
    let frame = match pmd_table(env, root, addr) {
        Ok(frame) => frame,
        Err(level) => return Descent::Absent(level),
    };
    let pmd = env.table(frame).load(E::Format::index(Level::Pmd, addr));
    if E::Format::is_table(pmd) {
        Descent::PteTable(E::Format::pfn(pmd), frame)
    } else if E::Format::is_present(pmd) {
        Descent::PmdLeaf(frame)
    } else {
        Descent::Absent(Level::Pmd)
    }
}

/// Descends from the root table in frame `root` to the PMD table for `addr`. Returns its frame, or
/// the level of the entry that leads no further. Takes no lock.
#[inline]
pub fn pmd_table<E: Env>(env: &E, root: Pfn, addr: VirtAddr) -> Result<Pfn, Level> {
    let mut frame = root;
    for level in [Level::Pgd, Level::Pud] {
        let pte = env.table(frame).load(E::Format::index(level, addr));
        if !E::Format::is_table(pte) {
            return Err(level);
        }
        frame = E::Format::pfn(pte);
    }
    Ok(frame)
}

/// A supply of frames for new page tables.
pub trait TableFrames {
    /// Returns a frame that holds an empty table, or `None` if there is none left (ENOMEM).
    fn take(&mut self) -> Option<Pfn>;
    /// Takes back the frame taken last, still an empty table: another CPU has made that table.
    fn give_back(&mut self, frame: Pfn);
}

/// Empty tables in consecutive frames.
impl TableFrames for Range<Pfn> {
    fn take(&mut self) -> Option<Pfn> {
        let frame = self.start;
        (frame < self.end).then(|| {
            self.start = frame.add(1);
            frame
        })
    }

    fn give_back(&mut self, frame: Pfn) {
        assert!(frame.add(1) == self.start, "the frame given back is the one taken last");
        self.start = frame;
    }
}

/// Returns the frame of the table of `level` that covers `addr`, and makes the missing tables on
/// the way. Returns `None` if there is no frame for one, or if a leaf is in the way; tables already
/// made stay. Several CPUs may make the same table concurrently (Linux 7.3.4, pmd_install and its
/// like). One of theirs is installed, and the others give their frames back.
pub fn make_table<E: Env>(
    env: &E,
    root: Pfn,
    addr: VirtAddr,
    level: Level,
    frames: &mut dyn TableFrames,
) -> Option<Pfn> {
    let mut frame = root;
    let mut at = Level::Pgd;
    while at > level {
        let table = env.table(frame);
        let i = E::Format::index(at, addr);
        let pte = table.load(i);
        let found = if pte.is_none() { install::<E>(table, i, frames)? } else { pte };
        if !E::Format::is_table(found) {
            return None;
        }
        frame = E::Format::pfn(found);
        at = at.below()?;
    }
    Some(frame)
}

/// Makes entry `i`, found empty, lead to a new table, unless another CPU has filled it. Returns the
/// entry afterwards, or `None` if there is no frame.
fn install<E: Env>(table: E::Table, i: usize, frames: &mut dyn TableFrames) -> Option<Pte> {
    let frame = frames.take()?;
    let new = E::Format::table(frame);
    match fill_vacant(table, i, new) {
        Ok(()) => Some(new),
        Err(found) => {
            frames.give_back(frame);
            Some(found)
        }
    }
}

/// Puts `new` into entry `i` of an upper table if it is empty; other CPUs may do the same
/// concurrently. Other CPUs see the table or folio behind the entry before they see the entry.
///
/// # Errors
/// The entry found, which stays.
pub fn fill_vacant<T: Table>(table: T, i: usize, new: Pte) -> Result<(), Pte> {
    fence(Release);
    while let Err(found) = table.cas(i, Pte::NONE, new) {
        // The operation may fail spuriously.
        if !found.is_none() {
            return Err(found);
        }
    }
    Ok(())
}

/// A part of a range that one table's entries map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Span {
    /// Entries of the PTE table in `frame`.
    Ptes {
        /// The frame of the table.
        frame: Pfn,
        /// The PTE table that maps the addresses after this one's, if there is one.
        ahead: Option<Pfn>,
        /// The part of the range.
        range: VirtRange,
    },
    /// A PMD leaf in the PMD table in `frame`.
    PmdLeaf {
        /// The frame of the table.
        frame: Pfn,
        /// The part of the range.
        range: VirtRange,
    },
}

/// Returns the spans of `range` under `root` in address order. The cost follows the populated
/// tables.
pub fn spans<E: Env>(env: &E, root: Pfn, range: VirtRange) -> impl Iterator<Item = Span> {
    let mut addr = range.start;
    core::iter::from_fn(move || {
        while addr < range.end {
            let found = descend(env, root, addr);
            let covered = match found {
                Descent::Absent(level) => level,
                _ => Level::Pmd,
            };
            let start = addr;
            addr = next_boundary::<E::Format>(addr, covered).min(range.end);
            match found {
                Descent::Absent(_) => {}
                Descent::PmdLeaf(frame) => {
                    return Some(Span::PmdLeaf { frame, range: start..addr });
                }
                Descent::PteTable(frame, pmd) => {
                    let ahead = table_after(env, pmd, start);
                    return Some(Span::Ptes { frame, ahead, range: start..addr });
                }
            }
        }
        None
    })
}

/// Returns the PTE table of the entry after `addr`'s in the PMD table in frame `pmd`.
pub fn table_after<E: Env>(env: &E, pmd: Pfn, addr: VirtAddr) -> Option<Pfn> {
    let i = E::Format::index(Level::Pmd, addr) + 1;
    let next = if i < E::Format::PTES { env.table(pmd).load(i) } else { Pte::NONE };
    E::Format::is_table(next).then(|| E::Format::pfn(next))
}

/// Returns the first address above `addr` that another entry of `level` maps, or the top of the
/// address space if there is none.
pub fn next_boundary<F: Format>(addr: VirtAddr, level: Level) -> VirtAddr {
    let shift = F::shift(level);
    let next = addr.align_down(shift).add(1 << shift);
    if next < addr { VirtAddr::new(u64::MAX) } else { next }
}

/// The entries that an rmap walk matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Match {
    /// Present entries, and pages lent to a device.
    Mapped,
    /// Migration entries.
    Migration,
}

/// The choice when an rmap walk takes a PTE table's lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWhen {
    /// The walk locks at the first entry that may match. A table without one is not locked.
    Plausible,
    /// Always (the kernel's PVMW_SYNC): for callers that must not miss an entry being set.
    Always,
}

/// The range and the goal of an rmap walk.
#[derive(Clone, Debug)]
pub struct RmapTarget {
    /// The root table of the address space.
    pub root: Pfn,
    /// The folio's pages within the VMA.
    pub range: VirtRange,
    /// The folio's first frame.
    pub pfn: Pfn,
    /// The folio's pages.
    pub nr_pages: usize,
    /// The entries that match.
    pub matches: Match,
    /// The choice when to lock.
    pub lock: LockWhen,
    /// The way in which entries are read, once each, under the lock.
    pub getter: Getter,
}

/// A mapping of a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hit {
    /// A last-level entry, as the walk's getter read it.
    Pte(VirtAddr, Pte),
    /// A PMD leaf. The walk ends after it.
    Pmd(VirtAddr),
}

/// The steps of `page_vma_mapped_walk` (Linux 7.3.4). The walk visits the entries of one address
/// space that map a folio, in address order, and holds the lock of the current table.
pub struct MappedWalk<'e, E: Env> {
    env: &'e E,
    target: RmapTarget,
    /// The next address to visit.
    addr: VirtAddr,
    locked: Option<LockedTable<'e, E>>,
    /// The end of the locked table, or of the range.
    locked_end: VirtAddr,
    /// The PMD table that leads to the locked table.
    pmd_table: Pfn,
    crossed: bool,
}

impl<'e, E: Env> MappedWalk<'e, E> {
    /// Makes a walk that has not begun.
    #[inline]
    pub fn new(env: &'e E, target: RmapTarget) -> Self {
        let addr = target.range.start;
        let pmd_table = target.root;
        Self { env, target, addr, locked: None, locked_end: addr, pmd_table, crossed: false }
    }

    /// Returns the next mapping, with its table locked, or `None` at the end, with no lock held.
    #[inline]
    pub fn next_hit(&mut self) -> Option<Hit> {
        loop {
            if let Some(pt) = &self.locked {
                while self.addr < self.locked_end {
                    let addr = self.addr;
                    let pte = self.target.getter.get::<E::Format, _>(pt.table(), self.index());
                    self.addr = addr.add(E::Format::PAGE_SIZE);
                    if self.matches(pte) {
                        return Some(Hit::Pte(addr, pte));
                    }
                }
            }
            self.leave();
            if self.addr >= self.target.range.end {
                return None;
            }
            if let Some(pmd) = self.enter() {
                return Some(pmd);
            }
        }
    }

    /// Counts the `nr` entries from the last hit on as visited: the next hit lies after them. They
    /// lie in one table.
    #[inline]
    pub fn skip(&mut self, nr: usize) {
        self.addr = self.addr.add(((nr - 1) as u64) << E::Format::PAGE_SHIFT);
    }

    /// Goes on with the entries that replace the PMD leaf of the last hit, for `addr`, which was
    /// split. The leaf's table is unlocked.
    pub fn descend_again(&mut self, addr: VirtAddr) {
        self.locked = None;
        (self.addr, self.locked_end) = (addr, addr);
    }

    /// Returns the table of the last hit, locked: a PTE table, or the PMD table of a leaf.
    ///
    /// # Panics
    /// Before the first hit and after the last.
    #[inline]
    pub fn locked(&self) -> &LockedTable<'e, E> {
        self.locked.as_ref().expect("a walk that stands at a hit holds its table's lock")
    }

    /// Returns the PMD table whose entry leads to the PTE table of the last hit.
    pub fn pmd_table(&self) -> Pfn {
        self.pmd_table
    }

    /// Returns true if the walk has stepped from one PTE table into the next.
    pub fn crossed_table(&self) -> bool {
        self.crossed
    }

    /// Unlocks the table whose entries are done, and notes if the walk continues in another.
    fn leave(&mut self) {
        if self.locked.take().is_some() && self.addr < self.target.range.end {
            self.crossed = true;
        }
    }

    /// Descends at `addr`: locks a PTE table that may hold a match, returns a PMD leaf's hit, or
    /// moves past a range that cannot match.
    fn enter(&mut self) -> Option<Hit> {
        match descend(self.env, self.target.root, self.addr) {
            Descent::Absent(level) => {
                self.addr = next_boundary::<E::Format>(self.addr, level);
                None
            }
            Descent::PmdLeaf(frame) => self.enter_pmd(frame),
            Descent::PteTable(frame, pmd_table) => {
                self.pmd_table = pmd_table;
                self.enter_ptes(frame);
                None
            }
        }
    }

    fn enter_pmd(&mut self, frame: Pfn) -> Option<Hit> {
        let addr = self.addr;
        let pt = LockedTable::lock(self.env, frame);
        let pmd = pt.table().load(E::Format::index(Level::Pmd, addr));
        if E::Format::is_table(pmd) {
            return None; // split before the lock was taken: descend again
        }
        let maps = E::Format::is_present(pmd) && self.in_folio(E::Format::pfn(pmd));
        if maps && self.target.matches == Match::Mapped {
            self.locked = Some(pt);
            // A leaf maps the whole folio: the next address lies past it.
            self.addr = self.target.range.end;
            self.locked_end = self.addr;
            return Some(Hit::Pmd(addr));
        }
        self.addr = next_boundary::<E::Format>(addr, Level::Pmd);
        None
    }

    /// Locks the table in `frame` at the first of its entries that may match, or moves past it.
    fn enter_ptes(&mut self, frame: Pfn) {
        let table_end = next_boundary::<E::Format>(self.addr, Level::Pmd);
        let end = table_end.min(self.target.range.end);
        if self.target.lock == LockWhen::Plausible {
            let table = self.env.table(frame);
            while !self.matches(Getter::Raw.get::<E::Format, _>(table, self.index())) {
                self.addr = self.addr.add(E::Format::PAGE_SIZE);
                if self.addr >= end {
                    self.crossed |= self.addr < self.target.range.end;
                    return;
                }
            }
        }
        self.locked_end = end;
        self.locked = Some(LockedTable::lock(self.env, frame));
    }

    /// Returns the index of the next address in its PTE table.
    #[inline]
    fn index(&self) -> usize {
        E::Format::index(Level::Pte, self.addr)
    }

    #[inline]
    fn matches(&self, pte: Pte) -> bool {
        if E::Format::is_present(pte) {
            return self.target.matches == Match::Mapped && self.in_folio(E::Format::pfn(pte));
        }
        match E::Format::entry(pte) {
            Entry::Swap(swap) => {
                let kind = match swap.kind {
                    SwapKind::DevicePrivate | SwapKind::DeviceExclusive => Match::Mapped,
                    SwapKind::Migration => Match::Migration,
                    _ => return false,
                };
                kind == self.target.matches && swap.pfn().is_some_and(|pfn| self.in_folio(pfn))
            }
            _ => false,
        }
    }

    #[inline]
    fn in_folio(&self, pfn: Pfn) -> bool {
        pfn.offset_from(self.target.pfn) < self.target.nr_pages as u64
    }
}

//! The translation that a TLB holds of an entry.

use crate::Pfn;
use crate::mmu::{Asid, Invalidate};
use crate::pte::{Format, Level, Pte};

/// A translation of one page, of a contiguous block, or of a PMD leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Translation {
    /// The address space.
    pub asid: Asid,
    /// The first page, by number.
    pub page: u64,
    /// The number of pages.
    pub nr: u64,
    /// The first page's frame.
    pub pfn: Pfn,
    /// True if stores are permitted, and need no walk: the entry is dirty.
    pub stores: bool,
}

impl Translation {
    /// Returns the translation that the leaf `pte` of `level`, decoded, offers where it maps
    /// `page`. Precondition: the leaf is valid.
    pub fn of<F: Format>(asid: Asid, page: u64, level: Level, pte: Pte) -> Self {
        let nr = match level {
            Level::Pte if F::is_cont(pte) => F::CONT_PTES,
            Level::Pte => 1,
            _ => F::nr_pages(level),
        } as u64;
        let inside = page % nr;
        let first = if level == Level::Pte { inside } else { 0 };
        Self {
            asid,
            page: page - inside,
            nr,
            pfn: Pfn::new(F::pfn(pte).get().wrapping_sub(first)),
            stores: F::hardware_dirty(pte) == Some(pte),
        }
    }

    /// Returns the frame of `page`, one of its pages.
    pub fn frame(&self, page: u64) -> Pfn {
        self.pfn.add(page - self.page)
    }

    /// Returns true if the translation translates `page` of the address space.
    pub fn translates(&self, asid: Asid, page: u64) -> bool {
        self.asid == asid && self.contains(page)
    }

    /// Returns true if `page` is one of its pages.
    pub(super) fn contains(&self, page: u64) -> bool {
        (self.page..self.page + self.nr).contains(&page)
    }

    /// Returns true if both translate the same page of the same address space.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.asid == other.asid
            && self.page < other.page + other.nr
            && other.page < self.page + self.nr
    }

    /// Returns true if an invalidation is of one of its pages.
    pub fn is_hit<F: Format>(&self, what: Invalidate) -> bool {
        match what {
            Invalidate::Range { asid, start, nr, level } => {
                let first = start.get() >> F::PAGE_SHIFT;
                let end = first + (nr * F::nr_pages(level)) as u64;
                asid == self.asid && self.page < end && first < self.page + self.nr
            }
            Invalidate::AddressSpace(asid) => asid == self.asid,
            Invalidate::Everything => true,
        }
    }
}

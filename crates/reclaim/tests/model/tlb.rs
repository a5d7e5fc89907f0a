//! TLBs at their laziest. A CPU that runs an address space may use an entry's current value, or any
//! value since an invalidation of the entry last took effect there. It keeps translations that an
//! invalidation of another level would drop on the way.

use crate::hardware::CPUS;
use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::pte::YoungClear;
use pageout_paging::{Format, Level, Pfn, Pte};

/// The translation of an entry, or of a contiguous block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Translation {
    pub(crate) asid: Asid,
    /// The level of the entry.
    pub(crate) level: Level,
    /// The first page, and the number of pages.
    pub(crate) page: u64,
    pub(crate) nr: u64,
    pub(crate) pfn: Pfn,
    /// The number of times that the frames were allocated. An older translation to them has lost
    /// them.
    pub(crate) owner: u64,
    pub(crate) write: bool,
    /// True if stores do not read the entry again.
    pub(crate) dirty: bool,
}

impl Translation {
    /// Returns the translation by the valid entry or leaf `raw` of `page`.
    pub(crate) fn of<F: Format>(asid: Asid, (page, level): (u64, Level), raw: Pte) -> Self {
        let (nr, first) = match level {
            Level::Pte => {
                let nr = if F::is_cont(raw) { F::CONT_PTES as u64 } else { 1 };
                (nr, F::decode(raw, page as usize & (F::PTES - 1)))
            }
            // Its frame is the first page's.
            _ => (F::nr_pages(level) as u64, raw),
        };
        let inside = if level == Level::Pte { page % nr } else { 0 };
        let page = if level == Level::Pte { page } else { page - page % nr };
        let write = F::is_write(first);
        Self {
            asid,
            level,
            page: page - inside,
            nr,
            pfn: Pfn::new(F::pfn(first).get() - inside),
            owner: 0,
            write,
            dirty: write && F::is_dirty(first),
        }
    }

    pub(crate) fn overlaps(&self, page: u64, nr: u64) -> bool {
        self.page < page + nr && page < self.page + self.nr
    }

    pub(crate) fn frame_of(&self, page: u64) -> Pfn {
        self.pfn.add(page - self.page)
    }

    fn is_hit<F: Format>(&self, what: Invalidate) -> bool {
        match what {
            Invalidate::Everything => true,
            Invalidate::AddressSpace(asid) => self.asid == asid,
            Invalidate::Range { asid, start, nr, level } => {
                let pages = (nr * F::nr_pages(level)) as u64;
                let of_it = self.asid == asid && self.level == level;
                of_it && self.overlaps(start.get() >> F::PAGE_SHIFT, pages)
            }
        }
    }
}

/// The TLB of one CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tlb {
    /// The translations of entries that have other values now.
    pub(crate) held: Vec<Translation>,
    /// The address spaces whose entries the CPU may read.
    runs: Vec<Asid>,
}

impl Tlb {
    pub(crate) fn enter(&mut self, asid: Asid) {
        if !self.runs(asid) {
            self.runs.push(asid);
        }
    }

    pub(crate) fn runs(&self, asid: Asid) -> bool {
        self.runs.contains(&asid)
    }

    /// Notes that the CPU no longer runs the address space. It keeps the translations it holds.
    pub(crate) fn leave(&mut self, asid: Asid) {
        self.runs.retain(|runs| *runs != asid);
    }

    /// Returns the translations held for a page.
    pub(crate) fn of_page(&self, asid: Asid, page: u64) -> impl Iterator<Item = &Translation> {
        self.held.iter().filter(move |held| held.asid == asid && held.overlaps(page, 1))
    }

    pub(crate) fn forget<F: Format>(&mut self, what: Invalidate) {
        self.held.retain(|held| !held.is_hit::<F>(what));
    }
}

/// Notes that an entry changed from `was`: every CPU that runs its address space may have read it.
pub(crate) fn outdate(tlbs: &mut [Tlb; CPUS], was: Translation) {
    for tlb in tlbs.iter_mut().filter(|tlb| tlb.runs(was.asid)) {
        if !tlb.held.contains(&was) {
            tlb.held.push(was);
        }
    }
}

/// Checks an entry with the new value `now`.
///
/// # Panics
/// If contiguous blocks are exclusive and a TLB might hold a block and a page of it at once, which
/// is a conflict.
pub(crate) fn check_sizes<F: Format>(tlbs: &[Tlb; CPUS], now: Translation) {
    if F::CONT_SHIFT == 0 || F::CLEAR != YoungClear::CompareAndSwap {
        return;
    }
    let clashes = |held: &&Translation| {
        held.asid == now.asid && held.nr != now.nr && held.overlaps(now.page, now.nr)
    };
    if let Some(held) = tlbs.iter().flat_map(|tlb| &tlb.held).find(clashes) {
        panic!("a TLB may hold a block and a page of it: {held:?} and {now:?}");
    }
}

/// Checks an entry that leads to a table now, in place of a possible leaf of `nr` pages from `page`
/// on.
///
/// # Panics
/// If translations of different sizes are exclusive and a TLB might hold such a leaf.
pub(crate) fn check_split<F: Format>(tlbs: &[Tlb; CPUS], asid: Asid, page: u64, nr: u64) {
    let clashes = |held: &&Translation| {
        held.asid == asid && held.level == Level::Pmd && held.overlaps(page, nr)
    };
    let exclusive = F::CLEAR == YoungClear::CompareAndSwap;
    if let Some(held) = tlbs.iter().flat_map(|tlb| &tlb.held).find(clashes).filter(|_| exclusive) {
        panic!("a TLB may hold a leaf and a page of it: {held:?}");
    }
}

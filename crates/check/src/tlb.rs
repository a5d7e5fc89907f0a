//! One CPU's TLB, at its laziest: it may hold every translation that an entry has offered since an
//! invalidation of it last took effect, and use any of them.

use pageout_paging::mmu::{Asid, Invalidate, Shootdown};
use pageout_paging::{Format, Level, Pfn, Pte};

/// What hardware does by itself.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// How invalidations reach other CPUs.
    pub shootdown: Shootdown,
    /// No TLB may hold a page's single entry beside a block that covers it (Arm ARM DDI 0487,
    /// D8.17, TLB conflict abort). Where it may, either is used.
    pub one_size: bool,
}

/// A translation of one page, or of a contiguous block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Translation {
    /// The address space.
    pub asid: Asid,
    /// First page, by number.
    pub page: u64,
    /// Pages.
    pub nr: u64,
    /// The first page's frame.
    pub pfn: Pfn,
    /// Stores are permitted, and need no walk: the entry is dirty.
    pub stores: bool,
    /// When an entry last offered it.
    pub cached: u64,
}

impl Translation {
    /// What the entry `pte` of `page` offers. Precondition: it is valid and young.
    pub fn of<F: Format>(asid: Asid, page: u64, pte: Pte, cached: u64) -> Self {
        let nr = if F::is_cont(pte) { F::CONT_PTES as u64 } else { 1 };
        let inside = page % nr;
        Self {
            asid,
            page: page - inside,
            nr,
            pfn: Pfn::new(F::pfn(pte).get() - inside),
            stores: F::hardware_dirty(pte) == Some(pte),
            cached,
        }
    }

    /// The frame of `page`.
    pub fn frame(&self, page: u64) -> Pfn {
        self.pfn.add(page - self.page)
    }

    /// Whether both translate alike.
    pub fn is_like(&self, other: &Self) -> bool {
        *self == Self { cached: self.cached, ..*other }
    }

    fn translates(&self, asid: Asid, page: u64) -> bool {
        self.asid == asid && (self.page..self.page + self.nr).contains(&page)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.asid == other.asid
            && self.page < other.page + other.nr
            && other.page < self.page + self.nr
    }

    fn is_hit<F: Format>(&self, what: Invalidate) -> bool {
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

/// What one CPU's TLB may hold, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Tlb(Vec<Translation>);

impl Tlb {
    /// All that may translate a page.
    pub fn of_page(&self, asid: Asid, page: u64) -> Vec<Translation> {
        self.0.iter().filter(|held| held.translates(asid, page)).copied().collect()
    }

    /// An entry offers a translation.
    pub fn offer(&mut self, new: Translation) {
        match self.0.iter_mut().find(|held| held.is_like(&new)) {
            Some(held) => held.cached = new.cached,
            None => self.0.push(new),
        }
    }

    /// What may be held of another size than `new`, for one of its pages.
    pub fn of_other_size(&self, new: &Translation) -> Option<Translation> {
        self.0.iter().find(|held| held.nr != new.nr && held.overlaps(new)).copied()
    }

    /// Forgets what an invalidation names.
    pub fn forget<F: Format>(&mut self, what: Invalidate) {
        self.0.retain(|held| !held.is_hit::<F>(what));
    }

    /// All that may be held.
    pub fn translations(&self) -> &[Translation] {
        &self.0
    }
}

/// The pages an invalidation names, for those who tell of it.
pub fn pages_of<F: Format>(what: Invalidate) -> Option<(u64, u64)> {
    let Invalidate::Range { start, nr, level, .. } = what else {
        return None;
    };
    let nr = if level == Level::Pte { nr } else { nr * F::nr_pages(level) };
    Some((start.get() >> F::PAGE_SHIFT, nr as u64))
}

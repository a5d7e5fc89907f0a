//! One CPU's TLB: a translation stays until an invalidation takes effect.

use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::{Format, Level, Pfn, Pte, VirtAddr};

/// A cached translation of one page, or of a contiguous block.
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
    /// When it was cached.
    pub cached: u64,
}

impl Translation {
    /// What a walk of `addr` through the entry `pte` caches. Precondition: the entry is valid.
    pub fn of<F: Format>(asid: Asid, addr: VirtAddr, pte: Pte, cached: u64) -> Self {
        let page = addr.get() >> F::PAGE_SHIFT;
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

    fn translates(&self, asid: Asid, page: u64) -> bool {
        self.asid == asid && (self.page..self.page + self.nr).contains(&page)
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

/// A TLB that forgets only what it must.
#[derive(Clone, Debug, Default)]
pub struct Tlb(Vec<Translation>);

impl Tlb {
    /// The translation of a page.
    pub fn find(&self, asid: Asid, page: u64) -> Option<Translation> {
        self.0.iter().find(|cached| cached.translates(asid, page)).copied()
    }

    /// Adds a translation in place of what translated its pages.
    pub fn fill(&mut self, new: Translation) {
        let replaced = |old: &Translation| {
            old.asid == new.asid && old.page < new.page + new.nr && new.page < old.page + old.nr
        };
        self.0.retain(|old| !replaced(old));
        self.0.push(new);
    }

    /// Forgets what an invalidation names; whether there was any.
    pub fn forget<F: Format>(&mut self, what: Invalidate) -> bool {
        let before = self.0.len();
        self.0.retain(|cached| !cached.is_hit::<F>(what));
        self.0.len() < before
    }

    /// What is cached.
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

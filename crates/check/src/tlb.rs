//! One CPU's TLB, at its laziest: it may hold every translation that an entry has offered since an
//! invalidation of it last took effect, and use any of them.

use pageout_paging::mmu::{Asid, Invalidate, Shootdown};
use pageout_paging::testing::Translation;
use pageout_paging::{Format, Level, Pte};
use std::ops::Deref;

/// What hardware does by itself.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// How invalidations reach other CPUs.
    pub shootdown: Shootdown,
    /// No TLB may hold a page's entry beside one of another size that covers it (Arm ARM DDI 0487,
    /// D8.17, TLB conflict abort). Where it may, either is used.
    pub one_size: bool,
}

/// A translation that a TLB may hold.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The translation.
    pub translation: Translation,
    /// When an entry last offered it.
    pub cached: u64,
}

impl Held {
    /// What the leaf `pte` of `level` offers, where it maps `page`. Precondition: it is valid and
    /// young.
    pub fn of<F: Format>(asid: Asid, page: u64, level: Level, pte: Pte, cached: u64) -> Self {
        Self { translation: Translation::of::<F>(asid, page, level, pte), cached }
    }
}

impl Deref for Held {
    type Target = Translation;

    fn deref(&self) -> &Translation {
        &self.translation
    }
}

/// What one CPU's TLB may hold, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Tlb(Vec<Held>);

impl Tlb {
    /// All that may translate a page.
    pub fn of_page(&self, asid: Asid, page: u64) -> Vec<Held> {
        self.0.iter().filter(|held| held.translates(asid, page)).copied().collect()
    }

    /// An entry offers a translation.
    pub fn offer(&mut self, new: Held) {
        match self.0.iter_mut().find(|held| held.translation == new.translation) {
            Some(held) => held.cached = new.cached,
            None => self.0.push(new),
        }
    }

    /// What may be held of another size than `new`, for one of its pages.
    pub fn of_other_size(&self, new: &Translation) -> Option<Held> {
        self.0.iter().find(|held| held.nr != new.nr && held.overlaps(new)).copied()
    }

    /// Forgets what an invalidation names.
    pub fn forget<F: Format>(&mut self, what: Invalidate) {
        self.0.retain(|held| !held.is_hit::<F>(what));
    }

    /// All that may be held.
    pub fn translations(&self) -> &[Held] {
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

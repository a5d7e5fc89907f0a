//! The TLB of one CPU, at its laziest. It may hold and use every translation that an entry has
//! offered since the last invalidation of it took effect.

use pageout_paging::mmu::{Asid, Invalidate, Shootdown};
use pageout_paging::testing::Translation;
use pageout_paging::{Format, Level, Pte};
use std::ops::Deref;

/// The behaviour of hardware.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The way in which invalidations reach other CPUs.
    pub shootdown: Shootdown,
    /// True if no TLB may hold a page's entry beside one of another size that covers it (Arm ARM
    /// DDI 0487, D8.17, TLB conflict abort). Otherwise either may be used.
    pub one_size: bool,
}

/// A translation that a TLB may hold.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The translation.
    pub translation: Translation,
    /// The moment when an entry last offered it.
    pub cached: u64,
}

impl Held {
    /// Returns the translation that the leaf `pte` of `level` offers if it maps `page`.
    /// Precondition: it is valid and young.
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

/// The translations that one CPU's TLB may hold, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Tlb(Vec<Held>);

impl Tlb {
    /// Returns all translations of a page.
    pub fn of_page(&self, asid: Asid, page: u64) -> Vec<Held> {
        self.0.iter().filter(|held| held.translates(asid, page)).copied().collect()
    }

    /// Adds a translation that an entry offers.
    pub fn offer(&mut self, new: Held) {
        match self.0.iter_mut().find(|held| held.translation == new.translation) {
            Some(held) => held.cached = new.cached,
            None => self.0.push(new),
        }
    }

    /// Returns a translation of another size than `new` that may be held for one of its pages.
    pub fn of_other_size(&self, new: &Translation) -> Option<Held> {
        self.0.iter().find(|held| held.nr != new.nr && held.overlaps(new)).copied()
    }

    /// Removes the translations that an invalidation names.
    pub fn forget<F: Format>(&mut self, what: Invalidate) {
        self.0.retain(|held| !held.is_hit::<F>(what));
    }

    /// Returns all translations that may be held.
    pub fn translations(&self) -> &[Held] {
        &self.0
    }
}

/// Returns the pages that an invalidation names, for the log.
pub fn pages_of<F: Format>(what: Invalidate) -> Option<(u64, u64)> {
    let Invalidate::Range { start, nr, level, .. } = what else {
        return None;
    };
    let nr = if level == Level::Pte { nr } else { nr * F::nr_pages(level) };
    Some((start.get() >> F::PAGE_SHIFT, nr as u64))
}

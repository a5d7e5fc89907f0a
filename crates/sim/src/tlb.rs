//! TLBs at their laziest. A CPU that runs an address space may hold and use every translation that
//! an entry has offered since an invalidation of it last took effect.

use crate::Memory;
use pageout_paging::mmu::{Asid, Barrier, Invalidate, Shootdown};
use pageout_paging::testing::Translation;
use pageout_paging::{Format, Level, Pte};
use std::mem::take;
use std::ops::Deref;

/// A translation that a TLB may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The pages and their frames.
    pub translation: Translation,
    /// The level of the entry.
    pub level: Level,
    /// True if the entry permits stores.
    pub write: bool,
    /// True if the entry permits fetches of instructions.
    pub exec: bool,
    /// The owner of the frames ([`Memory::owner`]) when an entry offered it.
    pub owner: u64,
}

impl Held {
    /// Returns the translation that the leaf `pte` of `level`, decoded, offers if it maps `page`.
    /// Precondition: the leaf is valid.
    pub fn of<F: Format>(asid: Asid, page: u64, level: Level, pte: Pte, memory: &Memory) -> Self {
        let translation = Translation::of::<F>(asid, page, level, pte);
        Self {
            translation,
            level,
            write: F::is_write(pte),
            exec: F::is_exec(pte),
            owner: memory.owner(translation.pfn, translation.nr),
        }
    }

    /// Returns true if an invalidation is of another level than that of the entry.
    fn is_of_other_level(&self, what: Invalidate) -> bool {
        matches!(what, Invalidate::Range { level, .. } if level != self.level)
    }
}

impl Deref for Held {
    type Target = Translation;

    fn deref(&self) -> &Translation {
        &self.translation
    }
}

/// The TLB of one CPU.
#[derive(Clone, Debug, Default)]
pub struct Tlb {
    /// The translations that the TLB may hold, the oldest first.
    pub held: Vec<Held>,
    /// The address spaces whose entries the CPU may read.
    runs: Vec<Asid>,
}

impl Tlb {
    /// Notes that the CPU runs the address space.
    pub fn enter(&mut self, asid: Asid) {
        if !self.runs.contains(&asid) {
            self.runs.push(asid);
        }
    }

    /// Notes that the CPU no longer runs the address space. It keeps the translations it holds.
    pub fn leave(&mut self, asid: Asid) {
        self.runs.retain(|runs| *runs != asid);
    }

    /// Returns the translations held for a page.
    pub fn of_page(&self, asid: Asid, page: u64) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |held| held.translates(asid, page))
    }

    fn hold(&mut self, new: Held) {
        if !self.held.contains(&new) {
            self.held.push(new);
        }
    }

    /// Replaces what is held of a page by one translation.
    pub fn refill(&mut self, page: u64, new: Held) {
        self.held.retain(|held| !held.translates(new.asid, page));
        self.held.push(new);
    }

    fn forget<F: Format>(&mut self, what: Invalidate, levels: Levels) {
        self.held.retain(|held| {
            let stays = levels == Levels::Named && held.is_of_other_level(what);
            stays || !held.is_hit::<F>(what)
        });
    }
}

/// The levels whose translations an invalidation of a range makes TLBs forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Levels {
    /// The level that the invalidation names: the hardware takes that for a promise.
    Named,
    /// All levels.
    All,
}

/// The TLBs of all CPUs.
#[derive(Clone, Debug)]
pub struct Tlbs {
    levels: Levels,
    /// The TLB of each CPU.
    pub cpus: Vec<Tlb>,
    /// The invalidations that each CPU issued, and that are not complete.
    issued: Vec<Vec<Invalidate>>,
}

impl Tlbs {
    /// Returns empty TLBs of this many CPUs.
    pub fn new(cpus: usize, levels: Levels) -> Self {
        Self { levels, cpus: vec![Tlb::default(); cpus], issued: vec![Vec::new(); cpus] }
    }

    /// Offers a translation to each CPU that runs its address space.
    pub fn offer(&mut self, new: Held) {
        let running = self.cpus.iter_mut().filter(|tlb| tlb.runs.contains(&new.asid));
        running.for_each(|tlb| tlb.hold(new));
    }

    /// Returns a translation that a TLB may hold of one of the pages of `new`, but of another size.
    pub fn of_other_size(&self, new: &Translation) -> Option<Held> {
        let mut held = self.cpus.iter().flat_map(|tlb| &tlb.held);
        held.find(|held| held.nr != new.nr && held.overlaps(new)).copied()
    }

    /// Issues an invalidation. Interrupts have been handled when this returns. A broadcast takes
    /// effect as late as it may: at the CPU's barrier.
    pub fn invalidate<F: Format>(&mut self, cpu: usize, what: Invalidate, by: Shootdown) {
        match by {
            Shootdown::Broadcast => self.issued[cpu].push(what),
            Shootdown::Ipi => self.forget::<F>(what),
        }
    }

    /// Makes the CPU's own TLB forget at once.
    pub fn invalidate_local<F: Format>(&mut self, cpu: usize, what: Invalidate) {
        self.cpus[cpu].forget::<F>(what, self.levels);
    }

    /// Makes the invalidations that a CPU issued take effect everywhere, if the barrier waits for
    /// them. Returns true if there were any.
    pub fn barrier<F: Format>(&mut self, cpu: usize, barrier: Barrier) -> bool {
        if barrier != Barrier::Complete {
            return false;
        }
        let issued = take(&mut self.issued[cpu]);
        issued.iter().for_each(|what| self.forget::<F>(*what));
        !issued.is_empty()
    }

    fn forget<F: Format>(&mut self, what: Invalidate) {
        self.cpus.iter_mut().for_each(|tlb| tlb.forget::<F>(what, self.levels));
    }

    /// Returns true if an invalidation was issued that is not complete.
    pub fn is_incomplete(&self) -> bool {
        self.issued.iter().any(|issued| !issued.is_empty())
    }

    /// Returns true if another CPU than `cpu` may hold a translation of an address space.
    pub fn remote(&self, cpu: usize, asid: Asid) -> bool {
        let mut others = (0..self.cpus.len()).filter(|other| *other != cpu);
        others.any(|other| {
            let tlb = &self.cpus[other];
            tlb.runs.contains(&asid) || tlb.held.iter().any(|held| held.asid == asid)
        })
    }
}

//! The page-walk cache: entries that lead to tables, so that a walk need not begin at the root.

use super::tag::Owner;
use pageout_paging::{Format, Level, Pfn, VirtAddr};

#[derive(Clone, Copy, Debug)]
struct Step {
    owner: Owner,
    level: Level,
    /// The address without what an entry of the level covers.
    number: u64,
    /// The table it leads to.
    table: Pfn,
    used: u64,
}

/// One set; the entry used least recently gives way.
#[derive(Debug)]
pub(super) struct WalkCache {
    steps: Vec<Step>,
    most: usize,
    uses: u64,
    /// Where the last answer was: walks of near pages pass through the same entry.
    last: usize,
}

impl WalkCache {
    pub(super) fn new(entries: u16) -> Self {
        Self { steps: Vec::new(), most: usize::from(entries), uses: 0, last: 0 }
    }

    /// The lowest table that is known to cover an address, and its level.
    pub(super) fn lowest<F: Format>(&mut self, owner: Owner, at: VirtAddr) -> Option<(Level, Pfn)> {
        let found = [Level::Pmd, Level::Pud, Level::Pgd].into_iter().find_map(|level| {
            let number = at.get() >> F::shift(level);
            let is =
                |step: &Step| step.number == number && step.level == level && step.owner == owner;
            match self.steps.get(self.last).is_some_and(is) {
                true => Some(self.last),
                false => self.steps.iter().position(is),
            }
        })?;
        self.last = found;
        self.uses += 1;
        self.steps[found].used = self.uses;
        Some((self.steps[found].level.below()?, self.steps[found].table))
    }

    /// Keeps that the entry of `level` for an address leads to `table`. It is not held yet.
    pub(super) fn keep<F: Format>(&mut self, owner: Owner, level: Level, at: VirtAddr, table: Pfn) {
        self.uses += 1;
        let number = at.get() >> F::shift(level);
        let step = Step { owner, level, number, table, used: self.uses };
        if self.steps.len() < self.most {
            self.steps.push(step);
        } else if let Some(oldest) = self.steps.iter_mut().min_by_key(|step| step.used) {
            *oldest = step;
        }
    }

    pub(super) fn forget(&mut self, owner: Owner) {
        self.steps.retain(|step| step.owner != owner);
    }

    pub(super) fn clear(&mut self) {
        self.steps.clear();
    }
}

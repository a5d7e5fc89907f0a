//! Hot pages reclaimed by mistake: those that the program uses again in the epoch in which they
//! were reclaimed, or in the next one.

use pageout_paging::Pfn;
use std::collections::HashMap;

/// Which frame holds which page of the program, and when pages were reclaimed. Pages are those of
/// the trace's reference string.
#[derive(Debug)]
pub(super) struct Mistakes {
    page_in: HashMap<Pfn, usize>,
    /// For each page, whether it is in a frame and was used there.
    known: Vec<bool>,
    /// For each page, the epoch in which it was reclaimed, if it was not used since.
    reclaimed_in: Vec<Option<u64>>,
    epoch: u64,
    nr: u64,
}

impl Mistakes {
    /// Of a program with so many pages.
    pub(super) fn new(nr_pages: usize) -> Self {
        let (known, reclaimed_in) = (vec![false; nr_pages], vec![None; nr_pages]);
        Self { page_in: HashMap::new(), known, reclaimed_in, epoch: 0, nr: 0 }
    }

    pub(super) fn end_epoch(&mut self) {
        self.epoch += 1;
    }

    /// The program ends, and another begins that uses the same pages.
    pub(super) fn begin_again(&mut self) {
        self.reclaimed_in.fill(None);
    }

    /// Whether another use of the page, without a fault, would tell nothing new.
    pub(super) fn knows(&self, page: usize) -> bool {
        self.known[page]
    }

    /// The program used a page that is in this frame now.
    /// Whether it had been reclaimed.
    pub(super) fn used(&mut self, page: usize, frame: Pfn) -> bool {
        self.page_in.insert(frame, page);
        self.known[page] = true;
        let reclaimed = self.reclaimed_in[page].take();
        self.nr += u64::from(reclaimed.is_some_and(|epoch| self.epoch - epoch <= 1));
        reclaimed.is_some()
    }

    /// Reclaim gave a frame back: the page that was in it, if one was.
    pub(super) fn reclaimed(&mut self, frame: Pfn) -> Option<usize> {
        let page = self.page_in.remove(&frame)?;
        self.known[page] = false;
        self.reclaimed_in[page] = Some(self.epoch);
        Some(page)
    }

    /// The program gave up what was in a frame.
    pub(super) fn given_up(&mut self, frame: Pfn) {
        if let Some(page) = self.page_in.remove(&frame) {
            self.known[page] = false;
        }
    }

    /// How often it happened so far.
    pub(super) fn nr(&self) -> u64 {
        self.nr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_used_again_in_this_epoch_or_the_next_was_hot() {
        for (epochs, hot) in [(0, 1), (1, 1), (2, 0)] {
            let mut mistakes = Mistakes::new(1);
            mistakes.used(0, Pfn::new(7));
            mistakes.reclaimed(Pfn::new(7));
            (0..epochs).for_each(|_| mistakes.end_epoch());
            for _ in 0..2 {
                mistakes.used(0, Pfn::new(8));
                assert_eq!(mistakes.nr(), hot, "{epochs} epochs later, counted once");
            }
        }
    }

    #[test]
    fn what_the_program_gave_up_was_not_reclaimed() {
        let mut mistakes = Mistakes::new(2);
        mistakes.used(0, Pfn::new(7));
        mistakes.given_up(Pfn::new(7));
        mistakes.reclaimed(Pfn::new(7));
        mistakes.used(0, Pfn::new(8));
        mistakes.used(1, Pfn::new(7));
        mistakes.used(0, Pfn::new(8));
        assert_eq!(mistakes.nr(), 0);
    }
}

//! Hot pages reclaimed by mistake: those that the program uses again in the epoch in which they
//! were reclaimed, or in the next one.

use pageout_paging::Pfn;

/// The value for no page.
const NONE: u32 = u32::MAX;
/// The value for no epoch.
const NEVER: u64 = u64::MAX;

/// The page of the program in each frame, and the epochs in which pages were reclaimed. Pages are
/// those of the trace's reference string.
#[derive(Debug)]
pub(super) struct Mistakes {
    /// For each frame, the page in it.
    page_in: Vec<u32>,
    /// For each page, true if it is in a frame and was used there.
    known: Vec<bool>,
    /// For each page, the epoch in which it was reclaimed; [`NEVER`] if it was used since.
    reclaimed_in: Vec<u64>,
    epoch: u64,
    nr: u64,
}

impl Mistakes {
    /// Returns the state for a program with `nr_pages` pages, on `frames` frames.
    pub(super) fn new(nr_pages: usize, frames: usize) -> Self {
        Self {
            page_in: vec![NONE; frames],
            known: vec![false; nr_pages],
            reclaimed_in: vec![NEVER; nr_pages],
            epoch: 0,
            nr: 0,
        }
    }

    pub(super) fn end_epochs(&mut self, nr: u64) {
        self.epoch += nr;
    }

    /// Ends the program, and begins another that uses the same pages.
    pub(super) fn begin_again(&mut self) {
        self.reclaimed_in.fill(NEVER);
    }

    /// Returns true if another use of the page, without a fault, would change nothing.
    pub(super) fn knows(&self, page: usize) -> bool {
        self.known[page]
    }

    /// Notes that the program used a page that is now in this frame. Returns true if the page had
    /// been reclaimed.
    pub(super) fn used(&mut self, page: usize, frame: Pfn) -> bool {
        self.page_in[frame.get() as usize] = page as u32;
        self.known[page] = true;
        let reclaimed_in = std::mem::replace(&mut self.reclaimed_in[page], NEVER);
        if reclaimed_in == NEVER {
            return false;
        }
        self.nr += u64::from(self.epoch - reclaimed_in <= 1);
        true
    }

    /// Notes a frame freed by reclaim; returns the page that was in it, if there was one.
    pub(super) fn reclaimed(&mut self, frame: Pfn) -> Option<usize> {
        let page = self.take(frame)?;
        self.reclaimed_in[page] = self.epoch;
        Some(page)
    }

    /// Notes that the program freed the content of a frame.
    pub(super) fn given_up(&mut self, frame: Pfn) {
        self.take(frame);
    }

    /// Removes and returns the page that is in a frame.
    fn take(&mut self, frame: Pfn) -> Option<usize> {
        let page = std::mem::replace(&mut self.page_in[frame.get() as usize], NONE);
        if page == NONE {
            return None;
        }
        self.known[page as usize] = false;
        Some(page as usize)
    }

    /// Returns the number of mistakes so far.
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
            let mut mistakes = Mistakes::new(1, 9);
            mistakes.used(0, Pfn::new(7));
            mistakes.reclaimed(Pfn::new(7));
            mistakes.end_epochs(epochs);
            for _ in 0..2 {
                mistakes.used(0, Pfn::new(8));
                assert_eq!(mistakes.nr(), hot, "{epochs} epochs later, counted once");
            }
        }
    }

    #[test]
    fn what_the_program_gave_up_was_not_reclaimed() {
        let mut mistakes = Mistakes::new(2, 9);
        mistakes.used(0, Pfn::new(7));
        mistakes.given_up(Pfn::new(7));
        mistakes.reclaimed(Pfn::new(7));
        mistakes.used(0, Pfn::new(8));
        mistakes.used(1, Pfn::new(7));
        mistakes.used(0, Pfn::new(8));
        assert_eq!(mistakes.nr(), 0);
    }
}

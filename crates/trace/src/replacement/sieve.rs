//! SIEVE: a queue in the order of arrival, with a hand that moves from its tail to its head. The
//! hand evicts the first page that was not used since it last passed the page (Zhang et al., *SIEVE
//! is Simpler than LRU*, NSDI 2024, algorithm 1).

use super::list::{Links, List};
use super::policy::Replacement;
use crate::room::{NoRoom, filled};

/// The queue and the hand.
#[derive(Debug)]
pub(super) struct Sieve {
    frames: usize,
    links: Links,
    queue: List,
    is_resident: Vec<bool>,
    is_visited: Vec<bool>,
    /// The page at which the hand continues; `None` is the tail.
    hand: Option<u32>,
}

impl Replacement for Sieve {
    fn new(nr_pages: usize, frames: usize) -> Result<Self, NoRoom> {
        Ok(Self {
            frames,
            links: Links::new(nr_pages)?,
            queue: List::EMPTY,
            is_resident: filled(false, nr_pages)?,
            is_visited: filled(false, nr_pages)?,
            hand: None,
        })
    }

    fn access(&mut self, page: u32) -> bool {
        let at = page as usize;
        if self.is_resident[at] {
            self.is_visited[at] = true;
            return true;
        }
        if self.queue.len() == self.frames {
            self.evict();
        }
        self.is_resident[at] = true;
        self.is_visited[at] = false;
        self.queue.push(&mut self.links, page);
        false
    }
}

impl Sieve {
    fn evict(&mut self) {
        while let Some(page) = self.hand.or(self.queue.tail()) {
            self.hand = self.links.before(page);
            if !std::mem::take(&mut self.is_visited[page as usize]) {
                self.queue.remove(&mut self.links, page);
                self.is_resident[page as usize] = false;
                return;
            }
        }
    }
}

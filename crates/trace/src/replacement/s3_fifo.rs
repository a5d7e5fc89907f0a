//! S3-FIFO: a small queue for new pages, a main queue for those that were used in it, and a queue
//! of pages that the small one evicted (Yang et al., *FIFO queues are all you need for cache
//! eviction*, SOSP 2023, algorithm 1).
//!
//! As in libCacheSim, which the paper's authors wrote: pages that are loaded before anything was
//! evicted go to the main queue once the small one is full.

use super::list::{Links, List};
use super::policy::Replacement;
use crate::room::{NoRoom, filled};

/// The small queue has a tenth of the frames, but at least one.
const SMALL: usize = 10;
/// The maximum number of uses that are counted.
const MOST_USES: u8 = 3;
/// The number of uses in the small queue after which a page goes to the main queue.
const TO_MAIN: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    Small,
    Main,
    /// Pages evicted from the small queue.
    Ghost,
}

/// The three queues.
#[derive(Debug)]
pub(super) struct S3Fifo {
    frames: usize,
    links: Links,
    small: List,
    main: List,
    ghost: List,
    /// For each page, the queue it is in.
    places: Vec<Option<Queue>>,
    /// For each page, its uses since it entered its queue.
    uses: Vec<u8>,
    /// True if anything was evicted so far.
    evicted: bool,
}

impl Replacement for S3Fifo {
    fn new(nr_pages: usize, frames: usize) -> Result<Self, NoRoom> {
        Ok(Self {
            frames,
            links: Links::new(nr_pages)?,
            small: List::EMPTY,
            main: List::EMPTY,
            ghost: List::EMPTY,
            places: filled(None, nr_pages)?,
            uses: filled(0, nr_pages)?,
            evicted: false,
        })
    }

    fn access(&mut self, page: u32) -> bool {
        let at = page as usize;
        let place = self.places[at];
        if let Some(Queue::Small | Queue::Main) = place {
            self.uses[at] = MOST_USES.min(self.uses[at] + 1);
            return true;
        }
        if place == Some(Queue::Ghost) {
            self.ghost.remove(&mut self.links, page);
        }
        while self.small.len() + self.main.len() == self.frames {
            self.evict();
        }
        let fills_up = !self.evicted && self.small.len() >= self.small_frames();
        let to = if place.is_some() || fills_up { Queue::Main } else { Queue::Small };
        self.put(page, to, 0);
        false
    }
}

impl S3Fifo {
    fn small_frames(&self) -> usize {
        (self.frames / SMALL).max(1)
    }

    /// Evicts a page, or moves all pages of the small queue to the main one.
    fn evict(&mut self) {
        self.evicted = true;
        if self.small.len() == 0 || self.main.len() > self.frames - self.small_frames() {
            self.evict_main();
        } else {
            self.evict_small();
        }
    }

    fn evict_small(&mut self) {
        while let Some(page) = self.small.pop(&mut self.links) {
            if self.uses[page as usize] < TO_MAIN {
                self.places[page as usize] = None;
                self.remember(page);
                return;
            }
            self.put(page, Queue::Main, 0);
        }
    }

    fn evict_main(&mut self) {
        while let Some(page) = self.main.pop(&mut self.links) {
            let Some(left) = self.uses[page as usize].checked_sub(1) else {
                self.places[page as usize] = None;
                return;
            };
            self.put(page, Queue::Main, left);
        }
    }

    /// Puts an evicted page into the ghost queue, which has room for nine tenths of the frames.
    fn remember(&mut self, page: u32) {
        let most = self.frames * (SMALL - 1) / SMALL;
        if most == 0 {
            return;
        }
        if self.ghost.len() == most
            && let Some(forgotten) = self.ghost.pop(&mut self.links)
        {
            self.places[forgotten as usize] = None;
        }
        self.put(page, Queue::Ghost, 0);
    }

    fn put(&mut self, page: u32, to: Queue, uses: u8) {
        let queue = match to {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
            Queue::Ghost => &mut self.ghost,
        };
        queue.push(&mut self.links, page);
        self.places[page as usize] = Some(to);
        self.uses[page as usize] = uses;
    }
}

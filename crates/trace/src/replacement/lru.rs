//! LRU: the least recently used page is evicted.

use super::list::{Links, List};
use super::policy::Replacement;
use crate::room::{NoRoom, filled};

/// Pages by their last use.
#[derive(Debug)]
pub(super) struct Lru {
    frames: usize,
    links: Links,
    resident: List,
    is_resident: Vec<bool>,
}

impl Replacement for Lru {
    fn new(nr_pages: usize, frames: usize) -> Result<Self, NoRoom> {
        let (links, is_resident) = (Links::new(nr_pages)?, filled(false, nr_pages)?);
        Ok(Self { frames, links, resident: List::EMPTY, is_resident })
    }

    fn access(&mut self, page: u32) -> bool {
        let hit = self.is_resident[page as usize];
        if hit {
            self.resident.remove(&mut self.links, page);
        } else {
            if self.resident.len() == self.frames
                && let Some(victim) = self.resident.pop(&mut self.links)
            {
                self.is_resident[victim as usize] = false;
            }
            self.is_resident[page as usize] = true;
        }
        self.resident.push(&mut self.links, page);
        hit
    }
}

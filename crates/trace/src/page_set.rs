//! A set of pages.

use std::collections::HashMap;

use super::event::Page;
use super::room::NoRoom;

/// A set of pages, 64 to a word: footprints are dense in places and sparse as a whole.
#[derive(Debug, Default)]
pub(crate) struct PageSet {
    words: HashMap<u64, u64>,
    len: u64,
}

impl PageSet {
    /// Adds a page.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(crate) fn insert(&mut self, page: Page) -> Result<(), NoRoom> {
        self.words.try_reserve(1)?;
        let word = self.words.entry(page.number() / 64).or_default();
        let bit = 1 << (page.number() % 64);
        self.len += u64::from(*word & bit == 0);
        *word |= bit;
        Ok(())
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }
}

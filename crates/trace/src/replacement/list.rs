//! Lists of pages, linked through one array.

use crate::room::{NoRoom, filled};

/// The value for no page.
const NONE: u32 = u32::MAX;

/// The neighbours of each page, which is on at most one list.
#[derive(Debug)]
pub(super) struct Links {
    /// The neighbours towards the head and towards the tail.
    by_page: Vec<[u32; 2]>,
}

impl Links {
    /// Makes links for `nr_pages` pages, of which none is on a list.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(super) fn new(nr_pages: usize) -> Result<Self, NoRoom> {
        Ok(Self { by_page: filled([NONE; 2], nr_pages)? })
    }

    /// Returns the page before this one on its list, towards the head.
    pub(super) fn before(&self, page: u32) -> Option<u32> {
        let [before, _] = self.by_page[page as usize];
        (before != NONE).then_some(before)
    }
}

/// A list, whose head was added last.
#[derive(Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
    len: usize,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE, len: 0 };

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn tail(&self) -> Option<u32> {
        (self.tail != NONE).then_some(self.tail)
    }

    /// Puts a page, which is on no list, before all others.
    pub(super) fn push(&mut self, links: &mut Links, page: u32) {
        links.by_page[page as usize] = [NONE, self.head];
        match self.head {
            NONE => self.tail = page,
            head => links.by_page[head as usize][0] = page,
        }
        self.head = page;
        self.len += 1;
    }

    /// Removes a page that is on the list.
    pub(super) fn remove(&mut self, links: &mut Links, page: u32) {
        let [before, after] = links.by_page[page as usize];
        match before {
            NONE => self.head = after,
            before => links.by_page[before as usize][1] = after,
        }
        match after {
            NONE => self.tail = before,
            after => links.by_page[after as usize][0] = before,
        }
        self.len -= 1;
    }

    /// Removes and returns the last page.
    pub(super) fn pop(&mut self, links: &mut Links) -> Option<u32> {
        let tail = self.tail()?;
        self.remove(links, tail);
        Some(tail)
    }
}

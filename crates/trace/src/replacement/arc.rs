//! ARC: pages used once and pages used more often, each with a list of recently evicted ones. Hits
//! on these lists decide how much of memory either kind should have (Megiddo and Modha, *ARC: A
//! Self-Tuning, Low Overhead Replacement Cache*, FAST 2003, figure 4). Names are the paper's.

use super::list::{Links, List};
use super::policy::Replacement;
use crate::room::{NoRoom, filled};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ListName {
    /// Resident, used once recently.
    T1,
    /// Resident, used more often.
    T2,
    /// Evicted from `T1`.
    B1,
    /// Evicted from `T2`.
    B2,
}
use ListName::{B1, B2, T1, T2};

/// The four lists, and the size that `T1` should have.
#[derive(Debug)]
pub(super) struct Arc {
    frames: usize,
    links: Links,
    lists: [List; 4],
    /// For each page, the list it is on.
    places: Vec<Option<ListName>>,
    p: f64,
}

impl Replacement for Arc {
    fn new(nr_pages: usize, frames: usize) -> Result<Self, NoRoom> {
        let (links, places) = (Links::new(nr_pages)?, filled(None, nr_pages)?);
        Ok(Self { frames, links, lists: [List::EMPTY; 4], places, p: 0.0 })
    }

    fn access(&mut self, page: u32) -> bool {
        let place = self.places[page as usize];
        let ratio = |other: ListName, own: ListName| {
            (self.len(other) as f64 / self.len(own) as f64).max(1.0)
        };
        match place {
            Some(T1 | T2) => {}
            Some(B1) => self.p = (self.p + ratio(B2, B1)).min(self.frames as f64),
            Some(B2) => self.p = (self.p - ratio(B1, B2)).max(0.0),
            None => {
                self.make_room();
                self.put(page, T1);
                return false;
            }
        }
        self.take(page);
        let hit = matches!(place, Some(T1 | T2));
        if !hit {
            self.replace(place == Some(B2));
        }
        self.put(page, T2);
        hit
    }
}

impl Arc {
    /// Makes room for a page that is on no list.
    fn make_room(&mut self) {
        let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|list| self.len(list));
        if t1 + t2 < self.frames {
            return;
        }
        if t1 == self.frames {
            self.take_last(T1);
            return;
        }
        if t1 + b1 == self.frames {
            self.take_last(B1);
        } else if t1 + t2 + b1 + b2 == 2 * self.frames {
            self.take_last(B2);
        }
        self.replace(false);
    }

    /// Evicts the last page of `T1` or `T2`; `from_b2` is true if the new page was evicted from
    /// `T2` before.
    fn replace(&mut self, from_b2: bool) {
        let t1 = self.len(T1) as f64;
        let of_t1 = t1 > 0.0 && (t1 > self.p || from_b2 && t1 == self.p);
        let (resident, evicted) = if of_t1 { (T1, B1) } else { (T2, B2) };
        let victim = self.take_last(resident);
        self.put(victim.expect("memory is full, and T1 of p pages at most"), evicted);
    }

    fn len(&self, list: ListName) -> usize {
        self.lists[list as usize].len()
    }

    fn put(&mut self, page: u32, list: ListName) {
        self.lists[list as usize].push(&mut self.links, page);
        self.places[page as usize] = Some(list);
    }

    fn take(&mut self, page: u32) {
        if let Some(list) = self.places[page as usize].take() {
            self.lists[list as usize].remove(&mut self.links, page);
        }
    }

    fn take_last(&mut self, list: ListName) -> Option<u32> {
        let page = self.lists[list as usize].pop(&mut self.links)?;
        self.places[page as usize] = None;
        Some(page)
    }
}

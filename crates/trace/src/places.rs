//! Short names for pages: each page has a place in a table that writer and reader keep alike.

use std::collections::HashMap;

use super::event::Page;

/// The number of pages named at once, which bounds a reader's memory: 8 MiB. The places are used in
/// turn.
pub(crate) const MAX_PLACES: u64 = 1 << 20;

/// The writer's side: the place of each page.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The number of each page. Pages are numbered as they are named; a page that was named again
    /// has its last number.
    numbers: HashMap<Page, u64>,
    named: u64,
}

impl Places {
    /// Returns the place of a page, unless it has none or lost it.
    pub(crate) fn get(&self, page: Page) -> Option<u64> {
        let number = *self.numbers.get(&page)?;
        (self.named - number <= MAX_PLACES).then_some(number % MAX_PLACES)
    }

    /// Gives a page a place, which another one may lose.
    pub(crate) fn name(&mut self, page: Page) -> u64 {
        let number = self.named;
        self.numbers.insert(page, number);
        self.named += 1;
        number % MAX_PLACES
    }

    /// Returns the number of different pages that were named.
    pub(crate) fn distinct_pages(&self) -> u64 {
        self.numbers.len() as u64
    }
}

/// The reader's side: the page at each place.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    by_place: Vec<Page>,
    /// The place that is taken next, once all are taken.
    next: usize,
}

impl Pages {
    pub(crate) fn get(&self, place: u64) -> Option<Page> {
        self.by_place.get(usize::try_from(place).ok()?).copied()
    }

    /// Names the next page.
    pub(crate) fn name(&mut self, page: Page) {
        if self.nr() < MAX_PLACES {
            self.by_place.push(page);
        } else {
            self.by_place[self.next] = page;
            self.next = (self.next + 1) % self.by_place.len();
        }
    }

    /// Returns the number of places taken.
    pub(crate) fn nr(&self) -> u64 {
        self.by_place.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_again_when_all_are() {
        let page = |number| Page::new(number).expect("a page");
        let (mut places, mut pages) = (Places::default(), Pages::default());
        let mut name = |number| {
            let place = places.name(page(number));
            pages.name(page(number));
            assert_eq!(pages.get(place), Some(page(number)));
            place
        };
        (0..MAX_PLACES).for_each(|number| assert_eq!(name(number), number));
        assert_eq!(name(MAX_PLACES), 0);
        assert_eq!(name(0), 1);
        assert_eq!((pages.get(0), pages.get(1)), (Some(page(MAX_PLACES)), Some(page(0))));
        assert_eq!((places.get(page(0)), places.get(page(1))), (Some(1), None));
        assert_eq!(places.get(page(2)), Some(2));
        assert_eq!((places.get(page(MAX_PLACES + 1)), pages.get(MAX_PLACES)), (None, None));
        assert_eq!((places.distinct_pages(), pages.nr()), (MAX_PLACES + 1, MAX_PLACES));
    }
}

//! Short names for pages: each page has a place in a table that writer and reader keep alike.

use std::collections::HashMap;

use super::event::Page;
use super::page_set::PageSet;
use super::room::NoRoom;

/// The number of pages named at once, which bounds a reader's memory: 8 MiB. The places are used in
/// turn.
pub(crate) const MAX_PLACES: u64 = 1 << 20;

/// The number of neighbouring pages that are looked up together.
const GROUP: u64 = 8;
/// The number of groups from which on those are forgotten whose pages all lost their places.
const MOST_GROUPS: usize = MAX_PLACES as usize * 3 / 2;

/// The writer's side: the place of each page.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// For each page of a group, the place that it was given last. Another page may have it now.
    groups: HashMap<u64, [u32; GROUP as usize]>,
    /// The page at each place.
    pages: Pages,
    /// All pages that were ever named.
    named: PageSet,
}

impl Places {
    /// Returns the place of a page, unless it has none or lost it.
    pub(crate) fn get(&self, page: Page) -> Option<u64> {
        let place = self.groups.get(&(page.number() / GROUP))?[Self::of_group(page)].into();
        (self.pages.get(place) == Some(page)).then_some(place)
    }

    /// Gives a page a place, which another one may lose.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(crate) fn name(&mut self, page: Page) -> Result<u64, NoRoom> {
        let Self { groups, pages, named } = self;
        named.insert(page)?;
        let place = pages.name(page);
        if groups.len() == MOST_GROUPS {
            let is_at = |place: &u32| pages.get((*place).into());
            groups.retain(|group, places| {
                places.iter().filter_map(is_at).any(|page| page.number() / GROUP == *group)
            });
        }
        groups.try_reserve(1)?;
        groups.entry(page.number() / GROUP).or_default()[Self::of_group(page)] = place as u32;
        Ok(place)
    }

    /// Returns the number of different pages that were named.
    pub(crate) fn distinct_pages(&self) -> u64 {
        self.named.len()
    }

    fn of_group(page: Page) -> usize {
        (page.number() % GROUP) as usize
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

    /// Names the next page, and returns its place.
    pub(crate) fn name(&mut self, page: Page) -> u64 {
        if self.nr() < MAX_PLACES {
            self.by_place.push(page);
            return self.nr() - 1;
        }
        let place = self.next;
        self.by_place[place] = page;
        self.next = (place + 1) % self.by_place.len();
        place as u64
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
            let place = places.name(page(number)).expect("there is room");
            assert_eq!(pages.name(page(number)), place);
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

    #[test]
    fn groups_without_a_place_are_forgotten() {
        let page = |number| Page::new(number * GROUP).expect("a page");
        let (mut places, last) = (Places::default(), MAX_PLACES * 2);
        for number in 0..=last {
            places.name(page(number)).expect("there is room");
            assert!(places.groups.len() <= MOST_GROUPS);
        }
        for (number, place) in [
            (last, Some(0)),
            (last - 1, Some(MAX_PLACES - 1)),
            (last - MAX_PLACES, None),
            (0, None),
        ] {
            assert_eq!(places.get(page(number)), place, "{number}");
        }
        assert_eq!(places.distinct_pages(), last + 1);
    }
}

//! The mapped areas of an address space after the events so far.

use std::collections::BTreeMap;

use super::error::Fault;
use super::event::{Event, Mapping, Page, PageRange, Permissions};

/// The maximum number of areas at once; kernels stop at 65,530 by default.
const MAX_AREAS: usize = 1 << 20;

/// The mapped pages, with their kinds and permissions.
#[derive(Debug, Clone, Default)]
pub struct Areas {
    /// Areas by their first page; they never overlap.
    by_start: BTreeMap<u64, Mapping>,
    nr_pages: u64,
}

impl Areas {
    /// Returns the area that holds `page`.
    pub fn get(&self, page: Page) -> Option<&Mapping> {
        let (_, area) = self.by_start.range(..=page.number()).next_back()?;
        area.pages.contains(page).then_some(area)
    }

    /// Returns the number of mapped pages.
    pub fn nr_pages(&self) -> u64 {
        self.nr_pages
    }

    /// Returns every area, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.by_start.values()
    }

    /// Returns the parts of areas inside `pages`, ascending.
    pub fn within(&self, pages: PageRange) -> impl Iterator<Item = Mapping> {
        let first =
            self.by_start.range(..=pages.start()).next_back().map_or(0, |(start, _)| *start);
        self.by_start.range(first..pages.end()).filter_map(move |(_, area)| area.slice(pages))
    }

    /// Returns the mapped ranges inside `pages`, ascending: areas that touch make one range.
    pub fn mapped_ranges(&self, pages: PageRange) -> Vec<PageRange> {
        let mut ranges: Vec<PageRange> = Vec::new();
        for part in self.within(pages) {
            let joined = ranges.last().and_then(|last| last.joined(part.pages));
            match (joined, ranges.last_mut()) {
                (Some(joined), Some(last)) => *last = joined,
                _ => ranges.push(part.pages),
            }
        }
        ranges
    }

    /// Returns the unmapped pages around `page`, up to the areas next to it; `None` if it is
    /// mapped.
    pub(crate) fn gap(&self, page: Page) -> Option<PageRange> {
        let below = self.by_start.range(..=page.number()).next_back();
        let start = below.map_or(0, |(_, area)| area.pages.end());
        let above = self.by_start.range(page.number()..).next();
        let end = above.map_or(super::event::PAGE_LIMIT, |(start, _)| *start);
        PageRange::new(start, end).filter(|gap| gap.contains(page))
    }

    /// Applies a mapping event and returns the number of areas that it affects; accesses and epoch
    /// ends change nothing.
    ///
    /// # Errors
    ///
    /// [`Fault::Overlap`] and [`Fault::NotMapped`] if the event does not fit the areas,
    /// [`Fault::Range`] if a move leaves the address space, and [`Fault::TooManyAreas`]. After an
    /// error the areas are unchanged.
    pub fn apply(&mut self, event: &Event) -> Result<u64, Fault> {
        match *event {
            Event::Map(mapping) => self.map(mapping),
            Event::Unmap(pages) => {
                let areas = self.all_mapped(pages)?;
                self.remove(pages);
                Ok(areas)
            }
            Event::Protect { pages, permissions } => self.protect(pages, permissions),
            Event::Remap { pages, to } => self.remap(pages, to),
            Event::Discard(pages) => self.all_mapped(pages),
            Event::Access { .. } | Event::EpochEnd { .. } => Ok(0),
        }
    }

    fn map(&mut self, mapping: Mapping) -> Result<u64, Fault> {
        if self.within(mapping.pages).next().is_some() {
            return Err(Fault::Overlap(mapping.pages));
        }
        self.room_for(1)?;
        self.insert(mapping);
        Ok(1)
    }

    fn protect(&mut self, pages: PageRange, permissions: Permissions) -> Result<u64, Fault> {
        let areas = self.all_mapped(pages)?;
        self.room_for(2)?;
        for area in self.remove(pages) {
            self.insert(Mapping { permissions, ..area });
        }
        Ok(areas)
    }

    fn remap(&mut self, pages: PageRange, to: u64) -> Result<u64, Fault> {
        let out = Fault::Range { start: to, nr_pages: pages.nr_pages() };
        let target = pages.moved_to(to).ok_or(out)?;
        let areas = self.all_mapped(pages)?;
        if self.within(target).next().is_some() {
            return Err(Fault::Overlap(target));
        }
        self.room_for(2)?;
        for area in self.remove(pages) {
            let start = to + (area.pages.start() - pages.start());
            let moved = area.pages.moved_to(start).ok_or(out)?;
            self.insert(Mapping { pages: moved, ..area });
        }
        Ok(areas)
    }

    /// Adds an area, and merges it with neighbours that it continues, as kernels do.
    fn insert(&mut self, mut new: Mapping) {
        self.nr_pages += new.pages.nr_pages();
        if let Some((&start, below)) = self.by_start.range(..new.pages.start()).next_back()
            && let Some(merged) = below.joined(&new)
        {
            self.by_start.remove(&start);
            new = merged;
        }
        if let Some(above) = self.by_start.get(&new.pages.end())
            && let Some(merged) = new.joined(above)
        {
            self.by_start.remove(&new.pages.end());
            new = merged;
        }
        self.by_start.insert(new.pages.start(), new);
    }

    /// Removes `pages`, splitting the areas at both ends, and returns what was mapped there.
    fn remove(&mut self, pages: PageRange) -> Vec<Mapping> {
        let removed: Vec<Mapping> = self.within(pages).collect();
        for part in &removed {
            self.nr_pages -= part.pages.nr_pages();
            let Some(page) = Page::new(part.pages.start()) else {
                continue;
            };
            let Some(whole) = self.get(page).copied() else {
                continue;
            };
            self.by_start.remove(&whole.pages.start());
            let before = PageRange::new(whole.pages.start(), part.pages.start());
            let after = PageRange::new(part.pages.end(), whole.pages.end());
            for rest in [before, after].into_iter().flatten().filter_map(|r| whole.slice(r)) {
                self.by_start.insert(rest.pages.start(), rest);
            }
        }
        removed
    }

    /// Returns the number of areas that hold these pages; an error if one of the pages is not
    /// mapped.
    fn all_mapped(&self, pages: PageRange) -> Result<u64, Fault> {
        let (mut areas, mut mapped) = (0, 0);
        for part in self.within(pages) {
            areas += 1;
            mapped += part.pages.nr_pages();
        }
        if mapped == pages.nr_pages() { Ok(areas) } else { Err(Fault::NotMapped(pages)) }
    }

    fn room_for(&self, more: usize) -> Result<(), Fault> {
        let room = self.by_start.len() + more <= MAX_AREAS;
        if room { Ok(()) } else { Err(Fault::TooManyAreas(MAX_AREAS)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{FileId, Kind};

    fn pages(start: u64, end: u64) -> PageRange {
        PageRange::new(start, end).expect("a range")
    }

    fn file(start: u64, end: u64) -> Mapping {
        Mapping {
            pages: pages(start, end),
            kind: Kind::File { file: FileId(0), offset: 100 },
            permissions: Permissions::READ_WRITE,
            shared: false,
        }
    }

    #[test]
    fn a_hole_splits_an_area_and_keeps_file_offsets() {
        let mut areas = Areas::default();
        areas.apply(&Event::Map(file(10, 20))).expect("maps");
        areas.apply(&Event::Unmap(pages(12, 15))).expect("unmaps");
        let left: Vec<_> = areas.iter().map(|a| (a.pages, a.kind)).collect();
        let kind = |offset| Kind::File { file: FileId(0), offset };
        assert_eq!(left, [(pages(10, 12), kind(100)), (pages(15, 20), kind(105))]);
        assert_eq!(areas.gap(Page::new(13).expect("a page")), Some(pages(12, 15)));
        assert_eq!(areas.gap(Page::new(10).expect("a page")), None);
    }

    #[test]
    fn areas_that_continue_each_other_are_one() {
        let mut areas = Areas::default();
        areas.apply(&Event::Map(file(10, 20))).expect("maps");
        let read_only = Permissions { writable: false, ..Permissions::READ_WRITE };
        let protect = |permissions| Event::Protect { pages: pages(12, 15), permissions };
        areas.apply(&protect(read_only)).expect("protects");
        assert_eq!(areas.iter().count(), 3);
        areas.apply(&protect(Permissions::READ_WRITE)).expect("protects");
        assert_eq!(areas.iter().copied().collect::<Vec<_>>(), [file(10, 20)]);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let mut areas = Areas::default();
        areas.apply(&Event::Map(file(10, 20))).expect("maps");
        let refused = [
            Event::Map(file(19, 21)),
            Event::Unmap(pages(9, 12)),
            Event::Discard(pages(20, 21)),
            Event::Remap { pages: pages(10, 12), to: 15 },
            Event::Remap { pages: pages(10, 12), to: u64::MAX },
        ];
        for event in refused {
            assert!(areas.apply(&event).is_err(), "{event:?}");
        }
        assert_eq!(areas.iter().copied().collect::<Vec<_>>(), [file(10, 20)]);
    }

    #[test]
    fn a_move_takes_all_parts_along() {
        let mut areas = Areas::default();
        areas.apply(&Event::Map(file(10, 12))).expect("maps");
        areas.apply(&Event::Map(file(12, 14))).expect("maps");
        areas.apply(&Event::Remap { pages: pages(11, 13), to: 50 }).expect("moves");
        let left: Vec<_> = areas.iter().map(|a| (a.pages.start(), a.pages.end())).collect();
        assert_eq!(left, [(10, 11), (13, 14), (50, 51), (51, 52)]);
    }
}

//! The pages of a program's reference string: the address of each at its first use, and the name of
//! the area that was mapped there.

use pageout_record::schema::{Part, shown};
use pageout_trace::Kind;
use std::collections::BTreeMap;
use std::path::Path;

/// The maximum number of characters of a file's name.
const MOST_CHARACTERS: usize = 40;

/// The area that a page lies in.
#[derive(Clone, Copy, Debug)]
enum Area {
    Anonymous,
    Heap,
    Stack,
    Unmapped,
    /// A file of the trace, by its index.
    File(u32),
}

/// The pages in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Pages {
    addresses: Vec<u64>,
    areas: Vec<Area>,
    /// The names of files.
    files: Vec<String>,
}

impl Pages {
    /// Adds a page that is first used at this page number, where `kind` is mapped.
    pub(super) fn push(&mut self, number: u64, kind: Option<Kind>) {
        let area = match kind {
            Some(Kind::File { file, .. }) => Area::File(file.index() as u32),
            Some(Kind::Anonymous) => Area::Anonymous,
            Some(Kind::Heap) => Area::Heap,
            Some(Kind::Stack) => Area::Stack,
            Some(Kind::Unknown) | None => Area::Unmapped,
        };
        self.addresses.push(number);
        self.areas.push(area);
    }

    /// Sets the names of files from their paths, in the order of their numbers.
    pub(super) fn name_files<'p>(&mut self, paths: impl Iterator<Item = &'p str>) {
        self.files = paths.map(name_of).collect();
    }

    pub(super) fn nr(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the pages in the order of their addresses.
    pub(super) fn by_address(&self) -> ByAddress<'_> {
        let mut sorted: Vec<usize> = (0..self.nr()).collect();
        sorted.sort_by_key(|&page| self.addresses[page]);
        ByAddress { pages: self, sorted }
    }

    fn name(&self, area: Area) -> &str {
        match area {
            Area::Anonymous => "anonymous",
            Area::Heap => "heap",
            Area::Stack => "stack",
            Area::Unmapped => "unmapped",
            Area::File(index) => &self.files[index as usize],
        }
    }
}

/// The pages in the order of their addresses.
pub(super) struct ByAddress<'p> {
    pages: &'p Pages,
    /// The number of the page at each place.
    sorted: Vec<usize>,
}

impl ByAddress<'_> {
    /// Returns the place of each page among all.
    pub(super) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.sorted.len()];
        for (place, &page) in (0..).zip(&self.sorted) {
            places[page] = place;
        }
        places
    }

    /// Returns the areas of the pages, as parts of their places. `starts` are places at which
    /// ranges begin, the first of them 0; a range has the name of most of its pages.
    pub(super) fn parts(&self, starts: &[usize]) -> Vec<Part> {
        let Self { pages, sorted } = self;
        let ends = starts.iter().skip(1).copied().chain([sorted.len()]);
        let mut parts: Vec<Part> = Vec::new();
        for (start, end) in starts.iter().copied().zip(ends) {
            let mut covered = BTreeMap::<&str, usize>::new();
            for page in &sorted[start..end] {
                *covered.entry(pages.name(pages.areas[*page])).or_default() += 1;
            }
            // Of equals the first in the alphabet is chosen.
            let most = covered.into_iter().rev().max_by_key(|(_, pages)| *pages);
            let Some((name, _)) = most else { continue };
            if parts.last().is_none_or(|last| last.name != name) {
                parts.push(Part { name: name.to_owned(), start: start as f64 });
            }
        }
        parts
    }
}

/// Returns the last component of a path, as text that can be shown.
fn name_of(path: &str) -> String {
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path);
    let name: String = shown(name.trim()).chars().take(MOST_CHARACTERS).collect();
    if name.is_empty() { "file without a name".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_name_of_most_of_its_pages() {
        let mut pages = Pages::default();
        // From the top down: places are by address.
        let kinds = [Kind::Stack, Kind::Heap, Kind::Heap, Kind::Anonymous, Kind::Heap];
        for (number, kind) in (0..5).rev().zip(kinds) {
            pages.push(number, Some(kind));
        }
        pages.push(9, None);
        let pages = pages.by_address();
        assert_eq!(pages.places(), [4, 3, 2, 1, 0, 5]);
        let part = |(name, start): (&str, f64)| Part { name: name.to_owned(), start };
        let found = pages.parts(&[0, 3, 5]);
        assert_eq!(found, [("heap", 0.0), ("unmapped", 5.0)].map(part));
        assert_eq!(pages.parts(&[0, 1, 2, 4]).len(), 4);
    }

    #[test]
    fn files_have_names_that_can_be_shown() {
        let names = ["/usr/lib/libc.so.6", "a\nb", "/", "", "  "].map(name_of);
        let least = "file without a name";
        assert_eq!(names, ["libc.so.6", "a\\nb", "/", least, least]);
        assert_eq!(name_of(&"x".repeat(1000)).len(), MOST_CHARACTERS);
    }
}

//! A trace as a page reference string: the accessed pages in order, each named by its backing.
//!
//! Two mappings of one page of a file access one page. A store through a private mapping of a file
//! makes a copy that is the program's own, which replaces the file page there until it is unmapped
//! or dropped. Anonymous pages are new ones after an unmap or a discard, and keep their identity
//! when they move.

use crate::TraceError;
use crate::recent::Recent;
use crate::room::{NoRoom, Room};
use crate::source::TraceSource;
use crate::{Areas, Event, FileId, Kind, Page, PageRange, TraceReader};
use pageout_experiment::this_machine::memory_limit_note;
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

/// The reason why a trace has no reference string.
#[derive(Debug, thiserror::Error)]
pub enum StringError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace needs more memory than is available.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// A trace that does not fit in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "it needs more memory than the {} MiB that are available{}: there was none left after \
     {accesses} accesses", available >> 20, memory_limit_note()
)]
pub struct TooLong {
    /// The available bytes.
    pub available: u64,
    /// The number of accesses that were stored until then.
    pub accesses: usize,
}

/// The pages of a program in the order of their uses, as far as its trace has the uses
/// (`docs/trace-format.md`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReferenceString {
    pages: Vec<u32>,
    nr_pages: u32,
}

impl ReferenceString {
    /// Returns the string of a trace; `available` is the memory for it in bytes, if that is known.
    ///
    /// # Errors
    /// [`StringError::Trace`] with the reader's error; [`StringError::TooLong`].
    pub fn of_trace(source: &TraceSource, available: Option<u64>) -> Result<Self, StringError> {
        Self::read(source.open()?, available)
    }

    fn read<R: BufRead>(
        mut reader: TraceReader<R>,
        available: Option<u64>,
    ) -> Result<Self, StringError> {
        let (mut string, mut room) = (Self::default(), Room::new(available));
        page_steps(&mut reader, |step, _| {
            if let PageStep::Access { page, .. } = step {
                string.push(page, &mut room).map_err(|NoRoom| string.too_long(available))?;
            }
            Ok::<_, StringError>(())
        })?;
        Ok(string)
    }

    /// Adds an access to a known page, or to the next new one.
    ///
    /// # Errors
    /// [`NoRoom`], also for more accesses than numbers of 32 bits can count.
    pub(crate) fn push(&mut self, page: u32, room: &mut Room) -> Result<(), NoRoom> {
        if self.pages.len() + 1 == u32::MAX as usize {
            return Err(NoRoom);
        }
        room.push(&mut self.pages, page)?;
        self.nr_pages = self.nr_pages.max(page + 1);
        Ok(())
    }

    /// Returns the error for a trace of which no more fits in memory.
    pub(crate) fn too_long(&self, available: Option<u64>) -> StringError {
        let available = available.unwrap_or(u64::MAX);
        TooLong { available, accesses: self.pages.len() }.into()
    }

    /// Returns the accessed pages in order, numbered from 0 as they first occur.
    pub fn pages(&self) -> &[u32] {
        &self.pages
    }

    /// Returns the number of different pages: the faults that no amount of memory avoids.
    pub fn nr_pages(&self) -> usize {
        self.nr_pages as usize
    }
}

/// A step of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageStep<'e> {
    /// An access.
    Access {
        /// The page's number in the reference string.
        page: u32,
        /// The virtual page.
        at: Page,
        /// True if the access is a store.
        store: bool,
    },
    /// The ends of that many epochs, of which all but the first are empty.
    EpochEnds(u32),
    /// Another event.
    Change(&'e Event),
}

/// Reads a trace to its end, and calls `each` with every step and the areas mapped after it.
///
/// # Errors
/// [`StringError::Trace`] with the reader's error, or the first error of `each`.
pub fn page_steps<R: BufRead, E: From<StringError>>(
    reader: &mut TraceReader<R>,
    mut each: impl FnMut(PageStep<'_>, &Areas) -> Result<(), E>,
) -> Result<(), E> {
    let mut identities = Identities::default();
    while let Some(event) = reader.next() {
        match event.map_err(StringError::from)? {
            Event::Access { page: at, store, .. } => {
                let page = identities.of(at, store, reader.areas());
                each(PageStep::Access { page, at, store }, reader.areas())?;
            }
            Event::EpochEnd { .. } => each(PageStep::EpochEnds(1), reader.areas())?,
            event => {
                identities.change(&event);
                each(PageStep::Change(&event), reader.areas())?;
            }
        }
    }
    Ok(())
}

/// The number of virtual pages whose identity is cached, a power of two.
const AT_HAND: usize = 1024;

/// Maps each access of a trace, read event by event, to the page that it uses. Its memory depends
/// only on the number of different pages. They are numbered from 0 as they first occur.
pub struct Identities {
    backing: Backing,
    /// The number of each page until its mapping changes, and true if the page was stored to: the
    /// identity may change at the first store.
    known: Recent<(u32, bool)>,
    /// The identities of recently used pages, by the low bits of their numbers.
    at_hand: Box<[Option<(Page, u32, bool)>; AT_HAND]>,
}

/// The state at the beginning of a trace.
impl Default for Identities {
    fn default() -> Self {
        let (backing, known) = (Backing::default(), Recent::default());
        Self { backing, known, at_hand: Box::new([None; AT_HAND]) }
    }
}

impl Identities {
    /// Returns the page of an access, with these areas mapped.
    #[inline]
    pub fn of(&mut self, page: Page, store: bool, areas: &Areas) -> u32 {
        match self.at_hand[Self::place(page)] {
            Some((at, id, stored)) if at == page && (stored || !store) => id,
            _ => self.look_up(page, store, areas),
        }
    }

    fn look_up(&mut self, page: Page, store: bool, areas: &Areas) -> u32 {
        let (id, stored) = match self.known.get(page) {
            Some((id, stored)) if stored || !store => (id, stored),
            _ => {
                let id = self.backing.of(page, store, areas);
                self.known.set(page, (id, store));
                (id, store)
            }
        };
        self.at_hand[Self::place(page)] = Some((page, id, stored));
        id
    }

    /// Applies an event that is no access.
    pub fn change(&mut self, event: &Event) {
        if !matches!(event, Event::EpochEnd { .. }) {
            self.known.change();
            self.at_hand.fill(None);
            self.backing.change(event);
        }
    }

    /// Returns the page's cache slot. Truncation keeps the low bits, which are those wanted.
    fn place(page: Page) -> usize {
        page.number() as usize % AT_HAND
    }
}

/// The current backing of the program's pages.
#[derive(Default)]
struct Backing {
    /// Pages of files, which outlive their mappings in the page cache.
    files: HashMap<(FileId, u64), u32>,
    /// Pages of the program's own, by virtual page: anonymous memory and copies of private files.
    own: BTreeMap<u64, u32>,
    nr_pages: u32,
}

impl Backing {
    fn of(&mut self, page: Page, store: bool, areas: &Areas) -> u32 {
        let next = self.nr_pages;
        let number = page.number();
        let id = match areas.get(page).map(|area| (area, area.kind)) {
            // An existing copy takes precedence over its file's page.
            Some((area, Kind::File { file, offset }))
                if area.shared || !store && !self.own.contains_key(&number) =>
            {
                let offset = offset.saturating_add(number - area.pages.start());
                *self.files.entry((file, offset)).or_insert(next)
            }
            _ => *self.own.entry(number).or_insert(next),
        };
        self.nr_pages += u32::from(id == next);
        id
    }

    fn change(&mut self, change: &Event) {
        match *change {
            Event::Unmap(range) | Event::Discard(range) => {
                self.take_own(range);
            }
            Event::Remap { pages, to } => self.move_own(pages, to),
            Event::Map(_)
            | Event::Protect { .. }
            | Event::Access { .. }
            | Event::EpochEnd { .. } => {}
        }
    }

    fn move_own(&mut self, range: PageRange, to: u64) {
        let moved = self.take_own(range);
        self.own.extend(moved.into_iter().map(|(page, id)| (page - range.start() + to, id)));
    }

    fn take_own(&mut self, range: PageRange) -> Vec<(u64, u32)> {
        self.own.extract_if(range.start()..range.end(), |_, _| true).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Ending, FilterShape, Header, Mapping, Permissions, TraceWriter};

    const A: Option<&str> = Some("/a");

    impl ReferenceString {
        /// Returns the string of pages with these numbers.
        pub(crate) fn of_numbers(numbers: &[u8]) -> Self {
            let mut ids = HashMap::new();
            let id = |number| {
                let next = ids.len() as u32;
                *ids.entry(number).or_insert(next)
            };
            let pages: Vec<_> = numbers.iter().map(id).collect();
            Self { pages, nr_pages: ids.len() as u32 }
        }
    }

    enum Step {
        /// Start, end, file (from its page 0) or anonymous, shared.
        Map(u64, u64, Option<&'static str>, bool),
        Load(u64),
        Store(u64),
        Unmap(u64, u64),
        Discard(u64, u64),
        Move(u64, u64, u64),
    }
    use Step::{Discard, Load, Map, Move, Store, Unmap};

    fn range(start: u64, end: u64) -> PageRange {
        PageRange::new(start, end).expect("a range")
    }

    /// Returns a trace of these steps, one epoch each.
    fn trace(steps: &[Step]) -> Vec<u8> {
        let header = Header {
            page_shift: 12,
            epoch_references: 1,
            filter: FilterShape::EVERY_PAGE,
            mappings: true,
            sampled: false,
            command: Vec::new(),
            architecture: "unknown".to_owned(),
            tool: "test".to_owned(),
        };
        let mut writer = TraceWriter::new(Vec::new(), &header).expect("begins");
        let access =
            |page, store| Event::Access { page: Page::new(page).expect("a page"), store, after: 0 };
        for step in steps {
            let event = match *step {
                Map(start, end, file, shared) => {
                    let kind = file.map_or(Kind::Anonymous, |path| {
                        let file = writer.file(path).expect("a file");
                        Kind::File { file, offset: 0 }
                    });
                    let permissions = Permissions::READ_WRITE;
                    Event::Map(Mapping { pages: range(start, end), kind, permissions, shared })
                }
                Load(page) => access(page, false),
                Store(page) => access(page, true),
                Unmap(start, end) => Event::Unmap(range(start, end)),
                Discard(start, end) => Event::Discard(range(start, end)),
                Move(start, end, to) => Event::Remap { pages: range(start, end), to },
            };
            writer.write(&event).expect("an event");
            if matches!(step, Load(_) | Store(_)) {
                writer.write(&Event::EpochEnd { references: 1 }).expect("an end");
            }
        }
        writer.finish(Ending::Exited(0)).expect("ends").0
    }

    fn string(steps: &[Step]) -> ReferenceString {
        let bytes = trace(steps);
        let string = ReferenceString::read(TraceReader::new(&*bytes).expect("reads"), None);
        string.expect("a trace")
    }

    fn pages(steps: &[Step]) -> Vec<u32> {
        string(steps).pages
    }

    #[test]
    fn a_file_page_is_one_page_wherever_and_whenever_it_is_mapped() {
        let steps = [
            Map(10, 20, A, true),
            Map(30, 40, A, false),
            Map(50, 60, Some("/b"), false),
            Load(12),
            Load(32),
            Store(12),
            Load(52),
            Unmap(10, 20),
            Unmap(30, 40),
            Map(70, 80, A, true),
            Load(72),
        ];
        assert_eq!(pages(&steps), [0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_hole_leaves_the_file_offsets_of_what_is_above_it() {
        let steps = [
            Map(10, 20, A, false),
            Map(110, 120, A, false),
            Unmap(12, 15),
            Load(16),
            Load(116),
            Load(112),
        ];
        assert_eq!(pages(&steps), [0, 0, 1]);
    }

    #[test]
    fn a_store_through_a_private_mapping_makes_a_copy_until_it_is_dropped() {
        let private = [
            Map(10, 20, A, false),
            Map(30, 40, A, false),
            Load(10),
            Store(10),
            Load(10),
            Load(30),
            Discard(10, 11),
            Load(10),
            Store(10),
        ];
        assert_eq!(pages(&private), [0, 1, 1, 0, 0, 2]);
    }

    #[test]
    fn anonymous_pages_are_new_after_an_unmap_or_a_discard() {
        let steps = [
            Map(10, 20, None, false),
            Store(10),
            Store(11),
            Unmap(10, 11),
            Map(10, 11, None, false),
            Load(10),
            Discard(11, 12),
            Load(11),
        ];
        assert_eq!(pages(&steps), [0, 1, 2, 3]);
    }

    #[test]
    fn pages_that_move_stay_the_same() {
        let steps = [
            Map(10, 12, None, false),
            Map(20, 22, A, false),
            Store(11),
            Load(20),
            Store(21),
            Move(10, 12, 40),
            Move(20, 22, 50),
            Load(41),
            Load(50),
            Load(51),
            Map(10, 12, None, false),
            Load(11),
        ];
        assert_eq!(pages(&steps), [0, 1, 2, 0, 1, 2, 3]);
    }

    #[test]
    fn a_string_that_would_not_fit_is_refused() {
        let bytes = trace(&[Map(10, 20, A, true), Load(10), Load(11), Load(10)]);
        let read = |available| {
            let reader = TraceReader::new(&*bytes).expect("reads");
            ReferenceString::read(reader, Some(available))
        };
        assert_eq!(read(1 << 20).expect("there is room").nr_pages(), 2);
        let error = read(8).expect_err("there is no room").to_string();
        assert!(error.contains("the 0 MiB that are available"), "{error}");
    }
}

//! A trace decoded once, to be played any number of times.

use crate::reference_string::{PageStep, ReferenceString, StringError, page_steps};
use crate::room::{NoRoom, Room};
use crate::source::TraceSource;
use crate::{Areas, Event, Page};
use std::collections::HashMap;

/// Approximate bytes of memory for a page while the trace is read: its identity
/// ([`crate::reference_string::Identities`]), and its part of a replay's survey.
const BYTES_A_PAGE: u64 = 96;

/// Approximate bytes of memory for an address that is not the first of its page.
const BYTES_AN_ADDRESS: u64 = 40;

/// The step of a trace that ends an epoch.
const EPOCH_END: u32 = u32::MAX;
/// The step that ends several epochs in a row; the next number is their count.
const EPOCH_ENDS: u32 = u32::MAX - 1;
/// The step of any other event, which is the next of them.
const CHANGE: u32 = u32::MAX - 2;
/// The maximum number of places: with more, their numbers would collide with those of other steps.
const MOST_PLACES: usize = (CHANGE / 2) as usize;

/// A trace in memory: eight bytes an access, and four for each end of an epoch that is
/// not empty.
#[derive(Debug)]
pub struct Decoded {
    has_mappings: bool,
    string: ReferenceString,
    /// For each access, twice the place of its virtual page in `virtual_pages`, plus one for a
    /// store. The other steps stand between accesses.
    steps: Vec<u32>,
    virtual_pages: Vec<Page>,
    changes: Vec<Event>,
    /// The paths of the mapped files.
    files: Vec<String>,
}

impl Decoded {
    /// Reads a trace to its end, and calls `each` with every step and the areas mapped after it.
    /// `available` is the memory for it in bytes, if that is known.
    ///
    /// # Errors
    /// [`StringError`], or the first error of `each`.
    pub fn of_trace<E: From<StringError>>(
        source: &TraceSource,
        available: Option<u64>,
        mut each: impl FnMut(PageStep<'_>, &Areas) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut reader = source.open().map_err(StringError::from)?;
        let mut decoding = Decoding {
            decoded: Self {
                has_mappings: reader.header().mappings,
                string: ReferenceString::default(),
                steps: Vec::new(),
                virtual_pages: Vec::new(),
                changes: Vec::new(),
                files: Vec::new(),
            },
            room: Room::new(available),
            last: Vec::new(),
            others: HashMap::new(),
        };
        page_steps(&mut reader, |step, areas| {
            decoding.note(step).map_err(|NoRoom| decoding.decoded.string.too_long(available))?;
            each(step, areas)
        })?;
        Ok(Self { files: reader.paths().map(str::to_owned).collect(), ..decoding.decoded })
    }

    /// Returns true if the trace has the program's mappings; otherwise all its pages are anonymous.
    pub fn has_mappings(&self) -> bool {
        self.has_mappings
    }

    /// Returns the paths of the mapped files, in the order of their indices.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Returns the trace's page reference string.
    pub fn string(&self) -> &ReferenceString {
        &self.string
    }

    /// Calls `each` with every step in order; the ends of consecutive empty epochs are one step.
    ///
    /// # Errors
    /// The first error of `each`.
    pub fn play<E>(&self, mut each: impl FnMut(PageStep<'_>) -> Result<(), E>) -> Result<(), E> {
        let (mut pages, mut changes) = (self.string.pages().iter(), self.changes.iter());
        let mut steps = self.steps.iter();
        while let Some(step) = steps.next() {
            each(match *step {
                EPOCH_END => PageStep::EpochEnds(1),
                EPOCH_ENDS => PageStep::EpochEnds(*steps.next().expect("a number follows")),
                CHANGE => PageStep::Change(changes.next().expect("each change has its event")),
                access => PageStep::Access {
                    page: *pages.next().expect("each access has its page"),
                    at: self.virtual_pages[(access >> 1) as usize],
                    store: access & 1 == 1,
                },
            })?;
        }
        Ok(())
    }
}

/// The state while a trace is read.
struct Decoding {
    decoded: Decoded,
    room: Room,
    /// For each page of the string, the place of the virtual page where it was last used.
    last: Vec<u32>,
    /// The places of virtual pages whose page had been used at another place before.
    others: HashMap<Page, u32>,
}

impl Decoding {
    fn note(&mut self, step: PageStep<'_>) -> Result<(), NoRoom> {
        let Self { decoded, room, .. } = self;
        match step {
            PageStep::Access { page, at, store } => {
                let place = self.place_of(page, at)?;
                self.decoded.string.push(page, &mut self.room)?;
                self.room.push(&mut self.decoded.steps, place << 1 | u32::from(store))
            }
            PageStep::EpochEnds(nr) => {
                (0..nr).try_for_each(|_| end_epoch(&mut decoded.steps, room))
            }
            PageStep::Change(event) => {
                room.push(&mut decoded.changes, *event)?;
                room.push(&mut decoded.steps, CHANGE)
            }
        }
    }

    /// Returns the place of the virtual page where a page is used now.
    fn place_of(&mut self, page: u32, at: Page) -> Result<u32, NoRoom> {
        let Self { decoded: Decoded { virtual_pages, .. }, room, last, others } = self;
        let next = virtual_pages.len();
        let new = |room: &mut Room, virtual_pages: &mut Vec<Page>| {
            if next == MOST_PLACES {
                return Err(NoRoom);
            }
            room.push(virtual_pages, at)?;
            Ok(next as u32)
        };
        if page as usize == last.len() {
            room.take(BYTES_A_PAGE)?;
            let place = new(room, virtual_pages)?;
            room.push(last, place)?;
            return Ok(place);
        }
        let place = &mut last[page as usize];
        if virtual_pages[*place as usize] != at {
            *place = match others.get(&at) {
                Some(known) => *known,
                None => {
                    room.take(BYTES_AN_ADDRESS)?;
                    others.try_reserve(1)?;
                    let place = new(room, virtual_pages)?;
                    others.insert(at, place);
                    place
                }
            };
        }
        Ok(*place)
    }
}

/// Adds the end of an epoch. An end that follows another one is counted with it.
fn end_epoch(steps: &mut Vec<u32>, room: &mut Room) -> Result<(), NoRoom> {
    match steps[..] {
        [.., EPOCH_ENDS, ref mut nr] if *nr < CHANGE - 1 => *nr += 1,
        [.., EPOCH_END] => {
            *steps.last_mut().expect("it ends so") = EPOCH_ENDS;
            room.push(steps, 2)?;
        }
        _ => room.push(steps, EPOCH_END)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::hash::{DefaultHasher, Hash, Hasher};

    /// Hashes a step; several ends of epochs are hashed one by one.
    fn hash(step: PageStep<'_>, into: &mut DefaultHasher) {
        match step {
            PageStep::EpochEnds(nr) => (0..nr).for_each(|_| PageStep::EpochEnds(1).hash(into)),
            other => other.hash(into),
        }
    }

    #[test]
    fn it_plays_what_the_trace_says() {
        let sample = TraceSource::sample("cc1plus-list").expect("a sample");
        let (mut read, mut told, mut played) =
            (DefaultHasher::new(), DefaultHasher::new(), DefaultHasher::new());
        let mut reader = sample.open().expect("a trace");
        let done = page_steps::<_, StringError>(&mut reader, |step, _| {
            hash(step, &mut read);
            Ok(())
        });
        done.expect("the sample is a trace");
        let decoded = Decoded::of_trace::<StringError>(&sample, None, |step, _| {
            hash(step, &mut told);
            Ok(())
        });
        let decoded = decoded.expect("the sample is a trace");
        let done: Result<(), StringError> = decoded.play(|step| {
            hash(step, &mut played);
            Ok(())
        });
        done.expect("nothing fails");
        assert_eq!([told.finish(), played.finish()], [read.finish(); 2]);
        let string = ReferenceString::of_trace(&sample, None).expect("a trace");
        assert_eq!(*decoded.string(), string);
    }

    /// Empty epochs, several in a row, and accesses to some pages.
    fn events() -> impl Strategy<Value = Vec<(u8, bool, u8)>> {
        prop::collection::vec((0..6_u8, any::<bool>(), 0..5_u8), 0..200)
    }

    proptest! {
        #[test]
        fn ends_of_epochs_are_played_where_they_stand(events in events()) {
            let mut expected = Vec::new();
            let (mut room, mut string) = (Room::new(None), ReferenceString::default());
            let mut decoding = Decoding {
                decoded: Decoded {
                    has_mappings: false,
                    string: ReferenceString::default(),
                    steps: Vec::new(),
                    virtual_pages: Vec::new(),
                    changes: Vec::new(),
                    files: Vec::new(),
                },
                room,
                last: Vec::new(),
                others: HashMap::new(),
            };
            let mut ids = HashMap::new();
            for (number, store, ends) in events {
                let at = Page::new(number.into()).expect("a page");
                let next = ids.len() as u32;
                let page = *ids.entry(at).or_insert(next);
                string.push(page, &mut room).expect("there is room");
                decoding.note(PageStep::Access { page, at, store }).expect("there is room");
                expected.push((1, at.number() * 2 + u64::from(store)));
                for _ in 0..ends {
                    decoding.note(PageStep::EpochEnds(1)).expect("there is room");
                }
                if ends > 0 {
                    expected.push((0, ends.into()));
                }
            }
            let decoded = decoding.decoded;
            prop_assert_eq!(&decoded.string, &string);
            let mut played = Vec::new();
            let done = decoded.play(|step| {
                played.push(match step {
                    PageStep::Access { at, store, .. } => (1, at.number() * 2 + u64::from(store)),
                    PageStep::EpochEnds(nr) => (0, nr.into()),
                    PageStep::Change(_) => return Err(()),
                });
                Ok(())
            });
            prop_assert_eq!(done, Ok(()));
            prop_assert_eq!(played, expected);
        }
    }

    #[test]
    fn a_trace_that_does_not_fit_is_refused() {
        let sample = TraceSource::default();
        for available in [0, 1 << 20] {
            let read = Decoded::of_trace::<StringError>(&sample, Some(available), |_, _| Ok(()));
            assert!(matches!(read, Err(StringError::TooLong { .. })), "{available} bytes");
        }
    }
}

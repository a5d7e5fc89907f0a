//! A trace decoded once, to be played any number of times.

use crate::reference_string::{PageStep, ReferenceString, StringError, page_steps};
use crate::source::TraceSource;
use crate::{Areas, Event, Page};
use std::collections::HashMap;

/// Bytes of memory that a virtual page takes, about, while the trace is read.
const BYTES_A_VIRTUAL_PAGE: usize = 64;

/// What a trace says, in memory: eight bytes an access.
#[derive(Debug)]
pub struct Decoded {
    has_mappings: bool,
    string: ReferenceString,
    /// For each access, twice the place of its virtual page in `virtual_pages`, and one more for a
    /// store.
    accesses: Vec<u32>,
    virtual_pages: Vec<Page>,
    /// Events that are no accesses, each with the accesses before it.
    changes: Vec<(usize, Event)>,
}

impl Decoded {
    /// Reads a trace to its end, and tells `each` step with the areas mapped after it; `available`
    /// bytes of memory are there for it and what is made of it, if that is known.
    ///
    /// # Errors
    /// [`StringError`], or the first of `each`.
    pub fn of_trace<E: From<StringError>>(
        source: &TraceSource,
        available: Option<u64>,
        mut each: impl FnMut(PageStep<'_>, &Areas) -> Result<(), E>,
    ) -> Result<Self, E> {
        let reader = source.open().map_err(StringError::from)?;
        let mut decoded = Self {
            has_mappings: reader.header().mappings,
            string: ReferenceString::default(),
            accesses: Vec::new(),
            virtual_pages: Vec::new(),
            changes: Vec::new(),
        };
        // For each page of the string, the place of the virtual page where it was used last.
        let mut last = Vec::new();
        let mut places = HashMap::new();
        page_steps(reader, |step, areas| {
            match step {
                PageStep::Access { page, at, store } => {
                    let room = available.map(|all| all.saturating_sub(decoded.bytes_besides()));
                    decoded.string.push(page, room)?;
                    if page as usize == last.len() {
                        last.push(u32::MAX);
                    }
                    let place = &mut last[page as usize];
                    if decoded.virtual_pages.get(*place as usize) != Some(&at) {
                        let next = decoded.virtual_pages.len() as u32;
                        *place = *places.entry(at).or_insert(next);
                        if *place == next {
                            decoded.virtual_pages.push(at);
                        }
                    }
                    decoded.accesses.push(*place << 1 | u32::from(store));
                }
                PageStep::Change(event) => {
                    let most = decoded.accesses.len();
                    decoded.changes.push((most, *event));
                    if available.is_some_and(|all| decoded.bytes_besides() > all) {
                        return Err(StringError::TooLong { most: most as u64 }.into());
                    }
                }
            }
            each(step, areas)
        })?;
        Ok(decoded)
    }

    /// What it takes besides accesses and pages of the string.
    fn bytes_besides(&self) -> u64 {
        let of_changes = self.changes.len() * size_of::<(usize, Event)>();
        (of_changes + self.virtual_pages.len() * BYTES_A_VIRTUAL_PAGE) as u64
    }

    /// Whether it tells the program's mappings; otherwise all its pages are anonymous.
    pub fn has_mappings(&self) -> bool {
        self.has_mappings
    }

    /// Its page reference string.
    pub fn string(&self) -> &ReferenceString {
        &self.string
    }

    /// Tells `each` step, from the first to the last.
    ///
    /// # Errors
    /// The first of `each`.
    pub fn play<E>(&self, mut each: impl FnMut(PageStep<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut played = 0;
        let end = (self.accesses.len(), None);
        let changes = self.changes.iter().map(|(before, event)| (*before, Some(event)));
        for (before, event) in changes.chain([end]) {
            let pages = &self.string.pages()[played..before];
            for (page, access) in pages.iter().zip(&self.accesses[played..before]) {
                let at = self.virtual_pages[(access >> 1) as usize];
                each(PageStep::Access { page: *page, at, store: access & 1 == 1 })?;
            }
            played = before;
            if let Some(event) = event {
                each(PageStep::Change(event))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hash, Hasher};

    #[test]
    fn it_plays_what_the_trace_says() {
        let sample = TraceSource::sample("cc1plus-list").expect("a sample");
        let (mut read, mut told, mut played) =
            (DefaultHasher::new(), DefaultHasher::new(), DefaultHasher::new());
        let reader = sample.open().expect("a trace");
        let done = page_steps::<_, StringError>(reader, |step, _| {
            step.hash(&mut read);
            Ok(())
        });
        done.expect("the sample is a trace");
        let decoded = Decoded::of_trace::<StringError>(&sample, None, |step, _| {
            step.hash(&mut told);
            Ok(())
        });
        let decoded = decoded.expect("the sample is a trace");
        let done: Result<(), StringError> = decoded.play(|step| {
            step.hash(&mut played);
            Ok(())
        });
        done.expect("nothing fails");
        assert_eq!([told.finish(), played.finish()], [read.finish(); 2]);
        let string = ReferenceString::of_trace(&sample, None).expect("a trace");
        assert_eq!(*decoded.string(), string);
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

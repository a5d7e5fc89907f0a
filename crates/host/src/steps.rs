//! The effects of a trace on young bits, epoch by epoch: aging sees nothing else of it.

use crate::residency::ReplayError;
use pageout_reclaim::MappingKind;
use pageout_trace::recent::Recent;
use pageout_trace::reference_string::TooLong;
use pageout_trace::room::{NoRoom, Room};
use pageout_trace::source::TraceSource;
use pageout_trace::{Areas, Event, Kind, Page, PageRange};

/// A step. Protection changes are left out: only young bits are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The first access to a page, or the first store to it, since the last step of another kind.
    /// In a program with many pages it is occasionally a later one.
    Access { page: Page, store: bool, kind: MappingKind },
    /// Pages lose their content. If they are unmapped, others may be mapped there.
    Drop { pages: PageRange, unmapped: bool },
    /// The ends of that many epochs, of which all but the first are empty.
    EpochEnds(u32),
}

/// The steps of a trace, in memory, since they are replayed many times.
#[derive(Debug)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    /// Reads a trace; `available` is the memory for its steps in bytes, if that is known.
    ///
    /// # Errors
    /// [`ReplayError::Trace`] with the reader's error; [`ReplayError::TooLong`].
    pub(crate) fn of_trace(
        source: &TraceSource,
        available: Option<u64>,
    ) -> Result<Self, ReplayError> {
        let (mut room, mut steps, mut seen) = (Room::new(available), Vec::new(), Recent::default());
        let mut reader = source.open()?;
        while let Some(event) = reader.next() {
            let step = match event? {
                Event::Access { page, store, .. } => {
                    if !seen.may_be_first(page, store) {
                        continue;
                    }
                    Step::Access { page, store, kind: kind_of(page, reader.areas()) }
                }
                Event::Unmap(pages) | Event::Remap { pages, .. } => {
                    Step::Drop { pages, unmapped: true }
                }
                Event::Discard(pages) => Step::Drop { pages, unmapped: false },
                Event::EpochEnd { .. } => Step::EpochEnds(1),
                Event::Map(_) | Event::Protect { .. } => continue,
            };
            if !matches!(step, Step::Access { .. }) {
                seen.change();
            }
            match (steps.last_mut(), step) {
                (Some(Step::EpochEnds(nr)), Step::EpochEnds(more)) if *nr < u32::MAX => *nr += more,
                _ => room.push(&mut steps, step).map_err(|NoRoom| {
                    let available = available.unwrap_or(u64::MAX);
                    TooLong { available, accesses: steps.len() }
                })?,
            }
        }
        Ok(Self(steps))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Step> {
        self.0.iter().copied()
    }
}

fn kind_of(page: Page, areas: &Areas) -> MappingKind {
    match areas.get(page).map(|area| area.kind) {
        Some(Kind::File { .. }) => MappingKind::File,
        _ => MappingKind::Anon,
    }
}

//! What a trace does to young bits, epoch by epoch: all that aging sees of it.

use crate::residency::ReplayError;
use pageout_reclaim::MappingKind;
use pageout_trace::recent::Recent;
use pageout_trace::reference_string::TooLong;
use pageout_trace::room::{NoRoom, Room};
use pageout_trace::source::TraceSource;
use pageout_trace::{Areas, Event, Kind, Page, PageRange};

/// One step. Protection changes are none: only young bits are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The first access to a page, or the first that stores to it, since the last of the others;
    /// of a program with many pages, now and then one that is not.
    Access { page: Page, store: bool, kind: MappingKind },
    /// Pages lose what they hold. If they are unmapped, others may be mapped there.
    Drop { pages: PageRange, unmapped: bool },
    /// So many epochs end, of which all but the first are empty.
    EpochEnds(u32),
}

/// The steps of a trace, in memory, since they are replayed again and again.
#[derive(Debug)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    /// Reads a trace; `available` bytes of memory are there for its steps, if that is known.
    ///
    /// # Errors
    /// [`ReplayError::Trace`] as the reader found it; [`ReplayError::TooLong`].
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

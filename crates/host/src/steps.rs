//! What a trace does to young bits, epoch by epoch: all that aging sees of it.

use crate::residency::ReplayError;
use pageout_reclaim::MappingKind;
use pageout_trace::epoch_map::EpochMap;
use pageout_trace::source::TraceSource;
use pageout_trace::{Areas, Event, Kind, Page, PageRange};

/// One step. Protection changes are none: only young bits are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The first access to a page, or the first that stores to it, since the last of the others.
    Access { page: Page, store: bool, kind: MappingKind },
    /// Pages lose what they hold. If they are unmapped, others may be mapped there.
    Drop { pages: PageRange, unmapped: bool },
    /// An epoch ends.
    EpochEnd,
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
        // A vector that grows is there twice.
        let bytes = 2 * size_of::<Step>() as u64;
        let most = available.map_or(u64::MAX, |available| available / bytes);
        let (mut steps, mut seen) = (Vec::new(), EpochMap::default());
        let mut reader = source.open()?;
        while let Some(event) = reader.next() {
            let step = match event? {
                Event::Access { page, store, .. } => {
                    if !seen.is_first(page, store) {
                        continue;
                    }
                    Step::Access { page, store, kind: kind_of(page, reader.areas()) }
                }
                Event::Unmap(pages) | Event::Remap { pages, .. } => {
                    Step::Drop { pages, unmapped: true }
                }
                Event::Discard(pages) => Step::Drop { pages, unmapped: false },
                Event::EpochEnd { .. } => Step::EpochEnd,
                Event::Map(_) | Event::Protect { .. } => continue,
            };
            if !matches!(step, Step::Access { .. }) {
                seen.change();
            }
            if steps.len() as u64 >= most {
                return Err(ReplayError::TooLong { most });
            }
            steps.push(step);
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

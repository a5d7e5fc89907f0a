//! The folios of a traced program's pages: they are determined by only the trace, and the same for
//! every variant.

use crate::generations::Refused;
use crate::steps::{Step, Steps};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::this_machine::{available_memory, memory_limit_note};
use pageout_paging::{Format, Level, Pfn};
use pageout_reclaim::Limits;
use pageout_trace::reference_string::{PageStep, StringError, TooLong};
use pageout_trace::source::TraceSource;
use pageout_trace::{Event, Header, PAGE_LIMIT, Page, PageRange, TraceError};
use std::collections::{BTreeMap, BTreeSet};

/// Pages of the canonical 48-bit address space of 4K pages.
const CANONICAL_PAGES: u64 = 1 << 36;

/// The reason why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace's page size differs from the entry format's.
    #[error("the trace has pages of {found} bytes; the entry formats here have pages of 4096")]
    PageSize {
        /// The bytes of a page of the trace.
        found: u64,
    },
    /// A page outside the address space that four levels of tables reach.
    #[error("page {page:#x} of the trace is not at a canonical 48-bit address")]
    NotCanonical {
        /// The page number.
        page: u64,
    },
    /// No page to age.
    #[error("no page is mapped at the end of an epoch: nothing to age")]
    Empty,
    /// More memory than is available.
    #[error(
        "a replay needs {} MiB of memory, and {} MiB are available{}; a lower limit, a smaller \
         order or fewer variants need less",
        needed.div_ceil(1 << 20), available >> 20, memory_limit_note()
    )]
    TooLarge {
        /// The bytes that the replay needs.
        needed: u64,
        /// Bytes that are available.
        available: u64,
    },
    /// No page can be reclaimed to make room below the limit.
    #[error(
        "the limit of {limit} pages leaves no room for page {page:#x}: what is there cannot be \
         reclaimed, such as pages stored to through shared mappings of files, which only \
         flushers write out and there are none here"
    )]
    OutOfMemory {
        /// The number of pages that the program may use.
        limit: u64,
        /// The page number.
        page: u64,
    },
    /// A mapping begins beyond the end of any possible file.
    #[error("a mapping begins at page {page:#x} of a file: too far into it")]
    FileOffset {
        /// The page of the file.
        page: u64,
    },
    /// No access, so no miss ratio.
    #[error("the trace has no access: there is no miss ratio")]
    NoAccess,
    /// More memory than is available for the state of its accesses.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// A refused command, written to `lru_gen` at the end.
    #[error(transparent)]
    LruGen(#[from] Refused),
}

impl ReplayError {
    /// Checks that `needed` bytes of memory are available.
    pub(crate) fn check_memory(needed: u64, available: Option<u64>) -> Result<(), Self> {
        match available {
            Some(available) if needed > available => Err(Self::TooLarge { needed, available }),
            _ => Ok(()),
        }
    }

    /// Returns the error for `needed` bytes that could not be allocated.
    pub(crate) fn no_room(needed: u64) -> Self {
        let available = available_memory().unwrap_or(u64::MAX);
        Self::TooLarge { needed, available }
    }
}

impl From<StringError> for ReplayError {
    fn from(error: StringError) -> Self {
        match error {
            StringError::Trace(error) => Self::Trace(error),
            StringError::TooLong(error) => Self::TooLong(error),
        }
    }
}

/// Page numbers at which the program ever changed its mappings. No folio straddles one, so that a
/// change removes only whole folios.
#[derive(Clone, Debug, Default)]
pub struct Cuts(Vec<u64>);

/// Cuts, while a trace is read.
#[derive(Debug)]
pub(crate) struct CutsSoFar(BTreeSet<u64>);

impl CutsSoFar {
    /// Returns the cuts of a trace with that header, before its first step.
    pub(crate) fn new(header: &Header) -> Result<Self, ReplayError> {
        let found = 1 << header.page_shift;
        if found != 4096 {
            return Err(ReplayError::PageSize { found });
        }
        Ok(Self(BTreeSet::from([0, CANONICAL_PAGES])))
    }

    /// Notes a step.
    pub(crate) fn note_step(&mut self, step: PageStep<'_>) -> Result<(), ReplayError> {
        match step {
            PageStep::Access { at, .. } => check_canonical(at.number()),
            PageStep::EpochEnds(_) => Ok(()),
            PageStep::Change(event) => self.note(event),
        }
    }

    fn note(&mut self, event: &Event) -> Result<(), ReplayError> {
        let (range, moved) = match *event {
            Event::Map(mapping) => (mapping.pages, None),
            Event::Unmap(pages) | Event::Discard(pages) => (pages, None),
            Event::Protect { pages, .. } => (pages, None),
            Event::Remap { pages, to } => (pages, pages.moved_to(to)),
            Event::Access { page, .. } => return check_canonical(page.number()),
            Event::EpochEnd { .. } => return Ok(()),
        };
        for range in [Some(range), moved].into_iter().flatten() {
            check_canonical_range(range)?;
            let (start, end) = canonical_range(range);
            self.0.extend([start, end]);
        }
        Ok(())
    }

    pub(crate) fn all(self) -> Cuts {
        Cuts(self.0.into_iter().collect())
    }
}

impl Cuts {
    /// Reads a trace for its mapping changes.
    ///
    /// # Errors
    /// [`ReplayError`], also for an access that no replay could place.
    pub fn of_trace(source: &TraceSource) -> Result<Self, ReplayError> {
        let reader = source.open()?;
        let mut cuts = CutsSoFar::new(reader.header())?;
        for event in reader {
            cuts.note(&event?)?;
        }
        Ok(cuts.all())
    }

    /// Returns the number of cuts.
    pub(crate) fn nr(&self) -> usize {
        self.0.len()
    }

    /// Returns the pages around `page` that the program always maps alike.
    pub fn interval(&self, page: u64) -> (u64, u64) {
        let after = self.0.partition_point(|cut| *cut <= page);
        (self.0[after - 1], self.0[after])
    }

    /// Returns the first page and the order of the largest aligned folio of at most `order` that
    /// holds `page` and straddles no cut.
    fn window(&self, page: u64, order: u8) -> (u64, u8) {
        let (start, end) = self.interval(page);
        let at = |order: u8| page >> order << order;
        let fits = |order: &u8| at(*order) >= start && at(*order) + (1 << *order) <= end;
        let largest = (0..=order).rev().find(fits).unwrap_or(0);
        (at(largest), largest)
    }
}

/// Returns a page number without its sign extension: one-to-one on canonical addresses.
fn canonical(page: u64) -> u64 {
    page % CANONICAL_PAGES
}

fn check_canonical(page: u64) -> Result<(), ReplayError> {
    let half = CANONICAL_PAGES / 2;
    let canonical = page < half || page >= PAGE_LIMIT - half;
    if canonical { Ok(()) } else { Err(ReplayError::NotCanonical { page }) }
}

/// Returns an error for a range that leaves the canonical addresses, or extends from one half into
/// the other.
fn check_canonical_range(range: PageRange) -> Result<(), ReplayError> {
    let (first, last) = (range.start(), range.end() - 1);
    check_canonical(first)?;
    check_canonical(last)?;
    let half = CANONICAL_PAGES / 2;
    let one_half = (first < half) == (last < half);
    if one_half { Ok(()) } else { Err(ReplayError::NotCanonical { page: half }) }
}

/// Returns the canonical numbers of a checked range: its first page's, and one past its last
/// page's.
pub fn canonical_range(pages: PageRange) -> (u64, u64) {
    (canonical(pages.start()), canonical(pages.end() - 1) + 1)
}

/// Returns the canonical number of a traced page.
pub fn page_number(page: Page) -> u64 {
    canonical(page.number())
}

/// A folio of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The first page.
    pub page: u64,
    /// Order.
    pub order: u8,
    /// The first frame.
    pub pfn: Pfn,
}

/// The folios resident now, in the order of their faults.
#[derive(Debug)]
pub struct Residency<'a> {
    cuts: &'a Cuts,
    order: u8,
    by_page: BTreeMap<u64, Placed>,
    free: Vec<Vec<Pfn>>,
    next_frame: u64,
}

impl<'a> Residency<'a> {
    /// Returns the state without any folio; folios will have at most `order`.
    pub fn new(cuts: &'a Cuts, order: u8) -> Self {
        let free = vec![Vec::new(); usize::from(order) + 1];
        Self { cuts, order, by_page: BTreeMap::new(), free, next_frame: 0 }
    }

    /// Places the folio that holds `page`, unless it is resident.
    pub fn fault(&mut self, page: u64) -> Option<Placed> {
        if self.holding(page).is_some() {
            return None;
        }
        let (first, order) = self.cuts.window(page, self.order);
        let nr = 1 << order;
        let pfn = self.free[usize::from(order)].pop().unwrap_or_else(|| {
            let first = self.next_frame.next_multiple_of(nr);
            self.next_frame = first + nr;
            Pfn::new(first)
        });
        let placed = Placed { page: first, order, pfn };
        self.by_page.insert(first, placed);
        Some(placed)
    }

    /// Removes the folios of `pages`, which begin and end at cuts.
    pub fn drop_range(&mut self, pages: PageRange) -> Vec<Placed> {
        let (start, end) = canonical_range(pages);
        let gone: Vec<_> = self.by_page.range(start..end).map(|(_, placed)| *placed).collect();
        for placed in &gone {
            self.by_page.remove(&placed.page);
            self.free[usize::from(placed.order)].push(placed.pfn);
        }
        gone
    }

    fn holding(&self, page: u64) -> Option<&Placed> {
        let (_, placed) = self.by_page.range(..=page).next_back()?;
        (page < placed.page + (1 << placed.order)).then_some(placed)
    }
}

/// Determines the epoch ends at which folios are aged: every `every`-th, and the end of the trace.
#[derive(Clone, Copy, Debug)]
pub struct EpochEnds {
    every: u32,
    since: u32,
}

impl EpochEnds {
    /// Ages folios at every `every`-th end.
    pub const fn new(every: u32) -> Self {
        Self { every, since: 0 }
    }

    /// Counts an epoch's end; returns true if folios are aged at it.
    pub const fn is_due(&mut self) -> bool {
        self.since += 1;
        if self.since == self.every {
            self.since = 0;
        }
        self.since == 0
    }

    /// Returns true at the end of the trace if epochs ended since folios were aged.
    pub const fn is_left_over(&self) -> bool {
        self.since > 0
    }
}

/// The memory that a replay of a trace needs at its peak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// The number of page frames.
    pub frames: usize,
    /// The maximum number of folios at once.
    pub folios: usize,
    /// The number of intervals between cuts that are ever touched.
    pub intervals: usize,
    /// The number of page tables.
    pub tables: usize,
    /// The number of folios aged, over all agings.
    pub folios_aged: usize,
}

impl Needs {
    /// Computes the needs by playing a trace's residency, in folios of at most `order`, aged
    /// whenever `every` epochs have ended. `available` is the memory for it in bytes, if that is
    /// known.
    ///
    /// # Errors
    /// [`ReplayError::TooLarge`].
    pub(crate) fn of_steps<F: Format>(
        steps: &Steps,
        cuts: &Cuts,
        order: u8,
        every: u32,
        available: Option<u64>,
    ) -> Result<Self, ReplayError> {
        let mut ends = EpochEnds::new(every);
        let mut needs = Self { frames: 0, folios: 0, intervals: 0, tables: 1, folios_aged: 0 };
        let mut residency = Residency::new(cuts, order);
        let mut intervals = BTreeSet::new();
        let mut tables = BTreeSet::new();
        for step in steps.iter() {
            match step {
                Step::Access { page, .. } => {
                    let page = page_number(page);
                    let Some(placed) = residency.fault(page) else {
                        continue;
                    };
                    intervals.insert(cuts.interval(page).0);
                    for k in [0, (1 << placed.order) - 1] {
                        for level in [Level::Pmd, Level::Pud, Level::Pgd] {
                            let shift = F::shift(level) - F::PAGE_SHIFT;
                            tables.insert((level as u32, (placed.page + k) >> shift));
                        }
                    }
                    needs.frames = residency.next_frame as usize;
                    needs.folios = needs.folios.max(residency.by_page.len());
                    needs.intervals = intervals.len();
                    needs.tables = tables.len() + 1;
                    needs.check::<F>(available)?;
                }
                Step::Drop { pages, .. } => {
                    residency.drop_range(pages);
                }
                Step::EpochEnds(nr) => {
                    let agings = (0..nr).filter(|_| ends.is_due()).count();
                    needs.folios_aged += agings * residency.by_page.len();
                }
            }
        }
        if ends.is_left_over() {
            needs.folios_aged += residency.by_page.len();
        }
        Ok(needs)
    }

    /// Returns the limits that the engine must have room for.
    pub fn limits(&self) -> Limits {
        Limits {
            frames: self.frames,
            folios: self.folios,
            vmas: self.intervals,
            mms: 1,
            mappings: self.intervals,
            ..Limits::NOTHING
        }
    }

    fn check<F: Format>(&self, available: Option<u64>) -> Result<(), ReplayError> {
        // The bytes of a folio's nodes in the maps of the replay and of the residency.
        const NODES: usize = 128;
        let footprint = Footprint::of::<F>(&self.limits(), self.tables);
        let bytes = footprint.bytes() + (self.folios * NODES) as u64;
        ReplayError::check_memory(bytes, available)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_paging::pte::X86_64;

    #[test]
    fn a_replay_that_would_not_fit_is_refused() {
        let sample = TraceSource::default();
        let cuts = Cuts::of_trace(&sample).expect("the sample is a trace");
        let steps = Steps::of_trace(&sample, None).expect("the sample is a trace");
        let needs = |available| Needs::of_steps::<X86_64>(&steps, &cuts, 9, 10, available);
        let known = needs(None).expect("nothing is refused where nothing is known");
        assert_eq!(needs(Some(1 << 30)).expect("1 GiB is plenty"), known);
        let least = (known.tables * 4096 + known.frames * 4) as u64;
        let error = needs(Some(least)).expect_err("there is more than tables and frames");
        assert!(matches!(error, ReplayError::TooLarge { available, .. } if available == least));
        let error = Steps::of_trace(&sample, Some(1 << 20)).expect_err("there are more steps");
        assert!(matches!(error, ReplayError::TooLong { .. }), "{error}");
    }
}

//! The sizes that a program under a memory limit needs for the engine's tables, computed from its
//! trace.

use super::pages::Pages;
use crate::residency::{Cuts, canonical_range, page_number};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::Arch;
use pageout_paging::{Level, Order};
use pageout_reclaim::Limits;
use pageout_trace::recent::Recent;
use pageout_trace::reference_string::PageStep;
use pageout_trace::{Areas, Event, FileId, Kind, Mapping, Page, PageRange};
use std::collections::{BTreeMap, BTreeSet};

/// Frames, folios and slots beyond the limit: for folios that are charged only after others were
/// reclaimed for them, and for those that a round of reclaim has in hand.
const IN_FLIGHT: usize = 256;

/// The number of places for each possible shadow. A shadow may be in only a few places; with this
/// many, hardly any shadow replaces another.
const PLACES_A_SHADOW: usize = 8;

/// Bytes of memory for a page while the program runs, in the records of its mistakes and of its
/// history.
const BYTES_A_PAGE: usize = 32;

/// Bytes for a frame in the records of mistakes.
const BYTES_A_FRAME: usize = 4;

/// Folios, in blocks of the largest order, and tables that a trace ever uses.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The blocks of virtual pages that hold private memory, by number.
    own: BTreeSet<u64>,
    /// The blocks of each file's pages.
    files: BTreeMap<FileId, BTreeSet<u64>>,
    /// The tables, by level and number.
    tables: BTreeSet<(u32, u64)>,
    mapping_changes: usize,
    nr_files: usize,
    nr_cuts: usize,
    /// The pages of the reference string.
    pages: Pages,
}

/// Needs, while a trace is read.
#[derive(Debug, Default)]
pub(super) struct NeedsSoFar {
    needs: Needs,
    seen: Recent<bool>,
}

impl NeedsSoFar {
    /// Notes a step, whose addresses are canonical, with the areas mapped after it; folios have at
    /// most `order`. Returns true if more page tables are needed.
    pub(super) fn note<F: Arch>(&mut self, step: PageStep<'_>, areas: &Areas, order: u8) -> bool {
        let before = self.needs.tables.len();
        match step {
            PageStep::Access { page, at, .. } => self.access::<F>(page, at, areas, order),
            PageStep::EpochEnds(_) => {}
            PageStep::Change(event) => {
                self.seen.change();
                self.needs.mapping_changes += 1;
                match *event {
                    Event::Remap { pages, to } => self.needs.move_to::<F>(pages, to, order),
                    Event::Map(Mapping { kind: Kind::File { file, .. }, .. }) => {
                        self.needs.nr_files = self.needs.nr_files.max(file.index() + 1);
                    }
                    _ => {}
                }
            }
        }
        self.needs.tables.len() > before
    }

    fn access<F: Arch>(&mut self, page: u32, at: Page, areas: &Areas, order: u8) {
        let number = page_number(at);
        if page as usize == self.needs.pages.nr() {
            self.needs.pages.push(number, areas.get(at).map(|area| area.kind));
        }
        if !self.seen.may_be_first(at, false) {
            return;
        }
        self.needs.own.insert(number >> order);
        self.needs.add_tables::<F>(number);
        if let Some(area) = areas.get(at)
            && let Kind::File { file, offset } = area.kind
        {
            let page = offset.saturating_add(at.number() - area.pages.start());
            self.needs.files.entry(file).or_default().insert(page >> order);
        }
    }

    /// Returns the bytes of memory of only the page tables.
    pub(super) fn bytes_of_tables<F: Arch>(&self) -> u64 {
        Footprint::of::<F>(&Limits::NOTHING, self.needs.tables()).bytes()
    }

    /// Returns all needs, with the trace's cuts and the paths of its files.
    pub(super) fn all<'p>(self, cuts: &Cuts, paths: impl Iterator<Item = &'p str>) -> Needs {
        let mut needs = Needs { nr_cuts: cuts.nr(), ..self.needs };
        needs.pages.name_files(paths);
        needs
    }
}

impl Needs {
    /// Returns the limits that the engine must have room for if the program may use `limit` pages,
    /// in folios of at most `order`.
    pub(super) fn limits(&self, limit: u64, order: Order) -> Limits {
        let blocks = |blocks: &BTreeSet<u64>| blocks.len();
        let (own, files): (_, usize) = (blocks(&self.own), self.files.values().map(blocks).sum());
        let pages = (own + files) << order.get();
        let resident = pages.min(usize::try_from(limit).unwrap_or(usize::MAX)) + IN_FLIGHT;
        // Free runs of frames are neither split nor merged: each size may have all of them once.
        let sizes = usize::from(order.get()) + 1;
        // Each change adds at most two VMAs, and a move two for each piece.
        let vmas = 1 + 2 * self.mapping_changes + 2 * self.nr_cuts;
        Limits {
            frames: (resident + order.nr_pages()) * sizes,
            folios: resident,
            vmas,
            mms: 1,
            // The files, anonymous memory, and copies of files' pages.
            mappings: self.nr_files + 2,
            memcgs: 1,
            nodes: 1,
            shadows: (files << order.get()) * PLACES_A_SHADOW,
            slots: (own << order.get()) + IN_FLIGHT,
            filters: 4,
        }
    }

    /// Returns the number of different pages that the program uses, distinguished by their backing.
    pub(super) fn nr_pages(&self) -> usize {
        self.pages.nr()
    }

    /// Returns these pages.
    pub(super) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Returns the number of page tables, the root included.
    pub(super) fn tables(&self) -> usize {
        self.tables.len() + 1
    }

    /// Returns the bytes of memory that a run takes if the program may use `limit` pages.
    pub(super) fn bytes<F: Arch>(&self, limit: u64, order: Order) -> u64 {
        let limits = self.limits(limit, order);
        let played = self.nr_pages() * BYTES_A_PAGE + limits.frames * BYTES_A_FRAME;
        Footprint::of::<F>(&limits, self.tables()).bytes() + played as u64
    }

    fn add_tables<F: Arch>(&mut self, page: u64) {
        for level in [Level::Pmd, Level::Pud, Level::Pgd] {
            let shift = F::shift(level) - F::PAGE_SHIFT;
            self.tables.insert((level as u32, page >> shift));
        }
    }

    /// Adds the blocks that private blocks move to, and the tables for them: each may move into two
    /// blocks.
    fn move_to<F: Arch>(&mut self, pages: PageRange, to: u64, order: u8) {
        let Some(target) = pages.moved_to(to) else {
            return;
        };
        let ((start, end), (to, _)) = (canonical_range(pages), canonical_range(target));
        let blocks = start >> order..=(end - 1) >> order;
        let moved: Vec<u64> = self.own.range(blocks).copied().collect();
        for block in moved {
            let first = (block << order).max(start);
            let last = (((block + 1) << order) - 1).min(end - 1);
            for page in [first, last] {
                self.own.insert((page - start + to) >> order);
                self.add_tables::<F>(page - start + to);
            }
        }
    }
}

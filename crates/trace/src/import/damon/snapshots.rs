//! The snapshots of an input, kept until all of it is known to be acceptable.

use super::super::access::{Access, Cause};
use super::super::error::{
    ACCESSES_PER_REGION, ANY_ACCESSES, ImportError, MAX_ACCESSES, MAX_PAGES, MAX_REGIONS, Refusal,
};
use super::super::sink::Sink;
use crate::PAGE_SHIFT;
use crate::reference::Reference;

/// A region as an input states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    /// The first byte's address.
    pub(super) start: u64,
    /// The address after the last byte.
    pub(super) end: u64,
    /// The number of times that the region was found accessed; `None` in the snapshot that damo
    /// adds at the end, which has -1 there.
    pub(super) accesses: Option<u64>,
}

/// Pages of a region that was accessed, by number.
#[derive(Debug, Clone, Copy)]
struct Pages {
    start: u64,
    end: u64,
}

/// The accessed regions of each snapshot.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    accessed: Vec<Pages>,
    /// Regions in `accessed` up to the end of each snapshot.
    ends: Vec<usize>,
    /// The number of pages of all regions in `accessed`.
    pages: u64,
    /// The number of all regions.
    regions: u64,
    /// The present snapshot is the one that damo adds at the end.
    is_closing: bool,
}

/// A place among the snapshots to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    regions: usize,
    snapshots: usize,
    pages: u64,
}

impl Snapshots {
    /// Adds a region to the current snapshot.
    pub(super) fn region(&mut self, region: Region) -> Result<(), Refusal> {
        let Region { start, end, accesses } = region;
        if end < start {
            return Err(Refusal::Backwards { start, end });
        }
        self.is_closing |= accesses.is_none();
        self.regions += 1;
        let (start, end) = (start >> PAGE_SHIFT, end.div_ceil(1 << PAGE_SHIFT));
        if accesses.is_none_or(|accesses| accesses == 0) || start == end {
            return Ok(());
        }
        self.pages = self.pages.saturating_add(end - start);
        if self.pages > MAX_ACCESSES {
            return Err(Refusal::Accesses { pages: self.pages });
        }
        if self.accessed.len() == MAX_REGIONS {
            return Err(Refusal::Regions);
        }
        self.accessed.push(Pages { start, end });
        Ok(())
    }

    /// Ends the current snapshot.
    pub(super) fn end(&mut self, sink: &mut Sink<'_>) -> Result<(), Refusal> {
        if std::mem::take(&mut self.is_closing) {
            sink.pass_over(Cause::ClosingSnapshot);
            return Ok(());
        }
        if self.ends.len() == MAX_REGIONS {
            return Err(Refusal::Regions);
        }
        self.ends.push(self.accessed.len());
        Ok(())
    }

    /// Returns the current end.
    pub(super) fn mark(&self) -> Mark {
        Mark { regions: self.accessed.len(), snapshots: self.ends.len(), pages: self.pages }
    }

    /// Forgets the snapshots after a mark, and returns their number.
    pub(super) fn forget(&mut self, after: Mark) -> usize {
        let forgotten = self.ends.len() - after.snapshots;
        self.accessed.truncate(after.regions);
        self.ends.truncate(after.snapshots);
        self.pages = after.pages;
        forgotten
    }

    /// Checks that a trace of these regions may have that many pages.
    pub(super) fn check_pages(&self) -> Result<(), Refusal> {
        let Self { pages, regions, .. } = *self;
        if pages > ANY_ACCESSES + regions * ACCESSES_PER_REGION {
            return Err(Refusal::Wide { pages, regions });
        }
        let mut regions = self.accessed.clone();
        regions.sort_unstable_by_key(|region| region.start);
        let mut after = 0;
        let new = regions.iter().map(|region| {
            let start = region.start.max(after);
            after = after.max(region.end);
            after.saturating_sub(start)
        });
        let pages = new.sum();
        if pages > MAX_PAGES { Err(Refusal::Pages { pages }) } else { Ok(()) }
    }

    /// Writes each snapshot as an epoch.
    pub(super) fn write(&self, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        let pages = |regions: &[Pages]| -> u64 { regions.iter().map(|r| r.end - r.start).sum() };
        let most = self.each().map(pages).max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        sink.set_epoch(most);
        for regions in self.each() {
            for page in regions.iter().flat_map(|region| region.start..region.end) {
                sink.access(Access::Reference(Reference::at(page << PAGE_SHIFT, false)))?;
            }
            // A full epoch has ended.
            if pages(regions) < most {
                sink.fill_epoch()?;
            }
        }
        Ok(())
    }

    /// Returns the regions accessed in each snapshot.
    fn each(&self) -> impl Iterator<Item = &[Pages]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.accessed[start..*end])
    }
}

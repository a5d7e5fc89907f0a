//! Turns references into the accesses of a trace, epoch by epoch.

use std::io::Write;

use super::areas::Areas;
use super::error::WriteError;
use super::event::{Event, Page};
use super::filter::Filter;
use super::header::Header;
use super::write::TraceWriter;

/// Counts references and writes those accesses that the filter keeps.
#[derive(Debug)]
pub(crate) struct Epochs<W: Write> {
    writer: TraceWriter<W>,
    filter: Filter,
    epoch_references: u64,
    /// The number of references in this epoch so far.
    in_epoch: u64,
    /// The reference of this epoch that made its last access, from 0.
    accessed: u64,
    references: u64,
}

impl<W: Write> Epochs<W> {
    pub(crate) fn new(writer: TraceWriter<W>, header: &Header) -> Self {
        Self {
            writer,
            filter: Filter::new(header.filter),
            epoch_references: header.epoch_references,
            in_epoch: 0,
            accessed: 0,
            references: 0,
        }
    }

    /// Returns the writer, to name files.
    pub(crate) fn writer(&mut self) -> &mut TraceWriter<W> {
        &mut self.writer
    }

    /// Returns the mapped areas after the changes so far.
    pub(crate) fn areas(&self) -> &Areas {
        self.writer.areas()
    }

    /// Returns the number of references so far.
    pub(crate) fn references(&self) -> u64 {
        self.references
    }

    /// Records the access and returns true if the filter drops it.
    pub(crate) fn drops(&mut self, page: Page, store: bool) -> bool {
        self.filter.drops(page, store)
    }

    /// Writes an access of the current reference.
    pub(crate) fn access(&mut self, page: Page, store: bool) -> Result<(), WriteError> {
        let after = self.in_epoch - std::mem::replace(&mut self.accessed, self.in_epoch);
        self.filter.emit(page, store);
        self.writer.write(&Event::Access { page, store, after })
    }

    /// Returns the number of references left in this epoch.
    pub(crate) fn left(&self) -> u64 {
        self.epoch_references - self.in_epoch
    }

    /// Counts references of this epoch whose accesses are recorded, and ends the epoch after the
    /// last.
    pub(crate) fn count(&mut self, references: u64) -> Result<(), WriteError> {
        self.references += references;
        self.in_epoch += references;
        if self.in_epoch == self.epoch_references { self.end_epoch() } else { Ok(()) }
    }

    /// Ends an epoch that has only some of its references, or none, as if the others accessed
    /// nothing.
    pub(crate) fn fill(&mut self) -> Result<(), WriteError> {
        self.references += self.left();
        self.in_epoch = self.epoch_references;
        self.end_epoch()
    }

    /// Writes a mapping event; from then on, the first access to each page is kept again.
    pub(crate) fn change(&mut self, event: &Event) -> Result<(), WriteError> {
        self.filter.clear();
        self.writer.write(event)
    }

    /// Ends a last epoch that is not full, if there is one, and returns the writer.
    pub(crate) fn into_writer(mut self) -> Result<TraceWriter<W>, WriteError> {
        if self.in_epoch > 0 {
            self.end_epoch()?;
        }
        Ok(self.writer)
    }

    fn end_epoch(&mut self) -> Result<(), WriteError> {
        self.filter.clear();
        self.accessed = 0;
        let references = std::mem::take(&mut self.in_epoch);
        self.writer.write(&Event::EpochEnd { references })
    }
}

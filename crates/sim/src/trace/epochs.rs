//! Turns references into epochs: which pages are young and which dirty at the end of each.

use std::collections::BTreeMap;
use std::io::Write;

use super::areas::Areas;
use super::error::WriteError;
use super::event::{Event, Page, PageRange};
use super::header::Header;
use super::write::TraceWriter;

/// How many recently used pages are known without a search; a power of two.
const RECENT: usize = 1024;
/// Stands for no page.
const NONE: u64 = u64::MAX;

/// Collects the young pages of an epoch and writes them when they are due.
#[derive(Debug)]
pub(crate) struct Epochs<W: Write> {
    writer: TraceWriter<W>,
    epoch_references: u64,
    /// References of this epoch so far.
    in_epoch: u64,
    references: u64,
    /// Page number, and whether it was stored to.
    young: BTreeMap<u64, bool>,
    /// Page number and store bit of entries of `young`, by the page number's low bits.
    recent: Vec<u64>,
}

impl<W: Write> Epochs<W> {
    pub(crate) fn new(writer: TraceWriter<W>, header: &Header) -> Self {
        Self {
            writer,
            epoch_references: header.epoch_references,
            in_epoch: 0,
            references: 0,
            young: BTreeMap::new(),
            recent: vec![NONE; RECENT],
        }
    }

    /// For naming files.
    pub(crate) fn writer(&mut self) -> &mut TraceWriter<W> {
        &mut self.writer
    }

    /// The mapped areas as the changes so far leave them.
    pub(crate) fn areas(&self) -> &Areas {
        self.writer.areas()
    }

    /// References so far.
    pub(crate) fn references(&self) -> u64 {
        self.references
    }

    /// Whether an access would change nothing: it is known of this page in this epoch.
    pub(crate) fn knows(&self, page: Page, store: bool) -> bool {
        let recent = self.recent[slot(page)];
        if recent >> 1 == page.number() && recent & 1 >= u64::from(store) {
            return true;
        }
        self.young.get(&page.number()).is_some_and(|stored| *stored >= store)
    }

    /// Takes note of an access.
    pub(crate) fn access(&mut self, page: Page, store: bool) {
        let stored = self.young.entry(page.number()).or_default();
        *stored |= store;
        self.recent[slot(page)] = page.number() << 1 | u64::from(*stored);
    }

    /// Counts a reference whose accesses are noted, and ends the epoch if it is the last.
    pub(crate) fn count(&mut self) -> Result<(), WriteError> {
        self.references += 1;
        self.in_epoch += 1;
        if self.in_epoch == self.epoch_references { self.end_epoch() } else { Ok(()) }
    }

    /// Writes a mapping event, after the accesses to the pages it changes.
    pub(crate) fn change(&mut self, event: &Event) -> Result<(), WriteError> {
        match *event {
            Event::Unmap(pages)
            | Event::Protect { pages, .. }
            | Event::Remap { pages, .. }
            | Event::Discard(pages) => self.write_young(pages)?,
            Event::Map(_) | Event::Access { .. } | Event::EpochEnd { .. } => {}
        }
        self.writer.write(event)
    }

    /// Ends a last epoch that is not full, if there is one, and gives the writer to finish.
    pub(crate) fn into_writer(mut self) -> Result<TraceWriter<W>, WriteError> {
        if self.in_epoch > 0 {
            self.end_epoch()?;
        }
        Ok(self.writer)
    }

    fn end_epoch(&mut self) -> Result<(), WriteError> {
        for (number, store) in std::mem::take(&mut self.young) {
            self.write_access(number, store)?;
        }
        self.recent.fill(NONE);
        let references = std::mem::take(&mut self.in_epoch);
        self.writer.write(&Event::EpochEnd { references })
    }

    fn write_young(&mut self, pages: PageRange) -> Result<(), WriteError> {
        let range = pages.start()..pages.end();
        let due: Vec<(u64, bool)> = self.young.range(range).map(|(n, s)| (*n, *s)).collect();
        for (number, store) in due {
            self.young.remove(&number);
            self.write_access(number, store)?;
            if let Some(page) = Page::new(number) {
                self.recent[slot(page)] = NONE;
            }
        }
        Ok(())
    }

    fn write_access(&mut self, number: u64, store: bool) -> Result<(), WriteError> {
        let Some(page) = Page::new(number) else {
            return Ok(());
        };
        self.writer.write(&Event::Access { page, store })
    }
}

fn slot(page: Page) -> usize {
    // Truncation keeps the low bits, which are those wanted.
    page.number() as usize & (RECENT - 1)
}

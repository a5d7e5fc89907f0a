//! What makes a sequence of events a trace. Writer and reader hold it to the same rules, so that
//! what is written can be read.

use super::areas::Areas;
use super::error::Fault;
use super::event::{Event, Page, PageRange};
use super::header::{Ending, Header, MAX_EPOCH_REFERENCES, Totals};
use super::wire::{MAX_ARGUMENTS, MAX_STRING, MAX_STRINGS};

/// Checks events one by one and counts them.
#[derive(Debug)]
pub(crate) struct Rules {
    mappings: bool,
    epoch_references: u64,
    areas: Areas,
    /// The area of the last access: most accesses stay in it.
    last_area: Option<PageRange>,
    epoch_accesses: u64,
    after_short_epoch: bool,
    string_bytes: u64,
    references: u64,
    epochs: u64,
    accesses: u64,
}

impl Rules {
    /// Checks the header first.
    pub(crate) fn new(header: &Header) -> Result<Self, Fault> {
        if !(12..=16).contains(&header.page_shift) {
            return Err(Fault::PageShift(header.page_shift));
        }
        if !(1..=MAX_EPOCH_REFERENCES).contains(&header.epoch_references) {
            return Err(Fault::EpochLength(header.epoch_references));
        }
        let arguments = header.command.len() as u64;
        if arguments > MAX_ARGUMENTS {
            return Err(Fault::Arguments(arguments));
        }
        let mut rules = Self {
            mappings: header.mappings,
            epoch_references: header.epoch_references,
            areas: Areas::default(),
            last_area: None,
            epoch_accesses: 0,
            after_short_epoch: false,
            string_bytes: 0,
            references: 0,
            epochs: 0,
            accesses: 0,
        };
        let strings = header.command.iter().chain([&header.architecture, &header.tool]);
        for string in strings {
            rules.string(string)?;
        }
        Ok(rules)
    }

    /// Counts a string against the trace's allowance.
    pub(crate) fn string(&mut self, string: &str) -> Result<(), Fault> {
        let length = string.len() as u64;
        if length > MAX_STRING {
            return Err(Fault::LongString(length));
        }
        if self.string_bytes + length > MAX_STRINGS {
            return Err(Fault::Strings);
        }
        self.string_bytes += length;
        Ok(())
    }

    /// Checks one event; on a fault it is as if the event had not been.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), Fault> {
        match *event {
            Event::Access { page, .. } => self.access(page),
            Event::EpochEnd { references } => self.epoch_end(references),
            _ if !self.mappings => Err(Fault::NoMappings),
            _ => {
                self.areas.apply(event)?;
                self.last_area = None;
                Ok(())
            }
        }
    }

    fn access(&mut self, page: Page) -> Result<(), Fault> {
        if self.after_short_epoch {
            return Err(Fault::AfterLastEpoch);
        }
        let most = 2 * self.epoch_references;
        if self.epoch_accesses >= most {
            return Err(Fault::TooManyAccesses(most));
        }
        if self.mappings && !self.last_area.is_some_and(|area| area.contains(page)) {
            let area = self.areas.get(page).map(|area| area.pages);
            self.last_area = Some(area.ok_or(Fault::NotMapped(PageRange::single(page)))?);
        }
        self.epoch_accesses += 1;
        self.accesses = self.accesses.saturating_add(1);
        Ok(())
    }

    fn epoch_end(&mut self, references: u64) -> Result<(), Fault> {
        let most = self.epoch_references;
        if self.after_short_epoch {
            return Err(Fault::AfterLastEpoch);
        }
        if !(1..=most).contains(&references) {
            return Err(Fault::EpochReferences { found: references, most });
        }
        self.references = self.references.checked_add(references).ok_or(Fault::References)?;
        self.after_short_epoch = references < most;
        self.epoch_accesses = 0;
        self.epochs += 1;
        Ok(())
    }

    /// The totals of the events so far, if a trace may end here.
    pub(crate) fn end(&self, distinct_pages: u64, ending: Ending) -> Result<Totals, Fault> {
        if self.epoch_accesses > 0 {
            return Err(Fault::OpenEpoch);
        }
        let Self { references, epochs, accesses, .. } = *self;
        Ok(Totals { references, epochs, accesses, distinct_pages, ending })
    }

    pub(crate) fn epochs(&self) -> u64 {
        self.epochs
    }

    pub(crate) fn areas(&self) -> &Areas {
        &self.areas
    }
}

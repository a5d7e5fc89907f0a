//! The rules for the events of a trace. Writer and reader enforce the same rules, so that every
//! written trace can be read.

use super::areas::Areas;
use super::error::Fault;
use super::event::{Event, Page, PageRange};
use super::header::{Ending, Header, MAX_EPOCH_REFERENCES, Totals};
use super::limits::{
    MAX_ARGUMENTS, MAX_FILES, MAX_STRING, MAX_STRINGS, STEPS, STEPS_PER_AREA, STEPS_PER_BYTE,
};

/// The number of pages that are known to be mapped without a search; a power of two.
const KNOWN: usize = 1024;
/// The value that stands for no page.
const NONE: u64 = u64::MAX;

/// Checks events one by one and counts them.
#[derive(Debug)]
pub(crate) struct Rules {
    mappings: bool,
    epoch_references: u64,
    areas: Areas,
    /// Mapped pages, by the low bits of their numbers: most accesses are to these.
    known: Vec<u64>,
    /// The reference of the epoch's last access, from 0, and the number of its accesses so far.
    reference: u64,
    accesses_of_reference: u64,
    after_short_epoch: bool,
    string_bytes: u64,
    files: usize,
    steps: u64,
    /// The maximum number of steps allowed, when that was last computed.
    most_steps: u64,
    references: u64,
    epochs: u64,
    accesses: u64,
}

impl Rules {
    /// Checks the header, and returns the rules for its events.
    pub(crate) fn new(header: &Header) -> Result<Self, Fault> {
        if !(12..=16).contains(&header.page_shift) {
            return Err(Fault::PageShift(header.page_shift));
        }
        if !(1..=MAX_EPOCH_REFERENCES).contains(&header.epoch_references) {
            return Err(Fault::EpochLength(header.epoch_references));
        }
        if !header.filter.is_valid() {
            return Err(Fault::Filter(header.filter));
        }
        let arguments = header.command.len() as u64;
        if arguments > MAX_ARGUMENTS {
            return Err(Fault::Arguments(arguments));
        }
        let mut rules = Self {
            mappings: header.mappings,
            epoch_references: header.epoch_references,
            areas: Areas::default(),
            known: vec![NONE; KNOWN],
            reference: 0,
            accesses_of_reference: 0,
            after_short_epoch: false,
            string_bytes: 0,
            files: 0,
            steps: 0,
            most_steps: STEPS,
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

    /// Counts a record against the steps that a file of which `bytes` have passed may take.
    /// Compression can make any number of records out of a few bytes.
    #[inline]
    pub(crate) fn step(&mut self, bytes: impl FnOnce() -> u64) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps > self.most_steps {
            self.most_steps = STEPS.saturating_add(bytes().saturating_mul(STEPS_PER_BYTE));
        }
        if self.steps > self.most_steps { Err(Fault::Steps) } else { Ok(()) }
    }

    /// Counts a file with this path.
    pub(crate) fn file(&mut self, path: &str) -> Result<(), Fault> {
        if self.files == MAX_FILES {
            return Err(Fault::TooManyFiles);
        }
        self.string(path)?;
        self.files += 1;
        Ok(())
    }

    /// Counts a string against the trace's allowance.
    fn string(&mut self, string: &str) -> Result<(), Fault> {
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

    /// Checks an event; a fault leaves the state unchanged.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), Fault> {
        match *event {
            Event::Access { page, after, .. } => self.access(page, after),
            Event::EpochEnd { references } => self.epoch_end(references),
            _ if !self.mappings => Err(Fault::NoMappings),
            _ => {
                self.steps += STEPS_PER_AREA * self.areas.apply(event)?;
                if matches!(event, Event::Unmap(_) | Event::Remap { .. }) {
                    self.known.fill(NONE);
                }
                Ok(())
            }
        }
    }

    /// Checks an access; a fault leaves the state unchanged.
    pub(crate) fn access(&mut self, page: Page, after: u64) -> Result<(), Fault> {
        if self.after_short_epoch {
            return Err(Fault::AfterLastEpoch);
        }
        let references = self.epoch_references;
        let reference = self.reference.saturating_add(after);
        if reference >= references {
            return Err(Fault::AfterEpoch { references });
        }
        let earlier = if after == 0 { self.accesses_of_reference } else { 0 };
        if earlier == 2 {
            return Err(Fault::ThirdAccess(reference));
        }
        self.check_mapped(page)?;
        (self.reference, self.accesses_of_reference) = (reference, earlier + 1);
        self.accesses = self.accesses.saturating_add(1);
        Ok(())
    }

    fn check_mapped(&mut self, page: Page) -> Result<(), Fault> {
        // Truncation keeps the low bits, which are those wanted.
        let known = &mut self.known[page.number() as usize % KNOWN];
        if *known != page.number() {
            if self.mappings && self.areas.get(page).is_none() {
                return Err(Fault::NotMapped(PageRange::single(page)));
            }
            *known = page.number();
        }
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
        if self.reference >= references {
            return Err(Fault::AfterEpoch { references });
        }
        self.references = self.references.checked_add(references).ok_or(Fault::References)?;
        self.after_short_epoch = references < most;
        (self.reference, self.accesses_of_reference) = (0, 0);
        self.epochs += 1;
        Ok(())
    }

    /// Returns the totals of the events so far, if a trace may end here.
    pub(crate) fn end(&self, distinct_pages: u64, ending: Ending) -> Result<Totals, Fault> {
        if self.accesses_of_reference > 0 {
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

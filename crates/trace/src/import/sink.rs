//! The trace that an importer writes, begun with its first reference.

use std::path::Path;

use super::access::{Access, Cause, PassedOver};
use super::error::{ImportError, Refusal};
use super::format::Format;
use super::options::{ImportOptions, Imported};
use crate::epochs::Epochs;
use crate::error::WriteError;
use crate::event::Page;
use crate::header::{Ending, Header};
use crate::output::OutputFile;
use crate::write::TraceWriter;
use crate::{PAGE_SHIFT, PROGRESS_REFERENCES};

/// Approximate bytes of memory for a page here: the writer's place of it, and its bit in a set.
const BYTES_A_PAGE: u64 = 128;

/// The trace to be written.
pub(super) struct Sink<'a> {
    output: &'a Path,
    format: Format,
    options: &'a ImportOptions,
    progress: &'a mut dyn FnMut(u64),
    command: Vec<String>,
    /// The process of the accesses so far, or the requested one.
    process: Option<u64>,
    epoch_references: u64,
    /// The maximum number of pages that fit the available memory.
    most: u64,
    passed_over: PassedOver,
    epochs: Option<Epochs<OutputFile>>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        output: &'a Path,
        format: Format,
        options: &'a ImportOptions,
        progress: &'a mut dyn FnMut(u64),
    ) -> Self {
        Self {
            output,
            format,
            options,
            progress,
            command: options.command.clone(),
            process: options.process,
            epoch_references: options.epoch_references(),
            most: options.available.map_or(u64::MAX, |bytes| bytes / BYTES_A_PAGE),
            passed_over: PassedOver::default(),
            epochs: None,
        }
    }

    /// Returns the format that is imported.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Takes the command that the input names, unless another is known already.
    pub(super) fn command(&mut self, command: Vec<String>) {
        if self.command.is_empty() {
            self.command = command;
        }
    }

    /// Sets the epoch length, before the first reference.
    pub(super) fn set_epoch(&mut self, references: u64) {
        self.epoch_references = references;
    }

    /// Counts a line or a record that is not in the trace.
    pub(super) fn pass_over(&mut self, cause: Cause) {
        self.passed_over.add(cause);
    }

    /// Returns true if accesses of this process are in the trace.
    ///
    /// # Errors
    /// [`Refusal::Process`] if no process was requested and this is the second one.
    pub(super) fn is_of_trace(&mut self, found: u64) -> Result<bool, Refusal> {
        let before = *self.process.get_or_insert(found);
        match self.options.process {
            Some(asked) => Ok(found == asked),
            None if found == before => Ok(true),
            None => Err(Refusal::Process { found, before }),
        }
    }

    /// Adds an access to the trace, unless the rule passes it over.
    pub(super) fn access(&mut self, access: Access) -> Result<(), ImportError> {
        let reference = match access.rule() {
            Ok(reference) => reference,
            Err(cause) => {
                self.pass_over(cause);
                return Ok(());
            }
        };
        let (first, last) = reference.pages(PAGE_SHIFT);
        self.reference([Some(first), last], reference.store)
    }

    /// Adds a reference to these pages to the trace, unless the filter drops it.
    pub(super) fn reference(
        &mut self,
        pages: [Option<Page>; 2],
        store: bool,
    ) -> Result<(), ImportError> {
        let (keeps_all, most) = (self.format.keeps_all(), self.most);
        let epochs = self.epochs()?;
        for page in pages.into_iter().flatten() {
            if keeps_all || !epochs.drops(page, store) {
                epochs.access(page, store)?;
            }
        }
        epochs.count(1)?;
        if epochs.writer().distinct_pages() > most {
            return Err(ImportError::TooManyPages { most });
        }
        let references = epochs.references();
        if references.is_multiple_of(PROGRESS_REFERENCES) {
            (self.progress)(references);
        }
        Ok(())
    }

    /// Ends an epoch before it is full.
    pub(super) fn fill_epoch(&mut self) -> Result<(), ImportError> {
        Ok(self.epochs()?.fill()?)
    }

    /// Puts the trace into its place.
    pub(super) fn finish(self) -> Result<Imported, ImportError> {
        let (format, passed_over) = (self.format, self.passed_over);
        let epochs = self.epochs.ok_or(ImportError::Empty { format, passed_over })?;
        (self.progress)(epochs.references());
        let totals = epochs.into_writer()?.commit(Ending::Unknown)?;
        Ok(Imported { format, totals, passed_over })
    }

    fn epochs(&mut self) -> Result<&mut Epochs<OutputFile>, WriteError> {
        if self.epochs.is_none() {
            self.epochs = Some(self.begin()?);
        }
        Ok(self.epochs.as_mut().expect("it was begun"))
    }

    fn begin(&mut self) -> Result<Epochs<OutputFile>, WriteError> {
        let header = Header {
            page_shift: PAGE_SHIFT,
            epoch_references: self.epoch_references,
            filter: self.options.filter(self.format),
            mappings: false,
            sampled: self.format.is_sampled(),
            command: std::mem::take(&mut self.command),
            architecture: self.options.architecture.clone(),
            tool: format!("pageout {}, from {}", env!("CARGO_PKG_VERSION"), self.format.name()),
        };
        Ok(Epochs::new(TraceWriter::create(self.output, &header)?, &header))
    }
}

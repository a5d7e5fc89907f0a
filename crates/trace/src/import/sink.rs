//! Where importers put what they read: the trace, begun with its first reference.

use std::path::Path;

use super::error::ImportError;
use super::format::Format;
use super::options::ImportOptions;
use crate::epochs::Epochs;
use crate::error::WriteError;
use crate::filter::FilterShape;
use crate::header::{Ending, Header, Totals};
use crate::output::OutputFile;
use crate::reference::Reference;
use crate::write::TraceWriter;
use crate::{PAGE_SHIFT, PROGRESS_REFERENCES};

/// Bytes of memory that a page takes here, about: the writer's place of it.
const BYTES_A_PAGE: u64 = 48;

/// The trace to be.
pub(super) struct Sink<'a> {
    output: &'a Path,
    options: &'a ImportOptions,
    progress: &'a mut dyn FnMut(u64),
    command: Vec<String>,
    epoch_references: u64,
    /// As many pages as memory is there for.
    most: u64,
    epochs: Option<Epochs<OutputFile>>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        output: &'a Path,
        options: &'a ImportOptions,
        progress: &'a mut dyn FnMut(u64),
    ) -> Self {
        let command = options.command.clone();
        let epoch_references = options.epoch_references;
        let most = options.available.map_or(u64::MAX, |bytes| bytes / BYTES_A_PAGE);
        Self { output, options, progress, command, epoch_references, most, epochs: None }
    }

    /// What is imported.
    pub(super) fn format(&self) -> Format {
        self.options.format
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

    /// Adds a reference to the trace, as far as the filter leaves it.
    pub(super) fn reference(&mut self, reference: Reference) -> Result<(), ImportError> {
        let (sampled, most) = (self.format().is_sampled(), self.most);
        let epochs = self.epochs()?;
        let (first, last) = reference.pages(PAGE_SHIFT);
        for page in [Some(first), last].into_iter().flatten() {
            if sampled || !epochs.drops(page, reference.store) {
                epochs.access(page, reference.store)?;
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
    pub(super) fn finish(self) -> Result<Totals, ImportError> {
        let accepted = self.format().accepted();
        let epochs = self.epochs.ok_or(ImportError::Empty { accepted })?;
        (self.progress)(epochs.references());
        Ok(epochs.into_writer()?.commit(Ending::Unknown)?)
    }

    fn epochs(&mut self) -> Result<&mut Epochs<OutputFile>, WriteError> {
        if self.epochs.is_none() {
            self.epochs = Some(self.begin()?);
        }
        Ok(self.epochs.as_mut().expect("it was begun"))
    }

    fn begin(&mut self) -> Result<Epochs<OutputFile>, WriteError> {
        let ImportOptions { format, filter, architecture, .. } = self.options;
        let sampled = format.is_sampled();
        let header = Header {
            page_shift: PAGE_SHIFT,
            epoch_references: self.epoch_references,
            filter: if sampled { FilterShape::EVERY_PAGE } else { *filter },
            mappings: false,
            sampled,
            command: std::mem::take(&mut self.command),
            architecture: architecture.clone(),
            tool: format!("pageout {}, from {}", env!("CARGO_PKG_VERSION"), format.name()),
        };
        Ok(Epochs::new(TraceWriter::create(self.output, &header)?, &header))
    }
}

//! The trace of a running program, built from its recorder's log.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use super::options::{RecordError, RecordOptions};
use super::recorded::Summary;
use crate::PAGE_SHIFT;
use crate::epochs::Epochs;
use crate::error::WriteError;
use crate::event::Page;
use crate::header::{Ending, Header};
use crate::output::OutputFile;
use crate::process::{ProcFs, Region};
use crate::reference::Reference;
use crate::space::Space;
use crate::syscall::Call;
use crate::write::TraceWriter;

/// Begins the trace of a command, made by a tool of this name and version.
pub(super) fn begin(
    options: &RecordOptions,
    tool: &str,
    output: &Path,
    command: Vec<String>,
) -> Result<Epochs<OutputFile>, WriteError> {
    let header = Header {
        page_shift: PAGE_SHIFT,
        epoch_references: options.epoch_references,
        filter: options.filter,
        mappings: true,
        sampled: false,
        command,
        architecture: std::env::consts::ARCH.to_owned(),
        tool: format!("pageout {}, {tool}", env!("CARGO_PKG_VERSION")),
    };
    Ok(Epochs::new(TraceWriter::create(output, &header)?, &header))
}

/// A complete trace without its name.
pub(super) struct Finished {
    pub(super) output: OutputFile,
    pub(super) summary: Summary,
    /// The numbers of the processes that were begun.
    pub(super) children: Vec<u64>,
}

/// The recording so far.
pub(super) struct Recording {
    epochs: Epochs<OutputFile>,
    space: Space<ProcFs>,
    /// The numbers of the processes that were begun.
    children: Vec<u64>,
    replacements: u64,
    skipped_lines: u64,
    /// The end of the program, as far as the log has it.
    told: Ending,
    /// True if the last logged call was a request to be replaced.
    replaced: bool,
}

impl Recording {
    pub(super) fn new(pid: u32, epochs: Epochs<OutputFile>) -> Self {
        Self {
            epochs,
            space: Space::new(ProcFs::new(pid)),
            children: Vec::new(),
            replacements: 0,
            skipped_lines: 0,
            told: Ending::Unknown,
            replaced: false,
        }
    }

    /// Returns the number of references so far.
    pub(super) fn references(&self) -> u64 {
        self.epochs.references()
    }

    /// Notes that a program is loaded and has not run yet: the first one, or one that replaces it.
    pub(super) fn begin(&mut self) -> Result<(), WriteError> {
        self.replacements += u64::from(self.references() > 0);
        self.space.begin(&mut self.epochs)
    }

    /// Notes memory that exists before the program runs: the parts that the program uses are its
    /// own.
    pub(super) fn find(&mut self, regions: Vec<Region>) -> Result<(), WriteError> {
        self.space.find(regions, &mut self.epochs)
    }

    pub(super) fn reference(&mut self, reference: Reference) -> Result<(), WriteError> {
        let (first, last) = reference.pages(PAGE_SHIFT);
        for page in [Some(first), last].into_iter().flatten() {
            self.access(page, reference.store, reference.fetch)?;
        }
        self.replaced = false;
        self.epochs.count(1)
    }

    /// Adds an access of the current reference.
    pub(super) fn access(
        &mut self,
        page: Page,
        store: bool,
        fetch: bool,
    ) -> Result<(), WriteError> {
        if self.epochs.drops(page, store) {
            return Ok(());
        }
        self.space.fault(page, fetch, &mut self.epochs)?;
        self.epochs.access(page, store)
    }

    /// Adds `references` references to one page, one after the other.
    pub(super) fn run(
        &mut self,
        page: Page,
        store: bool,
        fetch: bool,
        times: u64,
    ) -> Result<(), WriteError> {
        let mut left = times;
        while left > 0 {
            // The filter drops all references of an epoch but the first.
            self.access(page, store, fetch)?;
            let now = left.min(self.epochs.left());
            self.epochs.count(now)?;
            left -= now;
        }
        self.replaced = false;
        Ok(())
    }

    pub(super) fn call(&mut self, call: Call) -> Result<(), WriteError> {
        match call {
            Call::Child { pid } => self.children.push(pid),
            // The system keeps the lowest byte of a status.
            Call::Exit { status } => self.told = Ending::Exited(status as u8),
            Call::Replace => self.replaced = true,
            call => return self.space.call(call, &mut self.epochs),
        }
        Ok(())
    }

    /// Counts a part of the log that could not be parsed.
    pub(super) fn skip(&mut self) {
        self.skipped_lines += 1;
    }

    /// Notes that a signal ends the program.
    pub(super) fn signalled(&mut self, signal: u8) {
        self.told = Ending::Signalled(signal);
    }

    /// Completes the trace. `status` is `None` for a process that is not our child.
    pub(super) fn finish(self, status: Option<ExitStatus>) -> Result<Finished, RecordError> {
        let ending = match status {
            _ if self.replaced => Ending::Replaced,
            Some(status) => ending(status),
            None => self.told,
        };
        let (output, totals) = self.epochs.into_writer()?.finish(ending)?;
        let Self { children, replacements, skipped_lines, .. } = self;
        let (unknown_pages, nr_children) = (self.space.unknown_pages(), children.len() as u64);
        let summary =
            Summary { totals, unknown_pages, children: nr_children, replacements, skipped_lines };
        Ok(Finished { output, summary, children })
    }
}

fn ending(status: ExitStatus) -> Ending {
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(byte(code)),
        (None, Some(signal)) => Ending::Signalled(byte(signal)),
        (None, None) => Ending::Unknown,
    }
}

//! Makes a trace of a lackey log recorded elsewhere.

use std::io::{self, BufRead};
use std::path::Path;

use super::epochs::Epochs;
use super::error::WriteError;
use super::filter::FilterShape;
use super::header::{DEFAULT_EPOCH_REFERENCES, Ending, Header, Totals};
use super::lackey::{ACCEPTED, Reference, is_noise};
use super::lines::{Lines, shown};
use super::output::OutputFile;
use super::write::TraceWriter;
use super::{PAGE_SHIFT, PROGRESS_REFERENCES};

/// How to import a log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImportOptions {
    /// The epoch length, in references.
    pub epoch_references: u64,
    /// Which references may be left out.
    pub filter: FilterShape,
    /// The command that was traced; where it is empty, the log's `Command:` line is taken.
    pub command: Vec<String>,
    /// The architecture it ran on, or `unknown`.
    pub architecture: String,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            epoch_references: DEFAULT_EPOCH_REFERENCES,
            filter: FilterShape::DEFAULT,
            command: Vec::new(),
            architecture: "unknown".to_owned(),
        }
    }
}

/// Why a log cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line is neither a reference nor Valgrind's own.
    #[error("line {number}: found `{found}`; accepted are {ACCEPTED}, and Valgrind's own lines")]
    Line {
        /// Which, from 1.
        number: u64,
        /// How it begins.
        found: String,
    },
    /// The log holds no reference.
    #[error("no reference in {lines} lines: was it made with --tool=lackey --trace-mem=yes?")]
    Empty {
        /// How many lines it has.
        lines: u64,
    },
    /// The log cannot be read.
    #[error("reading the log failed after line {number}")]
    Read {
        /// The last line read, from 1.
        number: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes the references of a lackey log as a trace at `output`.
///
/// The log may be whole or without the lines that Valgrind wrote about itself. It does not tell
/// of mappings: all pages of the trace are anonymous. `progress` is called now and then with the
/// references so far.
///
/// # Errors
///
/// [`ImportError::Line`] for the first line that is not acceptable, [`ImportError::Empty`] if
/// there is no reference, [`ImportError::Read`], [`ImportError::Write`]. Nothing is at `output`
/// then but what was there before.
pub fn import(
    input: impl BufRead,
    output: impl AsRef<Path>,
    options: &ImportOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, ImportError> {
    let mut lines = Lines::new(input);
    let mut command = options.command.clone();
    let mut epochs: Option<Epochs<OutputFile>> = None;
    loop {
        let number = lines.number();
        let next = lines.next().map_err(|source| ImportError::Read { number, source })?;
        let Some(line) = next else { break };
        let Some(reference) = Reference::parse(line) else {
            if !is_noise(line) {
                return Err(ImportError::Line { number: number + 1, found: shown(line) });
            }
            if command.is_empty() {
                command = command_of(line);
            }
            continue;
        };
        let epochs = match &mut epochs {
            Some(epochs) => epochs,
            none => none.insert(begin(output.as_ref(), options, std::mem::take(&mut command))?),
        };
        let (first, last) = reference.pages(PAGE_SHIFT);
        for page in [Some(first), last].into_iter().flatten() {
            if !epochs.drops(page, reference.store) {
                epochs.access(page, reference.store)?;
            }
        }
        epochs.count()?;
        if epochs.references().is_multiple_of(PROGRESS_REFERENCES) {
            progress(epochs.references());
        }
    }
    let epochs = epochs.ok_or(ImportError::Empty { lines: lines.number() })?;
    progress(epochs.references());
    Ok(epochs.into_writer()?.commit(Ending::Unknown)?)
}

/// The command in a line such as `==4776== Command: ls -l`; Valgrind does not quote arguments.
fn command_of(line: &[u8]) -> Vec<String> {
    let line = String::from_utf8_lossy(line);
    let command = line.split_once("== Command: ").map(|(_, command)| command);
    command.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn begin(
    output: &Path,
    options: &ImportOptions,
    command: Vec<String>,
) -> Result<Epochs<OutputFile>, WriteError> {
    let header = Header {
        page_shift: PAGE_SHIFT,
        epoch_references: options.epoch_references,
        filter: options.filter,
        mappings: false,
        command,
        architecture: options.architecture.clone(),
        tool: concat!("pageout ", env!("CARGO_PKG_VERSION"), ", from a lackey log").to_owned(),
    };
    Ok(Epochs::new(TraceWriter::create(output, &header)?, &header))
}

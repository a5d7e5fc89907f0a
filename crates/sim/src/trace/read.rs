//! Reading a trace, one event after the other.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use zstd::stream::read::Decoder;

use super::areas::Areas;
use super::error::{Fault, TraceError};
use super::event::{Event, FileId, PageRange};
use super::header::{Header, Totals};
use super::rules::Rules;
use super::wire::{Broken, Checked, Lead, MAGIC, MAX_ARGUMENTS, Tag, Take, VERSION, WINDOW_LOG};

/// Reads a trace as an iterator of its events.
///
/// It holds one decompression window (2 MiB at most), the mapped areas and the names of mapped
/// files, however long the trace. After an error, and after the end, it yields nothing more. The
/// checksum stands at the end of the file: a consumer that cannot take back what it did with
/// events must not rely on them before [`TraceReader::totals`] is there.
///
/// ```no_run
/// use pageout_sim::trace::{Event, TraceReader};
///
/// let mut reader = TraceReader::open("samples/sqlite.pgt")?;
/// let mut stores = 0;
/// for event in &mut reader {
///     if let Event::Access { store: true, .. } = event? {
///         stores += 1;
///     }
/// }
/// # Ok::<(), pageout_sim::trace::TraceError>(())
/// ```
pub struct TraceReader<R: BufRead = BufReader<File>> {
    stream: BufReader<Decoder<'static, Checked<R>>>,
    header: Header,
    rules: Rules,
    files: Vec<String>,
    run: Option<Run>,
    /// The page number after the last run of this epoch.
    position: u64,
    totals: Option<Totals>,
    finished: bool,
}

/// The rest of a run of accesses.
#[derive(Clone, Copy)]
struct Run {
    pages: PageRange,
    store: bool,
}

impl TraceReader {
    /// Opens the trace at `path` and reads its header.
    ///
    /// # Errors
    ///
    /// [`TraceError::Open`], and what [`TraceReader::new`] gives.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let open = |source| TraceError::Open { path: path.to_owned(), source };
        Self::new(BufReader::new(File::open(path).map_err(open)?))
    }
}

impl<R: BufRead> TraceReader<R> {
    /// Reads the header of a trace.
    ///
    /// # Errors
    ///
    /// [`TraceError::NotATrace`] and [`TraceError::Version`] for what is no trace or of another
    /// version; [`TraceError::Read`], [`TraceError::Truncated`], [`TraceError::Damaged`] and
    /// [`TraceError::Malformed`] where the header cannot be read.
    pub fn new(input: R) -> Result<Self, TraceError> {
        let mut input = Checked::new(input);
        check_magic(&mut input)?;
        let damaged = |offset| {
            move |error: io::Error| TraceError::Damaged {
                offset,
                epochs: 0,
                reason: error.to_string(),
            }
        };
        let offset = input.offset();
        let mut decoder = Decoder::with_buffer(input).map_err(damaged(offset))?.single_frame();
        decoder.window_log_max(WINDOW_LOG).map_err(damaged(offset))?;
        let mut stream = BufReader::new(decoder);
        let read = read_header(&mut stream).and_then(|header| Ok((Rules::new(&header)?, header)));
        let (rules, header) = match read {
            Ok(pair) => pair,
            Err(broken) => return Err(explain(broken, stream.get_ref().get_ref(), 0)),
        };
        Ok(Self {
            stream,
            header,
            rules,
            files: Vec::new(),
            run: None,
            position: 0,
            totals: None,
            finished: false,
        })
    }

    /// What was traced, and how.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The path of a mapped file, once an event has named it.
    pub fn file(&self, id: FileId) -> Option<&str> {
        self.files.get(id.index()).map(String::as_str)
    }

    /// How many files are named so far.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The mapped areas after the events so far.
    pub fn areas(&self) -> &Areas {
        self.rules.areas()
    }

    /// The totals, once the last event was read and the checksum found right.
    pub fn totals(&self) -> Option<&Totals> {
        self.totals.as_ref()
    }

    /// Takes records until one is an event; `None` at the trailer.
    fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            if let Some(run) = self.run.take() {
                return self.next_of_run(run).map(Some);
            }
            match self.record() {
                Ok(Record::Event(event)) => {
                    self.rules.event(&event).map_err(|fault| self.explain(fault.into()))?;
                    return Ok(Some(event));
                }
                Ok(Record::Run(run)) => self.run = Some(run),
                Ok(Record::File(name)) => {
                    self.rules.string(&name).map_err(|fault| self.explain(fault.into()))?;
                    self.files.push(name);
                }
                Ok(Record::Trailer(totals)) => {
                    self.end(totals)?;
                    return Ok(None);
                }
                Err(broken) => return Err(self.explain(broken)),
            }
        }
    }

    fn next_of_run(&mut self, run: Run) -> Result<Event, TraceError> {
        let rest = PageRange::new(run.pages.start() + 1, run.pages.end());
        self.run = rest.map(|pages| Run { pages, ..run });
        let range = Fault::Range { start: run.pages.start(), nr_pages: run.pages.nr_pages() };
        let page = run.pages.pages().next().ok_or_else(|| self.explain(range.into()))?;
        let event = Event::Access { page, store: run.store };
        self.rules.event(&event).map_err(|fault| self.explain(fault.into()))?;
        Ok(event)
    }

    fn record(&mut self) -> Result<Record, Broken> {
        let tag = match self.stream.take_lead()? {
            Lead::Run { step, store } => return self.run_record(step, store),
            Lead::Record(tag) => tag,
        };
        let stream = &mut self.stream;
        Ok(Record::Event(match tag {
            Tag::EpochEnd => {
                self.position = 0;
                Event::EpochEnd { references: stream.take_number()? }
            }
            Tag::File => return Ok(Record::File(stream.take_string()?)),
            Tag::Map => Event::Map(stream.take_mapping(self.files.len())?),
            Tag::Unmap => Event::Unmap(stream.take_range()?),
            Tag::Protect => {
                let pages = stream.take_range()?;
                Event::Protect { pages, permissions: stream.take_flags(0b111)?.0 }
            }
            Tag::Remap => Event::Remap { pages: stream.take_range()?, to: stream.take_number()? },
            Tag::Discard => Event::Discard(stream.take_range()?),
            Tag::Trailer => {
                return Ok(Record::Trailer(Totals {
                    references: stream.take_number()?,
                    epochs: stream.take_number()?,
                    accesses: stream.take_number()?,
                    distinct_pages: stream.take_number()?,
                    ending: stream.take_ending()?,
                }));
            }
        }))
    }

    fn run_record(&mut self, step: i64, store: bool) -> Result<Record, Broken> {
        let more = self.stream.take_number()?;
        let nr_pages = more.saturating_add(1);
        let start = self.position.wrapping_add_signed(step);
        let end = start.checked_add(nr_pages);
        let pages = end.and_then(|end| PageRange::new(start, end));
        let pages = pages.ok_or(Fault::Range { start, nr_pages })?;
        self.position = pages.end();
        Ok(Record::Run(Run { pages, store }))
    }

    /// Holds the trailer against the events, then the file against its checksum.
    fn end(&mut self, totals: Totals) -> Result<(), TraceError> {
        let ended = self.rules.end(totals.distinct_pages, totals.ending);
        let counted = ended.map_err(|fault| self.explain(fault.into()))?;
        let pairs = [
            ("references", totals.references, counted.references),
            ("epochs", totals.epochs, counted.epochs),
            ("accesses", totals.accesses, counted.accesses),
        ];
        if let Some((what, found, counted)) = pairs.into_iter().find(|(_, a, b)| a != b) {
            return Err(TraceError::Totals { what, found, counted });
        }
        let left_over = self.stream.read(&mut [0]);
        if left_over.map_err(|error| self.explain(error.into()))? != 0 {
            return Err(TraceError::Trailing { offset: self.input().offset() });
        }
        let input = self.stream.get_mut().get_mut();
        let (offset, computed) = (input.offset(), input.crc());
        let mut stored = [0; 4];
        input.read_exact(&mut stored).map_err(|error| self.explain(error.into()))?;
        let found = u32::from_le_bytes(stored);
        if found != computed {
            return Err(TraceError::Checksum { found, computed });
        }
        let input = self.stream.get_mut().get_mut();
        let after = input.read(&mut [0]).map_err(|error| self.explain(error.into()))?;
        if after != 0 {
            return Err(TraceError::Trailing { offset: offset + 4 });
        }
        self.totals = Some(totals);
        Ok(())
    }

    fn input(&self) -> &Checked<R> {
        self.stream.get_ref().get_ref()
    }

    fn explain(&self, broken: Broken) -> TraceError {
        explain(broken, self.input(), self.rules.epochs())
    }
}

impl<R: BufRead> fmt::Debug for TraceReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TraceReader");
        debug.field("header", &self.header).field("totals", &self.totals).finish_non_exhaustive()
    }
}

impl<R: BufRead> Iterator for TraceReader<R> {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = self.next_event().transpose();
        self.finished = !matches!(next, Some(Ok(_)));
        next
    }
}

/// One record of the stream.
enum Record {
    Event(Event),
    Run(Run),
    File(String),
    Trailer(Totals),
}

fn check_magic<R: BufRead>(input: &mut Checked<R>) -> Result<(), TraceError> {
    let mut front = Vec::new();
    let wanted = MAGIC.len() as u64 + 2;
    let read = input.by_ref().take(wanted).read_to_end(&mut front);
    read.map_err(|source| TraceError::Read { offset: input.offset(), source })?;
    let magic = &front[..front.len().min(MAGIC.len())];
    if front.is_empty() || !MAGIC.starts_with(magic) {
        return Err(TraceError::NotATrace { found: hexadecimal(magic) });
    }
    let Some(&[low, high]) = front.get(MAGIC.len()..) else {
        return Err(TraceError::Truncated { offset: input.offset(), epochs: 0 });
    };
    let found = u16::from_le_bytes([low, high]);
    if found == VERSION { Ok(()) } else { Err(TraceError::Version { found }) }
}

fn hexadecimal(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing (it is empty)".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn read_header(stream: &mut impl Take) -> Result<Header, Broken> {
    let page_shift = stream.take_byte()?;
    let epoch_references = stream.take_number()?;
    let mappings = stream.take_code("mappings flag", 1)? == 1;
    let architecture = stream.take_string()?;
    let tool = stream.take_string()?;
    let arguments = stream.take_number()?;
    if arguments > MAX_ARGUMENTS {
        return Err(Fault::Arguments(arguments).into());
    }
    let mut command = Vec::new();
    let mut bytes = 0_u64;
    for _ in 0..arguments {
        let argument = stream.take_string()?;
        bytes += argument.len() as u64;
        if bytes > super::wire::MAX_STRINGS {
            return Err(Fault::Strings.into());
        }
        command.push(argument);
    }
    Ok(Header { page_shift, epoch_references, mappings, command, architecture, tool })
}

/// Tells a failing disk, a short file, a damaged stream and bad content apart.
fn explain<R>(broken: Broken, input: &Checked<R>, epochs: u64) -> TraceError {
    let offset = input.offset();
    match broken {
        Broken::Fault(fault) => TraceError::Malformed { offset, epochs, fault },
        Broken::Io(source) if input.failed() => TraceError::Read { offset, source },
        Broken::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            TraceError::Truncated { offset, epochs }
        }
        Broken::Io(error) => TraceError::Damaged { offset, epochs, reason: error.to_string() },
    }
}

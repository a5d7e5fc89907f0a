//! Reading a trace, one event after the other.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use zstd::stream::read::Decoder;

use super::areas::Areas;
use super::error::{Fault, TraceError};
use super::event::{Event, FileId};
use super::filter::FilterShape;
use super::header::{Header, Totals};
use super::import::{Seeming, named};
use super::limits::MAX_ARGUMENTS;
use super::places::Pages;
use super::rules::Rules;
use super::wire::{Broken, Checked, Lead, MAGIC, Tag, Take, VERSION, WINDOW_LOG};

/// The number of bytes decompressed at once: a block of zstd's.
const BUFFER: usize = 128 << 10;

/// A reader of a trace, which is an iterator of its events.
///
/// It holds one decompression window (2 MiB at most), the mapped areas, a table of pages (8 MiB at
/// most) and the names of mapped files, however long the trace. After an error, and after the end,
/// it yields nothing more. The checksum stands at the end of the file. A consumer that cannot undo
/// the effects of events must not rely on them before [`TraceReader::totals`] returns totals.
///
/// ```no_run
/// use pageout_trace::{Event, TraceReader};
///
/// let mut reader = TraceReader::open("samples/sqlite.pgt")?;
/// let mut stores = 0;
/// for event in &mut reader {
///     if let Event::Access { store: true, .. } = event? {
///         stores += 1;
///     }
/// }
/// # Ok::<(), pageout_trace::TraceError>(())
/// ```
pub struct TraceReader<R: BufRead = BufReader<File>> {
    stream: BufReader<Decoder<'static, Checked<R>>>,
    header: Header,
    rules: Rules,
    files: Vec<String>,
    pages: Pages,
    /// The number of the page named last.
    named: u64,
    totals: Option<Totals>,
    finished: bool,
}

impl TraceReader {
    /// Opens the trace at `path` and reads its header.
    ///
    /// # Errors
    ///
    /// [`TraceError::Open`], and the errors of [`TraceReader::new`].
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
    /// [`TraceError::NotATrace`] and [`TraceError::Version`] if the input is no trace or one of
    /// another version; [`TraceError::Read`], [`TraceError::Truncated`], [`TraceError::Damaged`]
    /// and [`TraceError::Malformed`] if the header cannot be read.
    pub fn new(mut input: R) -> Result<Self, TraceError> {
        let start = input.fill_buf().map_err(|source| TraceError::Read { offset: 0, source })?;
        if let Some(seeming) = named(start).filter(|seeming| *seeming != Seeming::Trace) {
            let found = format!("it is {seeming}; {}", seeming.advice());
            return Err(TraceError::NotATrace { found });
        }
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
        let mut stream = BufReader::with_capacity(BUFFER, decoder);
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
            pages: Pages::default(),
            named: 0,
            totals: None,
            finished: false,
        })
    }

    /// Returns the header of the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the path of a mapped file, once an event has named it.
    pub fn file(&self, id: FileId) -> Option<&str> {
        self.files.get(id.index()).map(String::as_str)
    }

    /// Returns the number of files named so far.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Returns the paths of the files named so far, in the order of their indices.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Returns the mapped areas after the events so far.
    pub fn areas(&self) -> &Areas {
        self.rules.areas()
    }

    /// Returns the totals, once the last event was read and the checksum was right.
    pub fn totals(&self) -> Option<&Totals> {
        self.totals.as_ref()
    }

    /// Reads records until one is an event; returns `None` at the trailer.
    fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            match self.next_record() {
                Ok(Record::Event(event)) => return Ok(Some(event)),
                Ok(Record::Name) => {}
                Ok(Record::Trailer(totals)) => {
                    self.end(totals)?;
                    return Ok(None);
                }
                Err(broken) => return Err(self.explain(broken)),
            }
        }
    }

    #[inline]
    fn next_record(&mut self) -> Result<Record, Broken> {
        let lead = self.stream.take_lead()?;
        let Self { rules, stream, .. } = self;
        rules.step(|| stream.get_ref().get_ref().offset())?;
        match lead {
            Lead::Access { place, store } => self.access(place, store),
            Lead::Record(tag) => self.record(tag),
        }
    }

    #[inline]
    fn access(&mut self, place: u64, store: bool) -> Result<Record, Broken> {
        let unknown = Fault::UnknownPage { found: place, named: self.pages.nr() };
        let page = self.pages.get(place).ok_or(unknown)?;
        let after = self.stream.take_number()?;
        self.rules.access(page, after)?;
        Ok(Record::Event(Event::Access { page, store, after }))
    }

    fn record(&mut self, tag: Tag) -> Result<Record, Broken> {
        let stream = &mut self.stream;
        let event = match tag {
            Tag::EpochEnd => Event::EpochEnd { references: stream.take_number()? },
            Tag::File => {
                let name = stream.take_string()?;
                self.rules.file(&name)?;
                self.files.push(name);
                return Ok(Record::Name);
            }
            Tag::Page => {
                let page = stream.take_page(self.named)?;
                self.named = page.number();
                self.pages.name(page);
                return Ok(Record::Name);
            }
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
        };
        self.rules.event(&event)?;
        Ok(Record::Event(event))
    }

    /// Compares the trailer with the events, then the file with its checksum.
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

/// A record of the stream.
enum Record {
    Event(Event),
    /// The name of a file or a page.
    Name,
    Trailer(Totals),
}

fn check_magic<R: BufRead>(input: &mut Checked<R>) -> Result<(), TraceError> {
    let mut front = Vec::new();
    let wanted = MAGIC.len() as u64 + 2;
    let read = input.by_ref().take(wanted).read_to_end(&mut front);
    read.map_err(|source| TraceError::Read { offset: input.offset(), source })?;
    let magic = &front[..front.len().min(MAGIC.len())];
    if front.is_empty() || !MAGIC.starts_with(magic) {
        let found = format!("it begins with {}, a trace with {}", shown(magic), shown(&MAGIC));
        return Err(TraceError::NotATrace { found });
    }
    let Some(&[low, high]) = front.get(MAGIC.len()..) else {
        return Err(TraceError::Truncated { offset: input.offset(), epochs: 0 });
    };
    let found = u16::from_le_bytes([low, high]);
    if found == VERSION { Ok(()) } else { Err(TraceError::Version { found }) }
}

/// Returns bytes in hexadecimal.
fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing (it is empty)".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn read_header(stream: &mut impl Take) -> Result<Header, Broken> {
    let page_shift = stream.take_byte()?;
    let epoch_references = stream.take_number()?;
    let filter = take_filter(stream)?;
    let flags = stream.take_code("flags of what was recorded", 0b11)?;
    let (mappings, sampled) = (flags & 1 != 0, flags & 2 != 0);
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
        if bytes > super::limits::MAX_STRINGS {
            return Err(Fault::Strings.into());
        }
        command.push(argument);
    }
    Ok(Header {
        page_shift,
        epoch_references,
        filter,
        mappings,
        sampled,
        command,
        architecture,
        tool,
    })
}

fn take_filter(stream: &mut impl Take) -> Result<FilterShape, Broken> {
    // A number that 32 bits do not hold becomes their greatest, which is also out of bounds.
    let mut number = || stream.take_number().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    Ok(FilterShape { sets: number()?, ways: number()?, window: number()? })
}

/// Distinguishes a failing disk, a short file, a damaged stream and bad content.
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

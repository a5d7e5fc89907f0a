//! Writing a trace.

use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::path::Path;

use zstd::stream::raw::CParameter;
use zstd::stream::write::Encoder;

use super::areas::Areas;
use super::error::{Fault, WriteError};
use super::event::{Event, FileId, Page, PageRange};
use super::filter::FilterShape;
use super::header::{Ending, Header, Totals};
use super::output::OutputFile;
use super::places::Places;
use super::rules::Rules;
use super::wire::{
    Checked, Lead, MAGIC, Tag, VERSION, WINDOW_LOG, put_ending, put_flags, put_mapping, put_number,
    put_page, put_range, put_string,
};

/// The compression level of zstd: traces are written as fast as importers read. Level 19 makes the
/// samples 7 to 13 % smaller, and takes 37 to 65 times as long and four times the memory
/// (docs/trace-format.md, Compression).
const COMPRESSION_LEVEL: i32 = 6;

/// A writer of a trace, event by event, which refuses events that no reader accepts.
///
/// The output is no trace before [`TraceWriter::finish`] or [`TraceWriter::commit`].
pub struct TraceWriter<W: Write> {
    stream: Encoder<'static, Checked<W>>,
    rules: Rules,
    files: HashMap<String, FileId>,
    places: Places,
    /// The number of the page named last.
    named: u64,
    record: Vec<u8>,
}

impl TraceWriter<OutputFile> {
    /// Begins a trace that appears at `path` only when it is complete.
    ///
    /// # Errors
    ///
    /// [`WriteError::Create`], [`WriteError::NotAFile`], and the errors of [`TraceWriter::new`].
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Self, WriteError> {
        Self::new(OutputFile::create(path.as_ref())?, header)
    }

    /// Ends the trace as [`TraceWriter::finish`] does and puts the file in its place.
    ///
    /// # Errors
    ///
    /// Those of [`TraceWriter::finish`]; then there is no new file.
    pub fn commit(self, ending: Ending) -> Result<Totals, WriteError> {
        let (output, totals) = self.finish(ending)?;
        output.commit()?;
        Ok(totals)
    }
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace into `output`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Fault`] if the header is invalid, [`WriteError::Write`].
    pub fn new(output: W, header: &Header) -> Result<Self, WriteError> {
        let rules = Rules::new(header)?;
        let mut output = Checked::new(output);
        output.write_all(&MAGIC)?;
        output.write_all(&VERSION.to_le_bytes())?;
        let mut stream = Encoder::new(output, COMPRESSION_LEVEL)?;
        stream.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
        stream.write_all(&header_bytes(header))?;
        Ok(Self {
            stream,
            rules,
            files: HashMap::new(),
            places: Places::default(),
            named: 0,
            record: Vec::new(),
        })
    }

    /// Returns the id of the mapped file `path`, which the trace names at the first call.
    ///
    /// # Errors
    ///
    /// [`WriteError::Fault`] if names are too long, singly or together; [`WriteError::Write`].
    pub fn file(&mut self, path: &str) -> Result<FileId, WriteError> {
        if let Some(id) = self.files.get(path) {
            return Ok(*id);
        }
        let id = FileId(u32::try_from(self.files.len()).map_err(|_| Fault::TooManyFiles)?);
        self.step()?;
        self.rules.file(path)?;
        self.files.insert(path.to_owned(), id);
        self.begin(Tag::File);
        put_string(&mut self.record, path);
        self.put_record()?;
        Ok(id)
    }

    /// Writes an event.
    ///
    /// # Errors
    ///
    /// [`WriteError::Fault`] if no trace may have this event here: the trace continues without it.
    /// After [`WriteError::Write`] the trace cannot be completed.
    pub fn write(&mut self, event: &Event) -> Result<(), WriteError> {
        if let Event::Map(mapping) = event
            && let super::event::Kind::File { file, .. } = mapping.kind
            && file.index() >= self.files.len()
        {
            let (found, named) = (file.0.into(), self.files.len() as u64);
            return Err(Fault::UnknownFile { found, named }.into());
        }
        let mut place = None;
        if let Event::Access { page, .. } = *event {
            place = self.places.get(page);
            if place.is_none() {
                // The page has to be named first.
                self.step()?;
            }
        }
        self.step()?;
        self.rules.event(event)?;
        match *event {
            Event::Access { page, store, after } => {
                let place = place.map_or_else(|| self.name(page), Ok)?;
                self.record.clear();
                Lead::Access { place, store }.put(&mut self.record);
                put_number(&mut self.record, after);
            }
            Event::EpochEnd { references } => {
                self.begin(Tag::EpochEnd);
                put_number(&mut self.record, references);
            }
            Event::Map(mapping) => {
                self.begin(Tag::Map);
                put_mapping(&mut self.record, &mapping);
            }
            Event::Unmap(pages) => self.begin_range(Tag::Unmap, pages),
            Event::Protect { pages, permissions } => {
                self.begin_range(Tag::Protect, pages);
                put_flags(&mut self.record, permissions, false);
            }
            Event::Remap { pages, to } => {
                self.begin_range(Tag::Remap, pages);
                put_number(&mut self.record, to);
            }
            Event::Discard(pages) => self.begin_range(Tag::Discard, pages),
        }
        self.put_record()
    }

    /// Writes the trailer and the checksum, and returns the output.
    ///
    /// # Errors
    ///
    /// [`WriteError::Fault`] if accesses follow the last epoch end, [`WriteError::Write`].
    pub fn finish(mut self, ending: Ending) -> Result<(W, Totals), WriteError> {
        self.step()?;
        let totals = self.rules.end(self.places.distinct_pages(), ending)?;
        self.begin(Tag::Trailer);
        let Totals { references, epochs, accesses, distinct_pages, ending } = totals;
        for number in [references, epochs, accesses, distinct_pages] {
            put_number(&mut self.record, number);
        }
        put_ending(&mut self.record, ending);
        self.put_record()?;
        let mut output = self.stream.finish()?;
        let crc = output.crc();
        output.write_all(&crc.to_le_bytes())?;
        output.flush()?;
        Ok((output.into_inner(), totals))
    }

    /// Returns the number of different pages accessed so far.
    pub(crate) fn distinct_pages(&self) -> u64 {
        self.places.distinct_pages()
    }

    pub(crate) fn areas(&self) -> &Areas {
        self.rules.areas()
    }

    /// Counts a record, as the reader will.
    fn step(&mut self) -> Result<(), Fault> {
        let Self { rules, stream, .. } = self;
        rules.step(|| stream.get_ref().offset())
    }

    fn name(&mut self, page: Page) -> Result<u64, WriteError> {
        self.begin(Tag::Page);
        put_page(&mut self.record, page, self.named);
        self.named = page.number();
        self.put_record()?;
        Ok(self.places.name(page)?)
    }

    fn begin(&mut self, tag: Tag) {
        self.record.clear();
        Lead::Record(tag).put(&mut self.record);
    }

    fn begin_range(&mut self, tag: Tag, pages: PageRange) {
        self.begin(tag);
        put_range(&mut self.record, pages);
    }

    fn put_record(&mut self) -> Result<(), WriteError> {
        Ok(self.stream.write_all(&self.record)?)
    }
}

impl<W: Write> fmt::Debug for TraceWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter").field("rules", &self.rules).finish_non_exhaustive()
    }
}

fn header_bytes(header: &Header) -> Vec<u8> {
    let mut bytes = vec![header.page_shift];
    put_number(&mut bytes, header.epoch_references);
    let FilterShape { sets, ways, window } = header.filter;
    for number in [sets, ways, window] {
        put_number(&mut bytes, number.into());
    }
    bytes.push(u8::from(header.mappings) | u8::from(header.sampled) << 1);
    put_string(&mut bytes, &header.architecture);
    put_string(&mut bytes, &header.tool);
    put_number(&mut bytes, header.command.len() as u64);
    for argument in &header.command {
        put_string(&mut bytes, argument);
    }
    bytes
}

//! The bytes of a trace: numbers, strings, codes, and the checksum over them.
//!
//! The layout is specified in `docs/trace-format.md`; writer and reader share this module.

use std::io::{self, BufRead, Read, Write};

use super::error::Fault;
use super::event::{Kind, Mapping, Page, PageRange, Permissions};
use super::header::Ending;

/// The first bytes of every trace. As in PNG, the bytes after the name show a file that was
/// mangled as text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89PGT\r\n\x1a\n";
/// The format's version; it follows the magic as a little-endian `u16`.
pub(crate) const VERSION: u16 = 2;
/// The longest string, in bytes: the longest argument that Linux allows (`MAX_ARG_STRLEN`).
pub(crate) const MAX_STRING: u64 = 128 << 10;
/// The maximum number of bytes of all strings of a trace together.
pub(crate) const MAX_STRINGS: u64 = 16 << 20;
/// The maximum number of files that a trace names.
pub(crate) const MAX_FILES: usize = 1 << 18;
/// The maximum number of arguments of a command.
pub(crate) const MAX_ARGUMENTS: u64 = 1 << 16;
/// log2 of the decompressor's window in bytes, for which a reader needs memory.
pub(crate) const WINDOW_LOG: u32 = 21;

/// The kind of a record that is no access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    EpochEnd,
    File,
    Map,
    Unmap,
    Protect,
    Remap,
    Discard,
    Trailer,
    Page,
}

impl Tag {
    const ALL: [Self; 9] = [
        Self::EpochEnd,
        Self::File,
        Self::Map,
        Self::Unmap,
        Self::Protect,
        Self::Remap,
        Self::Discard,
        Self::Trailer,
        Self::Page,
    ];
}

/// The first number that begins an access.
const ACCESSES: u64 = 16;

/// The first number of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lead {
    /// An access to the page that has this place.
    Access { place: u64, store: bool },
    /// Anything else.
    Record(Tag),
}

impl Lead {
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let number = match self {
            Self::Access { place, store } => ACCESSES + (place << 1 | u64::from(store)),
            Self::Record(tag) => tag as u64,
        };
        put_number(out, number);
    }

    fn of(number: u64) -> Result<Self, Fault> {
        if let Some(access) = number.checked_sub(ACCESSES) {
            return Ok(Self::Access { place: access >> 1, store: access & 1 != 0 });
        }
        let most = Tag::ALL.len() as u64 - 1;
        let unknown = Fault::Code { what: "record tag", found: number, most };
        Tag::ALL.get(number as usize).map(|tag| Self::Record(*tag)).ok_or(unknown)
    }
}

/// Appends a number, seven bits a byte, least significant first (LEB128).
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Appends a page as its distance from another, forth and back in turn (zigzag).
pub(crate) fn put_page(out: &mut Vec<u8>, page: Page, from: u64) {
    let distance = page.number().cast_signed() - from.cast_signed();
    put_number(out, ((distance << 1) ^ (distance >> 63)).cast_unsigned());
}

/// Appends a string: its length in bytes, then the bytes.
pub(crate) fn put_string(out: &mut Vec<u8>, string: &str) {
    put_number(out, string.len() as u64);
    out.extend_from_slice(string.as_bytes());
}

/// Appends a range: first page, number of pages.
pub(crate) fn put_range(out: &mut Vec<u8>, pages: PageRange) {
    put_number(out, pages.start());
    put_number(out, pages.nr_pages());
}

/// Appends permissions and sharing as one byte.
pub(crate) fn put_flags(out: &mut Vec<u8>, permissions: Permissions, shared: bool) {
    let Permissions { readable, writable, executable } = permissions;
    let flags = [readable, writable, executable, shared];
    out.push(flags.iter().rev().fold(0, |byte, flag| byte << 1 | u8::from(*flag)));
}

/// Appends a mapping.
pub(crate) fn put_mapping(out: &mut Vec<u8>, mapping: &Mapping) {
    put_range(out, mapping.pages);
    put_flags(out, mapping.permissions, mapping.shared);
    match mapping.kind {
        Kind::Anonymous => out.push(0),
        Kind::File { file, offset } => {
            out.push(1);
            put_number(out, u64::from(file.0));
            put_number(out, offset);
        }
        Kind::Stack => out.push(2),
        Kind::Heap => out.push(3),
        Kind::Unknown => out.push(4),
    }
}

/// Appends the way in which the program ended.
pub(crate) fn put_ending(out: &mut Vec<u8>, ending: Ending) {
    let (code, value) = match ending {
        Ending::Unknown => (0, 0),
        Ending::Exited(status) => (1, status),
        Ending::Signalled(signal) => (2, signal),
        Ending::Replaced => (3, 0),
    };
    out.extend([code, value]);
}

/// The reason why bytes could not be decoded.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The stream failed or ended.
    Io(io::Error),
    /// The bytes were read, but are invalid.
    Fault(Fault),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The counterparts of the `put` functions.
pub(crate) trait Take: BufRead {
    fn take_byte(&mut self) -> Result<u8, Broken> {
        let mut byte = [0];
        self.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn take_code(&mut self, what: &'static str, most: u8) -> Result<u8, Broken> {
        let found = self.take_byte()?;
        let fault = Fault::Code { what, found: found.into(), most: most.into() };
        if found <= most { Ok(found) } else { Err(fault.into()) }
    }

    #[inline]
    fn take_number(&mut self) -> Result<u64, Broken> {
        let bytes = self.fill_buf()?;
        // Most numbers are small.
        let (number, length) = match *bytes {
            [low, ..] if low < 0x80 => (u64::from(low), 1),
            [low, high, ..] if high < 0x80 => (u64::from(low & 0x7f) | u64::from(high) << 7, 2),
            _ => return self.take_long_number(),
        };
        self.consume(length);
        Ok(number)
    }

    fn take_long_number(&mut self) -> Result<u64, Broken> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take_byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits > u64::MAX >> shift {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Fault::Number.into())
    }

    /// Reads a page, by its distance from another.
    fn take_page(&mut self, from: u64) -> Result<Page, Broken> {
        let zigzag = self.take_number()?;
        let distance = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
        let start = from.wrapping_add_signed(distance);
        Page::new(start).ok_or(Fault::Range { start, nr_pages: 1 }.into())
    }

    fn take_lead(&mut self) -> Result<Lead, Broken> {
        Ok(Lead::of(self.take_number()?)?)
    }

    /// Reads a string. Allocates no more than [`MAX_STRING`] bytes, whatever the stream claims.
    fn take_string(&mut self) -> Result<String, Broken> {
        let length = self.take_number()?;
        let bounded = usize::try_from(length).ok().filter(|_| length <= MAX_STRING);
        let mut bytes = vec![0; bounded.ok_or(Fault::LongString(length))?];
        self.read_exact(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| Fault::Utf8.into())
    }

    fn take_range(&mut self) -> Result<PageRange, Broken> {
        let (start, nr_pages) = (self.take_number()?, self.take_number()?);
        let end = start.checked_add(nr_pages);
        let range = end.and_then(|end| PageRange::new(start, end));
        range.ok_or(Fault::Range { start, nr_pages }.into())
    }

    fn take_flags(&mut self, most: u8) -> Result<(Permissions, bool), Broken> {
        let flags = self.take_code("mapping flags", most)?;
        let set = |bit: u8| flags & (1 << bit) != 0;
        let permissions = Permissions { readable: set(0), writable: set(1), executable: set(2) };
        Ok((permissions, set(3)))
    }

    /// Reads a mapping. `named` is the number of files that the trace has named so far.
    fn take_mapping(&mut self, named: usize) -> Result<Mapping, Broken> {
        let pages = self.take_range()?;
        let (permissions, shared) = self.take_flags(0b1111)?;
        let kind = match self.take_code("mapping kind", 4)? {
            0 => Kind::Anonymous,
            1 => {
                let found = self.take_number()?;
                let unknown = Fault::UnknownFile { found, named: named as u64 };
                let index = u32::try_from(found).ok().filter(|_| found < named as u64);
                let file = super::event::FileId(index.ok_or(unknown)?);
                Kind::File { file, offset: self.take_number()? }
            }
            2 => Kind::Stack,
            3 => Kind::Heap,
            _ => Kind::Unknown,
        };
        Ok(Mapping { pages, kind, permissions, shared })
    }

    fn take_ending(&mut self) -> Result<Ending, Broken> {
        let code = self.take_code("ending", 3)?;
        let value = self.take_byte()?;
        Ok(match code {
            0 => Ending::Unknown,
            1 => Ending::Exited(value),
            2 => Ending::Signalled(value),
            _ => Ending::Replaced,
        })
    }
}

impl<R: BufRead> Take for R {}

/// A reader that passes bytes through and keeps their CRC-32.
#[derive(Debug)]
pub(crate) struct Checked<T> {
    inner: T,
    crc: crc32fast::Hasher,
    offset: u64,
    failed: bool,
}

impl<T> Checked<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, crc: crc32fast::Hasher::new(), offset: 0, failed: false }
    }

    /// Returns the CRC-32 of the bytes that have passed.
    pub(crate) fn crc(&self) -> u32 {
        self.crc.clone().finalize()
    }

    /// Returns the number of bytes that have passed.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns true if the inner reader reported an error, and not the parser of its bytes.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn into_inner(self) -> T {
        self.inner
    }
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.offset += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: BufRead> Read for Checked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let taken = available.read(out)?;
        self.consume(taken);
        Ok(taken)
    }
}

impl<R: BufRead> BufRead for Checked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.inner.fill_buf() {
            Err(error) => {
                self.failed = error.kind() != io::ErrorKind::Interrupted;
                Err(error)
            }
            ok => ok,
        }
    }

    /// Hashes the consumed bytes, which are still at the front of the inner reader's buffer.
    fn consume(&mut self, amount: usize) {
        if let Ok(available) = self.inner.fill_buf() {
            self.crc.update(&available[..amount.min(available.len())]);
        }
        self.offset += amount as u64;
        self.inner.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit]).chain([u64::MAX]);
        for number in edges {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            assert_eq!(bytes.as_slice().take_number().ok(), Some(number));
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_a_fault() {
        for bytes in
            [[0xff; 11].as_slice(), &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]]
        {
            let mut input = bytes;
            assert!(matches!(input.take_number(), Err(Broken::Fault(Fault::Number))));
        }
    }

    #[test]
    fn leads_come_back() {
        let accesses = [0, 1, 55, 56, (1 << 20) - 1]
            .into_iter()
            .flat_map(|place| [false, true].map(|store| Lead::Access { place, store }));
        for lead in accesses.chain(Tag::ALL.map(Lead::Record)) {
            let mut bytes = Vec::new();
            lead.put(&mut bytes);
            assert_eq!(bytes.as_slice().take_lead().ok(), Some(lead));
        }
    }

    #[test]
    fn pages_come_back_from_everywhere() {
        let most = super::super::event::PAGE_LIMIT - 1;
        for (from, number) in [(0, 0), (0, most), (most, 0), (7, 6), (7, 8)] {
            let page = Page::new(number).expect("a page");
            let mut bytes = Vec::new();
            put_page(&mut bytes, page, from);
            assert_eq!(bytes.as_slice().take_page(from).ok(), Some(page));
        }
    }
}

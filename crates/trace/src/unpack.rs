//! Compressed files and archives, unpacked as they are read.

mod archive;

use std::cell::Cell;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::rc::Rc;

use archive::OneFile;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::{Decompress, FlushDecompress};
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

/// A compression or an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// gzip, of any number of members.
    Gzip,
    /// xz, of any number of streams.
    Xz,
    /// Zstandard, of any number of frames.
    Zstd,
    /// zlib around text, as `damo record` writes it.
    Zlib,
    /// A tar archive.
    Tar,
}

/// Bytes at the beginning that identify a packing: a header of tar is the longest.
const START: u64 = 512;
/// The maximum number of layers, such as xz around tar.
const LAYERS: usize = 3;
/// The bytes that any input may unpack to, and the additional bytes for each byte of input: the
/// traces that ChampSim's users publish unpack to a few hundred times their size.
const MOST: u64 = 64 << 20;
const MOST_PER_BYTE: u64 = 4096;
/// Memory for a decoder of xz, in bytes; `xz -9` takes half.
const XZ_MEMORY: u64 = 128 << 20;

impl Packing {
    /// Recognizes a packing by a file's first bytes.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] if inflates_to_json(start) => Some(Self::Zlib),
            _ if start.get(257..262) == Some(b"ustar") => Some(Self::Tar),
            _ => None,
        }
    }

    /// Returns the name that messages use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip-compressed data",
            Self::Xz => "xz-compressed data",
            Self::Zstd => "zstd-compressed data",
            Self::Zlib => "zlib-compressed data",
            Self::Tar => "a tar archive",
        }
    }

    /// Returns the command that unpacks it.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Gzip => "decompress it with `gzip -dc`",
            Self::Xz => "decompress it with `xz -dc`",
            Self::Zstd => "decompress it with `zstd -dc`",
            Self::Zlib => "decompress it with `zlib-flate -uncompress`",
            Self::Tar => "extract it with `tar -xf`",
        }
    }

    fn reader<'a>(self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        let input = BufReader::new(input);
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(input)),
            Self::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
                Box::new(XzDecoder::new_stream(input, stream))
            }
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(input)?),
            Self::Zlib => Box::new(ZlibDecoder::new(input)),
            Self::Tar => Box::new(OneFile::new(input)),
        })
    }
}

/// Returns true if bytes begin a zlib stream of JSON: two bytes of signature are few.
fn inflates_to_json(start: &[u8]) -> bool {
    let mut out = [0; 16];
    let mut inflate = Decompress::new(true);
    let inflated = inflate.decompress(start, &mut out, FlushDecompress::None);
    inflated.is_ok() && matches!(out.trim_ascii_start().first(), Some(b'[' | b'{'))
}

/// Reads an input as it is, or what is packed in it. No more is held than a decoder's window.
///
/// # Errors
/// Those of reading. Later reads fail on damaged data, on an archive that does not hold exactly
/// one file, and where far more comes out than went in.
pub(crate) fn unpacked<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let taken = Rc::new(Cell::new(0));
    let mut input: Box<dyn Read + 'a> = Box::new(Counted { input, bytes: Rc::clone(&taken) });
    for layer in 0..=LAYERS {
        let mut start = Vec::new();
        input.by_ref().take(START).read_to_end(&mut start)?;
        let packing = Packing::of(&start);
        input = Box::new(Cursor::new(start).chain(input));
        match packing {
            None if layer == 0 => return Ok(input),
            None => return Ok(Box::new(Bounded { input, given: 0, taken })),
            Some(packing) if layer < LAYERS => {
                let input_of_layer = packing.reader(input)?;
                input = Box::new(Named { input: input_of_layer, packing });
            }
            Some(_) => {}
        }
    }
    Err(io::Error::other(format!("it is packed more than {LAYERS} times over")))
}

/// Counts the bytes that are read.
struct Counted<R> {
    input: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Names the layer that fails.
struct Named<R> {
    input: R,
    packing: Packing,
}

impl<R: Read> Read for Named<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.input.read(out).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("{}: {error}", self.packing.name())),
        })
    }
}

/// Ends an input of which far more comes out than went in.
struct Bounded<R> {
    input: R,
    /// Bytes that came out.
    given: u64,
    /// Bytes that went in.
    taken: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        self.given += read as u64;
        if self.given > MOST + self.taken.get().saturating_mul(MOST_PER_BYTE) {
            return Err(io::Error::other(format!(
                "it unpacks to more than 64 MiB and {MOST_PER_BYTE} times its size: unpack it, \
                 and import the result"
            )));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"[1, 2, 3]\n";

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).expect("it is compressed")
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).expect("it is compressed");
        out.finish().expect("it is compressed")
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
        out.write_all(bytes).expect("it is compressed");
        out.finish().expect("it is compressed")
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(bytes).expect("it is compressed");
        out.finish().expect("it is compressed")
    }

    fn read(input: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let mut input = unpacked(input).map_err(|error| error.to_string())?;
        input.read_to_end(&mut out).map_err(|error| error.to_string())?;
        Ok(out)
    }

    #[test]
    fn each_packing_is_unpacked_and_the_rest_is_left() {
        let tar = archive::archive(&[("a/", b""), ("a/b", TEXT)]);
        for packed in [
            TEXT.to_vec(),
            zstd(TEXT),
            gzip(TEXT),
            xz(TEXT),
            zlib(TEXT),
            xz(&tar),
            gzip(&zstd(TEXT)),
            tar,
            [gzip(&TEXT[..4]), gzip(&TEXT[4..])].concat(),
            [xz(&TEXT[..4]), xz(&TEXT[4..])].concat(),
            [zstd(&TEXT[..4]), zstd(&TEXT[4..])].concat(),
        ] {
            assert_eq!(read(&packed).as_deref(), Ok(TEXT), "{packed:?}");
        }
        for plain in [&b""[..], b"x", b"x\x9c text", b"\x1f\x8b"] {
            assert_eq!(read(plain).as_deref(), Ok(plain));
        }
    }

    #[test]
    fn a_bomb_is_refused_by_what_comes_out() {
        let zeros = vec![0; (MOST as usize) * 2];
        let bomb = zstd(&zeros);
        assert!(MOST + bomb.len() as u64 * MOST_PER_BYTE < zeros.len() as u64, "{}", bomb.len());
        let error = read(&bomb).expect_err("it is refused");
        assert!(error.contains("64 MiB and 4096 times its size"), "{error}");
        let error = read(&gzip(&gzip(&gzip(&gzip(TEXT))))).expect_err("it is refused");
        assert!(error.contains("more than 3 times"), "{error}");
    }

    #[test]
    fn damage_names_the_layer() {
        for (packed, name) in [
            (gzip(TEXT), "gzip-compressed data: "),
            (xz(TEXT), "xz-compressed data: "),
            (zstd(TEXT), "zstd-compressed data: "),
        ] {
            let error = read(&packed[..packed.len() - 2]).expect_err("it was cut off");
            assert!(error.starts_with(name), "{error}");
        }
    }
}

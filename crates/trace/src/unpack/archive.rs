//! The one file of a tar archive.

use std::io::{self, ErrorKind, Read};

use tar::Header;

/// Bytes of a header, and the unit of a file's room.
const BLOCK: usize = 512;

/// A reader of the only file that an archive holds; directories and empty files do not count.
pub(super) struct OneFile<R> {
    input: R,
    /// True if the file was found.
    found: bool,
    /// The bytes of the file that are left.
    left: u64,
    /// The bytes after the file up to the next header.
    padding: u64,
}

impl<R: Read> OneFile<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, found: false, left: 0, padding: 0 }
    }

    /// Goes to the next file, and returns its size; `None` at the end of the archive.
    fn next_file(&mut self) -> io::Result<Option<u64>> {
        loop {
            self.skip(self.padding)?;
            self.padding = 0;
            let mut block = [0; BLOCK];
            let filled = fill(&mut self.input, &mut block)?;
            if filled == 0 || block == [0; BLOCK] {
                return Ok(None);
            }
            if filled < BLOCK {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let header = Header::from_byte_slice(&block);
            let size = header.entry_size()?;
            let room = size.checked_next_multiple_of(BLOCK as u64);
            let room = room.ok_or_else(|| io::Error::other("a file of more than 2^64 bytes"))?;
            if header.entry_type().is_file() && size > 0 {
                self.padding = room - size;
                return Ok(Some(size));
            }
            self.padding = room;
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink())?;
        if skipped < bytes { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl<R: Read> Read for OneFile<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            match self.next_file()? {
                Some(size) if !self.found => (self.found, self.left) = (true, size),
                Some(_) => {
                    let message = "it holds several files: extract one, and import that";
                    return Err(io::Error::other(message));
                }
                None => return Ok(0),
            }
        }
        let most = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.input.read(&mut out[..most])?;
        if read == 0 && most > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

/// Fills as much of a block as the input has.
fn fill(input: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match input.read(&mut block[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    Ok(filled)
}

/// Makes an archive of these files; a name that ends in a slash is a directory's.
#[cfg(test)]
pub(super) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = Header::new_ustar();
        header.set_size(content.len() as u64);
        if name.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        archive.append_data(&mut header, name, *content).expect("it is appended");
    }
    archive.into_inner().expect("it is finished")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(archive: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let read = OneFile::new(archive).read_to_end(&mut out);
        read.map(|_| out).map_err(|error| error.to_string())
    }

    #[test]
    fn the_only_file_is_read_and_several_are_refused() {
        let big = vec![7; 1300];
        let one = archive(&[("a/", b""), ("empty", b""), ("a/b", &big), ("c/", b"")]);
        assert_eq!(read(&one), Ok(big.clone()));
        let two = archive(&[("a", &big), ("b", b"x")]);
        assert!(read(&two).expect_err("two files").contains("several files"));
        assert_eq!(read(&archive(&[("a/", b"")])), Ok(Vec::new()));
    }

    #[test]
    fn an_archive_that_was_cut_off_is_refused() {
        let one = archive(&[("a", &[7; 1300])]);
        for end in [100, 600, 1812] {
            assert!(read(&one[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_long_name_is_passed_over() {
        let name = "long/".repeat(40) + "name";
        assert_eq!(read(&archive(&[(&name, b"content")])), Ok(b"content".to_vec()));
    }
}

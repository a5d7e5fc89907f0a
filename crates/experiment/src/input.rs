//! Files that are read whole, up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum number of bytes of a patch.
pub const MAX_PATCH: u64 = 64 << 20;
/// Maximum number of bytes of a platform file, or of a session of `lru_gen`.
pub const MAX_TEXT: u64 = 1 << 20;
/// Maximum number of bytes of a file of records.
pub const MAX_RECORDS: u64 = 256 << 20;

/// Reads a whole file, pipe or device of at most `most` bytes.
///
/// # Errors
/// The error of the system, or that there are more bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it has more than {} MiB, the most that is read of it", most >> 20);
        return Err(io::Error::other(problem));
    }
    Ok(bytes)
}

/// Reads a text of at most `most` bytes, like [`read`].
///
/// # Errors
/// Those of [`read`], or that it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read(path, most)?).map_err(not_text)
}

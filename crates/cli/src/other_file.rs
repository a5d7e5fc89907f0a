//! The name of a file that is no record file.

use crate::error::CliError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The bytes at the beginning of a file by which it is recognized.
const START: u64 = 64 << 10;

/// Returns the error for a regular file that is not JSON, if its first bytes show its kind.
pub(crate) fn other_file(path: &Path) -> Option<CliError> {
    let file = File::open(path).ok()?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    let mut start = Vec::new();
    file.take(START).read_to_end(&mut start).ok()?;
    let found = pageout_trace::named(&start).filter(|seeming| !seeming.is_text_of_records())?;
    Some(CliError::OtherFile { path: path.to_owned(), found })
}

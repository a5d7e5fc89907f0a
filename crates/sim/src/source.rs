//! Where a trace comes from: a file, or the sample that is part of this program.

use crate::trace::{TraceError, TraceReader};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// The sample's name, and its bytes.
const SAMPLE: (&str, &[u8]) =
    ("python-table.pgt", include_bytes!("../../../samples/python-table.pgt"));

/// A trace that can be read any number of times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TraceSource {
    /// A file.
    File(PathBuf),
    /// The sample that comes with the program; `samples/README.md` says how it was made.
    Sample,
}

impl TraceSource {
    /// Reads it from the beginning.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn open(&self) -> Result<TraceReader<Box<dyn BufRead>>, TraceError> {
        match self {
            Self::File(path) => {
                let open = |source| TraceError::Open { path: path.clone(), source };
                TraceReader::new(Box::new(BufReader::new(File::open(path).map_err(open)?)))
            }
            Self::Sample => TraceReader::new(Box::new(SAMPLE.1)),
        }
    }

    /// What records call it: the file's name.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().into_owned()
            }
            Self::Sample => SAMPLE.0.to_owned(),
        }
    }
}

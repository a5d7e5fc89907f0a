//! The source of a trace: a file, or a sample that is part of this program.

use crate::{Header, Info, TraceError, TraceReader};
use pageout_experiment::{shown, this_machine};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

/// The samples' names and bytes; the first is the default.
static SAMPLES: [(&str, &[u8]); 3] = [
    ("python-table", include_bytes!("../../../samples/python-table.pgt")),
    ("sqlite-orders", include_bytes!("../../../samples/sqlite-orders.pgt")),
    ("cc1plus-list", include_bytes!("../../../samples/cc1plus-list.pgt")),
];

const EXTENSION: &str = "pgt";

/// A trace in memory: it can be read any number of times, even if its file changes.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceSource {
    name: String,
    bytes: Arc<[u8]>,
}

impl TraceSource {
    /// Returns the samples that come with the program, the default one first; `samples/README.md`
    /// describes how they were made.
    pub fn samples() -> impl Iterator<Item = Self> {
        // Records call a sample by the name of its file.
        SAMPLES.iter().map(|(name, bytes)| Self {
            name: format!("{name}.{EXTENSION}"),
            bytes: (*bytes).into(),
        })
    }

    /// Returns the names of the samples.
    pub fn sample_names() -> [&'static str; SAMPLES.len()] {
        SAMPLES.map(|(name, _)| name)
    }

    /// Returns the sample of that name.
    pub fn sample(name: &str) -> Option<Self> {
        let place = SAMPLES.iter().position(|sample| sample.0 == name)?;
        Self::samples().nth(place)
    }

    /// Reads a file into memory: traces are small for their content.
    ///
    /// # Errors
    /// [`TraceError::Open`] if it is no regular file, cannot be read or does not fit;
    /// [`TraceError::Name`], since records name it; otherwise the error in its header.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        if shown(&name) != name {
            return Err(TraceError::Name);
        }
        let open = |source| TraceError::Open { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(open)?;
        if !metadata.is_file() {
            return Err(open(io::Error::other("not a regular file")));
        }
        TraceReader::new(BufReader::new(File::open(path).map_err(open)?))?;
        let available = this_machine::available_memory();
        if available.is_some_and(|available| metadata.len() > available) {
            return Err(open(io::ErrorKind::OutOfMemory.into()));
        }
        let bytes = fs::read(path).map_err(open)?.into();
        Ok(Self { name, bytes })
    }

    /// Returns the SHA-256 of the trace's bytes, in hexadecimal: files of one name need not be one
    /// trace.
    pub fn sha256(&self) -> String {
        Sha256::digest(&self.bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns a reader from the beginning, for a trace with all accesses that matter to a replay.
    ///
    /// # Errors
    /// [`TraceError::Sampled`] if it has only samples; others of the reader's.
    pub fn open(&self) -> Result<TraceReader<&[u8]>, TraceError> {
        let reader = TraceReader::new(&*self.bytes)?;
        match reader.header() {
            Header { sampled: true, tool, .. } => Err(TraceError::Sampled { tool: tool.clone() }),
            _ => Ok(reader),
        }
    }

    /// Returns the figures of the trace.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn info(&self) -> Result<Info, TraceError> {
        Info::read(TraceReader::new(&*self.bytes)?, self.bytes.len() as u64)
    }

    /// Returns the name of the trace in records: the file's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The sample that is used if none is named.
impl Default for TraceSource {
    fn default() -> Self {
        Self::samples().next().expect("there are samples")
    }
}

impl fmt::Debug for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes } = self;
        write!(f, "TraceSource({name}, {} bytes)", bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, ImportOptions, import};

    #[test]
    fn a_trace_outlives_its_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("copy.pgt");
        fs::write(&path, SAMPLES[0].1).expect("a file");
        let source = TraceSource::read(&path).expect("a trace");
        fs::remove_file(&path).expect("the file is there");
        assert_eq!(source.name(), "copy.pgt");
        let sample = TraceSource::default().info().expect("the sample is a trace");
        assert_eq!(source.info().expect("it is in memory"), sample);
    }

    fn made(log: &str, options: &ImportOptions) -> TraceSource {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.pgt");
        import(log.as_bytes(), &path, options, &mut |_| {}).expect("a log");
        TraceSource::read(&path).expect("a trace")
    }

    #[test]
    fn a_trace_is_known_by_its_bytes() {
        let one = |log| made(log, &ImportOptions::default()).sha256();
        assert_eq!(one(" L 1000,8\n"), one(" L 1000,8\n"));
        assert_ne!(one(" L 1000,8\n"), one(" L 2000,8\n"));
        // By sha256sum.
        let sample = TraceSource::sample("cc1plus-list").expect("a sample");
        assert_eq!(
            sample.sha256(),
            "cc34a86f3f01fe2c65f7f5e22e18ea20218270f6fa76e4f52f6d2987d7c08527"
        );
    }

    #[test]
    fn samples_of_accesses_are_told_of_and_not_replayed() {
        let options =
            ImportOptions { format: Some(Format::PerfScript), ..ImportOptions::default() };
        let sampled = made("1 mem-loads: 1000\n", &options);
        assert!(sampled.info().expect("a trace").header.sampled);
        let error = sampled.open().expect_err("it is sampled").to_string();
        assert!(error.contains("from perf script") && error.contains("trace info"), "{error}");
    }
}

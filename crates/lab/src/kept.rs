//! Results of machines whose run did not come to its end, because it was interrupted or another
//! machine failed. The same run, asked for again, takes them: a counted machine would give the same
//! once more.

use std::fs;
use std::io;
use std::path::PathBuf;

use pageout_record::schema::Record;
use serde::{Deserialize, Serialize};

use super::cache::{Cache, CacheError};
use super::digest::Name;

/// The results of a machine.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(super) struct Given {
    pub(super) records: Vec<Record>,
    /// The text that a plugin wrote, if one counted.
    pub(super) counts: Option<String>,
}

/// The place of a machine's results.
#[derive(Debug)]
pub(super) struct Kept(PathBuf);

impl Kept {
    /// Returns the place for the machine of a name, which stands for all that decides its results.
    pub(super) fn new(cache: &Cache, machine: Name) -> Result<Self, CacheError> {
        Ok(Self(cache.ended()?.join(machine.finish()).with_extension("json")))
    }

    /// Returns the results that are kept, if there are any.
    pub(super) fn given(&self) -> Option<Given> {
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// Keeps results.
    pub(super) fn keep(&self, given: &Given) -> Result<(), CacheError> {
        // An interrupted write leaves the file under another name.
        let part = self.0.with_extension("part");
        let text = serde_json::to_vec(given).map_err(io::Error::from);
        let written = text.and_then(|text| fs::write(&part, text));
        written.and_then(|()| fs::rename(&part, &self.0)).map_err(CacheError::at(&self.0))
    }

    /// Forgets the results: their run has come to its end.
    pub(super) fn forget(self) {
        // What stays is swept after a day.
        let _ = fs::remove_file(self.0);
    }
}

//! The results of machines.

use std::path::PathBuf;

use pageout_record::schema::Record;

use super::kept::Kept;
use super::pages::Pages;
use super::profile::Profile;
use super::regions::Regions;

/// The counts of a plugin.
pub(super) enum Counts {
    Under(Profile),
    Regions(Regions),
}

/// The results of a machine.
pub(super) struct Brought {
    pub(super) title: String,
    pub(super) emulator: String,
    pub(super) records: Vec<Record>,
    /// A session's answers, line by line.
    pub(super) answers: Vec<String>,
    pub(super) counts: Option<Counts>,
    pub(super) pages: Pages,
    /// The machine's log, if its kernel warned.
    pub(super) warned: Option<PathBuf>,
    /// The place where the results are kept until the run has come to its end.
    pub(super) kept: Option<Kept>,
}

impl Brought {
    /// Returns the machine's name in messages: `s1, arm64-4k, cpu max`.
    pub(super) fn title(&self) -> &str {
        &self.title
    }
}

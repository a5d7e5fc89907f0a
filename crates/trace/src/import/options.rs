//! How to import.

use super::format::Format;
use crate::filter::FilterShape;
use crate::header::DEFAULT_EPOCH_REFERENCES;

/// How to import.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImportOptions {
    /// What the input is.
    pub format: Format,
    /// The epoch length, in references; not used where the format has epochs.
    pub epoch_references: u64,
    /// Which references may be left out; of samples none is.
    pub filter: FilterShape,
    /// The command that was traced; where it is empty, what the input says is taken.
    pub command: Vec<String>,
    /// The architecture it ran on, or `unknown`.
    pub architecture: String,
    /// Bytes of memory that are there for the pages, where that is known.
    pub available: Option<u64>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: Format::Lackey,
            epoch_references: DEFAULT_EPOCH_REFERENCES,
            filter: FilterShape::DEFAULT,
            command: Vec::new(),
            architecture: "unknown".to_owned(),
            available: None,
        }
    }
}

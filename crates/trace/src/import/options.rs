//! Options of an import, and its result.

use super::access::PassedOver;
use super::error::ImportError;
use super::format::Format;
use crate::filter::FilterShape;
use crate::header::{DEFAULT_EPOCH_REFERENCES, Totals};

/// Options of an import.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImportOptions {
    /// The input's format; `None` recognizes it by its content.
    pub format: Option<Format>,
    /// The process to import, by the number that the input gives it; `None` accepts an input of
    /// one process only.
    pub process: Option<u64>,
    /// The epoch length, in references, of a format without epochs; `None` is
    /// [`DEFAULT_EPOCH_REFERENCES`].
    pub epoch_references: Option<u64>,
    /// The references that may be dropped from a format that does not keep all; `None` is
    /// [`FilterShape::DEFAULT`].
    pub filter: Option<FilterShape>,
    /// The traced command; if empty, the input's own is used.
    pub command: Vec<String>,
    /// The architecture that the command ran on, or `unknown`.
    pub architecture: String,
    /// The bytes of memory available for the pages, if that is known.
    pub available: Option<u64>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: None,
            process: None,
            epoch_references: None,
            filter: None,
            command: Vec::new(),
            architecture: "unknown".to_owned(),
            available: None,
        }
    }
}

impl ImportOptions {
    /// Checks that all options have a meaning for the format, if one is asked for.
    ///
    /// # Errors
    /// [`ImportError::Option`].
    pub fn check(&self) -> Result<(), ImportError> {
        self.format.map_or(Ok(()), |format| self.check_for(format))
    }

    /// Checks that all options have a meaning for a format.
    pub(super) fn check_for(&self, format: Format) -> Result<(), ImportError> {
        let unused = |option, why| Err(ImportError::Option { option, format, why });
        if self.filter.is_some() && format.keeps_all() {
            return unused("--filter", "nothing is left out of it");
        }
        if self.epoch_references.is_some() && format.has_epochs() {
            return unused("--epoch", "its records say where an epoch ends");
        }
        if self.process.is_some() && !format.has_processes() {
            return unused("--pid", "it does not say of which process an access is");
        }
        Ok(())
    }

    /// Returns the references that may be dropped from a format.
    pub(super) fn filter(&self, format: Format) -> FilterShape {
        match self.filter {
            _ if format.keeps_all() => FilterShape::EVERY_PAGE,
            Some(filter) => filter,
            None => FilterShape::DEFAULT,
        }
    }

    /// Returns the epoch length, in references, of a format without epochs.
    pub(super) fn epoch_references(&self) -> u64 {
        self.epoch_references.unwrap_or(DEFAULT_EPOCH_REFERENCES)
    }
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// The input's format, asked for or recognized.
    pub format: Format,
    /// The trace's totals.
    pub totals: Totals,
    /// Lines and records that are not in the trace.
    pub passed_over: PassedOver,
}

//! The errors of platform files that are refused.

use crate::tlb::ShapeError;
use pageout_refusal::UnknownName;

/// A problem of a platform file, and its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct PlatformError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1 on. For a missing key, the line of the section that lacks it; the last line
    /// of the file if that section has no header.
    pub line: usize,
    /// The problem itself.
    pub problem: Problem,
}

/// The possible problems of a platform file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// The text is not TOML, or has a key or section twice.
    #[error("{0}")]
    Syntax(String),
    /// A key that its section does not have.
    #[error(transparent)]
    Unknown(UnknownName),
    /// A required key is missing.
    #[error("missing `{key}`, accepted: {accepted}")]
    Missing {
        /// The key, with the sections it is in.
        key: String,
        /// The values that the key may have.
        accepted: String,
    },
    /// A value that its key may not have.
    #[error("`{key}`: found {found}, accepted: {accepted}")]
    Refused {
        /// The key, with the sections it is in.
        key: String,
        /// The value that was found.
        found: String,
        /// The values that the key may have.
        accepted: String,
    },
    /// A TLB that cannot exist.
    #[error("`{key}`: {why}")]
    Tlb {
        /// The key, with the sections it is in.
        key: String,
        /// The reason why it cannot exist.
        why: ShapeError,
    },
}

//! Why a platform file was refused.

use crate::tlb::ShapeError;
use pageout_refusal::UnknownName;

/// What is wrong with a platform file, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct PlatformError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1 on. For what is missing, the line of the section that lacks it; the last
    /// line where that has no header.
    pub line: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a platform file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// Not TOML; a key or section given twice is told here too.
    #[error("{0}")]
    Syntax(String),
    /// A key that its section does not have.
    #[error(transparent)]
    Unknown(UnknownName),
    /// A key that its section must have.
    #[error("missing `{key}`, accepted: {accepted}")]
    Missing {
        /// The key, with the sections it is in.
        key: String,
        /// The values that it may have.
        accepted: String,
    },
    /// A value that its key may not have.
    #[error("`{key}`: found {found}, accepted: {accepted}")]
    Refused {
        /// The key, with the sections it is in.
        key: String,
        /// What was found.
        found: String,
        /// The values that it may have.
        accepted: String,
    },
    /// A TLB that there cannot be.
    #[error("`{key}`: {why}")]
    Tlb {
        /// The key, with the sections it is in.
        key: String,
        /// What does not fit.
        why: ShapeError,
    },
}

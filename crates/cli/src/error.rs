//! Why a command ended: one message that names what and where.

use pageout_record::compare::CompareError;
use pageout_record::schema::{CsvError, InvalidRecord};
use pageout_sim::fields::FieldError;
use pageout_sim::residency::ReplayError;
use pageout_sim::trace::{ImportError, RecordError, TraceError, WriteError};
use pageout_sim::variant::VariantError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("unknown scenario `{0}`: expected age-file or trace")]
    UnknownScenario(String),
    #[error("{0}; fields follow a scenario: pageout compare age-file order=4")]
    FieldsWithoutScenario(String),
    #[error("--trace is for scenario trace, not for {0}")]
    TraceNotUsed(String),
    #[error("unknown ground `{0}`: expected host")]
    UnknownGround(String),
    #[error("ground {0} is not implemented yet; available is host")]
    GroundNotYet(String),
    #[error("{variant} is compared with itself: give --base or --new another choice on some axis")]
    SameVariant { variant: String },
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Variant(#[from] VariantError),
    #[error("{name}: {error}")]
    Replay { name: String, error: ReplayError },
    #[error("{name}: {error}")]
    Trace { name: String, error: TraceError },
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    #[error(transparent)]
    Csv(#[from] CsvError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("{}: {error}", path.display())]
    Import { path: PathBuf, error: ImportError },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("{}: {error}", path.display())]
    Open { path: PathBuf, error: std::io::Error },
    #[error("standard output: {0}")]
    Stdout(std::io::Error),
}

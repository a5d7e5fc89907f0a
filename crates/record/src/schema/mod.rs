//! The record format: types, reading with validation, JSON and CSV.

mod convert;
mod csv;
mod json;
mod labels;
mod matrix;
mod merge;
mod read;
mod sequence;
mod series;
mod types;
mod validate;

pub use convert::{ConvertError, from_version_1};
pub use csv::CsvError;
pub use labels::Labels;
pub use matrix::{Edges, Matrix};
pub use merge::{LABEL, MergeError, Pooling};
pub use read::ReadError;
pub use sequence::{Sequence, Step, StepKind};
pub use series::{Axis, Line, Series};
pub use types::{
    Activity, Basis, Better, Bound, Claim, Ground, Machine, Metric, Record, RecordFile, RecordSet,
    Run, SCHEMA, Told, VERSION,
};
pub use validate::{InvalidRecord, Problem};

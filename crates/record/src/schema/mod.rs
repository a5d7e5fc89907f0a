//! The record format: types, reading with validation, JSON and CSV.

mod basis;
mod checks;
mod csv;
mod json;
mod json_schema;
mod kinds;
mod labels;
mod matrix;
mod merge;
mod problem;
mod read;
mod sequence;
mod series;
mod types;
mod validate;

pub use basis::Basis;
pub use checks::{acts_on_display, shown};
pub use csv::CsvError;
pub use json_schema::json_schema;
pub use labels::Labels;
pub use matrix::{Edges, Matrix, Part};
pub use merge::{LABEL, MergeError, Pooling};
pub use problem::{InvalidRecord, Problem};
pub use read::ReadError;
pub use sequence::{Sequence, Step, StepKind};
pub use series::{Axis, Line, Series};
pub use types::{
    Activity, Better, Bound, Claim, Ground, Machine, Metric, Record, RecordFile, RecordSet, Run,
    SCHEMA, Told, VERSION,
};

//! The record format: types, reading with validation, JSON and CSV.

mod convert;
mod csv;
mod json;
mod pool;
mod read;
mod types;
mod validate;

pub use convert::{ConvertError, from_version_1};
pub use csv::CsvError;
pub use pool::PoolError;
pub use read::ReadError;
pub use types::{
    Activity, Basis, Better, Bound, Claim, Ground, Labels, Machine, Metric, Record, RecordSet, Run,
    SCHEMA, VERSION,
};
pub use validate::{InvalidRecord, Problem};

//! The record format: types, reading with validation, JSON and CSV.

mod csv;
mod pool;
mod read;
mod types;
mod validate;

pub use csv::CsvError;
pub use pool::PoolError;
pub use read::ReadError;
pub use types::{
    Basis, Better, Ground, Labels, Machine, Metric, Record, RecordSet, Run, SCHEMA, VERSION,
};
pub use validate::{InvalidRecord, Problem};

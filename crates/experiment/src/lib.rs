//! The subjects of comparisons: variants, the fields of scenarios, rounds of measuring, and the
//! declarations of records. No code here runs the engine.
#![forbid(unsafe_code)]

pub mod bound;
pub mod clock;
pub mod declare;
pub mod fields;
pub mod footprint;
pub mod formats;
pub mod input;
pub mod kinds;
pub mod lru_gen;
pub mod metrics;
pub mod rounds;
pub mod scenarios;
pub mod spread;
pub mod this_machine;
pub mod variant;

pub use pageout_record::schema::shown;

/// Writes a file's name as a part of a line: [`shown`].
pub fn named(path: &std::path::Path) -> String {
    shown(&path.display().to_string()).into_owned()
}

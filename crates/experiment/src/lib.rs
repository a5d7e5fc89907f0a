//! What is compared: variants, the fields of scenarios, rounds of measuring and what records say of
//! them. Nothing here runs the engine.
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

/// A file's name as a part of a line: [`shown`].
pub fn named(path: &std::path::Path) -> String {
    shown(&path.display().to_string()).into_owned()
}

//! The one record format every ground writes, its statistics, and the tables rendered from it.
//!
//! - [`schema`]: what a run leaves behind, as JSON and CSV (`docs/records.md` is its reference);
//! - [`stats`]: medians, their intervals, and the tests between two samples;
//! - [`compare`]: one base variant against the others, metric by metric;
//! - [`chart`]: which pictures a comparison has, whatever draws them;
//! - [`render`]: text of comparisons and of quoted figures: tables, lists, pictures.
//!
//! Renderers read records and nothing else.
#![forbid(unsafe_code)]

pub mod chart;
pub mod compare;
pub mod render;
pub mod schema;
pub mod stats;

//! The record format that every ground writes, its statistics, and the tables rendered from it.
//!
//! - [`schema`]: the results of a run, as JSON and CSV (`docs/records.md` is its reference);
//! - [`stats`]: medians, their intervals, and the tests between two samples;
//! - [`compare`]: one base variant against the others, metric by metric;
//! - [`chart`]: the pictures of a comparison, for any renderer;
//! - [`render`]: text of comparisons and of quoted figures: tables, lists, pictures.
//!
//! Renderers read only records.
#![forbid(unsafe_code)]

pub mod chart;
pub mod compare;
pub mod render;
pub mod schema;
pub mod stats;

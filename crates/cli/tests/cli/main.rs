//! The command line end to end: every command through the binary that ships.
#![forbid(unsafe_code)]

mod aging_rounds;
mod bad_input;
mod calibrate;
mod check;
mod commands;
mod common;
mod counts;
mod curve;
mod decision;
mod files;
mod first_screen;
mod formats;
mod help;
mod hostile;
mod lab;
mod labels;
mod lru_gen;
mod man;
mod metrics;
mod mistakes;
mod model;
mod observe;
mod plugin;
mod readme_gate;
mod record_files;
mod records;
mod replay;
mod report;
mod reproduce;
mod script;
mod series;
mod sweep;
mod trace_formats;
mod trace_model;
mod width;

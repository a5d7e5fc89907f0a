//! Puts the engine on its grounds.
#![forbid(unsafe_code)]

pub mod trace;

//! Puts the engine on its grounds: scenarios, traces of real programs, and how they are measured.
#![forbid(unsafe_code)]

pub mod age_file;
pub mod aging_rounds;
pub mod bench;
pub mod buddy;
pub mod clock;
pub mod counting;
pub mod demand_min;
pub mod explore;
pub mod fields;
pub mod floor;
pub mod footprint;
pub mod formats;
pub mod frames;
pub mod generations;
pub mod host;
pub mod lab;
pub mod layout;
pub mod limited;
pub mod lru_gen;
pub mod metrics;
pub mod model;
pub mod published;
pub mod reclaim_file;
pub mod reference_string;
pub mod replay;
pub mod reproduce;
pub mod residency;
pub mod rounds;
pub mod sampler;
pub mod source;
pub mod sweep;
pub mod this_machine;
pub mod trace;
pub mod variant;
pub mod walker;

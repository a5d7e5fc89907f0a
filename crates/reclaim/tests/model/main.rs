//! Nothing is lost: whatever processes, reclaim, storage and CPUs do in whatever order, each load
//! finds what was stored last, and what the engine counts adds up after every step.
//!
//! Out of scope: truncation of files, PMD leaves, secondary MMUs. Hardware acts, and some operations
//! interrupt others, in the engine's calls to its ground; the orders of single accesses to page
//! tables are the explorer's.

mod audit;
mod found;
mod hardware;
mod memory;
mod mistakes;
mod model;
mod property;
mod run;
mod steps;
mod truth;

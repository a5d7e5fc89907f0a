//! Nothing is lost: whatever processes, reclaim, storage and CPUs do in whatever order, each load
//! finds what was stored last, and what the engine counts adds up after every step.
//!
//! Out of scope: faults on what is being truncated, secondary MMUs other than a device's to which
//! pages are lent. Hardware acts, and some operations interrupt reclaim, in the engine's calls to
//! its ground: what may happen between two accesses to one page table is the explorer's.

mod audit;
mod device;
mod exhaustion;
mod found;
mod hardware;
mod lists;
mod memory;
mod mistakes;
mod model;
mod nested;
mod owed;
mod property;
mod reclaims;
mod run;
mod steps;
mod tlb;
mod truth;
mod variants;
mod watched;

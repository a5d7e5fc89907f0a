//! The property that nothing is lost, under any order of operations of processes, reclaim, storage
//! and CPUs. Each load finds the value stored last, and the engine's counts are right after every
//! step.
//!
//! Out of scope: faults on pages that are being truncated, and secondary MMUs except that of a
//! device to which pages are lent. Hardware acts, and some operations interrupt reclaim, in the
//! engine's calls to its ground. Events between two accesses to one page table are left to the
//! explorer.

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
mod truth;
mod variants;

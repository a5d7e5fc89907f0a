//! The whole engine for C: faults, reclaim, aging, cgroups, over a world of callbacks.
//!
//! All functions have the same precondition, which their `# Safety` sections call *the promise*:
//! - Structures, texts and results are null, or live and aligned, for the call.
//! - A handle is null, or one that was made here and whose bytes were not touched since. It may
//!   have ended.
//! - The bytes of an engine and of a CPU's context are live from their making to their end, or as
//!   long as a call may use them, and nobody else uses them.
//! - The callbacks of a world do what [`world::World`] says, on whatever CPU the call is made.
//! - A root table is of the engine's format, empty but for the kernel's entries, and one address
//!   space's. All who write to tables do so by single accesses of 64 bits.

mod calls;
pub mod handle;
pub mod memcg;
pub mod pages;
pub mod reclaim;
pub mod setup;
pub mod space;
pub mod stat;
pub mod types;
pub mod world;

//! The declarations of all scenarios, each with its name, its fields, the grounds it runs on and
//! the axes of its variants. The crate of a ground has the code that runs it there.

mod age_file;
mod aging_rounds;
mod catalog;
mod compared;
mod declared;
mod madv_free;
pub mod metrics;
mod pageout_shared;
mod reclaim_file;
mod reclaim_shmem;
mod trace;

pub use age_file::{AgeFile, AgeFileLists};
pub use aging_rounds::{AgingRounds, AgingRoundsLists, FAULT_AROUND, Pattern};
pub use catalog::{OnGround, Scenario};
pub use compared::Compared;
pub use declared::declare;
pub use madv_free::{MadvFree, MadvFreeLists};
pub use pageout_shared::{Content, Out, PageoutShared, PageoutSharedLists};
pub use reclaim_file::{
    Align, Chosen, ListOrder, Mapped, Orders, Process, Processes, ProcessesLists, ReclaimFile,
    ReclaimFileLists, Secondary,
};
pub use reclaim_shmem::{ReclaimShmem, ReclaimShmemLists};
pub use trace::{
    MemoryLimit, PAGE_SHIFT, TraceAged, TraceAgedLists, TraceLimited, TraceLimitedLists,
    TraceModelled, TraceModelledLists,
};

//! Page-aging bugs: each known from a commit or a thread, or constructed, as one overridden rule or
//! one faulty wrapper in a file of its own. The engine never depends on them.
//!
//! [`harness`] has the checks that find them. The engine itself passes the same checks in
//! `crates/paging/tests`; they are here so that both use one copy.
#![forbid(unsafe_code)]

pub mod audit;
mod batch_past_end;
mod batch_past_folio;
mod byte_length;
mod copy_before_flush;
mod fault_without_lock;
mod filter_noted_here;
mod first_entry;
mod folded_edges;
mod free_before_flush;
pub mod harness;
mod last_block_cut;
mod load_and_store;
mod local_invalidation;
mod look_around_one;
mod make_before_break;
mod mapcount_once;
mod pending_flush_missed;
mod remove_before_flush;
mod restore_before_flush;
mod split_before_flush;
mod split_loses_dirty;
mod uffd_wp_batched;
mod unlock_before_flush;
mod write_out_before_flush;
mod zeros_before_flush;

pub use batch_past_end::BatchPastEnd;
pub use batch_past_folio::BatchPastFolio;
pub use byte_length::ByteLength;
pub use copy_before_flush::CopyBeforeFlush;
pub use fault_without_lock::FaultWithoutLock;
pub use filter_noted_here::FilterNotedHere;
pub use first_entry::FirstEntryAlone;
pub use folded_edges::FoldedEdges;
pub use free_before_flush::FreeBeforeFlush;
pub use last_block_cut::LastBlockCut;
pub use load_and_store::{LoadAndStore, TornTable};
pub use local_invalidation::{LocalInvalidation, LocalMmu};
pub use look_around_one::LookAroundOne;
pub use make_before_break::MakeBeforeBreak;
pub use mapcount_once::MapcountOnce;
pub use pending_flush_missed::PendingFlushMissed;
pub use remove_before_flush::RemoveBeforeFlush;
pub use restore_before_flush::RestoreBeforeFlush;
pub use split_before_flush::SplitBeforeFlush;
pub use split_loses_dirty::SplitLosesDirty;
pub use uffd_wp_batched::UffdWpBatched;
pub use unlock_before_flush::UnlockBeforeFlush;
pub use write_out_before_flush::WriteOutBeforeFlush;
pub use zeros_before_flush::ZerosBeforeFlush;

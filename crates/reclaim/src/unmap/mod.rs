//! Taking entries out of page tables, what is owed for them, and putting them back.

mod leaf;
mod restore;
mod split;
mod tlb_batch;
mod try_to_unmap;
mod writeback;

pub(crate) use leaf::LeafTaken;
pub use tlb_batch::{FREE_BATCH, TlbBatch, flush_tlb_batched_pending};
pub use try_to_unmap::Unmapped;
pub use writeback::TransferError;

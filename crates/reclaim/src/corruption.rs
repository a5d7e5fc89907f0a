//! Damage to the engine's state that a call finds.

use crate::id::FolioId;
use pageout_paging::Pfn;

/// Damage to the engine's state, or to what the world gave it, that a call found. The engine passes
/// it to [`Env::corrupted`](pageout_paging::Env::corrupted). If that returns, the call leaves what
/// is damaged as it is: memory may leak, and nothing is freed twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Corruption {
    /// [`Frames::alloc`](crate::Frames::alloc) returned a frame that belongs to a folio.
    #[error("Frames::alloc returned frame {:#x}, which belongs to a folio", .0.get())]
    FrameInUse(Pfn),
    /// A read was ended by [`Engine::read_done`](crate::Engine::read_done) although
    /// [`Backing::read`](crate::Backing::read) did not return
    /// [`Submitted::Pending`](crate::Submitted::Pending).
    #[error("the read of folio {} was ended, and Backing::read returned a result too", .0.index())]
    ReadEnded(FolioId),
}

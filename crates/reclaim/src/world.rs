//! What reclaim needs of the world besides page tables and their MMU: frames, and storage.

use crate::id::{FolioId, MappingId, SwapSlot};
use core::ops::Range;
use pageout_paging::{Env, Order, Pfn};

/// Physical memory: where frames come from, and what is done to their content.
pub trait Frames {
    /// A free run of 2^`order` frames, aligned to its size, content undefined. `None` if there is
    /// none now.
    fn alloc(&self, order: Order) -> Option<Pfn>;
    /// Takes back what [`Frames::alloc`] gave, or a page of it alone: each in its turn, once
    /// reclaim has split the folio over it.
    fn free(&self, pfn: Pfn, order: Order);
    /// A frame that holds an empty page table. `None` if there is none now: a fault then reclaims
    /// and asks again, as for a single frame.
    fn alloc_table(&self) -> Option<Pfn>;
    /// Takes back a page table that is empty again.
    fn free_table(&self, frame: Pfn);
    /// Fills `nr` frames with zeros.
    fn zero(&self, pfn: Pfn, nr: usize);
    /// Copies `nr` frames.
    fn copy(&self, from: Pfn, to: Pfn, nr: usize);
    /// Frames free now, in pages: what watermarks are compared with.
    fn free_pages(&self) -> usize;
    /// Free memory by place, if it gets fragmented and may be compacted. By default it does not.
    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        None
    }
}

/// A supply of frames whose free runs are aligned blocks of 2^order that split and merge: what
/// compaction needs of it.
pub trait FreeBlocks {
    /// All of its frames.
    fn frames(&self) -> Range<Pfn>;
    /// The order of the free block that begins at `pfn`; `None` if none does.
    fn block_at(&self, pfn: Pfn) -> Option<Order>;
    /// Takes the first 2^`order` frames of the free block that begins at `pfn`, as
    /// [`Frames::alloc`] would; false if there is none so large.
    fn alloc_at(&self, pfn: Pfn, order: Order) -> bool;
    /// Whether [`Frames::alloc`] would find a run of `order` now.
    fn has_block(&self, order: Order) -> bool;
    /// Pages that are to stay free while a large run is put together.
    fn low_watermark(&self) -> usize;
}

/// What backs a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Pages of a file from this page offset on.
    File(MappingId, u64),
    /// Swap slots from this one on.
    Swap(SwapSlot),
}

/// A transfer between frames and what backs them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// Whose frames; named again when the transfer ends.
    pub folio: FolioId,
    /// The other end.
    pub place: Place,
    /// First frame.
    pub pfn: Pfn,
    /// Pages.
    pub nr: usize,
}

/// What became of a transfer at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submitted {
    /// It is complete.
    Done,
    /// It goes on; its end is told by [`Engine::read_done`](crate::Engine::read_done) or
    /// [`Engine::write_done`](crate::Engine::write_done).
    Pending,
    /// It failed.
    Failed,
}

/// Storage. Nothing here waits: a transfer is started, and the engine told of its end.
pub trait Backing {
    /// Starts to fill frames from what backs them: all `nr` pages of them, with zeros past the end
    /// of a file.
    fn read(&self, io: Io) -> Submitted;
    /// Starts to write frames to what backs them. Content is taken from the frames between this
    /// call and the end of the transfer.
    fn write(&self, io: Io) -> Submitted;
}

/// All that reclaim and faults stand on. For tests,
/// [`Checked`](pageout_paging::testing::Checked) of one is one.
pub trait World: Env + Frames + Backing {
    /// Whether the calling task is to give up what can be given up (EINTR).
    fn signal_pending(&self) -> bool {
        false
    }

    /// Milliseconds since a start of the world's choosing: what generations' ages count from. The
    /// root cgroup's first generations are as old as that start.
    fn now_ms(&self) -> u64;
}

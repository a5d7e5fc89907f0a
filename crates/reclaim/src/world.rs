//! The world that reclaim needs in addition to page tables and their MMU: frames, and storage.

use crate::id::{FolioId, MappingId, NodeId, SwapSlot};
use core::ops::Range;
use pageout_paging::{Env, Order, Pfn};

/// Physical memory: the supply of frames, and operations on their content.
pub trait Frames {
    /// Returns a free run of 2^`order` frames, aligned to its size, with undefined content. Returns
    /// `None` if there is none now.
    fn alloc(&self, order: Order) -> Option<Pfn>;
    /// Frees a run that [`Frames::alloc`] returned, or a single page of it. Reclaim may split the
    /// folio over a run, and then frees each of its pages separately.
    fn free(&self, pfn: Pfn, order: Order);
    /// Returns a frame that holds an empty page table. Returns `None` if there is none now: a fault
    /// then reclaims and asks again, as for a single frame.
    fn alloc_table(&self) -> Option<Pfn>;
    /// Frees a page table that is empty again.
    fn free_table(&self, frame: Pfn);
    /// Fills `nr` frames with zeros.
    fn zero(&self, pfn: Pfn, nr: usize);
    /// Copies `nr` frames.
    fn copy(&self, from: Pfn, to: Pfn, nr: usize);
    /// Returns the number of free frames, in pages. Watermarks are compared with it.
    fn free_pages(&self) -> usize;
    /// Returns the number of free frames on a node, in pages. The node's watermark is compared with
    /// it. The default is for one node: with more, each would count the memory of all as free.
    fn free_pages_on(&self, node: NodeId) -> usize {
        let _the_only_one = node;
        self.free_pages()
    }
    /// Returns the blocks of free memory, if it gets fragmented and may be compacted. The default
    /// is `None`.
    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        None
    }
}

/// A supply of frames whose free runs are aligned blocks of 2^order that split and merge, as
/// compaction needs it.
pub trait FreeBlocks {
    /// Returns the range of all its frames. Compaction moves pages from its bottom to its top, and
    /// so to another node if it spans several.
    fn frames(&self) -> Range<Pfn>;
    /// Returns the order of the free block that begins at `pfn`, or `None` if none does.
    fn block_at(&self, pfn: Pfn) -> Option<Order>;
    /// Takes the first 2^`order` frames of the free block that begins at `pfn`, as
    /// [`Frames::alloc`] would. Returns false if there is none so large.
    fn alloc_at(&self, pfn: Pfn, order: Order) -> bool;
    /// Returns true if [`Frames::alloc`] would find a run of `order` now.
    fn has_block(&self, order: Order) -> bool;
    /// Returns the number of pages that should stay free while a large run is put together.
    fn low_watermark(&self) -> usize;
}

/// The place in storage that backs a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Pages of a file from this page offset on.
    File(MappingId, u64),
    /// Swap slots from this one on.
    Swap(SwapSlot),
}

/// A transfer between frames and the storage that backs them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// The folio of the frames. The call at the end of the transfer names it again.
    pub folio: FolioId,
    /// The place in storage.
    pub place: Place,
    /// The first frame.
    pub pfn: Pfn,
    /// The number of pages.
    pub nr: usize,
}

/// The reason why a transfer failed. Its message has the errno that kernels give for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IoError {
    /// The device failed.
    #[error("the device failed (EIO)")]
    Device,
    /// The file or the device has no room for what is written.
    #[error("no room on the device (ENOSPC)")]
    NoSpace,
    /// The device did not end it in time.
    #[error("the device did not end it in time (ETIMEDOUT)")]
    TimedOut,
    /// The caller gave it up, and the device no longer uses the frames.
    #[error("it was given up (ECANCELED)")]
    GivenUp,
}

impl IoError {
    /// Every reason, in the order in which [`Mapping::take_write_error`](crate::Mapping) prefers
    /// them.
    pub const ALL: [Self; 4] = [Self::Device, Self::NoSpace, Self::TimedOut, Self::GivenUp];
}

/// The result of starting a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submitted {
    /// The transfer is complete.
    Done,
    /// The transfer is in progress. At its end the world calls
    /// [`Engine::read_done`](crate::Engine::read_done) or
    /// [`Engine::write_done`](crate::Engine::write_done).
    Pending,
    /// The transfer failed.
    Failed(IoError),
}

/// Storage. No call waits: it starts a transfer, and the engine is called at its end.
pub trait Backing {
    /// Starts to fill frames from storage: all `nr` pages of them, with zeros past the end of a
    /// file.
    fn read(&self, io: Io) -> Submitted;
    /// Starts to write frames to storage. The content is read from the frames between this call and
    /// the end of the transfer.
    fn write(&self, io: Io) -> Submitted;
}

/// The world that reclaim and faults run on. For tests, wrap one in
/// [`Checked`](pageout_paging::testing::Checked), which is a world too.
pub trait World: Env + Frames + Backing {
    /// Returns true if the calling task is to end calls that can be interrupted (EINTR).
    fn signal_pending(&self) -> bool {
        false
    }

    /// Returns the milliseconds since a start of the world's choosing. The ages of generations are
    /// measured by it. The root cgroup's first generations are as old as that start.
    fn now_ms(&self) -> u64;
}

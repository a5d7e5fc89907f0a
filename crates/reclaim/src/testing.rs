//! An embedder's world with checked tables, for the embedder's own tests. [`Checked`] is an
//! environment; here it is a world as well, if the environment it wraps is one.

use crate::id::NodeId;
use crate::world::{Backing, Frames, FreeBlocks, Io, Submitted, World};
use pageout_paging::testing::Checked;
use pageout_paging::{Order, Pfn};

/// The embedder's frames. Freeing a page or a table that a TLB may still reach, or an entry, is a
/// bug, and panics ([`Machine::check_free`](pageout_paging::testing::Machine::check_free)).
impl<W: World, const HELD: usize> Frames for Checked<'_, W, HELD> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.machine().env().alloc(order)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        self.machine().check_free(pfn..pfn.add(order.nr_pages() as u64));
        self.machine().env().free(pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.machine().env().alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.machine().check_free(frame..frame.add(1));
        self.machine().env().free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.machine().env().zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.machine().env().copy(from, to, nr);
    }

    fn free_pages(&self) -> usize {
        self.machine().env().free_pages()
    }

    fn free_pages_on(&self, node: NodeId) -> usize {
        self.machine().env().free_pages_on(node)
    }

    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        self.machine().env().blocks()
    }
}

/// The embedder's storage.
impl<W: World, const HELD: usize> Backing for Checked<'_, W, HELD> {
    fn read(&self, io: Io) -> Submitted {
        self.machine().env().read(io)
    }

    fn write(&self, io: Io) -> Submitted {
        self.machine().env().write(io)
    }
}

impl<W: World, const HELD: usize> World for Checked<'_, W, HELD> {
    fn signal_pending(&self) -> bool {
        self.machine().env().signal_pending()
    }

    fn now_ms(&self) -> u64 {
        self.machine().env().now_ms()
    }
}

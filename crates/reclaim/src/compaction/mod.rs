//! Compaction: folios move from the bottom of memory to free frames at its top (Linux 7.3.4,
//! compaction.c). It continues until a block of the wanted order is free.
//!
//! It is part of this crate because a fault that finds no large run of frames needs both compaction
//! and reclaim. It asks little of the supply of frames: [`FreeBlocks`]. There is one zone, whatever
//! nodes it is on, and every block of pages may be scanned: neither mobility types nor skip hints
//! are kept. Nothing runs in the background.

use crate::engine::Engine;
use crate::id::MemcgNr;
use crate::vmstat::Counter;
use crate::world::{FreeBlocks, World};
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Order, Pfn};
use scan::Compaction;

mod migrate;
mod offline;
mod scan;
mod state;

pub use migrate::{Migrated, Targets};
pub use offline::Offlined;
pub(crate) use state::CompactionState;

/// The number of rounds of reclaim before compaction is tried without enough free memory
/// (`MAX_RECLAIM_RETRIES`).
const RETRIES: u32 = 16;

/// The result of a compaction (the kernel's `enum compact_result`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compacted {
    /// There is too little free memory to move anything to.
    Skipped,
    /// The last tries failed, so another try is not worth its cost now.
    Deferred,
    /// A block of the order is free.
    Success,
    /// The scanners met, having begun where an earlier one ended.
    PartialSkipped,
    /// The scanners met: all of memory was scanned.
    Complete,
}

impl<'e, W: World> Engine<'e, W> {
    /// Compacts all of memory, whatever is free (Linux: `/proc/sys/vm/compact_memory`). Returns
    /// [`Compacted::Skipped`] if the supply of frames cannot be compacted.
    pub fn compact_memory(&mut self) -> Compacted {
        let (maps, world) = (self.maps, self.world);
        let Some(blocks) = world.blocks() else {
            return Compacted::Skipped;
        };
        maps.compaction.migrate.store(0, Relaxed);
        maps.compaction.free.store(0, Relaxed);
        Compaction::new(self, blocks, None).run()
    }

    /// Allocates frames for a large folio, with direct compaction and reclaim if needed (Linux
    /// 7.3.4, __alloc_pages_slowpath for a costly order). It compacts, reclaims until there is
    /// enough free memory for another compaction, and compacts again.
    pub(crate) fn alloc_costly(&mut self, order: Order) -> Option<Pfn> {
        let world = self.world;
        let found = world.alloc(order);
        let Some(blocks) = world.blocks().filter(|_| found.is_none()) else {
            return found;
        };
        self.direct_compact(blocks, order).or_else(|| {
            for _ in 0..RETRIES {
                let enough = is_suitable(world, blocks, order);
                if enough || self.try_to_free_pages() == 0 {
                    break;
                }
            }
            let freed = world.alloc(order);
            freed.or_else(|| self.direct_compact(blocks, order))
        })
    }

    /// Compacts for a caller that found no run of `order`, and allocates the run
    /// (`__alloc_pages_direct_compact`, `try_to_compact_pages`).
    fn direct_compact(&mut self, blocks: &'e dyn FreeBlocks, order: Order) -> Option<Pfn> {
        let (maps, world) = (self.maps, self.world);
        let state = &maps.compaction;
        if state.is_deferred(order) || !is_suitable(world, blocks, order) {
            return None;
        }
        let vmstat = &maps.memcg_at(MemcgNr::ROOT).vmstat;
        vmstat.add(Counter::CompactStall, 1);
        let scan = Compaction::new(self, blocks, Some(order));
        match scan.run() {
            Compacted::Success => state.reset(order, false),
            _ => state.defer(order),
        }
        let found = world.alloc(order);
        match found {
            Some(_) => {
                state.reset(order, true);
                vmstat.add(Counter::CompactSuccess, 1);
            }
            None => vmstat.add(Counter::CompactFail, 1),
        }
        found
    }
}

/// Returns true if there is free memory enough to compact for `order`: twice the block beyond the
/// low watermark (`compaction_suitable`, `compact_gap`; without its index of fragmentation).
fn is_suitable<W: World>(world: &W, blocks: &dyn FreeBlocks, order: Order) -> bool {
    world.free_pages() >= blocks.low_watermark() + 2 * order.nr_pages()
}

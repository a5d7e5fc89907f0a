//! The two scanners: one finds folios to move, from the bottom up; the other finds free frames to
//! move them to, from the top down.

use super::Compacted;
use super::migrate::{BATCH, Targets};
use super::state::CompactionState;
use crate::engine::Engine;
use crate::folio_list::FolioList;
use crate::id::MemcgNr;
use crate::vmstat::Counter;
use crate::world::{FreeBlocks, World};
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Format, Order, Pfn};

/// A compaction in progress (the kernel's `struct compact_control`).
pub(super) struct Compaction<'a, 'e, W> {
    engine: &'a mut Engine<'e, W>,
    /// The order wanted, or `None` to compact all of memory.
    order: Option<Order>,
    /// The next frame that the migration scanner looks at.
    migrate: Pfn,
    start: Pfn,
    free: FreeScanner<'e, W>,
    /// True if the scanners began at both ends of memory.
    whole: bool,
    scanned: u64,
    isolated: u64,
}

impl<'a, 'e, W: World> Compaction<'a, 'e, W> {
    pub(super) fn new(
        engine: &'a mut Engine<'e, W>,
        blocks: &'e dyn FreeBlocks,
        order: Option<Order>,
    ) -> Self {
        let frames = blocks.frames();
        let CompactionState { migrate, free, .. } = &engine.maps.compaction;
        let [below, above] = [migrate, free].map(|done| done.load(Relaxed));
        let end = Pfn::new(frames.end.get() - above);
        let migrate = frames.start.add(below);
        let block = Order::new(W::Format::TABLE_SHIFT as u8).expect("a table's order is one");
        let free = FreeScanner {
            world: engine.world,
            blocks,
            block,
            spared: order.unwrap_or(block),
            top: frames.end,
            first: end,
            next: end,
            end,
            limit: migrate,
            scanned: 0,
            isolated: 0,
        };
        let whole = below == 0 && above == 0;
        let (scanned, isolated) = (0, 0);
        let start = frames.start;
        Self { engine, order, migrate, start, free, whole, scanned, isolated }
    }

    /// Moves folios, a batch at a time (`compact_zone`, `compact_finished`). It ends when a block
    /// of pages is done and a free block of the wanted order exists, or when the scanners meet.
    pub(super) fn run(mut self) -> Compacted {
        let ended = loop {
            if self.free.block_of(self.migrate) >= self.free.block_of(self.free.first) {
                break if self.whole { Compacted::Complete } else { Compacted::PartialSkipped };
            }
            let block_done = self.free.block_of(self.migrate) == self.migrate;
            if block_done && self.order.is_some_and(|order| self.free.blocks.has_block(order)) {
                break Compacted::Success;
            }
            let mut folios = self.isolate();
            self.free.limit = self.free.block_of(self.migrate);
            if folios.len > 0 {
                self.engine.migrate_folios(&mut folios, &mut self.free);
            }
        };
        self.keep(ended);
        ended
    }

    /// Isolates folios of up to 32 pages, all of one block of pages (`isolate_migratepages`).
    fn isolate(&mut self) -> FolioList {
        let mut folios = FolioList::default();
        let mut pages = 0;
        let end = self.free.block_of(self.migrate).add(self.free.block.nr_pages() as u64);
        let from = self.migrate;
        while self.migrate < end && pages < BATCH {
            let at = self.migrate;
            self.migrate = at.add(self.frames_passed(at));
            if let Some(id) = self.movable(at) {
                let folio = self.engine.maps.folio_at(id);
                pages += folio.nr_pages();
                self.migrate = folio.pfn().add(folio.nr_pages() as u64);
                folios.push(self.engine.maps, id);
            }
        }
        self.scanned += self.migrate.offset_from(from);
        self.isolated += pages as u64;
        folios
    }

    /// Returns the number of frames in the free block that begins at `at`, or 1 if none does.
    fn frames_passed(&self, at: Pfn) -> u64 {
        self.free.blocks.block_at(at).map_or(1, |order| order.nr_pages() as u64)
    }

    /// Isolates the folio in a frame, if it is smaller than the wanted order
    /// (`skip_isolation_on_order`).
    fn movable(&mut self, at: Pfn) -> Option<crate::id::FolioNr> {
        let id = self.engine.maps.folio_nr_of(at)?;
        if self.engine.maps.folio_at(id).order() >= self.free.spared.min(self.free.block) {
            return None;
        }
        self.engine.isolate_movable(at)
    }

    /// Keeps the scanners' positions for the next compaction, or resets them if the scanners met.
    /// Adds to the counters.
    fn keep(&self, ended: Compacted) {
        let met = ended != Compacted::Success;
        let state = &self.engine.maps.compaction;
        let below = if met { 0 } else { self.migrate.offset_from(self.start) };
        let above = if met { 0 } else { self.free.done() };
        state.migrate.store(below, Relaxed);
        state.free.store(above, Relaxed);
        let vmstat = &self.engine.maps.memcg_at(MemcgNr::ROOT).vmstat;
        vmstat.add(Counter::CompactMigrateScanned, self.scanned);
        vmstat.add(Counter::CompactFreeScanned, self.free.scanned);
        vmstat.add(Counter::CompactIsolated, self.isolated + self.free.isolated);
    }
}

/// The free scanner: finds free frames, a block of pages at a time from the top down, and in each
/// block from its beginning (`isolate_freepages`).
struct FreeScanner<'a, W> {
    world: &'a W,
    blocks: &'a dyn FreeBlocks,
    /// The size of a block of pages: the range of one page table (`pageblock_order`).
    block: Order,
    /// The order of free blocks that are large enough already, and are not broken up.
    spared: Order,
    /// The end of memory.
    top: Pfn,
    /// The first frame of the block of pages that is being scanned, the next frame in it, and its
    /// end.
    first: Pfn,
    next: Pfn,
    end: Pfn,
    /// The block of pages where the migration scanner is.
    limit: Pfn,
    scanned: u64,
    isolated: u64,
}

impl<W> FreeScanner<'_, W> {
    fn block_of(&self, pfn: Pfn) -> Pfn {
        Pfn::new(pfn.get() >> self.block.get() << self.block.get())
    }

    /// Returns the number of frames at the top that later compactions need not scan: all blocks of
    /// pages above this one.
    fn done(&self) -> u64 {
        self.top.offset_from(self.end)
    }

    /// Goes down to the next block of pages that is not a free block of the wanted order. Returns
    /// false if the other scanner is there.
    fn step_down(&mut self) -> bool {
        while self.first > self.limit {
            let below = self.block_of(Pfn::new(self.first.get() - 1));
            if below <= self.limit {
                self.first = below;
                return false;
            }
            (self.first, self.next, self.end) = (below, below, self.first);
            let free = self.blocks.block_at(below);
            if free.is_none_or(|order| order < self.spared) {
                return true;
            }
        }
        false
    }
}

impl<W: World> Targets for FreeScanner<'_, W> {
    fn take(&mut self, order: Order) -> Option<Pfn> {
        loop {
            while self.next < self.end {
                let at = self.next;
                let found = self.blocks.block_at(at);
                self.scanned += 1;
                self.next = at.add(found.map_or(1, |order| order.nr_pages() as u64));
                if found.is_some_and(|free| free >= order) && self.blocks.alloc_at(at, order) {
                    let nr = order.nr_pages() as u64;
                    self.next = at.add(nr);
                    self.isolated += nr;
                    return Some(at);
                }
            }
            if !self.step_down() {
                return None;
            }
        }
    }

    fn give_back(&mut self, pfn: Pfn, order: Order) {
        self.world.free(pfn, order);
    }
}

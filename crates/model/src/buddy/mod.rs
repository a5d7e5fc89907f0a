//! A buddy allocator, for scenarios where memory gets fragmented: free blocks of 2^order frames,
//! split and merged (Linux 7.3.4, page_alloc.c; one zone, one kind of mobility, no per-CPU lists).

use pageout_paging::{Order, Pfn};

#[cfg(test)]
mod tests;

/// The largest order of a block (`MAX_PAGE_ORDER`).
pub const MAX_ORDER: u8 = 10;

/// Lists of free blocks.
const LISTS: usize = MAX_ORDER as usize + 1;

/// No frame: an end of a list.
const NONE: u32 = u32::MAX;

/// No order: where no free block begins.
const IN_USE: u8 = u8::MAX;

/// One frame: what is known of the free block that begins there, if one does.
#[derive(Clone, Copy, Debug)]
struct Frame {
    order: u8,
    prev: u32,
    next: u32,
}

/// Free memory below which allocations reclaim, pages (Linux 7.3.4, `__setup_per_zone_wmarks`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watermarks {
    /// Ordinary allocations fail rather than go below.
    pub min: usize,
    /// Background reclaim is woken below.
    pub low: usize,
    /// Background reclaim ends above.
    pub high: usize,
}

impl Watermarks {
    /// Those of so many pages of 2^`page_shift` bytes: `min` as `min_free_kbytes` says, the square
    /// root of 16 times the KiB there are, 128 KiB to 256 MiB; the others further by a quarter of
    /// it or a thousandth of memory, whichever is more (`watermark_scale_factor` 10).
    pub fn of(pages: usize, page_shift: u32) -> Self {
        let kib = (pages as u64) << (page_shift - 10);
        let min_kib = (kib * 16).isqrt().clamp(128, 262_144);
        let min = (min_kib >> (page_shift - 10)) as usize;
        let step = (min / 4).max(pages / 1000);
        Self { min, low: min + step, high: min + 2 * step }
    }
}

/// Frames from 0 on. Whatever is freed is found again soonest, lower halves before upper ones.
#[derive(Clone, Debug)]
pub struct Buddy {
    frames: Vec<Frame>,
    heads: [u32; LISTS],
    blocks: [usize; LISTS],
    free: usize,
}

impl Buddy {
    /// So many frames, all free, in blocks as large as alignment allows.
    ///
    /// # Panics
    /// If they cannot be numbered in 32 bits.
    pub fn new(frames: usize) -> Self {
        assert!(frames < NONE as usize, "frames have 32-bit numbers");
        let frame = Frame { order: IN_USE, prev: NONE, next: NONE };
        let mut buddy =
            Self { frames: vec![frame; frames], heads: [NONE; LISTS], blocks: [0; LISTS], free: 0 };
        // From the top down, so that the lowest block of each order is found first.
        let mut end = frames;
        while end > 0 {
            let order = (end.trailing_zeros() as usize).min(LISTS - 1);
            end -= 1 << order;
            buddy.link(end as u32, order);
        }
        buddy.free = frames;
        buddy
    }

    /// Frames there are.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Frames free.
    pub fn free_pages(&self) -> usize {
        self.free
    }

    /// Free blocks of an order.
    pub fn free_blocks(&self, order: Order) -> usize {
        self.blocks.get(usize::from(order.get())).copied().unwrap_or(0)
    }

    /// Whether a block of at least an order is free.
    pub fn has_block(&self, order: Order) -> bool {
        self.blocks.iter().skip(order.get().into()).any(|blocks| *blocks > 0)
    }

    /// The order of the free block that begins at a frame.
    pub fn block_at(&self, pfn: Pfn) -> Option<Order> {
        let frame = self.frames.get(usize::try_from(pfn.get()).ok()?)?;
        if frame.order == IN_USE { None } else { Order::new(frame.order) }
    }

    /// Whether `order` can be allocated and leave `mark` pages free (`zone_watermark_ok`).
    pub fn watermark_ok(&self, order: Order, mark: usize) -> bool {
        self.free >= mark + order.nr_pages() && self.has_block(order)
    }

    /// A run of 2^`order` frames, aligned to its size: of the smallest block that has one, its
    /// lowest.
    pub fn alloc(&mut self, order: Order) -> Option<Pfn> {
        let order = usize::from(order.get());
        let from = (order..LISTS).find(|k| self.blocks[*k] > 0)?;
        let first = self.heads[from];
        self.take(first, from, order);
        Some(Pfn::new(first.into()))
    }

    /// The lowest 2^`order` frames of the free block that begins at `pfn`; false if there is none
    /// so large.
    pub fn alloc_at(&mut self, pfn: Pfn, order: Order) -> bool {
        let large = self.block_at(pfn).filter(|block| *block >= order);
        if let Some(block) = large {
            self.take(pfn.get() as u32, block.get().into(), order.get().into());
        }
        large.is_some()
    }

    /// Takes a run back: any aligned run in use, whatever it was allocated with.
    ///
    /// # Panics
    /// If it is not aligned, not all there, or if a free block begins or ends in it.
    pub fn free(&mut self, pfn: Pfn, order: Order) {
        let nr = order.nr_pages();
        let mut first = usize::try_from(pfn.get()).expect("a frame there is");
        let mut order = usize::from(order.get());
        assert!(order < LISTS && first.is_multiple_of(nr), "a run is aligned to its size");
        let run = self.frames.get(first..first + nr).expect("frames there are");
        let used = run.iter().all(|frame| frame.order == IN_USE);
        assert!(used && !self.is_inside(first), "frames are freed once");
        self.free += nr;
        while order + 1 < LISTS {
            let buddy = first ^ (1 << order);
            if self.frames.get(buddy).is_none_or(|frame| usize::from(frame.order) != order) {
                break;
            }
            self.unlink(buddy as u32, order);
            first &= buddy;
            order += 1;
        }
        self.link(first as u32, order);
    }

    /// Whether a frame lies in a free block that begins before it.
    fn is_inside(&self, frame: usize) -> bool {
        (1..LISTS).any(|order| {
            let first = frame >> order << order;
            let found = self.frames[first].order;
            first < frame && found != IN_USE && usize::from(found) >= order
        })
    }

    /// Takes a block off its list and gives back the upper halves that are not wanted (`expand`).
    fn take(&mut self, first: u32, from: usize, order: usize) {
        self.unlink(first, from);
        for half in (order..from).rev() {
            self.link(first + (1 << half), half);
        }
        self.free -= 1 << order;
    }

    fn link(&mut self, first: u32, order: usize) {
        let next = self.heads[order];
        self.frames[first as usize] = Frame { order: order as u8, prev: NONE, next };
        if next != NONE {
            self.frames[next as usize].prev = first;
        }
        self.heads[order] = first;
        self.blocks[order] += 1;
    }

    fn unlink(&mut self, first: u32, order: usize) {
        let Frame { prev, next, .. } = self.frames[first as usize];
        self.frames[first as usize].order = IN_USE;
        match prev {
            NONE => self.heads[order] = next,
            _ => self.frames[prev as usize].next = next,
        }
        if next != NONE {
            self.frames[next as usize].prev = prev;
        }
        self.blocks[order] -= 1;
    }
}

//! Frames and their contents, and the storage behind them. A page's content is one number.

use pageout_paging::{Order, Pfn};
use pageout_reclaim::Place;
use std::collections::BTreeMap;

/// The first frame.
pub const FIRST_FRAME: Pfn = Pfn::new(64);

/// A frame.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    allocated: bool,
    /// The moment when the frame was last freed.
    freed: u64,
    content: u64,
    /// True if the content was taken for write-out, and no entry recorded a store since.
    taken: bool,
}

/// Physical memory and storage.
#[derive(Debug)]
pub struct Memory {
    frames: Vec<Frame>,
    stored: BTreeMap<Spot, u64>,
    /// The number of the last moment that matters: a frame freed, a translation cached.
    clock: u64,
}

/// A page's place in storage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Spot {
    File(u32, u64),
    Slot(u32),
}

impl Spot {
    fn of(place: Place, k: u64) -> Self {
        match place {
            Place::File(mapping, index) => Self::File(mapping.0, index + k),
            Place::Swap(slot) => Self::Slot(slot.0 + k as u32),
        }
    }
}

impl Memory {
    /// Returns memory of `frames` free frames.
    pub fn new(frames: usize) -> Self {
        Self { frames: vec![Frame::default(); frames], stored: BTreeMap::new(), clock: 0 }
    }

    fn number(pfn: Pfn) -> usize {
        pfn.offset_from(FIRST_FRAME) as usize
    }

    fn at(&mut self, pfn: Pfn) -> &mut Frame {
        &mut self.frames[Self::number(pfn)]
    }

    /// Returns the next moment.
    pub fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Allocates the lowest free run.
    pub fn alloc(&mut self, order: Order) -> Option<Pfn> {
        let nr = order.nr_pages();
        let free = |run: &[Frame]| run.iter().all(|frame| !frame.allocated);
        let run = self.frames.chunks_exact(nr).position(free)?;
        let first = FIRST_FRAME.add((run * nr) as u64);
        for k in 0..nr as u64 {
            let freed = self.at(first.add(k)).freed;
            *self.at(first.add(k)) = Frame { allocated: true, freed, content: 0, taken: false };
        }
        Some(first)
    }

    /// Frees a run; the error is the first frame that was free already.
    pub fn free(&mut self, pfn: Pfn, nr: u64) -> Result<(), Pfn> {
        let now = self.tick();
        for pfn in (0..nr).map(|k| pfn.add(k)) {
            let frame = self.at(pfn);
            if !frame.allocated {
                return Err(pfn);
            }
            (frame.allocated, frame.freed) = (false, now);
        }
        Ok(())
    }

    /// Counts the free frames.
    pub fn free_pages(&self) -> usize {
        self.frames.iter().filter(|frame| !frame.allocated).count()
    }

    /// Returns the state of a frame that is free, or that was freed and allocated again since the
    /// moment `since`; `None` for any other frame of this memory.
    pub fn freed_since(&self, pfn: Pfn, since: u64) -> Option<Freed> {
        let Some(frame) = self.frames.get(Self::number(pfn)) else {
            return Some(Freed::NeverMemory);
        };
        match (frame.allocated, frame.freed > since) {
            (false, _) => Some(Freed::Free),
            (true, true) => Some(Freed::Reused),
            (true, false) => None,
        }
    }

    /// Fills frames with zeros.
    pub fn zero(&mut self, pfn: Pfn, nr: u64) {
        (0..nr).for_each(|k| self.at(pfn.add(k)).content = 0);
    }

    /// Copies frames.
    pub fn copy(&mut self, from: Pfn, to: Pfn, nr: u64) {
        (0..nr).for_each(|k| self.at(to.add(k)).content = self.content(from.add(k)));
    }

    /// Returns a frame's content.
    pub fn content(&self, pfn: Pfn) -> u64 {
        self.frames[Self::number(pfn)].content
    }

    /// Stores a value; `recorded` is true if a dirty entry records the store. Returns true if the
    /// store is too late for a write-out that no entry will cause to be repeated.
    pub fn store(&mut self, pfn: Pfn, content: u64, recorded: bool) -> bool {
        let frame = self.at(pfn);
        frame.content = content;
        frame.taken &= !recorded;
        frame.taken
    }

    /// Fills frames from storage.
    pub fn read(&mut self, place: Place, pfn: Pfn, nr: u64) {
        for k in 0..nr {
            let content = self.stored.get(&Spot::of(place, k)).copied().unwrap_or_default();
            self.at(pfn.add(k)).content = content;
        }
    }

    /// Writes the frames' contents to storage.
    pub fn write(&mut self, place: Place, pfn: Pfn, nr: u64) {
        for k in 0..nr {
            let frame = self.at(pfn.add(k));
            frame.taken = true;
            let content = frame.content;
            self.stored.insert(Spot::of(place, k), content);
        }
    }

    /// Returns the content of page `k` of a place in storage.
    pub fn stored(&self, place: Place, k: u64) -> u64 {
        self.stored.get(&Spot::of(place, k)).copied().unwrap_or_default()
    }

    /// Puts content into storage.
    pub fn put_stored(&mut self, place: Place, k: u64, content: u64) {
        self.stored.insert(Spot::of(place, k), content);
    }
}

/// The state of a frame that was freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freed {
    /// The frame is free.
    Free,
    /// The frame holds another page.
    Reused,
    /// No frame of this memory has that number.
    NeverMemory,
}

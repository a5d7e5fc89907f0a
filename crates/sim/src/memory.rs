//! Frames with contents and owners. The content of a page is one number.

use crate::{Held, Storage};
use pageout_paging::{Order, Pfn};
use pageout_reclaim::NodeId;
use std::fmt;
use std::ops::Range;

/// The content of a frame that is free, or that was not written to since it was allocated.
pub const GARBAGE: u64 = 0xdead_dead;

/// A frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// True if the frame is allocated.
    pub used: bool,
    /// True if the frame was taken away: it is handed out no more.
    pub away: bool,
    /// The content of the page.
    pub content: u64,
    /// The number of the frame's last allocation among all. A translation from before has lost the
    /// frame.
    owner: u64,
    /// True if the content was taken for write-out, and no entry recorded a store since.
    pub(crate) taken: bool,
}

/// Physical memory, and the storage behind it.
#[derive(Debug)]
pub struct Memory {
    first: Pfn,
    frames: Vec<Frame>,
    allocations: u64,
    /// The first frame of each run of frames on one node, and the node, in order. Frames before the
    /// first run lie on node 0.
    pub nodes: Vec<(Pfn, NodeId)>,
    /// The runs that were freed, in order.
    pub freed: Vec<(Pfn, Order)>,
    /// The storage.
    pub storage: Storage,
}

impl Frame {
    /// Returns true if the frame can be handed out.
    const fn is_free(&self) -> bool {
        !self.used && !self.away
    }
}

impl Memory {
    /// Returns memory of these frames, all of which are free.
    pub fn new(frames: Range<Pfn>) -> Self {
        let free = Frame { used: false, away: false, content: GARBAGE, owner: 0, taken: false };
        Self {
            first: frames.start,
            frames: vec![free; frames.end.offset_from(frames.start) as usize],
            allocations: 0,
            nodes: Vec::new(),
            freed: Vec::new(),
            storage: Storage::default(),
        }
    }

    /// Returns all frames, in order.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns the range of all frames.
    pub fn range(&self) -> Range<Pfn> {
        self.first..self.first.add(self.frames.len() as u64)
    }

    fn number(&self, pfn: Pfn) -> usize {
        pfn.offset_from(self.first) as usize
    }

    /// Returns a frame.
    ///
    /// # Panics
    /// If this memory has no such frame, as for all functions that take one.
    pub fn frame(&self, pfn: Pfn) -> &Frame {
        &self.frames[self.number(pfn)]
    }

    pub(crate) fn frame_mut(&mut self, pfn: Pfn) -> &mut Frame {
        let number = self.number(pfn);
        &mut self.frames[number]
    }

    /// Allocates the first free run of 2^`order` frames, so that frames are soon used again.
    pub fn alloc(&mut self, order: Order) -> Option<Pfn> {
        let first = self.starts(order).find(|first| self.is_free(*first, order.nr_pages()))?;
        Some(self.take(first, order))
    }

    /// Allocates the last free run of 2^`order` frames.
    pub fn alloc_last(&mut self, order: Order) -> Option<Pfn> {
        let first =
            self.starts(order).rev().find(|first| self.is_free(*first, order.nr_pages()))?;
        Some(self.take(first, order))
    }

    /// Allocates the 2^`order` frames from `pfn` on. Returns false if they are not free.
    pub fn alloc_at(&mut self, pfn: Pfn, order: Order) -> bool {
        let free = self.block_at(pfn).is_some_and(|block| block >= order);
        if free {
            self.take(self.number(pfn), order);
        }
        free
    }

    /// Allocates the 2^`order` frames from `pfn` on, which another supply chose.
    ///
    /// # Panics
    /// If one of them is in use.
    pub fn alloc_run(&mut self, pfn: Pfn, order: Order) {
        let first = self.number(pfn);
        assert!(self.is_free(first, order.nr_pages()), "frames are allocated once");
        self.take(first, order);
    }

    fn starts(&self, order: Order) -> impl DoubleEndedIterator<Item = usize> + use<> {
        (0..self.frames.len()).step_by(order.nr_pages())
    }

    fn is_free(&self, first: usize, nr: usize) -> bool {
        let run = self.frames.get(first..first + nr);
        run.is_some_and(|run| run.iter().all(Frame::is_free))
    }

    fn take(&mut self, first: usize, order: Order) -> Pfn {
        self.allocations += 1;
        let (owner, content) = (self.allocations, GARBAGE);
        let new = Frame { used: true, away: false, content, owner, taken: false };
        self.frames[first..first + order.nr_pages()].fill(new);
        self.first.add(first as u64)
    }

    /// Returns true if there is a free run of 2^`order` frames.
    pub fn has_block(&self, order: Order) -> bool {
        self.starts(order).any(|first| self.is_free(first, order.nr_pages()))
    }

    /// Returns the order of the largest aligned free run around a frame, if it begins there.
    pub fn block_at(&self, pfn: Pfn) -> Option<Order> {
        let first = self.number(pfn);
        let around = |order: &u8| self.is_free(first >> order << order, 1 << order);
        let largest = (0..=10).take_while(around).last()?;
        first.is_multiple_of(1 << largest).then(|| Order::new(largest)).flatten()
    }

    /// Takes frames away, or adds them again. Those in use stay so until they are freed.
    pub fn set_away(&mut self, frames: Range<Pfn>, away: bool) {
        let (first, end) = (self.number(frames.start), self.number(frames.end));
        self.frames[first..end].iter_mut().for_each(|frame| frame.away = away);
    }

    /// Frees a run.
    ///
    /// # Errors
    /// The first frame of it that was free already.
    pub fn free(&mut self, pfn: Pfn, order: Order) -> Result<(), Pfn> {
        self.freed.push((pfn, order));
        for pfn in (0..order.nr_pages() as u64).map(|k| pfn.add(k)) {
            let frame = self.frame_mut(pfn);
            if !frame.used {
                return Err(pfn);
            }
            (frame.used, frame.content) = (false, GARBAGE);
        }
        Ok(())
    }

    /// Returns the number of free frames.
    pub fn free_pages(&self) -> usize {
        self.frames.iter().filter(|frame| frame.is_free()).count()
    }

    /// Returns the number of free frames on a node.
    pub fn free_pages_on(&self, node: NodeId) -> usize {
        let numbered = (0..).map(|k| self.first.add(k)).zip(&self.frames);
        numbered.filter(|(pfn, frame)| frame.is_free() && self.node_of(*pfn) == node).count()
    }

    fn node_of(&self, pfn: Pfn) -> NodeId {
        self.nodes.iter().rfind(|(first, _)| *first <= pfn).map_or(NodeId(0), |(_, node)| *node)
    }

    /// Fills `nr` frames with zeros.
    pub fn zero(&mut self, pfn: Pfn, nr: usize) {
        (0..nr as u64).for_each(|k| self.set_content(pfn.add(k), 0));
    }

    /// Copies `nr` frames.
    pub fn copy(&mut self, from: Pfn, to: Pfn, nr: usize) {
        (0..nr as u64).for_each(|k| self.set_content(to.add(k), self.content(from.add(k))));
    }

    /// Returns the content of a frame.
    pub fn content(&self, pfn: Pfn) -> u64 {
        self.frame(pfn).content
    }

    /// Sets the content of a frame.
    pub fn set_content(&mut self, pfn: Pfn, content: u64) {
        self.frame_mut(pfn).content = content;
    }

    /// Stores a value; `recorded` is true if a dirty entry records the store. Returns true if the
    /// store is too late for a write-out that no entry will cause to be repeated.
    pub fn store(&mut self, pfn: Pfn, content: u64, recorded: bool) -> bool {
        let frame = self.frame_mut(pfn);
        frame.content = content;
        frame.taken &= !recorded;
        frame.taken
    }

    /// Returns a number that changes once a frame of the run is allocated again.
    pub fn owner(&self, pfn: Pfn, nr: u64) -> u64 {
        let run = (0..nr).filter_map(|k| {
            let number = pfn.add(k).get().checked_sub(self.first.get())?;
            self.frames.get(number as usize)
        });
        run.map(|frame| frame.owner).max().unwrap_or_default()
    }

    /// Returns the reason why an access to `page` through a translation must not succeed, if the
    /// translation lost its frames.
    pub fn lost(&self, by: &Held, page: u64) -> Option<Lost> {
        let pfn = by.frame(page);
        match self.range().contains(&pfn) {
            false => Some(Lost::NeverMemory),
            true if !self.frame(pfn).used => Some(Lost::Free),
            true if self.owner(by.pfn, by.nr) != by.owner => Some(Lost::Reused),
            true => None,
        }
    }
}

/// The state of a frame that a translation lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// The frame is free.
    Free,
    /// The frame holds another page.
    Reused,
    /// Memory has no frame of that number.
    NeverMemory,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Free => "which is free",
            Self::Reused => "which was freed and is someone else's now",
            Self::NeverMemory => "which is no memory",
        })
    }
}

//! Storage, and transfers between it and frames.

use crate::{GARBAGE, Memory};
use pageout_reclaim::{Io, IoError, MappingId, Place, Submitted, SwapSlot};
use std::collections::HashMap;
use std::mem::take;

/// The reaction of storage to a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    /// The transfer is complete at once.
    #[default]
    AtOnce,
    /// The transfer is in progress until [`Memory::end`].
    Late,
    /// The transfer fails. A failed write may have written some pages.
    Failure,
}

/// A transfer in progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// True for a transfer from frames to storage.
    pub writes: bool,
    /// The frames and their place in storage.
    pub io: Io,
    /// The content of each page that was taken at the start; the rest is taken at the end.
    early: Vec<Option<u64>>,
}

/// The place of one page in storage.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Home {
    File(MappingId, u64),
    Swap(SwapSlot),
}

impl Home {
    fn new(place: Place, k: usize) -> Self {
        match place {
            Place::File(file, index) => Self::File(file, index + k as u64),
            Place::Swap(slot) => Self::Swap(slot.nth(k)),
        }
    }
}

/// Returns the content of a page of a file that was never written to.
pub fn pristine(file: MappingId, index: u64) -> u64 {
    1 << 63 | (file.index() as u64) << 40 | index
}

/// The contents in storage, and the transfers in progress.
#[derive(Debug)]
pub struct Storage {
    stored: HashMap<Home, u64>,
    /// The page of each file from which on there are zeros where nothing was written.
    zeros: HashMap<MappingId, u64>,
    /// The reaction to reads.
    pub reads: Answer,
    /// The reaction to writes.
    pub writes: Answer,
    /// The transfers that go on, the oldest first.
    pub late: Vec<Transfer>,
    log: Vec<Transfer>,
    /// The state that decides when the content of a page is taken: at the start of its transfer, or
    /// at the end.
    dice: u64,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            stored: HashMap::new(),
            zeros: HashMap::new(),
            reads: Answer::AtOnce,
            writes: Answer::AtOnce,
            late: Vec::new(),
            log: Vec::new(),
            dice: 0x9e37_79b9_7f4a_7c15,
        }
    }
}

impl Storage {
    /// Sets the reaction to all transfers.
    pub fn answers(&mut self, answer: Answer) {
        (self.reads, self.writes) = (answer, answer);
    }

    /// Returns the transfers that began since the last call.
    pub fn transfers(&mut self) -> Vec<Transfer> {
        take(&mut self.log)
    }

    /// Returns the content of the first page of a place.
    pub fn content(&self, place: Place) -> u64 {
        self.page(Home::new(place, 0))
    }

    /// Sets the content of the first page of a place.
    pub fn set_content(&mut self, place: Place, content: u64) {
        self.stored.insert(Home::new(place, 0), content);
    }

    fn page(&self, home: Home) -> u64 {
        self.stored.get(&home).copied().unwrap_or(match home {
            Home::File(file, index) => match self.zeros.get(&file) {
                Some(from) if index >= *from => 0,
                _ => pristine(file, index),
            },
            Home::Swap(_) => GARBAGE,
        })
    }

    /// Notes that a file ended with page `from`: there are zeros from there on.
    pub fn truncated(&mut self, file: MappingId, from: u64) {
        let stays = |home: &Home| match home {
            Home::File(of, index) => *of != file || *index < from,
            Home::Swap(_) => true,
        };
        self.stored.retain(|home, _| stays(home));
        let zeros = self.zeros.entry(file).or_insert(from);
        *zeros = from.min(*zeros);
    }

    fn heads(&mut self) -> bool {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice & 1 == 0
    }
}

impl Memory {
    /// Starts a transfer, and ends it unless storage is late.
    pub fn submit(&mut self, writes: bool, io: Io) -> Submitted {
        let transfer = self.begin(writes, io);
        self.answer(transfer)
    }

    /// Starts a transfer. Some of the content is taken now, the rest at its end.
    pub fn begin(&mut self, writes: bool, io: Io) -> Transfer {
        let mut early = vec![None; io.nr];
        for (k, early) in early.iter_mut().enumerate() {
            if writes && self.storage.heads() {
                *early = Some(self.take_content(&io, k));
            }
        }
        let transfer = Transfer { writes, io, early };
        self.storage.log.push(transfer.clone());
        transfer
    }

    /// Returns storage's reaction to a transfer that has begun.
    pub fn answer(&mut self, transfer: Transfer) -> Submitted {
        let answer = if transfer.writes { self.storage.writes } else { self.storage.reads };
        match answer {
            Answer::AtOnce => {
                self.end(&transfer, true);
                Submitted::Done
            }
            Answer::Late => {
                self.storage.late.push(transfer);
                Submitted::Pending
            }
            Answer::Failure => {
                self.end(&transfer, false);
                Submitted::Failed(IoError::Device)
            }
        }
    }

    /// Ends a transfer, which fails unless `ok`.
    ///
    /// # Panics
    /// If a frame of it is free.
    pub fn end(&mut self, transfer: &Transfer, ok: bool) {
        let Transfer { writes, io, early } = transfer;
        for (k, early) in early.iter().enumerate() {
            let (home, pfn) = (Home::new(io.place, k), io.pfn.add(k as u64));
            assert!(self.frame(pfn).used, "a transfer's frames are in use");
            if *writes && (ok || self.storage.heads()) {
                let content = early.unwrap_or_else(|| self.take_content(io, k));
                self.storage.stored.insert(home, content);
            } else if !*writes && ok {
                self.set_content(pfn, self.storage.page(home));
            }
        }
    }

    fn take_content(&mut self, io: &Io, k: usize) -> u64 {
        let frame = self.frame_mut(io.pfn.add(k as u64));
        frame.taken = true;
        frame.content
    }
}

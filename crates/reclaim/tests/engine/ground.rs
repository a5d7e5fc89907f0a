//! Frames with content, supplies of page tables, and storage that completes at once, late, or
//! never.

use crate::env::{FIRST_TABLE, TestEnv};
use pageout_paging::walk::TableFrames;
use pageout_paging::{Env, Format, Order, Pfn, Table};
use pageout_reclaim::{
    Backing, Frames, FreeBlocks, Io, MappingId, Place, Submitted, SwapSlot, World,
};
use std::collections::HashMap;
use std::mem::take;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A supply of page tables, in order, with an optional limit.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    next: AtomicU64,
    free: Mutex<Vec<Pfn>>,
    pub(crate) left: Left,
    /// True if a frame that is freed may become a table.
    pub(crate) of_frames: AtomicBool,
}

/// The number of page tables left, if there is a limit.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<Option<u64>>);

impl Left {
    pub(crate) fn set(&self, left: Option<u64>) {
        *self.0.lock().unwrap() = left;
    }

    fn add(&self, nr: u64) {
        let mut left = self.0.lock().unwrap();
        *left = left.map(|left| left + nr);
    }

    fn take(&self) -> bool {
        let mut left = self.0.lock().unwrap();
        let any = *left != Some(0);
        *left = left.map(|left| left.saturating_sub(1));
        any
    }
}

impl Tables {
    pub(crate) fn made(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Returns the number of tables in use.
    pub(crate) fn in_use(&self) -> u64 {
        self.made() - self.free.lock().unwrap().len() as u64
    }

    fn one(&self) -> Option<Pfn> {
        if !self.left.take() {
            return None;
        }
        let free = self.free.lock().unwrap().pop();
        Some(free.unwrap_or_else(|| FIRST_TABLE.add(self.next.fetch_add(1, Relaxed))))
    }
}

impl TableFrames for &Tables {
    fn take(&mut self) -> Option<Pfn> {
        self.one()
    }

    fn give_back(&mut self, frame: Pfn) {
        self.free.lock().unwrap().push(frame);
    }
}

/// The reaction of storage to a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Answer {
    #[default]
    AtOnce,
    Late,
    Failure,
}

/// A transfer, with true if it writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transfer {
    pub(crate) writes: bool,
    pub(crate) io: Io,
}

/// A page's place in storage.
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

/// Memory and storage. A page's content is a number: 0 is zeros. A page of a file that was never
/// written to holds a number of its own.
#[derive(Debug)]
pub(crate) struct Ground {
    used: Mutex<Vec<bool>>,
    /// The frame at which the last search for frames ended.
    cursor: AtomicU64,
    pub(crate) contents: Vec<AtomicU64>,
    stored: Mutex<HashMap<Home, u64>>,
    pub(crate) answer: Mutex<Answer>,
    late: Mutex<Vec<Transfer>>,
    log: Mutex<Vec<Transfer>>,
    early: AtomicBool,
    /// True if the calling task is to stop.
    pub(crate) signal: AtomicBool,
    pub(crate) now_ms: AtomicU64,
    /// True if memory is compacted.
    pub(crate) compacts: AtomicBool,
}

impl Ground {
    pub(crate) fn new(frames: usize) -> Self {
        Self {
            used: Mutex::new(vec![false; frames]),
            cursor: AtomicU64::new(0),
            contents: (0..frames).map(|_| AtomicU64::new(0)).collect(),
            stored: Mutex::default(),
            answer: Mutex::default(),
            late: Mutex::default(),
            log: Mutex::default(),
            early: AtomicBool::new(false),
            signal: AtomicBool::new(false),
            now_ms: AtomicU64::new(0),
            compacts: AtomicBool::new(false),
        }
    }

    /// Returns the content of a page of a file that was never written to.
    pub(crate) fn pristine(file: MappingId, index: u64) -> u64 {
        1 << 63 | u64::from(file.0) << 40 | index
    }

    pub(crate) fn content(&self, pfn: Pfn) -> u64 {
        self.contents[pfn.get() as usize].load(Relaxed)
    }

    pub(crate) fn set_content(&self, pfn: Pfn, content: u64) {
        self.contents[pfn.get() as usize].store(content, Relaxed);
    }

    pub(crate) fn is_used(&self, pfn: Pfn) -> bool {
        self.used.lock().unwrap()[pfn.get() as usize]
    }

    /// Returns the content in storage of a page of a file or a slot.
    pub(crate) fn stored(&self, place: Place) -> u64 {
        self.page(Home::new(place, 0))
    }

    fn page(&self, home: Home) -> u64 {
        let stored = self.stored.lock().unwrap().get(&home).copied();
        stored.unwrap_or(match home {
            Home::File(file, index) => Self::pristine(file, index),
            Home::Swap(_) => 0,
        })
    }

    /// Returns every transfer since the last call.
    pub(crate) fn transfers(&self) -> Vec<Transfer> {
        take(&mut *self.log.lock().unwrap())
    }

    /// Returns true if a write ever began while an invalidation was issued and not complete.
    pub(crate) fn wrote_too_early(&self) -> bool {
        self.early.load(Relaxed)
    }

    /// Returns the transfers that still go on.
    pub(crate) fn take_late(&self) -> Vec<Transfer> {
        take(&mut *self.late.lock().unwrap())
    }

    /// Moves the content.
    pub(crate) fn carry_out(&self, transfer: Transfer) {
        for k in 0..transfer.io.nr {
            let (home, pfn) = (Home::new(transfer.io.place, k), transfer.io.pfn.add(k as u64));
            assert!(self.is_used(pfn), "a transfer's frames are in use");
            if transfer.writes {
                self.stored.lock().unwrap().insert(home, self.content(pfn));
            } else {
                self.set_content(pfn, self.page(home));
            }
        }
    }

    fn submit(&self, transfer: Transfer) -> Submitted {
        self.log.lock().unwrap().push(transfer);
        match *self.answer.lock().unwrap() {
            Answer::AtOnce => {
                self.carry_out(transfer);
                Submitted::Done
            }
            Answer::Late => {
                self.late.lock().unwrap().push(transfer);
                Submitted::Pending
            }
            Answer::Failure => Submitted::Failed,
        }
    }
}

impl<F: Format> Frames for TestEnv<'_, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        let mut used = self.ground.used.lock().unwrap();
        let nr = order.nr_pages();
        let from = (self.ground.cursor.load(Relaxed) as usize).next_multiple_of(nr);
        let free = |first: &usize| used.get(*first..first + nr).is_some_and(|r| !r.contains(&true));
        let mut starts = (from..used.len()).step_by(nr).chain((0..from).step_by(nr));
        let first = starts.find(free)?;
        used[first..first + nr].fill(true);
        self.ground.cursor.store((first + nr) as u64, Relaxed);
        Some(Pfn::new(first as u64))
    }

    fn free(&self, pfn: Pfn, order: Order) {
        let mut used = self.ground.used.lock().unwrap();
        let run = &mut used[pfn.get() as usize..][..order.nr_pages()];
        assert!(!run.contains(&false), "frames are freed once");
        run.fill(false);
        if self.supply.of_frames.load(Relaxed) {
            self.supply.left.add(order.nr_pages() as u64);
        }
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.supply.one()
    }

    fn free_table(&self, frame: Pfn) {
        let table = self.table(frame);
        let empty = (0..F::PTES).all(|i| table.load(i).is_none());
        assert!(empty, "a table that is freed is empty");
        self.supply.free.lock().unwrap().push(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        for k in 0..nr as u64 {
            self.ground.set_content(pfn.add(k), 0);
        }
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        for k in 0..nr as u64 {
            self.ground.set_content(to.add(k), self.ground.content(from.add(k)));
        }
    }

    fn free_pages(&self) -> usize {
        self.ground.used.lock().unwrap().iter().filter(|used| !**used).count()
    }

    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        self.ground.compacts.load(Relaxed).then_some(self as _)
    }
}

impl<F: Format> FreeBlocks for TestEnv<'_, F> {
    fn frames(&self) -> Range<Pfn> {
        Pfn::new(0)..Pfn::new(self.ground.contents.len() as u64)
    }

    fn block_at(&self, pfn: Pfn) -> Option<Order> {
        let used = self.ground.used.lock().unwrap();
        let first = pfn.get() as usize;
        let around = |order: &u8| {
            let start = first >> order << order;
            used.get(start..start + (1 << order)).is_some_and(|run| !run.contains(&true))
        };
        let largest = (0..=10).take_while(around).last()?;
        first.is_multiple_of(1 << largest).then(|| Order::new(largest)).flatten()
    }

    fn alloc_at(&self, pfn: Pfn, order: Order) -> bool {
        let free = self.block_at(pfn).is_some_and(|block| block >= order);
        if free {
            let mut used = self.ground.used.lock().unwrap();
            used[pfn.get() as usize..][..order.nr_pages()].fill(true);
        }
        free
    }

    fn has_block(&self, order: Order) -> bool {
        let used = self.ground.used.lock().unwrap();
        used.chunks_exact(order.nr_pages()).any(|run| !run.contains(&true))
    }

    fn low_watermark(&self) -> usize {
        0
    }
}

impl<F: Format> Backing for TestEnv<'_, F> {
    fn read(&self, io: Io) -> Submitted {
        self.ground.submit(Transfer { writes: false, io })
    }

    fn write(&self, io: Io) -> Submitted {
        self.ground.early.fetch_or(self.mmu.incomplete.load(Relaxed), Relaxed);
        self.ground.submit(Transfer { writes: true, io })
    }
}

impl<F: Format> World for TestEnv<'_, F> {
    fn signal_pending(&self) -> bool {
        self.ground.signal.load(Relaxed)
    }

    fn now_ms(&self) -> u64 {
        self.ground.now_ms.load(Relaxed)
    }
}

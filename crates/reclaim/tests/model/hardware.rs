//! Memory whose frames record each change of owner, storage that completes at once, late or never,
//! and CPUs that read page tables at any time.

use crate::memory::FIRST_TABLE;
use crate::tlb::{Tlb, Translation, check_sizes, check_split, outdate};
use pageout_paging::mmu::{Asid, Barrier, Invalidate, Shootdown};
use pageout_paging::{Format, Level, Order, Pfn, Pte};
use pageout_reclaim::{Io, MappingId, Place, Submitted, SwapSlot};
use std::collections::HashMap;
use std::mem::take;

/// The number of CPUs of the ground.
pub(crate) const CPUS: usize = 3;

/// The content of memory that was not written to since it was allocated.
const GARBAGE: u64 = 0xdead_dead;

/// A page of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) used: bool,
    /// The number of times it was allocated. An older translation to it has lost it.
    pub(crate) owner: u64,
    pub(crate) content: u64,
}

/// The reaction of storage to a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Answer {
    #[default]
    AtOnce,
    Late,
    Failure,
}

/// A transfer in progress, with the data that was already taken of each page.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) writes: bool,
    pub(crate) io: Io,
    early: Vec<Option<u64>>,
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

/// Returns the content of a page of a file that was never written to.
pub(crate) fn pristine(file: MappingId, index: u64) -> u64 {
    1 << 63 | u64::from(file.0) << 40 | index
}

/// The hardware as a whole.
#[derive(Debug)]
pub(crate) struct Hardware {
    pub(crate) frames: Vec<Frame>,
    stored: HashMap<Home, u64>,
    /// The page of each file from which on storage has zeros where nothing was written.
    zeros: HashMap<MappingId, u64>,
    pub(crate) reads: Answer,
    pub(crate) writes: Answer,
    pub(crate) late: Vec<Transfer>,
    /// The state that decides when the data of a page is taken: at the start of its transfer, or at
    /// the end.
    dice: u64,
    pub(crate) tlbs: [Tlb; CPUS],
    /// The entry that leads to each page table.
    above: Vec<Option<Above>>,
    /// The invalidations that each CPU issued, and that are not complete.
    issued: [Vec<Invalidate>; CPUS],
    /// The runs freed so far.
    pub(crate) freed: Vec<(Pfn, Order)>,
}

/// The entry that leads to a page table.
#[derive(Clone, Copy, Debug)]
enum Above {
    /// None: the table is the root of an address space.
    Root(Asid),
    /// An entry of another table.
    Entry(usize, usize),
}

impl Hardware {
    pub(crate) fn new(frames: usize, tables: usize) -> Self {
        Self {
            frames: vec![Frame::default(); frames],
            stored: HashMap::new(),
            zeros: HashMap::new(),
            reads: Answer::AtOnce,
            writes: Answer::AtOnce,
            late: Vec::new(),
            dice: 0x9e37_79b9_7f4a_7c15,
            tlbs: Default::default(),
            above: vec![None; tables],
            issued: Default::default(),
            freed: Vec::new(),
        }
    }

    /// Allocates the first free run, so that frames are soon used again.
    pub(crate) fn alloc(&mut self, order: Order) -> Option<Pfn> {
        let nr = order.nr_pages();
        let first = (0..self.frames.len()).step_by(nr).find(|first| self.is_free(*first, nr))?;
        Some(self.take(first, nr))
    }

    /// Allocates the last free run.
    pub(crate) fn alloc_last(&mut self, order: Order) -> Option<Pfn> {
        let nr = order.nr_pages();
        let starts = (0..self.frames.len()).step_by(nr);
        let first = starts.rev().find(|first| self.is_free(*first, nr))?;
        Some(self.take(first, nr))
    }

    fn is_free(&self, first: usize, nr: usize) -> bool {
        let run = self.frames.get(first..first + nr);
        run.is_some_and(|run| run.iter().all(|frame| !frame.used))
    }

    /// Returns true if there is a free run.
    pub(crate) fn has_run(&self, order: Order) -> bool {
        let nr = order.nr_pages();
        (0..self.frames.len()).step_by(nr).any(|first| self.is_free(first, nr))
    }

    /// Returns the size of the largest aligned free run around a frame, if it begins there.
    pub(crate) fn block_at(&self, pfn: Pfn) -> Option<Order> {
        let first = pfn.get() as usize;
        let around = |order: &u8| self.is_free(first >> order << order, 1 << order);
        let largest = (0..=10).take_while(around).last()?;
        first.is_multiple_of(1 << largest).then(|| Order::new(largest)).flatten()
    }

    pub(crate) fn take(&mut self, first: usize, nr: usize) -> Pfn {
        for frame in &mut self.frames[first..first + nr] {
            *frame = Frame { used: true, owner: frame.owner + 1, content: GARBAGE };
        }
        Pfn::new(first as u64)
    }

    pub(crate) fn free(&mut self, pfn: Pfn, order: Order) {
        self.freed.push((pfn, order));
        for frame in &mut self.frames[pfn.get() as usize..][..order.nr_pages()] {
            assert!(frame.used, "frames are freed once");
            frame.used = false;
            frame.content = GARBAGE;
        }
    }

    pub(crate) fn free_pages(&self) -> usize {
        self.frames.iter().filter(|frame| !frame.used).count()
    }

    pub(crate) fn frame(&mut self, pfn: Pfn) -> &mut Frame {
        &mut self.frames[pfn.get() as usize]
    }

    /// Returns the page reached through a translation.
    ///
    /// # Panics
    /// If the page was freed since the translation was made.
    pub(crate) fn reached(&mut self, by: &Translation, page: u64) -> &mut Frame {
        let pfn = by.frame_of(page);
        let owner = self.owners(pfn, 1);
        let first = self.owners(by.pfn, by.nr);
        let frame = self.frame(pfn);
        assert!(frame.used, "a CPU reaches {pfn:?}, which is free, through {by:?}");
        assert!(
            first == by.owner,
            "a CPU reaches {pfn:?}, which was used anew ({owner}), through {by:?}"
        );
        frame
    }

    /// Returns a number that changes once a frame of the run is allocated again.
    pub(crate) fn owners(&self, pfn: Pfn, nr: u64) -> u64 {
        let run = &self.frames[pfn.get() as usize..][..nr as usize];
        run.iter().map(|frame| frame.owner).sum()
    }

    fn heads(&mut self) -> bool {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice & 1 == 0
    }

    fn stored(&self, home: Home) -> u64 {
        self.stored.get(&home).copied().unwrap_or(match home {
            Home::File(file, index) => match self.zeros.get(&file) {
                Some(from) if index >= *from => 0,
                _ => pristine(file, index),
            },
            Home::Swap(_) => GARBAGE,
        })
    }

    /// Notes that a file ended with page `from`: storage has zeros from there on.
    pub(crate) fn truncated(&mut self, file: MappingId, from: u64) {
        let stays = |home: &Home| match home {
            Home::File(of, index) => *of != file || *index < from,
            Home::Swap(_) => true,
        };
        self.stored.retain(|home, _| stays(home));
        let zeros = self.zeros.entry(file).or_insert(from);
        *zeros = from.min(*zeros);
    }

    /// Starts a transfer. Some of the data is taken now, the rest at its end.
    pub(crate) fn begin(&mut self, writes: bool, io: Io) -> Transfer {
        let mut early = vec![None; io.nr];
        for (k, early) in early.iter_mut().enumerate() {
            if writes && self.heads() {
                *early = Some(self.frame(io.pfn.add(k as u64)).content);
            }
        }
        Transfer { writes, io, early }
    }

    /// Ends a transfer. A failed one may have written some pages.
    pub(crate) fn end(&mut self, transfer: &Transfer, ok: bool) {
        let Transfer { writes, io, early } = transfer;
        for (k, early) in early.iter().enumerate() {
            let (home, pfn) = (Home::new(io.place, k), io.pfn.add(k as u64));
            assert!(self.frame(pfn).used, "a transfer's frames are in use");
            if *writes && (ok || self.heads()) {
                let content = early.unwrap_or(self.frame(pfn).content);
                self.stored.insert(home, content);
            } else if !*writes && ok {
                let content = self.stored(home);
                self.frame(pfn).content = content;
            }
        }
    }

    /// Returns storage's reaction to a transfer that has begun.
    pub(crate) fn answer(&mut self, transfer: Transfer) -> Submitted {
        let answer = if transfer.writes { self.writes } else { self.reads };
        match answer {
            Answer::AtOnce => {
                self.end(&transfer, true);
                Submitted::Done
            }
            Answer::Late => {
                self.late.push(transfer);
                Submitted::Pending
            }
            Answer::Failure => {
                self.end(&transfer, false);
                Submitted::Failed
            }
        }
    }

    /// Notes that a table was allocated or freed: no entry leads to it.
    pub(crate) fn unlink_table(&mut self, frame: Pfn) {
        self.above[frame.offset_from(FIRST_TABLE) as usize] = None;
    }

    /// Notes that a table is the root of an address space.
    pub(crate) fn set_root(&mut self, frame: Pfn, asid: Asid) {
        self.above[frame.offset_from(FIRST_TABLE) as usize] = Some(Above::Root(asid));
    }

    /// Notes that an entry was written. CPUs may use the new value at any time, and the old one
    /// until an invalidation of it has taken effect.
    pub(crate) fn written<F: Format>(&mut self, table: usize, i: usize, was: Pte, now: Pte) {
        let place = self.place::<F>(table, i);
        // In some formats, an entry of the last level has a table's bits.
        let leads_on = |pte| F::is_table(pte) && F::pfn(pte) >= FIRST_TABLE;
        if leads_on(now) {
            let below = F::pfn(now).offset_from(FIRST_TABLE) as usize;
            self.above[below] = Some(Above::Entry(table, i));
        }
        let Some((asid, at)) = place else {
            return;
        };
        // TLBs hold only young entries, but an access may make an entry young at any time.
        if F::is_valid(was) && F::is_young(was) && !leads_on(was) {
            let was = self.translation::<F>(asid, at, was);
            outdate(&mut self.tlbs, was);
        }
        if leads_on(now) {
            check_split::<F>(&self.tlbs, asid, at.0, F::nr_pages(at.1) as u64);
        } else if F::is_valid(now) {
            let now = self.translation::<F>(asid, at, now);
            check_sizes::<F>(&self.tlbs, now);
        }
    }

    /// Returns the address space, the first page and the level of an entry of the last two levels.
    /// Returns `None` for others, and for tables to which no entry leads.
    fn place<F: Format>(&self, table: usize, i: usize) -> Option<(Asid, (u64, Level))> {
        let (mut at, mut above) = (vec![i], self.above[table]?);
        let asid = loop {
            match above {
                Above::Root(asid) => break asid,
                Above::Entry(table, i) => {
                    at.push(i);
                    above = self.above[table]?;
                }
            }
        };
        let level = match at.len() {
            3 => Level::Pmd,
            4 => Level::Pte,
            _ => return None,
        };
        let levels = [Level::Pte, Level::Pmd, Level::Pud, Level::Pgd];
        let levels = levels.into_iter().skip_while(|at| *at < level);
        let page = at.iter().zip(levels).map(|(i, level)| (i * F::nr_pages(level)) as u64).sum();
        Some((asid, (page, level)))
    }

    /// Returns the translation by the valid entry or leaf `raw` of a page, with the owners of its
    /// frames.
    pub(crate) fn translation<F: Format>(
        &self,
        asid: Asid,
        at: (u64, Level),
        raw: Pte,
    ) -> Translation {
        let says = Translation::of::<F>(asid, at, raw);
        Translation { owner: self.owners(says.pfn, says.nr), ..says }
    }

    /// Issues an invalidation. Interrupts have been handled when this returns. A broadcast takes
    /// effect as late as it may.
    pub(crate) fn invalidate<F: Format>(&mut self, cpu: usize, what: Invalidate, by: Shootdown) {
        match by {
            Shootdown::Broadcast => self.issued[cpu].push(what),
            Shootdown::Ipi => self.tlbs.iter_mut().for_each(|tlb| tlb.forget::<F>(what)),
        }
    }

    /// Makes the invalidations that a CPU issued take effect everywhere.
    pub(crate) fn barrier<F: Format>(&mut self, cpu: usize, barrier: Barrier) {
        if barrier == Barrier::Complete {
            for what in take(&mut self.issued[cpu]) {
                self.tlbs.iter_mut().for_each(|tlb| tlb.forget::<F>(what));
            }
        }
    }

    /// Returns true if another CPU may hold a translation of an address space.
    pub(crate) fn remote(&self, cpu: usize, asid: Asid) -> bool {
        let mut others = (0..CPUS).filter(|other| *other != cpu);
        others.any(|other| {
            let tlb = &self.tlbs[other];
            tlb.runs(asid) || tlb.held.iter().any(|held| held.asid == asid)
        })
    }
}

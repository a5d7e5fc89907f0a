//! Page tables that record all operations, with hardware that acts between them.

use crate::Bug;
use pageout_paging::mmu::{Barrier, Caps, Invalidate};
use pageout_paging::table::LINE;
use pageout_paging::{Format, Mmu, Notifier, Pfn, Pte, Table, VirtAddr, VirtRange};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

/// The frame of a world's first table; the others follow.
pub const FIRST_TABLE: Pfn = Pfn::new(1 << 30);

/// The number of table operations of each kind. Operations outside a table count as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// The number of reads of one entry.
    pub loads: u64,
    /// The number of reads of a line of eight.
    pub lines: u64,
    /// Atomic clears that return the bit.
    pub bit_clears: u64,
    /// Atomic clears that return nothing.
    pub clears: u64,
    /// Exchanges, and compare-and-swaps, failed ones too.
    pub swaps: u64,
    /// Plain stores.
    pub stores: u64,
    /// The number of prefetches.
    pub prefetches: u64,
}

impl Counts {
    /// Returns the number of atomic read-modify-writes.
    pub const fn atomics(&self) -> u64 {
        self.bit_clears + self.clears + self.swaps
    }

    /// Returns the number of entries read.
    pub const fn entries_read(&self) -> u64 {
        self.loads + self.lines * LINE as u64
    }
}

impl std::ops::Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            loads: self.loads - before.loads,
            lines: self.lines - before.lines,
            bit_clears: self.bit_clears - before.bit_clears,
            clears: self.clears - before.clears,
            swaps: self.swaps - before.swaps,
            stores: self.stores - before.stores,
            prefetches: self.prefetches - before.prefetches,
        }
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            loads: self.loads + more.loads,
            lines: self.lines + more.lines,
            bit_clears: self.bit_clears + more.bit_clears,
            clears: self.clears + more.clears,
            swaps: self.swaps + more.swaps,
            stores: self.stores + more.stores,
            prefetches: self.prefetches + more.prefetches,
        }
    }
}

/// A use of the first table by hardware, before the table operation of number `before`. It sets the
/// young bit of an entry, and if it is a write also the dirty bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The number of table operations before it.
    pub before: usize,
    /// The entry used.
    pub entry: usize,
    /// True for a write.
    pub write: bool,
}

/// An event; events are kept in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Hardware used an entry of the first table.
    Accessed {
        /// The entry.
        entry: usize,
        /// True for a write.
        write: bool,
        /// True if the entry was contiguous then: any page of its block may be meant.
        cont: bool,
    },
    /// The young bit of an entry of the first table went from set to clear.
    Cleared(usize),
    /// A table operation named an entry outside its table, and changed nothing. Recorded once for
    /// any number in a row.
    Outside(usize),
    /// An invalidation was issued.
    Invalidate(Invalidate),
    /// An invalidation of only this CPU's TLB was made.
    InvalidateLocal(Invalidate),
    /// A barrier.
    Barrier(Barrier),
    /// A table's lock was taken.
    Lock(Pfn),
    /// A table's lock was released.
    Unlock(Pfn),
    /// The secondary MMU was asked to clear, with or without a flush.
    Notified {
        /// The addresses to clear.
        range: VirtRange,
        /// True if its TLB had to forget.
        flush: bool,
    },
}

/// Page tables of format `F`, one thread, no real MMU.
pub struct World<F> {
    entries: Vec<Cell<u64>>,
    locked: Vec<Cell<bool>>,
    counts: Cell<Counts>,
    ops: Cell<usize>,
    log: RefCell<Vec<Event>>,
    hardware: RefCell<Vec<Access>>,
    /// The number of the operation before which hardware acts next.
    due: Cell<usize>,
    weak_failures: Cell<usize>,
    caps: Cell<Caps>,
    secondary: Cell<Option<bool>>,
    format: PhantomData<F>,
}

impl<F: Format> World<F> {
    /// Returns a world of `tables` empty tables and ideal hardware.
    pub fn new(tables: usize) -> Self {
        Self {
            entries: vec![Cell::new(0); tables * F::PTES],
            locked: vec![Cell::new(false); tables],
            counts: Cell::default(),
            ops: Cell::new(0),
            log: RefCell::default(),
            hardware: RefCell::default(),
            due: Cell::new(usize::MAX),
            weak_failures: Cell::new(0),
            caps: Cell::new(Caps::IDEAL),
            secondary: Cell::new(None),
            format: PhantomData,
        }
    }

    /// Fills the first table with `entries` and clears the log.
    pub fn reset(&self, entries: &[Pte]) {
        for (cell, pte) in self.entries.iter().zip(entries) {
            cell.set(pte.0);
        }
        self.counts.set(Counts::default());
        self.ops.set(0);
        self.log.borrow_mut().clear();
        self.plan(&[], 0);
    }

    /// Plans the accesses of hardware, in order, and the number of compare-and-swaps that fail
    /// without a reason.
    pub fn plan(&self, accesses: &[Access], weak_failures: usize) {
        let mut hardware = self.hardware.borrow_mut();
        hardware.clear();
        hardware.extend(accesses.iter().rev());
        self.due.set(accesses.first().map_or(usize::MAX, |next| next.before));
        self.weak_failures.set(weak_failures);
    }

    /// Runs the rest of hardware's plan.
    pub fn settle(&self) {
        self.act(usize::MAX);
    }

    /// Sets the number of entries from which a range becomes a flush of the address space.
    pub fn set_range_limit(&self, range_limit: usize) {
        self.caps.set(Caps { range_limit, ..self.caps.get() });
    }

    /// Sets whether blocks may be converted without a flush in between.
    pub fn set_bbml2(&self, bbml2_noabort: bool) {
        self.caps.set(Caps { bbml2_noabort, ..self.caps.get() });
    }

    /// Returns true if blocks may be converted without a flush in between.
    pub fn bbml2(&self) -> bool {
        self.caps.get().bbml2_noabort
    }

    /// Attaches a secondary MMU that answers `young`, or detaches it.
    pub fn set_secondary(&self, young: Option<bool>) {
        self.secondary.set(young);
    }

    /// Returns true if a secondary MMU is attached.
    pub fn has_secondary(&self) -> bool {
        self.secondary.get().is_some()
    }

    /// Returns entry `i` of the first table.
    pub fn entry(&self, i: usize) -> Pte {
        Pte(self.entries[i].get())
    }

    /// Returns the table operations since the reset.
    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// Returns the number of table operations since the reset; a line is eight.
    pub fn ops(&self) -> usize {
        self.ops.get()
    }

    /// Returns the events since the reset.
    pub fn events(&self) -> Vec<Event> {
        self.log.borrow().clone()
    }

    /// Passes the events since the reset to `look`.
    pub fn with_events<R>(&self, look: impl FnOnce(&[Event]) -> R) -> R {
        look(&self.log.borrow())
    }

    /// Returns the table in `frame`.
    pub fn table(&self, frame: Pfn) -> WorldTable<'_, F> {
        let number = frame.offset_from(FIRST_TABLE) as usize;
        assert!(number < self.locked.len(), "{frame:?} holds no table");
        WorldTable { world: self, first: number * F::PTES }
    }

    pub(super) fn try_lock(&self, frame: Pfn) -> bool {
        let free = !self.lock_of(frame).replace(true);
        if free {
            self.record(Event::Lock(frame));
        }
        free
    }

    pub(super) fn unlock(&self, frame: Pfn) {
        self.lock_of(frame).set(false);
        self.record(Event::Unlock(frame));
    }

    fn lock_of(&self, frame: Pfn) -> &Cell<bool> {
        &self.locked[frame.offset_from(FIRST_TABLE) as usize]
    }

    fn record(&self, event: Event) {
        self.log.borrow_mut().push(event);
    }

    fn record_outside(&self, i: usize) {
        let again = |events: &[Event]| matches!(events.last(), Some(Event::Outside(_)));
        if !self.with_events(again) {
            self.record(Event::Outside(i));
        }
    }

    fn count(&self, add: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        add(&mut counts);
        self.counts.set(counts);
    }

    /// Lets hardware act, then counts the operation.
    fn turn(&self) {
        let now = self.ops.get();
        if self.due.get() <= now {
            self.act(now);
        }
        self.ops.set(now + 1);
    }

    /// Makes the planned accesses of hardware up to the moment `now`.
    fn act(&self, now: usize) {
        let mut hardware = self.hardware.borrow_mut();
        while let Some(access) = hardware.pop_if(|next| next.before <= now) {
            self.access(access.entry, access.write);
        }
        self.due.set(hardware.last().map_or(usize::MAX, |next| next.before));
    }

    /// Makes an access through the first table, if its entry permits it.
    fn access(&self, entry: usize, write: bool) {
        let pte = self.entry(entry);
        let used = match write {
            true => F::hardware_dirty(pte),
            false => F::is_valid(pte).then_some(pte),
        };
        if let Some(used) = used {
            self.entries[entry].set(F::mkyoung(used).0);
            self.record(Event::Accessed { entry, write, cont: F::is_cont(pte) });
        }
    }
}

impl<F: Format> Mmu for World<F> {
    fn caps(&self) -> Caps {
        self.caps.get()
    }

    fn invalidate(&self, what: Invalidate) {
        self.record(Event::Invalidate(what));
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.record(Event::InvalidateLocal(what));
    }

    fn barrier(&self, barrier: Barrier) {
        self.record(Event::Barrier(barrier));
    }
}

impl<F: Format> Notifier for World<F> {
    fn clear_flush_young(&self, range: VirtRange) -> bool {
        self.record(Event::Notified { range, flush: true });
        self.secondary.get() == Some(true)
    }

    fn clear_young(&self, range: VirtRange) -> bool {
        let flush = false;
        self.record(Event::Notified { range, flush });
        self.secondary.get() == Some(true)
    }

    fn test_young(&self, _addr: VirtAddr) -> bool {
        self.secondary.get() == Some(true)
    }

    fn invalidate(&self, _range: VirtRange) {
        unreachable!("a young check takes no entry out");
    }
}

/// A handle to one table of a [`World`]. It accepts indices outside the table, and records them.
pub struct WorldTable<'w, F> {
    world: &'w World<F>,
    first: usize,
}

impl<F> Clone for WorldTable<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for WorldTable<'_, F> {}

impl<'w, F: Format> WorldTable<'w, F> {
    fn cell(self, i: usize) -> Option<&'w Cell<u64>> {
        self.world.turn();
        if i >= F::PTES {
            self.world.record_outside(i);
            return None;
        }
        Some(&self.world.entries[self.first + i])
    }

    fn read(self, i: usize) -> u64 {
        self.cell(i).map_or(0, Cell::get)
    }

    /// Replaces entry `i` with the result of `change`; returns the old entry.
    fn change(self, i: usize, change: impl FnOnce(u64) -> u64) -> u64 {
        let Some(cell) = self.cell(i) else { return 0 };
        let old = cell.get();
        let new = change(old);
        if Bug::current() == Some(Bug::LoadAndStore) {
            self.world.turn(); // between the load and the store
        }
        cell.set(new);
        let cleared = F::is_young(Pte(old)) && !F::is_young(Pte(cell.get()));
        if cleared && self.first == 0 {
            self.world.record(Event::Cleared(i));
        }
        old
    }
}

impl<F: Format> Table for WorldTable<'_, F> {
    fn load(self, i: usize) -> Pte {
        self.world.count(|counts| counts.loads += 1);
        Pte(self.read(i))
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.world.count(|counts| counts.lines += 1);
        let first = i - i % LINE;
        std::array::from_fn(|k| self.read(first + k))
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.world.count(|counts| counts.bit_clears += 1);
        self.change(i, |old| old & !bit) & bit != 0
    }

    fn clear_bits(self, i: usize, bits: u64) {
        self.world.count(|counts| counts.clears += 1);
        self.change(i, |old| old & !bits);
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.world.count(|counts| counts.swaps += 1);
        let weak = self.world.weak_failures.get();
        self.world.weak_failures.set(weak.saturating_sub(1));
        let swap = |found| {
            if found == old.0 && weak == 0 { new.0 } else { found }
        };
        let found = Pte(self.change(i, swap));
        // Outside the table everything succeeds, or a compare-and-swap loop would never end.
        if i >= F::PTES || (found == old && weak == 0) { Ok(()) } else { Err(found) }
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        self.world.count(|counts| counts.swaps += 1);
        Pte(self.change(i, |_| new.0))
    }

    fn set(self, i: usize, pte: Pte) {
        self.world.count(|counts| counts.stores += 1);
        self.change(i, |_| pte.0);
    }

    fn prefetch_write(self, _i: usize) {
        self.world.count(|counts| counts.prefetches += 1);
    }
}

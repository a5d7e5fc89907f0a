//! What an agent sees: the world, from its CPU, handing over before each thing that others may see.

use super::schedule::{Baton, Pause};
use super::story::Event;
use super::world::World;
use pageout_exhibits::harness::Subject;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::table::{HostTable, LINE};
use pageout_paging::{Env, Format, Mmu, Notifier, Order, Pfn, Pte, Table};
use pageout_reclaim::{Backing, Frames, Io, Submitted};

/// A CPU and the agent on it. Before the agents start there is no baton, and nobody to hand to.
pub struct Seat<'a, F> {
    /// The world.
    pub world: &'a World<F>,
    /// By what to hand over.
    pub baton: Option<&'a Baton>,
    /// The CPU.
    pub cpu: usize,
}

impl<F> Clone for Seat<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Seat<'_, F> {}

impl<F: Format> Seat<'_, F> {
    /// Lets others go first.
    pub fn pause(&self) {
        self.hand_over(Pause::Step);
    }

    /// One of so many things that hardware may do next.
    pub fn choose(&self, options: usize) -> usize {
        match options {
            1 => 0,
            _ => self.hand_over(Pause::Choice(options as u8)).into(),
        }
    }

    fn hand_over(&self, pause: Pause) -> u8 {
        self.baton.map_or(0, |baton| baton.suspend(pause))
    }

    /// Tells what this CPU does.
    pub fn tell(&self, event: impl FnOnce(Event) -> Event, verb: &'static str) {
        self.world.tell(|| event(Event::plain(Some(self.cpu), verb)));
    }
}

/// The ground of one agent, on which the engine runs under `S`.
pub struct Ground<'a, S: Subject, F: Format> {
    seat: Seat<'a, F>,
    mmu: S::Mmu<Seat<'a, F>>,
}

impl<'a, S: Subject, F: Format> Ground<'a, S, F> {
    /// The ground of a seat.
    pub fn new(seat: Seat<'a, F>) -> Self {
        Self { seat, mmu: S::mmu(seat) }
    }

    /// The seat.
    pub fn seat(&self) -> Seat<'a, F> {
        self.seat
    }
}

impl<F: Format> Mmu for Seat<'_, F> {
    fn caps(&self) -> Caps {
        Caps { shootdown: self.world.machine.shootdown, ..Caps::IDEAL }
    }

    fn invalidate(&self, what: Invalidate) {
        self.pause();
        self.world.invalidate(self.cpu, what);
    }

    fn barrier(&self, barrier: Barrier) {
        if barrier == Barrier::Complete {
            self.pause();
            self.world.complete(self.cpu);
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.pause();
        self.world.invalidate_local(self.cpu, what);
    }
}

/// A handle to one table.
pub struct SeatTable<'a, F> {
    seat: Seat<'a, F>,
    table: HostTable<'a, F>,
    frame: Pfn,
}

impl<F> Clone for SeatTable<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for SeatTable<'_, F> {}

impl<F: Format> SeatTable<'_, F> {
    /// Changes entry `i` once the others have had their turn, and tells of it.
    fn change<R>(self, i: usize, change: impl FnOnce() -> R) -> R {
        self.seat.pause();
        let old = self.table.load(i);
        let result = change();
        let new = self.table.load(i);
        if old != new {
            self.seat.world.tell_change(self.seat.cpu, self.frame, i, old, new);
            self.seat.world.offer(self.frame, i);
        }
        result
    }
}

impl<F: Format> Table for SeatTable<'_, F> {
    fn load(self, i: usize) -> Pte {
        self.table.load(i)
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.table.line(i)
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.change(i, || self.table.test_and_clear_bit(i, bit))
    }

    fn clear_bits(self, i: usize, bits: u64) {
        self.change(i, || self.table.clear_bits(i, bits));
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.change(i, || self.table.cas(i, old, new))
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        self.change(i, || self.table.swap(i, new))
    }

    fn set(self, i: usize, pte: Pte) {
        self.change(i, || self.table.set(i, pte));
    }

    fn prefetch_write(self, _i: usize) {}
}

/// A table's lock, held.
pub struct Guard<'a, F: Format> {
    seat: Seat<'a, F>,
    frame: Pfn,
}

impl<F: Format> Drop for Guard<'_, F> {
    fn drop(&mut self) {
        self.seat.world.lock_of(self.frame).set(false);
    }
}

impl<'a, S: Subject, F: Format> Env for Ground<'a, S, F> {
    type Format = F;
    type Table = S::Table<SeatTable<'a, F>>;
    type Mmu = S::Mmu<Seat<'a, F>>;
    type Rules = S::Rules;
    type TableGuard<'g>
        = Guard<'a, F>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> Self::Table {
        let seat = self.seat;
        S::table(SeatTable { seat, table: seat.world.table(frame), frame })
    }

    fn mmu(&self) -> &Self::Mmu {
        &self.mmu
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<Guard<'a, F>> {
        let lock = self.seat.world.lock_of(frame);
        // Finding it taken moves nothing: whoever waits may not keep others from going on.
        if lock.get() {
            return None;
        }
        self.seat.pause();
        let free = !lock.replace(true);
        free.then(|| Guard { seat: self.seat, frame })
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn relax(&self) {
        self.seat.hand_over(Pause::Blocked);
    }
}

impl<S: Subject, F: Format> Frames for Ground<'_, S, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.seat.pause();
        let pfn = self.seat.world.memory.borrow_mut().alloc(order)?;
        self.seat.tell(|event| event.of_frames(pfn, order.nr_pages() as u64), "takes");
        Some(pfn)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        self.seat.pause();
        self.seat.world.free(self.seat.cpu, pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.seat.world.alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.seat.pause();
        self.seat.world.free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.seat.world.memory.borrow_mut().zero(pfn, nr as u64);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.seat.pause();
        self.seat.world.memory.borrow_mut().copy(from, to, nr as u64);
        let note = format!(" to frame {}", to.get());
        self.seat.tell(|event| event.of_frames(from, nr as u64).noting(note), "copies");
    }

    fn free_pages(&self) -> usize {
        self.seat.world.memory.borrow().free_pages()
    }
}

impl<S: Subject, F: Format> Backing for Ground<'_, S, F> {
    fn read(&self, io: Io) -> Submitted {
        self.seat.pause();
        self.seat.world.memory.borrow_mut().read(io.place, io.pfn, io.nr as u64);
        self.seat.tell(|event| event.of_frames(io.pfn, io.nr as u64), "reads back");
        Submitted::Done
    }

    fn write(&self, io: Io) -> Submitted {
        self.seat.pause();
        self.seat.world.memory.borrow_mut().write(io.place, io.pfn, io.nr as u64);
        self.seat.tell(|event| event.of_frames(io.pfn, io.nr as u64), "writes out");
        Submitted::Done
    }
}

impl<S: Subject, F: Format> pageout_reclaim::World for Ground<'_, S, F> {
    /// Time stands still in a search.
    fn now_ms(&self) -> u64 {
        0
    }
}

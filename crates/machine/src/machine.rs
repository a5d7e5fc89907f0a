//! The machine: its setup and its parts.

use crate::account::{Account, Counts, NodeId, Report};
use crate::core::{Core, Mm};
use crate::core_set::{CoreId, CoreSet};
use crate::fabric::{Fabric, FabricLoad, Identifiers, Rounds, TRIM_EVERY, Traffic};
use crate::lines::Lines;
use crate::platform::{Invalidation, InvalidationPrices, Prices, Shape};
use crate::sched::{Event, Queue, TaskId, TaskState};
use crate::storage::Storage;
use crate::tlb::Held;
use crate::words::Words;
use crate::{StaleAccessHistogram, Time};
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::table::HostTables;
use pageout_paging::{Format, Pfn};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::rc::Rc;

/// The setup of a machine.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The parts that the machine has.
    pub shape: Shape,
    /// The times that the machine's operations take.
    pub prices: Prices,
    /// The seed of the machine's random numbers, which decide how long each quantum is.
    pub seed: u64,
    /// The average time that a task may run while others wait for its core.
    pub quantum: Time,
    /// The names of [`Activity`](crate::Activity)s.
    pub activities: &'static [&'static str],
    /// True if the machine keeps a log of events ([`Machine::log`]).
    pub log: bool,
}

impl Setup {
    /// Makes a setup with a quantum of 3 ms (Linux 7.3.4, the base slice on a machine of eight
    /// cores and more).
    pub fn new(shape: Shape, prices: Prices, seed: u64) -> Self {
        let quantum = Time::from_ns(3_000_000);
        Self { shape, prices, seed, quantum, activities: &[], log: false }
    }
}

/// A machine that runs tasks on modelled cores, over page tables in ordinary memory.
///
/// The machine uses one thread of the host. The setup, the tasks and the tables determine all that
/// happens.
pub struct Machine<'a, F: Format> {
    pub(crate) setup: Setup,
    pub(crate) caps: Caps,
    pub(crate) tables: HostTables<'a, F>,
    pub(crate) cores: Vec<Core<'a, F>>,
    pub(crate) lines: RefCell<Lines>,
    /// The cores that ever had a task.
    pub(crate) used: Cell<CoreSet>,
    pub(crate) tasks: RefCell<Vec<Rc<TaskState>>>,
    pub(crate) queue: RefCell<Queue>,
    /// The time up to which the running core may act before another core gets its turn.
    pub(crate) horizon: Cell<Time>,
    /// The time up to which that core's program may act: earlier if its quantum ends while another
    /// task waits.
    pub(crate) user_horizon: Cell<Time>,
    /// The core whose turn it is, where a task handed over to another core's.
    pub(crate) chosen: Cell<Option<CoreId>>,
    pub(crate) mms: RefCell<BTreeMap<u32, Mm>>,
    pub(crate) identifiers: Identifiers,
    /// The time at which the interconnect can begin another barrier (arm64).
    pub(crate) barrier_free: Cell<Time>,
    pub(crate) rounds: RefCell<Rounds>,
    load: RefCell<FabricLoad>,
    pub(crate) locks: RefCell<crate::task::Locks>,
    pub(crate) words: RefCell<Words>,
    pub(crate) storage: RefCell<Storage>,
    pub(crate) account: RefCell<Account>,
    pub(crate) random: Cell<u64>,
    log: RefCell<String>,
}

impl<F: Format> fmt::Debug for Machine<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("shape", &self.setup.shape).finish_non_exhaustive()
    }
}

impl<'a, F: Format> Machine<'a, F> {
    /// Makes a machine at time zero, idle, over these page tables.
    ///
    /// # Panics
    /// If the prices are of another architecture than the shape, or the shape is invalid.
    pub fn new(setup: Setup, tables: HostTables<'a, F>) -> Self {
        let (fabric, slots) = match (setup.shape.invalidation, setup.prices.invalidation) {
            (Invalidation::Broadcast(_), InvalidationPrices::Broadcast(_)) => {
                (Fabric::Broadcast, 0)
            }
            (Invalidation::Ipi(ipi), InvalidationPrices::Ipi(_)) => {
                (Fabric::Interrupts, ipi.tag_slots)
            }
            _ => panic!("prices of the shape's architecture"),
        };
        let cores = 0..setup.shape.cores;
        assert!((1..=Shape::MAX_CORES).contains(&cores.end), "1 to {} cores", Shape::MAX_CORES);
        Self {
            caps: setup.shape.caps::<F>(),
            tables,
            lines: RefCell::new(Lines::new(tables.len() * F::PTES, setup.shape.cores, Lines::NEAR)),
            cores: cores.map(|i| Core::new(CoreId(i), &setup.shape.tlb, tables, slots)).collect(),
            used: Cell::default(),
            tasks: RefCell::default(),
            queue: RefCell::default(),
            horizon: Cell::default(),
            user_horizon: Cell::default(),
            chosen: Cell::new(None),
            mms: RefCell::default(),
            identifiers: Identifiers::default(),
            barrier_free: Cell::default(),
            rounds: RefCell::default(),
            load: RefCell::new(FabricLoad::new(fabric)),
            locks: RefCell::default(),
            words: RefCell::default(),
            storage: RefCell::new(Storage::new(setup.shape.storage)),
            account: RefCell::default(),
            random: Cell::new(setup.seed),
            log: RefCell::default(),
            setup,
        }
    }

    /// Returns the prices.
    pub fn prices(&self) -> &Prices {
        &self.setup.prices
    }

    /// Returns the shape.
    pub fn shape(&self) -> &Shape {
        &self.setup.shape
    }

    /// Returns the bytes of the machine's state that grow with page tables; the rest grows with
    /// cores and tasks.
    pub fn bytes_by_tables(&self) -> usize {
        self.lines.borrow().bytes()
    }

    /// Returns the events so far, one a line, if [`Setup::log`] asked for them. A line has the time
    /// in picoseconds and the event.
    pub fn log(&self) -> String {
        self.log.borrow().clone()
    }

    /// Returns the entries of a core's TLB, in no particular order.
    ///
    /// # Panics
    /// If there is no such core.
    pub fn held(&self, core: CoreId) -> Vec<Held> {
        self.core(core).tlb.borrow().entries().collect()
    }

    pub(crate) fn note(&self, at: Time, what: impl FnOnce() -> String) {
        if self.setup.log {
            let _ = writeln!(self.log.borrow_mut(), "{} {}", at.ps(), what());
        }
    }

    pub(crate) fn core(&self, id: CoreId) -> &Core<'a, F> {
        &self.cores[usize::from(id.0)]
    }

    /// Returns the cores that ever had a task.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Core<'a, F>> {
        self.used.get().iter().map(|id| self.core(id))
    }

    pub(crate) fn task(&self, id: TaskId) -> Rc<TaskState> {
        Rc::clone(&self.tasks.borrow()[id.0 as usize])
    }

    /// Schedules an event at `time`, past which no core may act before it.
    pub(crate) fn tell(&self, time: Time, event: Event) {
        let mut queue = self.queue.borrow_mut();
        queue.tell(time, event);
        self.horizon.set(self.horizon.get().min(time));
        self.user_horizon.set(self.user_horizon.get().min(time));
    }

    /// Counts what a core sends to others at `time`.
    pub(crate) fn sends(&self, time: Time, traffic: Traffic) {
        self.load.borrow_mut().add(time, traffic);
    }

    /// Makes an address space known.
    pub(crate) fn know(&self, asid: Asid, root: Pfn, now: Time) {
        let new = || Mm {
            root,
            generation: 1,
            cores: CoreSet::default(),
            next_trim: now + TRIM_EVERY,
            asid_generation: 0,
        };
        let mut mms = self.mms.borrow_mut();
        let known = mms.entry(asid.0).or_insert_with(new);
        assert_eq!(known.root, root, "{asid:?} keeps its root table");
    }

    #[inline]
    pub(crate) fn charge(&self, core: &Core<'a, F>, node: NodeId) {
        let time = core.take_time();
        core.worked.set(core.worked.get() + time);
        self.account.borrow_mut().charge(node, time);
    }

    /// Reports what the tasks did so far, and where the time went.
    pub fn report(&self) -> Report {
        let ends = self.used().map(|core| core.clock.get().max(core.busy_until.get()));
        let end = ends.max().unwrap_or_default();
        let mut counts = Counts::default();
        let mut hidden = StaleAccessHistogram::default();
        for core in self.used() {
            counts.add(&core.tally);
            let tlb = core.tlb.borrow();
            hidden.add(tlb.hidden());
            // Entries that still hide accesses did so at least until now. Of an entry in both
            // levels, the first level's copy is the one up to date.
            let mut still = BTreeMap::new();
            for entry in tlb.entries() {
                if let Some(since) = entry.hides_since {
                    let key = (entry.asid.map(|asid| asid.0), entry.start);
                    still.entry(key).or_insert(since);
                }
            }
            still.values().for_each(|since| hidden.ends(end.since(*since)));
        }
        let tasks = Report::spent(&self.account.borrow());
        let cores = self.used().map(|core| core.times(end)).collect();
        let load = self.load.borrow().clone().until(end);
        let storage = self.storage.borrow();
        let (read, written) = (storage.read, storage.written);
        Report { end, counts, hidden, load, read, written, cores, tasks }
    }
}

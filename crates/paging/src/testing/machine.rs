//! An embedder's environment, and hardware that uses its page tables at any time.

use core::cell::Cell;
use core::ops::{ControlFlow, Range};

use super::tree::{self, Place};
use super::{Checked, Tlbs};
use crate::env::Env;
use crate::pte::{Format, Level, Pte};
use crate::table::Table;
use crate::{Pfn, VirtAddr, VirtRange};

/// A use of a page by hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The number of operations on checked tables before it ([`Machine::steps`]).
    pub after: u64,
    /// The root of the address space.
    pub root: Pfn,
    /// The address.
    pub addr: VirtAddr,
    /// True for a store.
    pub store: bool,
}

/// The next actions of hardware.
#[derive(Clone, Debug)]
enum Plan {
    Nothing,
    Once(Access),
    /// Uses of pages of the range, at random, from the state of a generator.
    Random {
        state: u64,
        root: Pfn,
        range: VirtRange,
    },
}

/// An environment `E` with hardware that acts on its own between operations on its tables.
pub struct Machine<'t, E: Env, const HELD: usize> {
    env: E,
    tlbs: &'t Tlbs<E::Format, HELD>,
    cpu: Cell<u32>,
    steps: Cell<u64>,
    plan: Cell<Plan>,
}

impl<'t, E: Env, const HELD: usize> Machine<'t, E, HELD> {
    /// Makes a machine of the embedder's environment over these TLBs. The environment's own TLB
    /// maintenance must call that of these TLBs ([`Tlbs::mmu`]). Hardware does nothing yet.
    pub const fn new(env: E, tlbs: &'t Tlbs<E::Format, HELD>) -> Self {
        let plan = Cell::new(Plan::Nothing);
        Self { env, tlbs, cpu: Cell::new(0), steps: Cell::new(0), plan }
    }

    /// Returns the environment to test with: the embedder's, with checked tables.
    pub const fn checked(&self) -> Checked<'_, E, HELD> {
        Checked::new(self)
    }

    /// Returns the embedder's own environment, unchecked.
    pub const fn env(&self) -> &E {
        &self.env
    }

    /// Returns the TLBs.
    pub const fn tlbs(&self) -> &'t Tlbs<E::Format, HELD> {
        self.tlbs
    }

    /// Makes CPU `cpu` the one that runs the code under test; before, that is CPU 0. Only its own
    /// barriers publish what it writes to tables.
    pub fn run_on(&self, cpu: u32) {
        self.cpu.set(cpu);
    }

    /// Checks frames that are about to be freed, or used for another purpose: pages, or tables.
    ///
    /// # Panics
    /// If an entry of an address space that runs leads to one of them, or a TLB may hold what led
    /// there ([`Tlbs::check_free`]).
    pub fn check_free(&self, frames: Range<Pfn>) {
        self.tlbs.check_unlinked(&|table, i| self.read(table, i), &frames);
        self.tlbs.check_free(frames);
    }

    fn read(&self, table: Pfn, i: usize) -> Pte {
        self.env.table(table).load(i)
    }

    /// Returns the number of operations on checked tables so far. Reading the line of a table
    /// counts as eight.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Makes hardware use one page once, in place of its earlier plan. To have it act at every
    /// moment of a test, run the test with each number of steps that it takes.
    pub fn plan(&self, access: Access) {
        self.plan.set(Plan::Once(access));
    }

    /// Makes hardware use a page of `range`, to load or to store, after every second step on
    /// average. The same `seed` gives the same pages.
    pub fn act_at_random(&self, seed: u64, root: Pfn, range: VirtRange) {
        // The generator has one state that it does not leave.
        self.plan.set(Plan::Random { state: seed.max(1), root, range });
    }

    /// Stops hardware's actions.
    pub fn rest(&self) {
        self.plan.set(Plan::Nothing);
    }

    /// Gives hardware its turn, then counts the step.
    pub(super) fn step(&self) {
        let step = self.steps.replace(self.steps.get() + 1);
        // Nothing is planned while hardware acts.
        let next = match self.plan.replace(Plan::Nothing) {
            Plan::Nothing => return,
            Plan::Once(access) if access.after > step => Plan::Once(access),
            Plan::Once(access) => {
                self.access(access.root, access.addr, access.store);
                return;
            }
            Plan::Random { state, root, range } => {
                let state = xorshift(state);
                if state & 1 == 0 {
                    let pages = (range.end.get() - range.start.get()) >> E::Format::PAGE_SHIFT;
                    let page = (state >> 8) % pages.max(1);
                    let addr = range.start.add(page << E::Format::PAGE_SHIFT);
                    self.access(root, addr, state & 2 == 0);
                }
                Plan::Random { state, root, range }
            }
        };
        self.plan.set(next);
    }

    /// Uses the page of `addr` in the address space under `root` by a hardware walk. It sets the
    /// accessed bit, and for a store the dirty bit, if the hardware does so by itself. Returns true
    /// if the access succeeded, false if it faults.
    pub fn access(&self, root: Pfn, addr: VirtAddr, store: bool) -> bool {
        let caps = self.tlbs.caps();
        let (mut frame, mut level) = (root, Level::Pgd);
        loop {
            let (table, i) = (self.env.table(frame), E::Format::index(level, addr));
            let raw = table.load(i);
            let leads = level != Level::Pte && E::Format::is_table(raw);
            let used = match leads {
                true if caps.nonleaf_af => Some(E::Format::mkyoung_table(raw)),
                true => Some(raw),
                false => self.use_leaf(raw, store),
            };
            let Some(used) = used else { return false };
            if used != raw && table.cas(i, raw, used).is_err() {
                continue; // it changed meanwhile, or failed for no reason
            }
            match level.below().filter(|_| leads) {
                Some(below) => {
                    self.tlbs.offer(root, addr, level, used);
                    (frame, level) = (E::Format::pfn(used), below);
                }
                None => {
                    let pte = tree::decode::<E::Format>(used, level, i);
                    self.tlbs.offer(root, addr, level, pte);
                    return true;
                }
            }
        }
    }

    /// Returns the leaf as an access leaves it, or `None` for a fault.
    fn use_leaf(&self, raw: Pte, store: bool) -> Option<Pte> {
        let caps = self.tlbs.caps();
        let used = match store {
            true => E::Format::hardware_dirty(raw)?,
            false => E::Format::is_valid(raw).then_some(raw)?,
        };
        let by_hardware = caps.hardware_dirty || used == raw;
        let young = E::Format::mkyoung(used);
        (by_hardware && (caps.hardware_af || young == used)).then_some(young)
    }

    /// Takes note that the code under test changed an entry from `old` to `new`, both decoded.
    pub(super) fn change(&self, place: Place, old: Pte, new: Pte) {
        self.tlbs.change(self.cpu.get(), place, old, new);
        self.tlbs.offer(place.root, place.addr, place.level, new);
    }

    /// Returns the place of the first entry of the table in `frame`. Returns `None` unless the
    /// table is part of an address space that runs.
    pub(super) fn place(&self, frame: Pfn) -> Option<Place> {
        self.tlbs.spaces().find_map(|space| self.place_in(space.root, frame))
    }

    fn place_in(&self, root: Pfn, frame: Pfn) -> Option<Place> {
        if frame == root {
            return Some(Place { root, addr: VirtAddr::new(0), level: Level::Pgd });
        }
        let mut found = None;
        let read = |table, i| self.read(table, i);
        let _ = tree::visit::<E::Format>(&read, root, Level::Pmd, &mut |place, pte| {
            if !E::Format::is_table(pte) || E::Format::pfn(pte) != frame {
                return ControlFlow::Continue(());
            }
            found = place.level.below().map(|level| Place { level, ..place });
            ControlFlow::Break(())
        });
        found
    }
}

/// Makes one step of Marsaglia's generator (Xorshift RNGs, 2003: shifts 13, 7, 17).
const fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

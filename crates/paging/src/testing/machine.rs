//! An embedder's environment, and hardware that uses its page tables at any time.

use core::cell::Cell;

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
    steps: Cell<u64>,
    plan: Cell<Plan>,
}

impl<'t, E: Env, const HELD: usize> Machine<'t, E, HELD> {
    /// Makes a machine of the embedder's environment over these TLBs. The environment's own TLB
    /// maintenance must call that of these TLBs ([`Tlbs::mmu`]). Hardware does nothing yet.
    pub const fn new(env: E, tlbs: &'t Tlbs<E::Format, HELD>) -> Self {
        Self { env, tlbs, steps: Cell::new(0), plan: Cell::new(Plan::Nothing) }
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
                Some(below) => (frame, level) = (E::Format::pfn(used), below),
                None => {
                    let pte = if level == Level::Pte { E::Format::decode(used, i) } else { used };
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

    /// Returns the address that entry 0 of the table in `frame` maps, with its root and its level.
    /// Returns `None` unless the table is part of an address space that runs.
    pub(super) fn place(&self, frame: Pfn) -> Option<(Pfn, VirtAddr, Level)> {
        self.tlbs.spaces().find_map(|space| {
            let (start, level) = self.below(space.root, Level::Pgd, VirtAddr::new(0), frame)?;
            Some((space.root, start, level))
        })
    }

    fn below(
        &self,
        at: Pfn,
        level: Level,
        start: VirtAddr,
        frame: Pfn,
    ) -> Option<(VirtAddr, Level)> {
        if at == frame {
            return Some((start, level));
        }
        let below = level.below()?;
        (0..E::Format::PTES).find_map(|i| {
            let entry = self.env.table(at).load(i);
            if !E::Format::is_table(entry) {
                return None;
            }
            let start = start.add((i as u64) << E::Format::shift(level));
            self.below(E::Format::pfn(entry), below, start, frame)
        })
    }
}

/// Makes one step of Marsaglia's generator (Xorshift RNGs, 2003: shifts 13, 7, 17).
const fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

//! An embedder's environment, and hardware that uses its page tables whenever it likes.

use core::cell::Cell;

use super::{Checked, Tlbs};
use crate::env::Env;
use crate::pte::{Format, Level, Pte};
use crate::table::Table;
use crate::{Pfn, VirtAddr, VirtRange};

/// One use of a page by hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Operations on checked tables that come before it ([`Machine::steps`]).
    pub after: u64,
    /// The root of the address space.
    pub root: Pfn,
    /// The address.
    pub addr: VirtAddr,
    /// Whether it is a store.
    pub store: bool,
}

/// What hardware is going to do.
#[derive(Clone, Debug)]
enum Plan {
    Nothing,
    Once(Access),
    /// Uses of pages of the range, drawn from the state of a generator.
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
    /// The embedder's environment over these TLBs, which its own TLB maintenance is to end in
    /// ([`Tlbs::mmu`]). Hardware does nothing yet.
    pub const fn new(env: E, tlbs: &'t Tlbs<E::Format, HELD>) -> Self {
        Self { env, tlbs, steps: Cell::new(0), plan: Cell::new(Plan::Nothing) }
    }

    /// The environment to test with: the embedder's, its tables checked.
    pub const fn checked(&self) -> Checked<'_, E, HELD> {
        Checked::new(self)
    }

    /// The embedder's own environment, unchecked.
    pub const fn env(&self) -> &E {
        &self.env
    }

    /// The TLBs.
    pub const fn tlbs(&self) -> &'t Tlbs<E::Format, HELD> {
        self.tlbs
    }

    /// Operations on checked tables so far; the line of a table counts as eight.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Hardware uses one page once, in place of what it was about to do. To have it act at every
    /// moment of a test, run the test with each number of steps that it takes.
    pub fn plan(&self, access: Access) {
        self.plan.set(Plan::Once(access));
    }

    /// After one step of two, hardware uses a page of `range`, to load or to store: the same pages
    /// for the same `seed`.
    pub fn act_at_random(&self, seed: u64, root: Pfn, range: VirtRange) {
        // The generator has one state that it does not leave.
        self.plan.set(Plan::Random { state: seed.max(1), root, range });
    }

    /// Hardware does nothing more.
    pub fn rest(&self) {
        self.plan.set(Plan::Nothing);
    }

    /// The turn of hardware, then the next step.
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

    /// Hardware uses the page of `addr` in the address space under `root` by a walk, which sets the
    /// accessed bit and for a store the dirty bit, where the hardware does so by itself; whether it
    /// went through, or faults.
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

    /// The leaf as an access leaves it; `None` where that faults.
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

    /// The address that entry 0 of the table in `frame` maps, with its root and its level, if it
    /// is part of an address space that runs.
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

/// One step of Marsaglia's generator (Xorshift RNGs, 2003: shifts 13, 7, 17).
const fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

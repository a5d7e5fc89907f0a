//! The content of entries that TLBs may hold, at their laziest: all that an entry has offered since
//! an invalidation of it last took effect.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{ControlFlow, Range};

use super::held::{Cached, Held, Reason, Scope, Target, page_of};
use super::rule::Rule;
use super::tree::{self, Place};
use crate::mmu::{Asid, Barrier, Caps, Invalidate, Mmu, Shootdown};
use crate::pte::{Format, Level, Pte};
use crate::{Pfn, VirtAddr};

/// The largest number of address spaces.
const SPACES: usize = 64;

/// The TLBs of up to 64 CPUs, with room for `HELD` entries, and the address spaces that use them.
#[derive(Debug)]
pub struct Tlbs<F, const HELD: usize> {
    caps: Caps,
    repeats: bool,
    held: [Cell<Option<Held>>; HELD],
    spaces: [Cell<Option<Space>>; SPACES],
    /// The last invalidation that was issued.
    last: Cell<Option<Target>>,
    format: PhantomData<F>,
}

/// An address space that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Space {
    pub(super) asid: Asid,
    pub(super) root: Pfn,
}

impl<F: Format, const HELD: usize> Tlbs<F, HELD> {
    /// Makes empty TLBs of hardware with these abilities, and of as many CPUs as they say.
    pub const fn new(caps: Caps) -> Self {
        Self {
            caps,
            repeats: false,
            held: [const { Cell::new(None) }; HELD],
            spaces: [const { Cell::new(None) }; SPACES],
            last: Cell::new(None),
            format: PhantomData,
        }
    }

    /// Makes these TLBs those of CPUs whose broadcast invalidations must be repeated
    /// (CVE-2025-10263): accesses through a translation end only when the CPU that completed its
    /// invalidation has issued another one, of anything, and completed that.
    #[must_use]
    pub const fn that_repeat(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// Returns the TLB maintenance of CPU `cpu`.
    ///
    /// # Panics
    /// If there is no such CPU: they are numbered from 0 on, at most to 63 ([`Caps::cpus`]).
    pub fn mmu(&self, cpu: u32) -> LazyMmu<'_, F, HELD> {
        let cpus = self.cpus().count_ones();
        assert!(cpu < cpus, "there is no CPU {cpu}: there are {cpus}");
        LazyMmu { tlbs: self, cpu }
    }

    /// Notes that an address space begins to run: its root and its ASID are written to a register.
    ///
    /// # Panics
    /// If another address space has the ASID, or a TLB may hold translations of one that had it.
    /// Likewise if there is no room for another address space.
    pub fn run(&self, asid: Asid, root: Pfn) {
        let space = Space { asid, root };
        if let Some(other) = self.spaces().find(|other| other.asid == asid && other.root != root) {
            let other = other.root;
            Rule::OneAddressSpace.broken(format_args!(
                "{asid:?} is given to the root in {root:?} and is that of the root in {other:?}"
            ));
        }
        let others = |h: &Held| h.is_held() && h.what.asid() == asid && h.root != root;
        if let Some(held) = self.held().find(others) {
            let held = self.reason(held);
            Rule::OneAddressSpace.broken(format_args!(
                "{asid:?} is given to the root in {root:?} while a TLB may hold {held}"
            ));
        }
        // A root that gets another ASID has it from now on.
        for place in &self.spaces {
            if place.get().is_some_and(|other| other.root == root && other.asid != asid) {
                place.set(None);
            }
        }
        if self.spaces().all(|other| other != space) {
            let free = self.spaces.iter().find(|place| place.get().is_none());
            free.expect("there is room for 64 address spaces").set(Some(space));
        }
    }

    /// Notes that the address space under `root` ends. TLBs may still hold its translations.
    ///
    /// Call this after the last change of its entries, since only entries of a running address
    /// space are checked: with `pageout-reclaim`, after `exit_mm`. Call it before the frame of the
    /// root is used for another purpose, since checks walk down from it.
    pub fn end(&self, root: Pfn) {
        for place in &self.spaces {
            if place.get().is_some_and(|space| space.root == root) {
                place.set(None);
            }
        }
        self.update(|held| held.offered &= held.root != root);
    }

    /// Checks frames that are about to be freed, or used for another purpose: pages, or tables.
    ///
    /// # Panics
    /// If a TLB may hold a translation to one of them, or a step to it.
    pub fn check_free(&self, frames: Range<Pfn>) {
        if let Some(held) = self.held().find(|held| held.what.leads_to(&frames)) {
            let held = self.reason(held);
            Rule::FlushBeforeFree
                .broken(format_args!("{frames:?} are freed while a TLB may hold {held}"));
        }
    }

    /// Returns true if a TLB may hold a translation of `addr` in the address space under `root`.
    pub fn may_hold(&self, root: Pfn, addr: VirtAddr) -> bool {
        let page = page_of::<F>(addr);
        self.held().any(|held| {
            let of_page = matches!(held.what, Cached::Leaf(leaf) if leaf.contains(page));
            held.is_held() && held.root == root && of_page
        })
    }

    /// Offers the entry `pte` of `level`, decoded, for `addr` in the address space under `root` to
    /// every TLB, if the address space runs: a leaf that is valid and young, or a step to a table.
    ///
    /// # Panics
    /// If they may hold another translation of the same pages: see [`Tlbs::check_make`].
    pub fn offer(&self, root: Pfn, addr: VirtAddr, level: Level, pte: Pte) {
        self.check_make(root, addr, level, pte);
        let Some(what) = self.cached(root, addr, level, pte) else { return };
        if matches!(what, Cached::Leaf(_)) && !F::is_young(pte) {
            return;
        }
        let same = |place: &&Cell<Option<Held>>| {
            place.get().is_some_and(|held| held.what == what && held.root == root)
        };
        let free = || self.held.iter().find(|place| place.get().is_none());
        let place = self.held.iter().find(same).or_else(free);
        let Some(place) = place else {
            panic!("these TLBs have room for {HELD} entries: give them more")
        };
        place.set(Some(Held::new(what, level, root, self.cpus())));
    }

    /// Checks that the entry `pte` of `level`, decoded, may be made for `addr` in the address space
    /// under `root`.
    ///
    /// # Panics
    /// If a TLB may hold another frame for one of its pages, a translation of another size, unless
    /// the hardware permits that ([`Caps::bbml2_noabort`]), or a step to another table.
    pub fn check_make(&self, root: Pfn, addr: VirtAddr, level: Level, pte: Pte) {
        let Some(new) = self.cached(root, addr, level, pte) else { return };
        let may_resize = self.caps.bbml2_noabort;
        let conflicts = |held: &Held| held.is_held() && held.what.conflicts(&new, may_resize);
        if let Some(held) = self.held().find(conflicts) {
            let held = self.reason(held);
            Rule::BreakBeforeMake.broken(format_args!("{new} is made while a TLB may hold {held}"));
        }
    }

    /// Takes note that CPU `cpu` changed the entry of `level` for `addr` from `old` to `new`, both
    /// decoded. What it led to is out of the entry, and hardware may not see that yet.
    pub(super) fn change(&self, cpu: u32, place: Place, old: Pte, new: Pte) {
        let Place { root, addr, level } = place;
        let [was, is] = [old, new].map(|pte| self.cached(root, addr, level, pte));
        let Some(was) = was.filter(|was| Some(*was) != is) else { return };
        let pages = was.pages();
        self.update(|held| {
            let below = held.root == root && held.level <= level;
            if below && pages.contains(&held.what.pages().start) {
                held.take_out(cpu);
            }
        });
    }

    /// Looks at all entries of the address spaces that run, which code on CPU `cpu` may have
    /// changed. Each is offered: hardware may use it at any moment.
    ///
    /// # Panics
    /// As [`Tlbs::offer`].
    pub(super) fn observe(&self, cpu: u32, read: &dyn Fn(Pfn, usize) -> Pte) {
        self.update(|held| {
            let Held { what, root, level, .. } = *held;
            let addr = VirtAddr::new(what.pages().start << F::PAGE_SHIFT);
            let runs = self.spaces().any(|space| space.root == root);
            let now = runs.then(|| tree::entry::<F>(read, root, addr, level)).flatten();
            if now.and_then(|pte| self.cached(root, addr, level, pte)) != Some(what) {
                held.take_out(cpu);
            }
        });
        for space in self.spaces() {
            let _ = tree::visit::<F>(read, space.root, Level::Pte, &mut |place, pte| {
                let pte = if self.caps.hardware_af { F::mkyoung(pte) } else { pte };
                self.offer(space.root, place.addr, place.level, pte);
                ControlFlow::Continue(())
            });
        }
    }

    /// Checks that no entry of an address space that runs leads to one of these frames.
    ///
    /// # Panics
    /// If one does.
    pub(super) fn check_unlinked(&self, read: &dyn Fn(Pfn, usize) -> Pte, frames: &Range<Pfn>) {
        self.spaces().for_each(|space| tree::check_unlinked::<F>(read, space.root, frames));
    }

    fn cached(&self, root: Pfn, addr: VirtAddr, level: Level, pte: Pte) -> Option<Cached> {
        let space = self.spaces().find(|space| space.root == root)?;
        Cached::of::<F>(space.asid, page_of::<F>(addr), level, pte)
    }

    /// Returns the CPUs that there are ([`Caps::cpus`]), one bit each.
    fn cpus(&self) -> u64 {
        u64::MAX >> (u64::BITS - u32::from(self.caps.cpus).clamp(1, u64::BITS))
    }

    /// Returns the abilities of the hardware.
    pub(super) const fn caps(&self) -> Caps {
        self.caps
    }

    /// Returns the address spaces that run.
    pub(super) fn spaces(&self) -> impl Iterator<Item = Space> {
        self.spaces.iter().filter_map(Cell::get)
    }

    fn held(&self) -> impl Iterator<Item = Held> {
        self.held.iter().filter_map(Cell::get)
    }

    fn reason(&self, held: Held) -> Reason {
        Reason { held, last: self.last.get() }
    }

    fn update(&self, update: impl Fn(&mut Held)) {
        for place in &self.held {
            place.set(place.get().and_then(|mut held| {
                update(&mut held);
                (!held.is_gone()).then_some(held)
            }));
        }
    }
}

/// The TLB maintenance of one CPU at its laziest: an invalidated translation stays in every TLB
/// until that CPU's barrier completes the invalidation. A translation that an entry offers between
/// the two stays.
#[derive(Debug)]
pub struct LazyMmu<'t, F, const HELD: usize> {
    tlbs: &'t Tlbs<F, HELD>,
    cpu: u32,
}

impl<F, const HELD: usize> Clone for LazyMmu<'_, F, HELD> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, const HELD: usize> Copy for LazyMmu<'_, F, HELD> {}

impl<F: Format, const HELD: usize> LazyMmu<'_, F, HELD> {
    /// Issues an invalidation. `ordered` says that hardware orders it after this CPU's stores.
    pub(super) fn issue(&self, target: Target, scope: Scope, ordered: bool) {
        self.tlbs.last.set(Some(target));
        self.tlbs.update(|held| held.issue(self.cpu, &target, scope, ordered));
    }

    /// Makes this CPU's changes of entries visible to the walks of all, or to its own.
    pub(super) fn publish(&self, scope: Scope) {
        self.tlbs.update(|held| held.publish(self.cpu, scope));
    }

    /// Completes this CPU's invalidations in the TLBs of `scope`.
    pub(super) fn complete(&self, scope: Scope) {
        self.tlbs.update(|held| match scope {
            Scope::All => held.complete(self.cpu, self.tlbs.repeats),
            Scope::Own => held.complete_own(self.cpu),
        });
    }
}

impl<F: Format, const HELD: usize> Mmu for LazyMmu<'_, F, HELD> {
    fn caps(&self) -> Caps {
        self.tlbs.caps
    }

    fn invalidate(&self, what: Invalidate) {
        // Broadcasts are ordered by barriers alone.
        let ordered = self.tlbs.caps.shootdown == Shootdown::Ipi;
        self.issue(Target::of::<F>(what), Scope::All, ordered);
    }

    fn barrier(&self, barrier: Barrier) {
        self.publish(Scope::All);
        if barrier == Barrier::Complete {
            self.complete(Scope::All);
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.publish(Scope::All);
        self.issue(Target::of::<F>(what), Scope::Own, true);
        self.complete(Scope::Own);
    }
}

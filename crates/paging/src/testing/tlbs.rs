//! The translations that TLBs may hold, at their laziest: every one that an entry has offered since
//! an invalidation of it last took effect.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Range;

use super::Translation;
use crate::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use crate::pte::{Format, Level, Pte};
use crate::{Pfn, VirtAddr};

/// The largest number of address spaces.
const SPACES: usize = 64;

/// The TLBs of up to 64 CPUs, with room for `HELD` translations, and the address spaces that use
/// them.
#[derive(Debug)]
pub struct Tlbs<F, const HELD: usize> {
    caps: Caps,
    held: [Cell<Option<Held>>; HELD],
    spaces: [Cell<Option<Space>>; SPACES],
    format: PhantomData<F>,
}

/// A translation that TLBs may hold.
#[derive(Clone, Copy, Debug)]
struct Held {
    translation: Translation,
    /// The root of the address space whose entry offered it.
    root: Pfn,
    /// The CPUs whose TLBs may hold it, one bit each.
    by: u64,
    /// The CPUs that issued an invalidation of it and have not completed it, one bit each.
    issued: u64,
}

/// An address space that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Space {
    pub(super) asid: Asid,
    pub(super) root: Pfn,
}

impl<F: Format, const HELD: usize> Tlbs<F, HELD> {
    /// Makes empty TLBs of hardware with these abilities.
    pub const fn new(caps: Caps) -> Self {
        Self {
            caps,
            held: [const { Cell::new(None) }; HELD],
            spaces: [const { Cell::new(None) }; SPACES],
            format: PhantomData,
        }
    }

    /// Returns the TLB maintenance of CPU `cpu`.
    ///
    /// # Panics
    /// If there is no such CPU: they are numbered from 0 to 63.
    pub fn mmu(&self, cpu: u32) -> LazyMmu<'_, F, HELD> {
        assert!(cpu < u64::BITS, "CPUs are numbered from 0 to 63, not {cpu}");
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
            panic!(
                "one ASID, one address space: {asid:?} is given to the root in {root:?} and is \
                 that of the root in {other:?}"
            );
        }
        if let Some(held) = self.held().find(|h| h.translation.asid == asid && h.root != root) {
            panic!(
                "one ASID, one address space: {asid:?} is given to the root in {root:?} while a \
                 TLB may hold {:?} of the root in {:?}{}",
                held.translation,
                held.root,
                held.why()
            );
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
    }

    /// Checks frames that are about to be freed, or used for another purpose.
    ///
    /// # Panics
    /// If a TLB may hold a translation to one of them.
    pub fn check_free(&self, frames: Range<Pfn>) {
        let reaches = |held: &Held| {
            let to = held.translation;
            to.pfn < frames.end && frames.start.get() < to.pfn.get() + to.nr
        };
        if let Some(held) = self.held().find(reaches) {
            panic!(
                "flush before free: {frames:?} are freed while a TLB may hold {:?}{}",
                held.translation,
                held.why()
            );
        }
    }

    /// Returns true if a TLB may hold a translation of `addr` in the address space under `root`.
    pub fn may_hold(&self, root: Pfn, addr: VirtAddr) -> bool {
        let page = page_of::<F>(addr);
        self.held().any(|held| {
            held.root == root && held.translation.translates(held.translation.asid, page)
        })
    }

    /// Offers a translation to every TLB: the leaf `pte` of `level`, decoded, for `addr` in the
    /// address space under `root`, if that runs. Only a valid and young entry offers one.
    ///
    /// # Panics
    /// If they may hold another translation of the same pages: see [`Tlbs::check_make`].
    pub fn offer(&self, root: Pfn, addr: VirtAddr, level: Level, pte: Pte) {
        self.check_make(root, addr, level, pte);
        if !F::is_young(pte) {
            return;
        }
        let Some(translation) = self.translation(root, addr, level, pte) else { return };
        let new = Held { translation, root, by: u64::MAX, issued: 0 };
        let same = |place: &&Cell<Option<Held>>| {
            place.get().is_some_and(|held| held.translation == translation && held.root == root)
        };
        let free = || self.held.iter().find(|place| place.get().is_none());
        let place = self.held.iter().find(same).or_else(free);
        let Some(place) = place else {
            panic!("these TLBs have room for {HELD} translations: give them more")
        };
        place.set(Some(new));
    }

    /// Checks that the leaf `pte` of `level`, decoded, may map `addr` in the address space under
    /// `root`.
    ///
    /// # Panics
    /// If a TLB may hold another frame for one of its pages, or a translation of another size,
    /// unless the hardware permits that ([`Caps::bbml2_noabort`]).
    pub fn check_make(&self, root: Pfn, addr: VirtAddr, level: Level, pte: Pte) {
        let Some(new) = self.translation(root, addr, level, pte) else { return };
        let conflicts = |held: &Held| {
            let old = held.translation;
            let page = new.page.max(old.page);
            let other_size = new.nr != old.nr && !self.caps.bbml2_noabort;
            old.overlaps(&new) && (other_size || old.frame(page) != new.frame(page))
        };
        if let Some(held) = self.held().find(conflicts) {
            panic!(
                "break before make: {new:?} is made while a TLB may hold {:?}{}",
                held.translation,
                held.why()
            );
        }
    }

    fn translation(
        &self,
        root: Pfn,
        addr: VirtAddr,
        level: Level,
        pte: Pte,
    ) -> Option<Translation> {
        let space = self.spaces().find(|space| space.root == root)?;
        let offers = F::is_valid(pte) && (level == Level::Pte || !F::is_table(pte));
        offers.then(|| Translation::of::<F>(space.asid, page_of::<F>(addr), level, pte))
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

    /// Replaces the held translations that an invalidation hits by `change` of them.
    fn hit(&self, what: Invalidate, change: impl Fn(Held) -> Held) {
        let what = match what {
            Invalidate::Range { asid, start, nr, level } => {
                let start = VirtAddr::new(page_of::<F>(start) << F::PAGE_SHIFT);
                Invalidate::Range { asid, start, nr, level }
            }
            whole => whole,
        };
        self.change(|held| if held.translation.is_hit::<F>(what) { change(held) } else { held });
    }

    fn change(&self, change: impl Fn(Held) -> Held) {
        for place in &self.held {
            place.set(place.get().map(&change).filter(|held| held.by != 0));
        }
    }
}

impl Held {
    /// Returns the reason why the translation may still be held.
    fn why(&self) -> &'static str {
        match self.issued {
            0 => ": no invalidation of it was issued since",
            _ => ": its invalidation was issued, and no barrier of that CPU has completed it",
        }
    }
}

/// Returns the number of the page of an address, in the space that four levels of tables reach.
fn page_of<F: Format>(addr: VirtAddr) -> u64 {
    (addr.get() >> F::PAGE_SHIFT) & ((1 << (4 * F::TABLE_SHIFT)) - 1)
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

impl<F: Format, const HELD: usize> Mmu for LazyMmu<'_, F, HELD> {
    fn caps(&self) -> Caps {
        self.tlbs.caps
    }

    fn invalidate(&self, what: Invalidate) {
        self.tlbs.hit(what, |held| Held { issued: held.issued | 1 << self.cpu, ..held });
    }

    fn barrier(&self, barrier: Barrier) {
        let own = 1 << self.cpu;
        if barrier == Barrier::Complete {
            self.tlbs.change(|held| match held.issued & own {
                0 => held,
                _ => Held { by: 0, ..held },
            });
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.tlbs.hit(what, |held| Held { by: held.by & !(1 << self.cpu), ..held });
    }
}

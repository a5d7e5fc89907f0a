//! Content of entries that TLBs may hold, and how far its invalidation is.

use super::Translation;
use crate::mmu::{Asid, Invalidate};
use crate::pte::{Format, Level, Pte};
use crate::{Pfn, VirtAddr};
use core::fmt;
use core::ops::Range;

/// A step of walks that a TLB caches: an entry that leads to a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    asid: Asid,
    /// The first page below it, by number.
    page: u64,
    /// The number of pages below it.
    nr: u64,
    /// The table that it leads to.
    table: Pfn,
}

/// The content of an entry, as a TLB caches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cached {
    /// The translation of a leaf.
    Leaf(Translation),
    /// The step to a table, in walk caches.
    Step(Step),
}

impl Cached {
    /// Returns what a TLB may cache of the entry `pte` of `level`, decoded, for `page`. Returns
    /// `None` if hardware does not use the entry.
    pub(super) fn of<F: Format>(asid: Asid, page: u64, level: Level, pte: Pte) -> Option<Self> {
        if !F::is_valid(pte) {
            return None;
        }
        if level == Level::Pte || !F::is_table(pte) {
            return Some(Self::Leaf(Translation::of::<F>(asid, page, level, pte)));
        }
        let nr = F::nr_pages(level) as u64;
        Some(Self::Step(Step { asid, page: page - page % nr, nr, table: F::pfn(pte) }))
    }

    pub(super) const fn asid(&self) -> Asid {
        match self {
            Self::Leaf(leaf) => leaf.asid,
            Self::Step(step) => step.asid,
        }
    }

    /// Returns its pages, by number.
    pub(super) const fn pages(&self) -> Range<u64> {
        match self {
            Self::Leaf(leaf) => leaf.page..leaf.page + leaf.nr,
            Self::Step(step) => step.page..step.page + step.nr,
        }
    }

    /// Returns the frames that it leads to: those of its pages, or that of its table.
    fn frames(&self) -> Range<Pfn> {
        match self {
            Self::Leaf(leaf) => leaf.pfn..leaf.pfn.add(leaf.nr),
            Self::Step(step) => step.table..step.table.add(1),
        }
    }

    /// Returns true if it leads to one of these frames.
    pub(super) fn leads_to(&self, frames: &Range<Pfn>) -> bool {
        overlap(&self.frames(), frames)
    }

    /// Returns true if no TLB may hold both: they lead from one page to different places. A leaf
    /// of another size is in conflict unless hardware permits that (`may_resize`).
    pub(super) fn conflicts(&self, other: &Self, may_resize: bool) -> bool {
        if self.asid() != other.asid() || !overlap(&self.pages(), &other.pages()) {
            return false;
        }
        match (self, other) {
            (Self::Leaf(one), Self::Leaf(two)) => {
                let page = one.page.max(two.page);
                one.nr != two.nr && !may_resize || one.frame(page) != two.frame(page)
            }
            (Self::Step(one), Self::Step(two)) => one.nr == two.nr && one.table != two.table,
            (Self::Leaf(leaf), Self::Step(step)) | (Self::Step(step), Self::Leaf(leaf)) => {
                leaf.nr >= step.nr
            }
        }
    }
}

fn overlap<T: PartialOrd>(one: &Range<T>, two: &Range<T>) -> bool {
    one.start < two.end && two.start < one.end
}

impl fmt::Display for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (asid, pages) = (self.asid(), self.pages());
        match self {
            Self::Leaf(leaf) if leaf.nr == 1 => write!(f, "a translation of page {:#x}", leaf.page),
            Self::Leaf(_) => {
                write!(f, "a translation of pages {:#x}..{:#x}", pages.start, pages.end)
            }
            Self::Step(_) => write!(f, "a step from pages {:#x}..{:#x}", pages.start, pages.end),
        }?;
        match self {
            Self::Leaf(leaf) => write!(f, " of {asid:?} to {:?}", leaf.pfn),
            Self::Step(step) => write!(f, " of {asid:?} to the table in {:?}", step.table),
        }
    }
}

/// The CPUs whose TLBs an invalidation reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// All, by broadcast.
    All,
    /// The CPU's own.
    Own,
}

/// The steps of walks that an invalidation drops with the leaves it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Steps {
    /// None.
    Kept,
    /// The steps to the same pages.
    ToPages,
    /// The steps of the address space.
    OfAddressSpace,
}

/// The pages that an invalidation names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    /// The address space, or all.
    pub(super) asid: Option<Asid>,
    /// The first page by number and the first after the last, or all.
    pub(super) pages: Option<(u64, u64)>,
    /// The steps of walks that go too.
    pub(super) steps: Steps,
    /// The level of the leaves, if the invalidation names one: hardware takes that for a promise.
    pub(super) level: Option<Level>,
    /// True if hardware may ignore it: its operand is not of the format.
    pub(super) ignored: bool,
}

impl Target {
    /// Returns the target of everything, or of everything of an address space.
    pub(super) const fn whole(asid: Option<Asid>) -> Self {
        Self { asid, pages: None, steps: Steps::OfAddressSpace, level: None, ignored: false }
    }

    /// Returns the target of the engine's invalidation.
    pub(super) fn of<F: Format>(what: Invalidate) -> Self {
        match what {
            Invalidate::Range { asid, start, nr, level } => {
                let first = page_of::<F>(start);
                let pages = Some((first, first + (nr * F::nr_pages(level)) as u64));
                Self { pages, steps: Steps::Kept, ..Self::whole(Some(asid)) }
            }
            Invalidate::AddressSpace(asid) => Self::whole(Some(asid)),
            Invalidate::Everything => Self::whole(None),
        }
    }

    fn hits(&self, held: &Held) -> bool {
        let of_space = self.asid.is_none_or(|asid| asid == held.what.asid());
        let of_pages =
            self.pages.is_none_or(|(first, end)| overlap(&(first..end), &held.what.pages()));
        let of_level = self.level.is_none_or(|level| level == held.level);
        of_space
            && !self.ignored
            && match (held.what, self.steps) {
                (Cached::Leaf(_), _) => of_pages && of_level,
                (Cached::Step(_), Steps::Kept) => false,
                (Cached::Step(_), Steps::ToPages) => of_pages,
                (Cached::Step(_), Steps::OfAddressSpace) => true,
            }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pages {
            None => write!(f, "of all pages"),
            Some((first, end)) if end == first + 1 => write!(f, "of page {first:#x}"),
            Some((first, end)) => write!(f, "of pages {first:#x}..{end:#x}"),
        }?;
        match self.asid {
            None => write!(f, " of all address spaces"),
            Some(asid) => write!(f, " of {asid:?}"),
        }?;
        if let Some(level) = self.level {
            write!(f, " for leaves of {level:?} tables")?;
        }
        if self.ignored { write!(f, ", with a granule or level of another format") } else { Ok(()) }
    }
}

/// The content of an entry that TLBs may hold. Sets of CPUs have one bit for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) what: Cached,
    /// The level of the entry.
    pub(super) level: Level,
    /// The root of the address space whose entry offered it.
    pub(super) root: Pfn,
    /// True as long as the entry offers it.
    pub(super) offered: bool,
    /// The CPUs whose TLBs could hold it when it was offered.
    of: u64,
    /// The CPUs whose TLBs may hold it.
    by: u64,
    /// The CPUs that took it out of the entry, and have not published that to all.
    unpublished: u64,
    /// The CPUs that took it out of the entry, and have not published that to their own walks.
    unpublished_own: u64,
    /// The pages of a contiguous block that were invalidated, one bit each: TLBs may hold its
    /// entries singly.
    hit: u128,
    /// The CPUs that issued an invalidation of it by broadcast, and have not completed that.
    issued: u64,
    /// The CPUs that issued an invalidation of it for themselves, and have not completed that.
    issued_own: u64,
    /// True if an invalidation came before the change of the entry was published.
    early: bool,
    /// The CPUs that completed an invalidation of it and must repeat that.
    unrepeated: u64,
    /// The CPUs that issued another invalidation since.
    repeating: u64,
}

impl Held {
    /// Makes what `cpus` may hold.
    pub(super) const fn new(what: Cached, level: Level, root: Pfn, cpus: u64) -> Self {
        Self {
            what,
            level,
            root,
            offered: true,
            of: cpus,
            by: cpus,
            unpublished: 0,
            unpublished_own: 0,
            hit: 0,
            issued: 0,
            issued_own: 0,
            early: false,
            unrepeated: 0,
            repeating: 0,
        }
    }

    /// Returns true if a TLB may hold it. Otherwise only accesses through it may not have ended.
    pub(super) const fn is_held(&self) -> bool {
        self.by != 0
    }

    /// Returns true if nothing of it is left.
    pub(super) const fn is_gone(&self) -> bool {
        self.by == 0 && self.unrepeated == 0
    }

    /// Takes note that a CPU took it out of its entry.
    pub(super) fn take_out(&mut self, cpu: u32) {
        if self.offered {
            self.offered = false;
            self.unpublished |= 1 << cpu;
            self.unpublished_own |= 1 << cpu;
        }
    }

    /// Takes note of a CPU's invalidation, which drops this if it hits. `ordered` says that
    /// hardware orders it after the CPU's stores.
    pub(super) fn issue(&mut self, cpu: u32, target: &Target, scope: Scope, ordered: bool) {
        let own = 1 << cpu;
        if scope == Scope::All && self.unrepeated & own != 0 {
            self.repeating |= own;
        }
        if !target.hits(self) || !self.is_hit_whole(target) {
            return;
        }
        let unpublished = match scope {
            Scope::All => self.unpublished,
            Scope::Own => self.unpublished_own,
        };
        match scope {
            _ if !ordered && unpublished & own != 0 => self.early = true,
            Scope::All => self.issued |= own,
            Scope::Own => self.issued_own |= own,
        }
    }

    /// Returns true if invalidations have hit each entry that it may be held by.
    fn is_hit_whole(&mut self, target: &Target) -> bool {
        let (Cached::Leaf(leaf), Level::Pte) = (self.what, self.level) else { return true };
        let (first, end) = target.pages.unwrap_or((leaf.page, leaf.page + leaf.nr));
        let is_hit = |k: &u64| (first..end).contains(&(leaf.page + k));
        self.hit |= (0..leaf.nr).filter(is_hit).fold(0, |hit, k| hit | 1 << k);
        u64::from(self.hit.count_ones()) == leaf.nr
    }

    /// Makes this CPU's changes of entries visible to the walks of all, or to its own.
    pub(super) fn publish(&mut self, cpu: u32, scope: Scope) {
        self.unpublished_own &= !(1 << cpu);
        if scope == Scope::All {
            self.unpublished &= !(1 << cpu);
        }
    }

    /// Completes this CPU's invalidations for itself.
    pub(super) fn complete_own(&mut self, cpu: u32) {
        let own = 1 << cpu;
        self.by &= !(self.issued_own & own);
        self.issued_own &= !own;
    }

    /// Completes this CPU's invalidations. Where they must be repeated (`repeats`), accesses end
    /// only with the second.
    pub(super) fn complete(&mut self, cpu: u32, repeats: bool) {
        let own = 1 << cpu;
        self.complete_own(cpu);
        let repeated = self.repeating & own;
        self.unrepeated &= !repeated;
        self.repeating &= !own;
        if self.issued & own != 0 {
            self.issued &= !own;
            self.by = 0;
            self.unrepeated |= if repeats { own } else { 0 };
        }
    }

    /// Returns the reason why it may still be held, or in use. `last` is the last invalidation.
    fn why(&self, last: Option<Target>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.by == 0 {
            "its invalidation is complete and was not repeated (CVE-2025-10263), so accesses \
             through it may not have ended"
        } else if self.issued != 0 {
            "its invalidation was issued, and no barrier of that CPU has completed it"
        } else if self.early {
            "its invalidation came before a barrier published the change of its entry (arm64 DSB \
             ISHST)"
        } else if self.by != self.of || self.issued_own != 0 {
            "it was invalidated on some CPUs only"
        } else if self.offered {
            "no invalidation of it was issued since, and its entry still offers it"
        } else {
            "no invalidation of it was issued since"
        })?;
        let missed = last.filter(|last| self.issued == 0 && !last.hits(self));
        missed.map_or(Ok(()), |last| write!(f, "; the last one was {last}"))
    }
}

/// The content of an entry that TLBs may hold, with the reason, as a message shows it.
pub(super) struct Reason {
    pub(super) held: Held,
    /// The last invalidation that was issued.
    pub(super) last: Option<Target>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, whose root is in {:?}: ", self.held.what, self.held.root)?;
        self.held.why(self.last, f)
    }
}

/// Returns the number of the page of an address, in the space that four levels of tables reach.
pub(super) fn page_of<F: Format>(addr: VirtAddr) -> u64 {
    (addr.get() >> F::PAGE_SHIFT) & ((1 << (4 * F::TABLE_SHIFT)) - 1)
}

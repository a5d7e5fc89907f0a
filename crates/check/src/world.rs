//! The state that the agents share: page tables, memory, TLBs, and the properties that must hold of
//! them.

use super::access::Access;
use super::event_log::{self, Event, Logged, WATCHED};
use super::format::Machine;
use super::property::{Property, Violation};
use super::registers::{Kind, Registers};
use super::schedule::Watch;
use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::pte::{Entry, SwapEntry, SwapKind};
use pageout_paging::table::HostTable;
use pageout_paging::{Format, Level, Pfn, Pte, Table, VirtAddr};
use pageout_sim::{Hardware, Held, Levels, Memory, PageTables, Tlbs};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Range;

/// The maximum number of page tables.
const TABLES: usize = 16;

/// The first frame.
pub const FIRST_FRAME: Pfn = Pfn::new(64);

/// The number of page frames.
pub const FRAMES: usize = 16;

/// The place of a page table.
struct Place {
    /// The address space, by its place among all, and by name.
    space: usize,
    asid: Asid,
    level: Level,
    /// The first page that the table maps, by number.
    first: u64,
}

/// An access that a process must not make once a call has returned.
#[derive(Clone, Debug)]
struct Forbidden {
    asid: Asid,
    pages: Range<u64>,
    /// True if only stores are forbidden, and not loads.
    stores: bool,
    by: &'static str,
}

/// An entry that maps pages, or may: one of the last level, or a PMD leaf.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    /// The table that has the entry.
    pub table: Pfn,
    /// The index of the entry in the table.
    pub i: usize,
    /// The table's level.
    pub level: Level,
    /// The entry, decoded.
    pub pte: Pte,
}

impl Leaf {
    /// Returns the frame of the page at `addr`, which the entry maps.
    pub fn frame<F: Format>(&self, addr: VirtAddr) -> Pfn {
        let page = addr.get() >> F::PAGE_SHIFT;
        F::pfn(self.pte).add(page % F::nr_pages(self.level) as u64)
    }

    /// Returns `pte` as it stands in memory at this place.
    pub fn encode<F: Format>(&self, pte: Pte) -> Pte {
        if self.level == Level::Pte { F::encode(pte) } else { pte }
    }
}

/// Returns the entry that stands in memory as `raw` at index `i` of a table of `level`.
fn decode<F: Format>(level: Level, raw: Pte, i: usize) -> Pte {
    if level == Level::Pte { F::decode(raw, i) } else { raw }
}

/// The world of one execution.
pub struct World<F> {
    /// The page tables, memory and TLBs.
    pub hardware: Hardware,
    /// The behaviour of hardware.
    pub machine: Machine,
    /// The value that each page must hold.
    pub(super) registers: RefCell<Registers>,
    forbidden: RefCell<Vec<Forbidden>>,
    violation: RefCell<Option<Violation>>,
    /// The events, if they are logged.
    log: RefCell<Option<Vec<Logged>>>,
    roots: RefCell<Vec<(Asid, Pfn)>>,
    /// The scenario's first page.
    pub first_page: u64,
    format: PhantomData<F>,
}

impl<F: Format> World<F> {
    /// Returns an empty world of `cpus` CPUs, in which pages of this kind are mapped.
    pub fn new(cpus: usize, machine: Machine, kind: Kind, first_page: u64) -> Self {
        Self {
            hardware: Hardware::new(
                PageTables::new::<F>(TABLES),
                Memory::new(FIRST_FRAME..FIRST_FRAME.add(FRAMES as u64)),
                Tlbs::new(cpus, Levels::All),
            ),
            machine,
            registers: RefCell::new(Registers::new(kind)),
            forbidden: RefCell::default(),
            violation: RefCell::default(),
            log: RefCell::default(),
            roots: RefCell::default(),
            first_page,
            format: PhantomData,
        }
    }

    /// Returns the table in `frame`.
    pub fn table(&self, frame: Pfn) -> HostTable<'_, F> {
        self.hardware.table(frame)
    }

    /// Adds an address space with an empty root table.
    pub fn add_root(&self, asid: Asid) -> Pfn {
        let root = self.hardware.tables.alloc().expect("there is room for root tables");
        self.roots.borrow_mut().push((asid, root));
        self.hardware.tlbs().cpus.iter_mut().for_each(|tlb| tlb.enter(asid));
        root
    }

    /// Returns the entry that maps `addr`, if the tables lead that far.
    pub fn entry(&self, asid: Asid, addr: VirtAddr) -> Option<Leaf> {
        let mut frame = self.roots.borrow().iter().find(|(of, _)| *of == asid)?.1;
        for level in [Level::Pgd, Level::Pud, Level::Pmd] {
            let leaf = self.leaf(frame, F::index(level, addr), level);
            if !F::is_table(leaf.pte) {
                return (level == Level::Pmd && F::is_present(leaf.pte)).then_some(leaf);
            }
            frame = F::pfn(leaf.pte);
        }
        Some(self.leaf(frame, F::index(Level::Pte, addr), Level::Pte))
    }

    /// Returns entry `i` of the table in `frame`, one of `level`, as a leaf.
    fn leaf(&self, frame: Pfn, i: usize, level: Level) -> Leaf {
        let raw = self.table(frame).load(i);
        Leaf { table: frame, i, level, pte: decode::<F>(level, raw, i) }
    }

    /// Returns the address spaces.
    pub fn asids(&self) -> Vec<Asid> {
        self.roots.borrow().iter().map(|(asid, _)| *asid).collect()
    }

    /// Returns the root tables of the address spaces.
    pub fn roots(&self) -> Vec<Pfn> {
        self.roots.borrow().iter().map(|(_, root)| *root).collect()
    }

    /// Returns the address of a page of the scenario's.
    pub fn addr(&self, page: u64) -> VirtAddr {
        VirtAddr::new((self.first_page + page) << F::PAGE_SHIFT)
    }

    /// Notes the pages that an invalidation names.
    pub(super) fn of_pages(&self, event: Event, what: Invalidate) -> Event {
        match pages_of::<F>(what) {
            Some((first, nr)) => event.of_pages(first.wrapping_sub(self.first_page), nr),
            None => event.noting(" the address space"),
        }
    }

    /// Sets the value that a page holds at the start.
    pub fn expect(&self, asid: Asid, page: u64, value: u64) {
        self.registers.borrow_mut().begin(asid, self.first_page + page, value);
    }

    /// Makes a page's content unknown until the next store.
    pub fn forget_content(&self, asid: Asid, page: u64) {
        self.registers.borrow_mut().forget(asid, self.first_page + page);
    }

    /// Returns the reason why an access must not succeed any more, if there is one.
    pub(super) fn forbidden_by(
        &self,
        asid: Asid,
        page: u64,
        access: Access,
    ) -> Option<(Property, String)> {
        let forbidden = self.forbidden.borrow();
        let by = forbidden.iter().find(|no| {
            no.asid == asid && no.pages.contains(&page) && (access.is_store() || !no.stores)
        })?;
        let what = if access.is_store() { "store to" } else { "load of" };
        let page = page.wrapping_sub(self.first_page);
        let found = format!("the {what} page {page} succeeded after {} had returned", by.by);
        Some((Property::Protection, found))
    }

    /// Returns the translations of a page that a CPU's TLB may hold.
    pub(super) fn held(&self, cpu: usize, asid: Asid, page: u64) -> Vec<Held> {
        self.hardware.tlbs().cpus[cpu].of_page(asid, page).copied().collect()
    }

    /// Returns true if a CPU's TLB may translate a page of the scenario's.
    pub fn is_cached(&self, cpu: usize, asid: Asid, page: u64) -> bool {
        !self.held(cpu, asid, self.first_page + page).is_empty()
    }

    /// Handles the write of an entry: from now on each CPU's TLB may hold the translation that it
    /// offers. An entry that leads to a table offers the translations of that table's entries.
    pub(super) fn offer(&self, table: Pfn, i: usize) {
        let raw = self.table(table).load(i);
        if !F::is_valid(raw) {
            return;
        }
        let Some(Place { asid, level, first, .. }) = self.place_of(table) else {
            return;
        };
        if level != Level::Pte && F::is_table(raw) {
            if level == Level::Pmd {
                (0..F::PTES).for_each(|k| self.offer(F::pfn(raw), k));
            }
            return;
        }
        let pte = decode::<F>(level, raw, i);
        if !F::is_young(pte) {
            return;
        }
        let page = first + (i * F::nr_pages(level)) as u64;
        let new = Held::of::<F>(asid, page, level, pte, &self.hardware.memory());
        let mut tlbs = self.hardware.tlbs();
        if let Some(other) = tlbs.of_other_size(&new).filter(|_| self.machine.one_size) {
            self.conflict(&new, &other);
        }
        tlbs.offer(new);
    }

    fn conflict(&self, new: &Held, held: &Held) {
        let words = |by: &Held| {
            let first = by.page.wrapping_sub(self.first_page);
            let what = match by.nr {
                1 => return format!("the entry of page {first}"),
                nr if nr == F::nr_pages(Level::Pmd) as u64 => "PMD leaf",
                _ => "block",
            };
            format!("the {what} of pages {first}–{}", first + by.nr - 1)
        };
        let found = format!("a TLB may hold {} beside {}", words(new), words(held));
        self.fail(Property::TlbConflict, found);
    }

    /// Returns the place of a table, if any address space has it.
    fn place_of(&self, table: Pfn) -> Option<Place> {
        let roots = self.roots.borrow();
        let (space, asid, level, page) =
            roots.iter().enumerate().find_map(|(space, (asid, root))| {
                let (level, page) = self.below(*root, Level::Pgd, table)?;
                Some((space, *asid, level, page))
            })?;
        // Small tables map less than the scenario's first page: its number above that is lost.
        let all = 1 << (F::shift(Level::Pgd) + F::TABLE_SHIFT - F::PAGE_SHIFT);
        Some(Place { space, asid, level, first: self.first_page / all * all + page })
    }

    /// Returns the level of `table` and the first page it maps, if it is in `frame`, a table of
    /// `level`, or below it.
    fn below(&self, frame: Pfn, level: Level, table: Pfn) -> Option<(Level, u64)> {
        if frame == table {
            return Some((level, 0));
        }
        let below = level.below()?;
        (0..F::PTES).find_map(|i| {
            let entry = self.table(frame).load(i);
            let next = F::is_table(entry).then(|| F::pfn(entry))?;
            let (found, first) = self.below(next, below, table)?;
            Some((found, first + ((i as u64) << (F::shift(level) - F::PAGE_SHIFT))))
        })
    }

    /// Forbids all accesses to these pages of the scenario's from now on, or only stores.
    pub fn forbid(&self, asid: Asid, pages: Range<u64>, stores: bool, by: &'static str) {
        let pages = self.first_page + pages.start..self.first_page + pages.end;
        self.forbidden.borrow_mut().push(Forbidden { asid, pages, stores, by });
    }

    /// Records a violated property. Only the first one counts.
    pub fn fail(&self, property: Property, found: String) {
        self.violation.borrow_mut().get_or_insert(Violation { property, found });
    }

    /// Returns the violation, if a property failed.
    pub fn violation(&self) -> Option<Violation> {
        self.violation.borrow().clone()
    }

    /// Starts the log.
    pub fn begin_log(&self) {
        *self.log.borrow_mut() = Some(Vec::new());
    }

    /// Returns the events with the states after them.
    pub fn logged(&self) -> Vec<Logged> {
        self.log.borrow().clone().unwrap_or_default()
    }

    /// Returns the events.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        self.logged().into_iter().map(|logged| logged.event)
    }

    /// Logs an event that has taken effect, if events are logged and no property has failed yet.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if self.log.borrow().is_some() && self.violation.borrow().is_none() {
            let logged = Logged { event: event(), after: self.watched().into() };
            self.log.borrow_mut().as_mut().expect("events are logged").push(logged);
        }
    }

    /// Returns the mapped and the cached ranges, in lines.
    pub fn describe(&self) -> Vec<String> {
        let mapped = self.mapped().into_iter().map(|range| format!("the table maps {range}"));
        let cached = self.cached(0).into_iter().map(|range| format!("each TLB may hold {range}"));
        mapped.chain(cached).collect()
    }

    /// Returns the states of the things in [`WATCHED`].
    fn watched(&self) -> [String; WATCHED.len()] {
        let ranges = |ranges: Vec<String>| match ranges.is_empty() {
            true => "nothing".to_owned(),
            false => ranges.join("; "),
        };
        // The last CPU has no agent: it checks the end.
        let cpus = self.hardware.tlbs().cpus.len().saturating_sub(1).max(1);
        let held: Vec<Vec<String>> = (0..cpus).map(|cpu| self.cached(cpu)).collect();
        let held = match held.iter().all(|one| *one == held[0]) {
            true => ranges(held[0].clone()),
            false => (0..)
                .zip(held)
                .map(|(cpu, held)| format!("CPU {cpu}: {}", ranges(held)))
                .collect::<Vec<_>>()
                .join(". "),
        };
        [ranges([self.mapped(), self.absent()].concat()), held]
    }

    /// Returns the translations that a CPU's TLB may hold, in words.
    fn cached(&self, cpu: usize) -> Vec<String> {
        let tlbs = self.hardware.tlbs();
        // Translations that differ only in permissions are shown once.
        let mut shown = Vec::new();
        for held in &tlbs.cpus[cpu].held {
            if !shown.contains(&held.translation) {
                shown.push(held.translation);
            }
        }
        let ranges = shown.iter().map(|held| {
            let event = Event::plain(Some(0), "").of_frames(held.pfn, held.nr);
            let event = event.of_pages(held.page - self.first_page, held.nr);
            event.noting(if held.stores { ", dirty" } else { "" })
        });
        ranges.flat_map(|event| event_log::lines([event])).collect()
    }

    /// Returns the entries of the first address space's table, each with its page.
    fn leaves(&self) -> impl Iterator<Item = (u64, Leaf)> {
        let asid = self.asids().first().copied();
        let pages = 0..2 * F::PTES as u64;
        pages.filter_map(move |page| Some((page, self.entry(asid?, self.addr(page))?)))
    }

    /// Returns the entries that neither map a page nor are empty.
    fn absent(&self) -> Vec<String> {
        let leaves = self.leaves().filter(|(_, leaf)| !F::is_present(leaf.pte));
        let absent = leaves.filter(|(_, leaf)| !leaf.pte.is_none()).map(|(page, leaf)| {
            let is = if is_marker::<F>(leaf.pte) { ": a marker" } else { ": a swap entry" };
            Event::plain(Some(0), "").of_pages(page, 1).noting(is)
        });
        event_log::lines(absent)
    }

    /// Returns the pages that the first address space's table maps.
    fn mapped(&self) -> Vec<String> {
        let mut mapped = Vec::new();
        for (page, leaf) in self.leaves().filter(|(_, leaf)| F::is_present(leaf.pte)) {
            let pte = leaf.pte;
            let words = [
                (leaf.level == Level::Pmd, ", by a PMD leaf"),
                (F::is_cont(pte), ", contiguous"),
                (!F::is_write(pte) && !F::is_uffd_wp(pte), ", read-only"),
                (F::is_uffd_wp(pte), ", write-protected by userfaultfd"),
                (F::is_dirty(pte), ", dirty"),
            ];
            let note: String = words.iter().filter(|word| word.0).map(|word| word.1).collect();
            let event = Event::plain(Some(0), "").of_pages(page, 1);
            mapped.push(event.of_frames(leaf.frame::<F>(self.addr(page)), 1).noting(note));
        }
        event_log::lines(mapped)
    }

    /// Logs an entry's change. The content of an unlinked table shows once an entry leads to it.
    pub fn tell_change(&self, cpu: usize, table: Pfn, i: usize, old: Pte, new: Pte) {
        if self.log.borrow().is_none() {
            return;
        }
        if let Some(place) = self.place_of(table) {
            self.tell(|| self.told(cpu, &place, i, old, new));
        }
    }

    /// Returns the event for a changed entry of the table at `place`.
    fn told(&self, cpu: usize, place: &Place, i: usize, old: Pte, new: Pte) -> Event {
        let plain = |verb| Event::plain(Some(cpu), verb);
        let changed = || {
            let (old, new) = (decode::<F>(place.level, old, i), decode::<F>(place.level, new, i));
            told_change::<F>(cpu, old, new, place.space > 0)
        };
        let (event, leaf) = match (place.level, F::is_table(old), F::is_table(new)) {
            (Level::Pte, ..) => (changed(), ""),
            (Level::Pmd, false, false) => (changed(), ", a PMD leaf"),
            (Level::Pmd, false, true) if F::is_present(old) => (plain("splits"), ", a PMD leaf"),
            (Level::Pmd, true, false) => (plain("loses the page table of"), ""),
            _ => return plain("makes a page table"),
        };
        let nr = F::nr_pages(place.level) as u64;
        let page = (place.first + i as u64 * nr).wrapping_sub(self.first_page);
        let frames = event.frames.map(|(first, _)| (first, nr));
        let note = format!("{leaf}{}", event.note);
        Event { pages: Some((page, nr)), frames, note, ..event }
    }
}

/// Returns the pages that an invalidation names, for the log.
fn pages_of<F: Format>(what: Invalidate) -> Option<(u64, u64)> {
    let Invalidate::Range { start, nr, level, .. } = what else {
        return None;
    };
    let nr = if level == Level::Pte { nr } else { nr * F::nr_pages(level) };
    Some((start.get() >> F::PAGE_SHIFT, nr as u64))
}

fn is_marker<F: Format>(pte: Pte) -> bool {
    matches!(F::entry(pte), Entry::Swap(SwapEntry { kind: SwapKind::Marker, .. }))
}

/// Returns the event for a changed entry.
fn told_change<F: Format>(cpu: usize, old: Pte, new: Pte, child: bool) -> Event {
    let (was, is) = (F::is_present(old), F::is_present(new));
    let verb = match (was, is) {
        (true, false) => "takes out the entry of",
        (false, true) => "maps",
        (false, false) if new.is_none() => "clears the swap entry of",
        (false, false) if is_marker::<F>(new) => "leaves a marker of userfaultfd for",
        (false, false) => "leaves a swap entry for",
        _ if F::is_valid(old) && !F::is_valid(new) => "takes out of use",
        _ if F::is_write(old) && !F::is_write(new) => "write-protects",
        _ if !F::is_write(old) && F::is_write(new) => "makes writable",
        _ if F::is_cont(old) && !F::is_cont(new) => "unfolds",
        _ if !F::is_cont(old) && F::is_cont(new) => "folds",
        _ if F::is_young(old) && !F::is_young(new) => "clears the young bit of",
        _ if F::is_dirty(old) && !F::is_dirty(new) => "cleans the entry of",
        _ => "rewrites the entry of",
    };
    let shown = if is { new } else { old };
    let words = [
        (is && !was && F::is_cont(new), ", contiguous"),
        (is && !was && !F::is_write(new), ", read-only"),
        (was && !is && F::is_dirty(old), ", dirty"),
        (child, ", in the child"),
    ];
    let note: String = words.iter().filter(|word| word.0).map(|word| word.1).collect();
    let event = Event::plain(Some(cpu), verb).noting(note);
    if was || is { event.of_frames(F::pfn(shown), 1) } else { event }
}

impl<F: Format> Watch for World<F> {
    fn panicked(&self, message: String) {
        self.fail(Property::Assertions, message);
    }

    fn failed(&self) -> bool {
        self.violation.borrow().is_some()
    }
}

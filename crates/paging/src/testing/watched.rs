//! Tables that any code writes, checked from outside.

use super::rule::Rule;
use super::tree;
use super::{LazyMmu, Tlbs};
use crate::pte::{Format, Level, Pte};
use crate::{Pfn, VirtAddr, VirtRange};
use core::fmt;
use core::ops::Range;

/// Page tables that code under test writes by itself, without [`Env`](crate::Env). `R` reads the
/// entry of a table: the frame, and the number of the entry.
///
/// The tables are looked at when the code gets to a barrier or an instruction of TLB maintenance
/// ([`WatchedTables::cpu`]) and when it frees frames ([`WatchedTables::check_free`]). At each look
/// hardware may use every entry, and the rules of [`testing`](super) are checked.
///
/// ```should_panic
/// use pageout_paging::mmu::{Asid, Caps};
/// use pageout_paging::pte::{Format, Level, Prot, SmallArm4};
/// use pageout_paging::testing::{Tlbs, WatchedTables};
/// use pageout_paging::{Pfn, VirtAddr};
/// use std::cell::Cell;
///
/// // Four tables of eight entries, one below the other, and a page.
/// let memory = [const { Cell::new(0_u64) }; 4 * 8];
/// let tlbs = Tlbs::<SmallArm4, 64>::new(Caps::IDEAL);
/// let read = |table: Pfn, i: usize| memory[table.get() as usize * 8 + i].get();
/// let tables = WatchedTables::new(&tlbs, read);
/// for level in 0..3 {
///     memory[level * 8].set(SmallArm4::table(Pfn::new(level as u64 + 1)).0);
/// }
/// memory[3 * 8].set(SmallArm4::leaf(Level::Pte, Pfn::new(100), Prot::READ).0);
/// tlbs.run(Asid(7), Pfn::new(0));
/// tables.cpu(0).dsb("ishst");
///
/// memory[3 * 8].set(0);
/// // Here DSB ISHST is missing.
/// tables.cpu(0).tlbi("vae1is", 7 << 48);
/// tables.cpu(0).dsb("ish");
/// tables.check_free(0, Pfn::new(100)..Pfn::new(101)); // panics: flush before free
/// ```
#[derive(Debug)]
pub struct WatchedTables<'t, F, R, const HELD: usize> {
    tlbs: &'t Tlbs<F, HELD>,
    read: R,
}

impl<'t, F: Format, R: Fn(Pfn, usize) -> u64, const HELD: usize> WatchedTables<'t, F, R, HELD> {
    /// Makes tables that `read` reads, of the address spaces that run ([`Tlbs::run`]).
    pub const fn new(tlbs: &'t Tlbs<F, HELD>, read: R) -> Self {
        Self { tlbs, read }
    }

    /// Looks at the tables as CPU `cpu` left them, and returns the CPU to execute an instruction.
    ///
    /// # Panics
    /// If an entry was made while a TLB may hold what was there before.
    pub fn cpu(&self, cpu: u32) -> LazyMmu<'t, F, HELD> {
        self.tlbs.observe(cpu, &|table, i| self.entry(table, i));
        self.tlbs.mmu(cpu)
    }

    /// Checks frames that CPU `cpu` is about to free, or to use for another purpose: pages, or
    /// tables.
    ///
    /// # Panics
    /// If an entry leads to one of them, or a TLB may hold what led there ([`Tlbs::check_free`]).
    pub fn check_free(&self, cpu: u32, frames: Range<Pfn>) {
        let read = |table, i| self.entry(table, i);
        self.tlbs.observe(cpu, &read);
        self.tlbs.check_unlinked(&read, &frames);
        self.tlbs.check_free(frames);
    }

    /// Makes a change that must leave each page of `range` where it is and with the rights it has,
    /// such as a split of a leaf. There is room for `PAGES` pages.
    ///
    /// # Panics
    /// If a page is elsewhere after it, or has other rights, or if `range` is larger.
    pub fn keeps<const PAGES: usize>(&self, root: Pfn, range: VirtRange, change: impl FnOnce()) {
        let pages = (range.end.get() - range.start.get()) >> F::PAGE_SHIFT;
        assert!(pages <= PAGES as u64, "there is room for {PAGES} pages, not for {pages}");
        let addr = |k: usize| range.start.add((k as u64) << F::PAGE_SHIFT);
        let before: [_; PAGES] =
            core::array::from_fn(|k| (k < pages as usize).then(|| self.page(root, addr(k))));
        change();
        for (k, before) in before.into_iter().enumerate() {
            let Some(before) = before else { break };
            let after = self.page(root, addr(k));
            if before != after {
                let (before, after) = (Shown(before), Shown(after));
                Rule::SamePages
                    .broken(format_args!("the page at {:?} was {before} and is {after}", addr(k)));
            }
        }
    }

    /// Returns the page at an address.
    fn page(&self, root: Pfn, addr: VirtAddr) -> Option<Page> {
        let read = |table, i| self.entry(table, i);
        let leaf = |level| {
            let pte = tree::entry::<F>(&read, root, addr, level).filter(|pte| F::is_valid(*pte))?;
            let is_leaf = level == Level::Pte || !F::is_table(pte);
            is_leaf.then(|| Page::of::<F>(addr, level, pte))
        };
        [Level::Pgd, Level::Pud, Level::Pmd, Level::Pte].into_iter().find_map(leaf)
    }

    fn entry(&self, table: Pfn, i: usize) -> Pte {
        Pte((self.read)(table, i))
    }
}

/// A mapped page: its frame and its rights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Page {
    pfn: Pfn,
    write: bool,
    exec: bool,
}

impl Page {
    /// Returns the page at an address, which the leaf of a level maps.
    fn of<F: Format>(addr: VirtAddr, level: Level, leaf: Pte) -> Self {
        let inside = (addr.get() >> F::PAGE_SHIFT) % F::nr_pages(level) as u64;
        let first = if level == Level::Pte { 0 } else { inside };
        Self { pfn: F::pfn(leaf).add(first), write: F::is_write(leaf), exec: F::is_exec(leaf) }
    }
}

/// A page that may be mapped, as a message shows it.
struct Shown(Option<Page>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Page { pfn, write, exec }) = self.0 else { return f.write_str("not mapped") };
        let write = if write { "w" } else { "-" };
        let exec = if exec { "x" } else { "-" };
        write!(f, "{pfn:?} (r{write}{exec})")
    }
}

//! The page tables of a guest's second stage, with its TLB maintenance, as a secondary MMU of the
//! monitor's address space.

use super::stage2::Stage2;
use super::system::START;
use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use pageout_paging::contig::{gather, get_and_clear_ptes, set_ptes};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::Prot;
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::tlb::{FlushPolicy, YoungFlush, flush_range};
use pageout_paging::walk::{Descent, Span, descend, make_table, spans};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{
    Env, Format, Level, LockedTable, Mmu, Notifier, Pfn, Pte, Sound, Table, VirtAddr, VirtRange,
};
use pageout_reclaim::{Access, Lock, WriteGuard};

/// The pages of a contiguous block.
pub(crate) const BLOCK: u64 = Stage2::CONT_PTES as u64;
/// The pages that the guest may load and execute, and not store to. It may not execute others.
pub(crate) const ROM: Range<u64> = 0..32;

/// The number of tables: one of each level.
const TABLES: usize = 4;
const ROOT: Pfn = Pfn::new(1 << 24);
/// The tag of the guest in TLBs.
const VMID: Asid = Asid(7);

/// The second stage of one guest.
pub(crate) struct SecondStage<'m> {
    tables: HostTables<'m, Stage2>,
    lock: Lock,
    /// True if accessed flags are answered, and not only invalidations.
    ages: bool,
    /// The number of invalidations (TLBI IPAS2E1IS).
    pub(crate) invalidations: Cell<u64>,
}

impl Mmu for SecondStage<'_> {
    fn caps(&self) -> Caps {
        Caps::IDEAL
    }
    fn invalidate(&self, _: Invalidate) {
        self.invalidations.set(self.invalidations.get() + 1);
    }
    fn barrier(&self, _: Barrier) {}
}

impl<'m> Env for SecondStage<'m> {
    type Format = Stage2;
    type Table = HostTable<'m, Stage2>;
    type Mmu = Self;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = WriteGuard<'a>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.tables.table(frame)
    }
    fn mmu(&self) -> &Self {
        self
    }
    fn try_lock_table(&self, _: Pfn) -> Option<WriteGuard<'_>> {
        self.lock.try_write()
    }
    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        None
    }
    fn observer(&self) -> &() {
        &()
    }
    fn relax(&self) {
        core::hint::spin_loop();
    }
}

/// Returns the memory of the tables.
pub(crate) fn entries() -> Vec<AtomicU64> {
    (0..TABLES * Stage2::PTES).map(|_| AtomicU64::new(0)).collect()
}

fn address(page: u64) -> VirtAddr {
    VirtAddr::new(page << Stage2::PAGE_SHIFT)
}

/// Returns the guest-physical addresses of a range of the monitor's, which is all one memory slot.
fn in_guest(range: &VirtRange) -> VirtRange {
    let guest = |addr: VirtAddr| VirtAddr::new(addr.get() - address(START).get());
    guest(range.start)..guest(range.end)
}

impl<'m> SecondStage<'m> {
    pub(crate) fn new(entries: &'m [AtomicU64], ages: bool) -> Self {
        let tables = HostTables::new(entries, ROOT);
        Self { tables, lock: Lock::default(), ages, invalidations: Cell::new(0) }
    }

    /// Maps the block of a page, which the monitor has in memory from frame `first` on.
    pub(crate) fn map(&self, page: u64, first: Pfn) {
        let mut frames = ROOT.add(1)..ROOT.add(TABLES as u64);
        let table = make_table(self, ROOT, address(page), Level::Pte, &mut frames);
        let pt = LockedTable::lock(self, table.expect("there is one of each level"));
        let prot = if ROM.contains(&page) { Prot::EXEC } else { Prot::WRITE };
        let i = Stage2::index(Level::Pte, address(page / BLOCK * BLOCK));
        set_ptes::<Stage2, _>(pt.table(), i, Stage2::leaf(Level::Pte, first, prot), BLOCK as usize);
    }

    /// Does an access as the guest's CPU does. Returns the frame, or `None` for a stage 2 fault.
    pub(crate) fn walk(&self, page: u64, access: Access) -> Option<Pfn> {
        let (table, i) = (self.pte_table(page)?, Stage2::index(Level::Pte, address(page)));
        let pte = table.load(i);
        let used = match access {
            Access::Write => Stage2::hardware_dirty(pte)?,
            Access::Exec if !Stage2::is_exec(pte) => return None,
            Access::Read | Access::Exec => Some(pte).filter(|pte| Stage2::is_valid(*pte))?,
        };
        table.cas(i, pte, Stage2::mkyoung(used)).ok()?;
        Some(Stage2::pfn(pte))
    }

    /// Returns a page's entry, empty if there is no table.
    pub(crate) fn entry(&self, page: u64) -> Pte {
        let entry = |table: HostTable<'_, Stage2>| table.load(page as usize % Stage2::PTES);
        self.pte_table(page).map_or(Pte::NONE, entry)
    }

    fn pte_table(&self, page: u64) -> Option<HostTable<'m, Stage2>> {
        match descend(self, ROOT, address(page)) {
            Descent::PteTable(frame, _) => Some(self.table(frame)),
            Descent::PmdLeaf(_) | Descent::Absent(_) => None,
        }
    }

    /// Calls `each` for every run of mapped pages in a range that lie in one block, with its table
    /// locked, its first address and its length.
    fn for_runs(
        &self,
        range: &VirtRange,
        mut each: impl FnMut(&LockedTable<'_, Self>, VirtAddr, usize),
    ) {
        for span in spans(self, ROOT, in_guest(range)) {
            let Span::Ptes { frame, range, .. } = span else { continue };
            let pt = LockedTable::lock(self, frame);
            let is_mapped =
                |page: u64| Stage2::is_valid(pt.table().load(page as usize % Stage2::PTES));
            let mut page = range.start.get() >> Stage2::PAGE_SHIFT;
            let end = range.end.get() >> Stage2::PAGE_SHIFT;
            while page < end {
                let left = end.min(page / BLOCK * BLOCK + BLOCK) - page;
                let nr = (page..page + left).take_while(|page| is_mapped(*page)).count();
                if nr > 0 {
                    each(&pt, address(page), nr);
                }
                page += nr.max(1) as u64;
            }
        }
    }

    /// Clears the accessed flags of a range, a block at once. Returns true if any was set.
    fn age(&self, range: &VirtRange, flush: FlushPolicy) -> bool {
        let check = YoungCheck { env: self, algorithm: YoungAlgorithm::Line, flush, asid: VMID };
        let mut young = false;
        if self.ages {
            self.for_runs(range, |pt, addr, nr| {
                young |= check.clear_flush_young_ptes(pt, addr, nr);
            });
        }
        young
    }
}

impl Notifier for SecondStage<'_> {
    fn clear_flush_young(&self, range: VirtRange) -> bool {
        self.age(&range, FlushPolicy::ARM64)
    }

    fn clear_young(&self, range: VirtRange) -> bool {
        self.age(&range, FlushPolicy::uniform(YoungFlush::None))
    }

    fn test_young(&self, addr: VirtAddr) -> bool {
        let range = addr..addr.add(Stage2::PAGE_SIZE);
        let mut young = false;
        self.for_runs(&range, |pt, addr, _| {
            let i = Stage2::index(Level::Pte, addr);
            young |= Stage2::is_young(gather::<Stage2, _>(pt.table(), i));
        });
        young && self.ages
    }

    /// Unmaps the pages. The guest's stores need no record: the monitor's own entry is dirty from
    /// before the guest may store until it is taken out.
    fn invalidate(&self, range: VirtRange) {
        self.for_runs(&range, |pt, addr, nr| {
            get_and_clear_ptes(self, pt, VMID, addr, nr);
            flush_range(self, VMID, addr, nr, Level::Pte);
        });
    }
}

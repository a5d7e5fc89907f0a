//! A device that pages are lent to, and its driver. The device reaches them until it is notified,
//! and gives them back when a CPU faults.

use crate::model::{Ended, Model};
use pageout_paging::contig::{get_and_clear_ptes, set_ptes};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{Entry, Prot, SwapEntry, SwapKind};
use pageout_paging::testing::Translation;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{
    Format, Level, LockedTable, Notifier, Pte, Rules, Table, VirtAddr, VirtRange, tlb,
};
use pageout_reclaim::{MmState, VmFlags};
use pageout_sim::Held;
use std::cell::RefCell;
use std::mem::take;
use std::ops::Range;

/// A page that the device reaches without a request.
#[derive(Clone, Copy, Debug)]
struct Reached {
    by: Held,
    young: bool,
    stored: bool,
}

/// The pages that the device reaches of one address space.
pub(crate) struct Mirror<'g, 'm> {
    maps: &'g MmState<'m>,
    page_shift: u32,
    reached: RefCell<Vec<Reached>>,
}

impl<'g, 'm> Mirror<'g, 'm> {
    pub(crate) fn new(maps: &'g MmState<'m>, page_shift: u32) -> Self {
        Self { maps, page_shift, reached: RefCell::default() }
    }

    pub(crate) fn reaches_nothing(&self) -> bool {
        self.reached.borrow().is_empty()
    }

    pub(crate) fn translations(&self) -> Vec<Held> {
        self.reached.borrow().iter().map(|reached| reached.by).collect()
    }

    fn pages(&self, range: &VirtRange) -> Range<u64> {
        range.start.get() >> self.page_shift..range.end.get() >> self.page_shift
    }
}

impl Notifier for Mirror<'_, '_> {
    fn clear_flush_young(&self, range: VirtRange) -> bool {
        self.clear_young(range)
    }

    fn clear_young(&self, range: VirtRange) -> bool {
        let (pages, mut all) = (self.pages(&range), self.reached.borrow_mut());
        let within = all.iter_mut().filter(|reached| pages.contains(&reached.by.page));
        within.fold(false, |young, reached| young | take(&mut reached.young))
    }

    fn test_young(&self, addr: VirtAddr) -> bool {
        let page = addr.get() >> self.page_shift;
        self.reached.borrow().iter().any(|reached| reached.by.page == page && reached.young)
    }

    fn invalidate(&self, range: VirtRange) {
        let (pages, mut all) = (self.pages(&range), self.reached.borrow_mut());
        for reached in all.extract_if(.., |reached| pages.contains(&reached.by.page)) {
            if reached.stored {
                let id = self.maps.folio_of(reached.by.pfn).expect("a page that is lent");
                self.maps.note_dirty(self.maps.folio(id).expect("it lives"));
            }
        }
    }
}

impl<'g, 'm, F: Format, R: Rules> Model<'g, 'm, F, R> {
    /// Lends a page that its process may store to (Linux 7.3.4, make_device_exclusive).
    pub(crate) fn lend(&self, process: usize, page: u64, kind: SwapKind) {
        if self.alive(process).is_none() || self.reach(process, page, true) != Ended::Done {
            return;
        }
        let (alive, addr) = (self.alive(process).expect("it lives"), Self::page(page));
        let ground = self.ground();
        let Descent::PteTable(frame, _) = descend(&ground, alive.root, addr) else {
            return;
        };
        let pfn = F::pfn(F::decode(self.raw_entry(alive.root, page), F::index(Level::Pte, addr)));
        let Some(guard) = self
            .maps
            .folio_of(pfn)
            .and_then(|id| self.maps.folio(id).expect("it lives").try_lock())
        else {
            return;
        };
        let pt = LockedTable::lock(&ground, frame);
        let i = F::index(Level::Pte, addr);
        let there = F::decode(pt.table().load(i), i);
        if !F::is_present(there) || !F::is_write(there) || F::pfn(there) != pfn {
            return;
        }
        let was = get_and_clear_ptes(&ground, &pt, alive.asid, addr, 1);
        tlb::forget(&ground, alive.asid, addr, 1, Level::Pte);
        if F::is_dirty(was) {
            self.maps.note_dirty(guard.folio());
        }
        let lent = SwapEntry::new(kind, pfn.get()).expect("a frame");
        let lent = SwapEntry { soft_dirty: F::is_soft_dirty(was), ..lent };
        pt.table().set(i, F::swap(lent));
        let translation = Translation { asid: alive.asid, page, nr: 1, pfn, stores: true };
        let owner = self.hardware.memory().owner(pfn, 1);
        let (level, write, exec) = (Level::Pte, true, false);
        let by = Held { translation, level, write, exec, owner };
        let reached = Reached { by, young: false, stored: false };
        self.mirror(alive.asid).reached.borrow_mut().push(reached);
    }

    /// Accesses a page as the device to which it was lent, if it still may.
    pub(crate) fn device_access(&self, pick: usize, store: bool) {
        let mut mirrors: Vec<_> = self.mirrors.iter().map(|of| of.reached.borrow_mut()).collect();
        let mut all: Vec<_> = mirrors.iter_mut().flat_map(|of| of.iter_mut()).collect();
        let nr = all.len().max(1);
        let Some(reached) = all.get_mut(pick % nr) else {
            return;
        };
        let (by, page) = (reached.by, reached.by.page);
        // Otherwise the process is about to exit.
        let Some(process) = self.process_of(by.asid) else {
            return;
        };
        if self.is_settled(process, page, store) {
            reached.young = true;
            reached.stored |= store;
            self.reach_by(&by, process, page, store);
        }
    }

    /// Gives a page that was lent back, after a CPU's fault, with an entry that permits no stores
    /// yet (Linux 7.3.4, restore_exclusive_pte).
    ///
    /// # Panics
    /// If the entry is not of such a page.
    pub(crate) fn take_back(&self, process: usize, page: u64) {
        let (alive, addr) = (self.alive(process).expect("it faults"), Self::page(page));
        let ground = self.ground();
        let Descent::PteTable(frame, _) = descend(&ground, alive.root, addr) else {
            panic!("a page table with the entry that faulted");
        };
        let pt = LockedTable::lock(&ground, frame);
        let i = F::index(Level::Pte, addr);
        let Entry::Swap(entry) = F::entry(pt.table().load(i)) else {
            return; // someone else was first
        };
        let pfn = entry.lent().expect("faults handle all but pages that are lent");
        self.mirror(alive.asid).invalidate(addr..addr.add(F::PAGE_SIZE));
        let flags = alive.pages[&page].flags;
        let prot = Prot { write: false, exec: flags.contains(VmFlags::EXEC), none: false };
        let mark = |pte, marked: bool, mark: fn(Pte) -> Pte| if marked { mark(pte) } else { pte };
        let pte = mark(F::leaf(Level::Pte, pfn, prot), entry.soft_dirty, F::mksoft_dirty);
        set_ptes::<F, _>(pt.table(), i, mark(pte, entry.uffd_wp, F::mkuffd_wp), 1);
    }

    pub(crate) fn mirror(&self, asid: Asid) -> &Mirror<'g, 'm> {
        &self.mirrors[asid.0 as usize - 1]
    }
}

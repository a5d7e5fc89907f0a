//! The parts that an embedder does not write for the engine. The machine is a CPU that walks page
//! tables and sets their accessed and dirty bits, with a process on it. The parts of any kernel are
//! an allocator of frames and a swap device.

use super::{Kernel, page_fault};
use core::cell::{Cell, RefCell};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use pageout_paging::mmu::{Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::pte::X86_64;
use pageout_paging::table::HostTables;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Env, Format, Level, Mmu, Pfn, Table, VirtAddr};
use pageout_reclaim::{Access, Engine, Fault, MmId, Submitted};
use std::collections::HashMap;

/// The number of frames of memory, and the first frame.
pub(crate) const RAM: usize = 64;
pub(crate) const FIRST: Pfn = Pfn::new(0x100);
const PAGE_WORDS: usize = X86_64::PTES;

pub(crate) fn ram() -> Vec<AtomicU64> {
    (0..RAM * PAGE_WORDS).map(|_| AtomicU64::new(0)).collect()
}

pub(crate) struct Machine<'m> {
    ram: &'m [AtomicU64],
    /// All of memory. Any frame of it may be a page table.
    pub(crate) tables: HostTables<'m, X86_64>,
    pub(crate) tlb: Tlb,
    free: RefCell<Vec<Pfn>>,
    swap: RefCell<HashMap<u32, Vec<u64>>>,
    ms: Cell<u64>,
}

impl<'m> Machine<'m> {
    pub(crate) fn new(ram: &'m [AtomicU64]) -> Self {
        Self {
            ram,
            tables: HostTables::new(ram, FIRST),
            tlb: Tlb,
            free: RefCell::new((0..RAM as u64).map(|k| FIRST.add(k)).collect()),
            swap: RefCell::default(),
            ms: Cell::new(0),
        }
    }

    fn words(&self, pfn: Pfn) -> &'m [AtomicU64] {
        &self.ram[pfn.offset_from(FIRST) as usize * PAGE_WORDS..][..PAGE_WORDS]
    }

    pub(crate) fn clear(&self, pfn: Pfn) {
        self.words(pfn).iter().for_each(|word| word.store(0, Relaxed));
    }

    pub(crate) fn copy(&self, from: Pfn, to: Pfn) {
        let words = self.words(from).iter().zip(self.words(to));
        words.for_each(|(from, to)| to.store(from.load(Relaxed), Relaxed));
    }

    pub(crate) fn take_frame(&self) -> Option<Pfn> {
        self.free.borrow_mut().pop()
    }

    pub(crate) fn give_frame(&self, pfn: Pfn) {
        self.free.borrow_mut().push(pfn);
    }

    pub(crate) fn free_frames(&self) -> usize {
        self.free.borrow().len()
    }

    pub(crate) fn read_swap(&self, block: u32, pfn: Pfn) -> Submitted {
        let page = &self.swap.borrow()[&block];
        self.words(pfn).iter().zip(page).for_each(|(to, word)| to.store(*word, Relaxed));
        Submitted::Done
    }

    pub(crate) fn write_swap(&self, block: u32, pfn: Pfn) -> Submitted {
        let page = self.words(pfn).iter().map(|word| word.load(Relaxed)).collect();
        self.swap.borrow_mut().insert(block, page);
        Submitted::Done
    }

    /// Returns the time of a timer that advances a millisecond at each call.
    pub(crate) fn now_ms(&self) -> u64 {
        self.ms.replace(self.ms.get() + 1)
    }

    /// Loads or stores a page's first word, as a CPU does. Returns `None` for a page fault.
    fn access(
        &self,
        kernel: &Kernel<'_>,
        root: Pfn,
        addr: VirtAddr,
        store: Option<u64>,
    ) -> Option<u64> {
        let Descent::PteTable(frame, _) = descend(kernel, root, addr) else {
            return None;
        };
        let (table, i) = (kernel.table(frame), X86_64::index(Level::Pte, addr));
        let pte = table.load(i);
        if !X86_64::is_valid(pte) || (store.is_some() && !X86_64::is_write(pte)) {
            return None;
        }
        let used = if store.is_some() { X86_64::hardware_dirty(pte)? } else { pte };
        table.cas(i, pte, X86_64::mkyoung(used)).ok()?;
        let word = &self.words(X86_64::pfn(pte))[0];
        if let Some(value) = store {
            word.store(value, Relaxed);
        }
        Some(word.load(Relaxed))
    }
}

/// TLB maintenance. This CPU keeps no translations. A real one executes INVLPG or writes CR3, and
/// interrupts others.
pub(crate) struct Tlb;

impl Mmu for Tlb {
    fn caps(&self) -> Caps {
        Caps { shootdown: Shootdown::Ipi, range_limit: 34, ..Caps::IDEAL }
    }

    fn invalidate(&self, _: Invalidate) {}

    fn barrier(&self, _: Barrier) {}
}

/// The result of the process's run.
pub(crate) struct Report {
    /// The number of loads that found the value stored last: all of them.
    pub(crate) found: u64,
    pub(crate) faults: u64,
}

pub(crate) fn address(page: u64) -> VirtAddr {
    VirtAddr::new(page << X86_64::PAGE_SHIFT)
}

/// Stores a number to each page, and loads all of them, twice.
pub(crate) fn run_process(
    engine: &mut Engine<'_, Kernel<'_>>,
    kernel: &Kernel<'_>,
    mm: MmId,
    pages: Range<u64>,
) -> Result<Report, Fault> {
    let root = engine.maps().mm(mm).map_err(Fault::BadId)?.root();
    let (mut found, mut faults) = (0, 0);
    let mut at = |page: u64, store: Option<u64>| loop {
        let addr = address(page);
        let kind = if store.is_some() { Access::Write } else { Access::Read };
        if let Some(word) = kernel.machine.access(kernel, root, addr, store) {
            return Ok(word);
        }
        faults += 1;
        page_fault(engine, mm, addr, kind)?;
    };
    for round in 1..3 {
        for page in pages.clone() {
            at(page, Some(page * round))?;
        }
        for page in pages.clone() {
            assert_eq!(at(page, None)?, page * round, "page {page:#x}");
            found += 1;
        }
    }
    Ok(Report { found, faults })
}

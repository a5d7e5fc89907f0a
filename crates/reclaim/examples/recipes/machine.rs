//! The machine of the recipes: a CPU that walks page tables, memory in frames, a swap device whose
//! transfers complete at once. Each page holds one word. The engine's traits are implemented here
//! as `kernel.rs` explains them.

use core::cell::{Cell, RefCell};
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{
    Env, Format, Level, LockedTable, Mmu, Notifier, Order, Pfn, Pte, Sound, Table, VirtAddr,
};
use pageout_reclaim::{Access, Backing, Frames, Io, Lock, Place, Submitted, World, WriteGuard};
use std::collections::HashMap;

/// The number of page tables, in frames of their own.
const TABLES: usize = 32;
const FIRST_TABLE: Pfn = Pfn::new(1 << 20);

/// The hardware of a recipe.
#[derive(Clone, Copy)]
pub(crate) struct Hardware<'a> {
    /// The abilities that the embedder declares.
    pub(crate) caps: Caps,
    /// True if the CPU does set accessed and dirty bits.
    pub(crate) sets_bits: bool,
    /// The second stage that guests reach the memory through, if there is one.
    pub(crate) second: Option<&'a dyn Notifier>,
}

impl Hardware<'_> {
    /// A CPU that sets the bits, without guests.
    pub(crate) const PLAIN: Self = Self { caps: Caps::IDEAL, sets_bits: true, second: None };
}

pub(crate) struct Machine<'m, F> {
    hardware: Hardware<'m>,
    tables: HostTables<'m, F>,
    locks: Vec<Lock>,
    free_tables: RefCell<Vec<Pfn>>,
    used: RefCell<Vec<bool>>,
    words: Vec<Cell<u64>>,
    swap: RefCell<HashMap<u32, u64>>,
    ms: Cell<u64>,
}

/// Returns the memory of the page tables.
pub(crate) fn entries<F: Format>() -> Vec<AtomicU64> {
    (0..TABLES * F::PTES).map(|_| AtomicU64::new(0)).collect()
}

pub(crate) fn address<F: Format>(page: u64) -> VirtAddr {
    VirtAddr::new(page << F::PAGE_SHIFT)
}

impl<'m, F: Format> Machine<'m, F> {
    pub(crate) fn new(entries: &'m [AtomicU64], frames: usize, hardware: Hardware<'m>) -> Self {
        Self {
            hardware,
            tables: HostTables::new(entries, FIRST_TABLE),
            locks: (0..TABLES).map(|_| Lock::default()).collect(),
            free_tables: RefCell::new((0..TABLES as u64).map(|k| FIRST_TABLE.add(k)).collect()),
            used: RefCell::new(vec![false; frames]),
            words: (0..frames).map(|_| Cell::new(0)).collect(),
            swap: RefCell::default(),
            ms: Cell::new(0),
        }
    }

    /// Returns the word of a frame.
    pub(crate) fn word(&self, pfn: Pfn) -> &Cell<u64> {
        &self.words[pfn.get() as usize]
    }

    /// Returns a free run among `frames`, aligned to its size.
    pub(crate) fn alloc_in(&self, frames: Range<Pfn>, order: Order) -> Option<Pfn> {
        let mut used = self.used.borrow_mut();
        let (nr, end) = (order.nr_pages(), frames.end.get() as usize);
        let mut runs = (frames.start.get() as usize..end).step_by(nr);
        let first = runs.find(|first| !used[*first..*first + nr].contains(&true))?;
        used[first..first + nr].fill(true);
        Some(Pfn::new(first as u64))
    }

    /// Returns the place of a page's entry, if there is a table for it.
    pub(crate) fn place(&self, root: Pfn, addr: VirtAddr) -> Option<(Pfn, usize)> {
        match descend(self, root, addr) {
            Descent::PteTable(frame, _) => Some((frame, F::index(Level::Pte, addr))),
            Descent::PmdLeaf(_) | Descent::Absent(_) => None,
        }
    }

    /// Returns a page's entry, empty if there is no table.
    pub(crate) fn entry(&self, root: Pfn, addr: VirtAddr) -> Pte {
        let entry = |(frame, i)| F::decode(self.table(frame).load(i), i);
        self.place(root, addr).map_or(Pte::NONE, entry)
    }

    /// Makes a page's entry old.
    pub(crate) fn make_old(&self, root: Pfn, addr: VirtAddr) {
        if let Some((frame, i)) = self.place(root, addr) {
            LockedTable::lock(self, frame).table().clear_bits(i, F::YOUNG);
        }
    }

    /// Does an access as the CPU does. Returns the page's frame, or `None` for a page fault.
    pub(crate) fn walk(&self, root: Pfn, addr: VirtAddr, access: Access) -> Option<Pfn> {
        let (frame, i) = self.place(root, addr)?;
        let table = self.table(frame);
        let raw = table.load(i);
        let pte = F::decode(raw, i);
        let used = match access {
            _ if !F::is_valid(pte) => return None,
            Access::Write if self.hardware.sets_bits => F::hardware_dirty(pte)?,
            Access::Write if !F::is_write(pte) || !F::is_dirty(pte) => return None,
            _ => pte,
        };
        if !self.hardware.sets_bits {
            return F::is_young(used).then(|| F::pfn(pte));
        }
        table.cas(i, raw, F::encode(F::mkyoung(used))).ok()?;
        Some(F::pfn(pte))
    }
}

impl<F: Format> Mmu for Machine<'_, F> {
    fn caps(&self) -> Caps {
        self.hardware.caps
    }

    /// Does nothing: this CPU keeps no translations.
    fn invalidate(&self, _: Invalidate) {}

    fn barrier(&self, _: Barrier) {}
}

impl<'m, F: Format> Env for Machine<'m, F> {
    type Format = F;
    type Table = HostTable<'m, F>;
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
    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.locks[frame.offset_from(FIRST_TABLE) as usize].try_write()
    }
    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        self.hardware.second
    }
    fn observer(&self) -> &() {
        &()
    }
    fn relax(&self) {
        core::hint::spin_loop();
    }
}

impl<F: Format> Frames for Machine<'_, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.alloc_in(Pfn::new(0)..Pfn::new(self.words.len() as u64), order)
    }
    fn free(&self, pfn: Pfn, order: Order) {
        self.used.borrow_mut()[pfn.get() as usize..][..order.nr_pages()].fill(false);
    }
    fn alloc_table(&self) -> Option<Pfn> {
        self.free_tables.borrow_mut().pop()
    }
    fn free_table(&self, frame: Pfn) {
        self.free_tables.borrow_mut().push(frame);
    }
    fn zero(&self, pfn: Pfn, nr: usize) {
        (0..nr as u64).for_each(|k| self.word(pfn.add(k)).set(0));
    }
    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        (0..nr as u64).for_each(|k| self.word(to.add(k)).set(self.word(from.add(k)).get()));
    }
    fn free_pages(&self) -> usize {
        self.used.borrow().iter().filter(|used| !**used).count()
    }
}

/// A swap device, and files that are full of zeros.
impl<F: Format> Backing for Machine<'_, F> {
    fn read(&self, io: Io) -> Submitted {
        for k in 0..io.nr {
            let word = match io.place {
                Place::File(..) => 0,
                Place::Swap(first) => self.swap.borrow()[&first.nth(k).0],
            };
            self.word(io.pfn.add(k as u64)).set(word);
        }
        Submitted::Done
    }

    fn write(&self, io: Io) -> Submitted {
        for k in 0..io.nr {
            if let Place::Swap(first) = io.place {
                let word = self.word(io.pfn.add(k as u64)).get();
                self.swap.borrow_mut().insert(first.nth(k).0, word);
            }
        }
        Submitted::Done
    }
}

impl<F: Format> World for Machine<'_, F> {
    fn now_ms(&self) -> u64 {
        self.ms.replace(self.ms.get() + 1)
    }
}

//! The parts that an embedder supplies: the machine, and the engine's traits on it.
//!
//! The machine is a riscv64 without Svadu. Walkers set neither accessed nor dirty bits, so that
//! each first use is a fault (the software access flag). TLBs of other CPUs are flushed by
//! interrupts. The two CPUs take turns here; those of a kernel call the same `&MmState`
//! concurrently.

use core::cell::{Cell, RefCell};
use core::sync::atomic::AtomicU64;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::pte::Riscv64;
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Env, Format, Level, Mmu, Notifier, Order, Pfn, Sound, Table, VirtAddr};
use pageout_reclaim::{Backing, Frames, Io, Lock, Mm, Place, Submitted, World, WriteGuard};
use std::collections::HashMap;

/// The number of frames of memory, without those of page tables.
pub(crate) const FRAMES: usize = 64;
/// The number of page tables: for each of three processes one of each level, and a second of the
/// last.
pub(crate) const TABLES: usize = 3 * 5;
pub(crate) const CPUS: usize = 2;
const FIRST_TABLE: Pfn = Pfn::new(1 << 20);

type Page = [u64; 512];

/// A word of an address space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Word {
    pub(crate) page: u64,
    pub(crate) word: usize,
}

/// The machine.
pub(crate) struct Machine<'m> {
    tables: HostTables<'m, Riscv64>,
    table_locks: &'m [Lock],
    free_tables: RefCell<Vec<Pfn>>,
    ram: RefCell<Vec<Page>>,
    used: RefCell<[bool; FRAMES]>,
    disk: RefCell<Disk>,
    pub(crate) cpus: Cpus,
    /// The time in milliseconds: an access takes one here.
    now_ms: Cell<u64>,
}

/// The frame of each page of an address space, and true if it may be stored to.
type Tlb = HashMap<(Asid, u64), (Pfn, bool)>;

/// The CPUs, as far as others see them.
#[derive(Default)]
pub(crate) struct Cpus {
    tlbs: RefCell<[Tlb; CPUS]>,
    /// The CPU that runs.
    pub(crate) current: Cell<usize>,
    /// The number of times that one CPU interrupted another to flush its TLB.
    pub(crate) interrupts: Cell<u32>,
}

/// TLB maintenance. If hardware broadcasts it (arm64), `invalidate` is TLBI and `barrier` DSB.
impl Mmu for Cpus {
    fn caps(&self) -> Caps {
        Caps {
            hardware_af: false,
            hardware_dirty: false,
            range_limit: 65,
            shootdown: Shootdown::Ipi,
            ..Caps::IDEAL
        }
    }

    fn invalidate(&self, what: Invalidate) {
        self.interrupts.set(self.interrupts.get() + CPUS as u32 - 1);
        (0..CPUS).for_each(|cpu| self.forget(cpu, what));
    }

    /// Does nothing: interrupted CPUs have answered already.
    fn barrier(&self, _: Barrier) {}

    fn invalidate_local(&self, what: Invalidate) {
        self.forget(self.current.get(), what);
    }

    /// Returns true if another CPU may hold a translation of the address space.
    fn remote(&self, asid: Asid) -> bool {
        let tlbs = self.tlbs.borrow();
        let mut others = (0..CPUS).filter(|cpu| *cpu != self.current.get());
        others.any(|cpu| tlbs[cpu].keys().any(|held| held.0 == asid))
    }
}

impl Cpus {
    fn forget(&self, cpu: usize, what: Invalidate) {
        self.tlbs.borrow_mut()[cpu].retain(|(asid, page), _| match what {
            Invalidate::Everything => false,
            Invalidate::AddressSpace(of) => *asid != of,
            Invalidate::Range { asid: of, start, nr, level } => {
                let first = start.get() >> Riscv64::PAGE_SHIFT;
                let pages = (nr * Riscv64::nr_pages(level)) as u64;
                *asid != of || !(first..first + pages).contains(page)
            }
        });
    }
}

impl<'m> Env for Machine<'m> {
    type Format = Riscv64;
    type Table = HostTable<'m, Riscv64>;
    type Mmu = Cpus;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = WriteGuard<'a>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &Cpus {
        &self.cpus
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.table_locks[frame.offset_from(FIRST_TABLE) as usize].try_write()
    }

    /// Returns `None`: no virtual machine and no device shares an address space.
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

impl Frames for Machine<'_> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        let mut used = self.used.borrow_mut();
        let nr = order.nr_pages();
        let run = used.chunks_exact_mut(nr).enumerate().find(|(_, run)| !run.contains(&true));
        run.map(|(k, run)| {
            run.fill(true);
            Pfn::new((k * nr) as u64)
        })
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
        self.ram.borrow_mut()[pfn.get() as usize..][..nr].fill([0; 512]);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        let from = from.get() as usize;
        self.ram.borrow_mut().copy_within(from..from + nr, to.get() as usize);
    }

    fn free_pages(&self) -> usize {
        self.used.borrow().iter().filter(|used| !**used).count()
    }
}

/// A disk that holds the file and the swap slots, and works off a queue.
pub(crate) struct Disk {
    file: Vec<Page>,
    swap: Vec<Page>,
    queue: Vec<(Io, bool)>,
}

impl Disk {
    /// Makes a disk with `file` pages of the file, all zeros, and `swap` swap slots.
    pub(crate) fn new(file: usize, swap: usize) -> Self {
        Self { file: vec![[0; 512]; file], swap: vec![[0; 512]; swap], queue: Vec::new() }
    }

    /// Carries out a transfer, by DMA.
    fn transfer(&mut self, io: Io, write: bool, ram: &mut [Page]) {
        for (k, frame) in ram[io.pfn.get() as usize..][..io.nr].iter_mut().enumerate() {
            let block = match io.place {
                Place::File(_, first) => &mut self.file[first as usize + k],
                Place::Swap(first) => &mut self.swap[first.nth(k).0 as usize],
            };
            let (from, to) = if write { (frame, block) } else { (block, frame) };
            to.copy_from_slice(from);
        }
    }
}

impl Backing for Machine<'_> {
    fn read(&self, io: Io) -> Submitted {
        self.disk.borrow_mut().queue.push((io, false));
        Submitted::Pending
    }

    fn write(&self, io: Io) -> Submitted {
        self.disk.borrow_mut().queue.push((io, true));
        Submitted::Pending
    }
}

impl World for Machine<'_> {
    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }
}

impl<'m> Machine<'m> {
    pub(crate) fn new(entries: &'m [AtomicU64], locks: &'m [Lock], disk: Disk) -> Self {
        Self {
            tables: HostTables::new(entries, FIRST_TABLE),
            table_locks: locks,
            free_tables: RefCell::new((0..TABLES as u64).map(|k| FIRST_TABLE.add(k)).collect()),
            ram: RefCell::new(vec![[0; 512]; FRAMES]),
            used: RefCell::new([false; FRAMES]),
            disk: RefCell::new(disk),
            cpus: Cpus::default(),
            now_ms: Cell::new(0),
        }
    }

    /// Loads or stores a word as a CPU does. Returns the word, or `None` for a page fault.
    pub(crate) fn access(&self, mm: &Mm, at: Word, store: Option<u64>) -> Option<u64> {
        self.now_ms.set(self.now_ms.get() + 1);
        let pfn = self.translate(mm, at.page, store.is_some())?;
        let word = &mut self.ram.borrow_mut()[pfn.get() as usize][at.word];
        *word = store.unwrap_or(*word);
        Some(*word)
    }

    /// Returns the frame of a page, by the TLB or by a walk whose result the TLB then keeps.
    fn translate(&self, mm: &Mm, page: u64, store: bool) -> Option<Pfn> {
        let tlb = &mut self.cpus.tlbs.borrow_mut()[self.cpus.current.get()];
        let held = tlb.get(&(mm.asid(), page)).filter(|(_, stores)| *stores || !store);
        if let Some((pfn, _)) = held {
            return Some(*pfn);
        }
        let Descent::PteTable(frame, _) = descend(self, mm.root(), address(page)) else {
            return None;
        };
        let i = Riscv64::index(Level::Pte, address(page));
        let pte = Riscv64::decode(self.table(frame).load(i), i);
        let stores = Riscv64::is_write(pte) && Riscv64::is_dirty(pte);
        if !Riscv64::is_valid(pte) || !Riscv64::is_young(pte) || (store && !stores) {
            return None;
        }
        tlb.insert((mm.asid(), page), (Riscv64::pfn(pte), stores));
        Some(Riscv64::pfn(pte))
    }

    /// Executes the disk's queue, and returns the transfers, with true for writes.
    pub(crate) fn run_disk(&self) -> Vec<(Io, bool)> {
        let disk = &mut *self.disk.borrow_mut();
        let queue = core::mem::take(&mut disk.queue);
        for (io, write) in &queue {
            disk.transfer(*io, *write, &mut self.ram.borrow_mut());
        }
        queue
    }
}

pub(crate) fn address(page: u64) -> VirtAddr {
    VirtAddr::new(page << Riscv64::PAGE_SHIFT)
}

//! A hypervisor that finds out which parts of a guest's memory are cold, with only
//! `pageout-paging`. It has its own maps, its own lock and its own TLB maintenance, and no folios
//! and no reclaim.
//!
//! The tables here lie in ordinary memory, and the guest is a loop that sets accessed bits as a
//! processor would. They use the arm64 stage-1 format of the crate. A real stage 2 has its
//! permission bits elsewhere, but the same accessed bit, contiguous blocks and levels: the recipe
//! `second_stage` of `pageout-reclaim` has such a format, and an engine that asks it. The example
//! only counts, and measures no time.

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::{Arm64_4K, Prot};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::walk::{Span, make_table, spans};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{
    Env, Format, Level, LockedTable, Mmu, Notifier, Pfn, Sound, VirtAddr, VirtRange, contig,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// The number of bytes of guest memory.
const GUEST: u64 = 64 << 20;
/// The number of bytes in one row of the output: the range of one PTE table.
const RANGE: u64 = 2 << 20;
/// The first frame of the page tables, apart from the guest's.
const TABLES: Pfn = Pfn::new(1 << 24);
const PASSES: usize = 5;

/// The hypervisor: page tables, one lock for all of them, counters of its TLB maintenance.
struct Hypervisor<'a> {
    tables: HostTables<'a, Arm64_4K>,
    lock: Mutex<()>,
    tlb: Tlb,
}

#[derive(Default)]
struct Tlb {
    invalidations: Cell<u64>,
    waits: Cell<u64>,
}

impl Mmu for Tlb {
    fn caps(&self) -> Caps {
        Caps { range_limit: 1 << 21, ..Caps::IDEAL }
    }

    fn invalidate(&self, _what: Invalidate) {
        self.invalidations.set(self.invalidations.get() + 1);
    }

    fn barrier(&self, barrier: Barrier) {
        if barrier == Barrier::Complete {
            self.waits.set(self.waits.get() + 1);
        }
    }
}

impl<'t> Env for Hypervisor<'t> {
    type Format = Arm64_4K;
    type Table = HostTable<'t, Arm64_4K>;
    type Mmu = Tlb;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = MutexGuard<'a, ()>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> HostTable<'t, Arm64_4K> {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &Tlb {
        &self.tlb
    }

    fn try_lock_table(&self, _frame: Pfn) -> Option<MutexGuard<'_, ()>> {
        self.lock.try_lock().ok()
    }

    fn notifier(&self, _vm: Asid) -> Option<&dyn Notifier> {
        None // nobody mirrors a guest's memory
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        std::hint::spin_loop();
    }
}

impl Hypervisor<'_> {
    /// Maps all of the guest's memory, by contiguous blocks where they fit.
    fn map_guest(&self) {
        let mut frames = TABLES.add(1)..Pfn::new(u64::MAX);
        for start in (0..GUEST).step_by(RANGE as usize) {
            let addr = VirtAddr::new(start);
            let table = make_table(self, TABLES, addr, Level::Pte, &mut frames);
            let table = table.expect("there is room for every table");
            let first = Pfn::new(start >> Arm64_4K::PAGE_SHIFT);
            let leaf = Arm64_4K::leaf(Level::Pte, first, Prot::WRITE);
            contig::set_ptes::<Arm64_4K, _>(self.table(table), 0, leaf, Arm64_4K::PTES);
        }
    }

    /// Clears the accessed bits of a range of guest memory. Returns true if any was set.
    fn age(&self, range: VirtRange) -> bool {
        let check = YoungCheck {
            env: self,
            algorithm: YoungAlgorithm::Line,
            flush: FlushPolicy::ARM64,
            asid: Asid(1),
        };
        let mut young = false;
        for span in spans(self, TABLES, range) {
            match span {
                Span::Ptes { frame, ahead, range } => {
                    let pt = LockedTable::lock(self, frame);
                    let pt = pt.prefetching(ahead.map(|frame| self.table(frame)));
                    let nr = (range.end.get() - range.start.get()) >> Arm64_4K::PAGE_SHIFT;
                    young |= check.clear_flush_young_ptes(&pt, range.start, nr as usize);
                }
                Span::PmdLeaf { frame, range } => {
                    let pt = LockedTable::lock(self, frame);
                    young |= check.pmdp_clear_flush_young(&pt, range.start);
                }
            }
        }
        young
    }
}

/// Uses one page as the guest: changes its entry as the processor's table walk does.
fn touch(memory: &[AtomicU64], hypervisor: &Hypervisor<'_>, addr: u64) {
    for span in spans(hypervisor, TABLES, VirtAddr::new(addr)..VirtAddr::new(addr + 1)) {
        if let Span::Ptes { frame, range, .. } = span {
            let i = Arm64_4K::index(Level::Pte, range.start);
            let table = frame.offset_from(TABLES) as usize * Arm64_4K::PTES;
            memory[table + i].fetch_or(Arm64_4K::YOUNG, Relaxed);
        }
    }
}

/// Uses the guest's memory for one pass. The first 8 MiB are hot. Every second pass uses one page
/// of each 2 MiB up to 32 MiB. The rest is used once, at the start.
fn run_guest(memory: &[AtomicU64], hypervisor: &Hypervisor<'_>, pass: usize) {
    let every = |range: std::ops::Range<u64>, step: u64| {
        for addr in range.step_by(step as usize) {
            touch(memory, hypervisor, addr);
        }
    };
    every(0..8 << 20, Arm64_4K::PAGE_SIZE);
    if pass % 2 == 1 {
        every(8 << 20..32 << 20, RANGE);
    }
    if pass == 0 {
        every(32 << 20..GUEST, Arm64_4K::PAGE_SIZE);
    }
}

fn main() {
    let tables = 3 + (GUEST / RANGE) as usize;
    let memory: Vec<AtomicU64> = (0..tables * Arm64_4K::PTES).map(|_| AtomicU64::new(0)).collect();
    let hypervisor = Hypervisor {
        tables: HostTables::new(&memory, TABLES),
        lock: Mutex::new(()),
        tlb: Tlb::default(),
    };
    hypervisor.map_guest();

    let mut idle_passes = vec![0; (GUEST / RANGE) as usize];
    for pass in 0..PASSES {
        run_guest(&memory, &hypervisor, pass);
        for (number, idle) in (0..).zip(&mut idle_passes) {
            let range = VirtAddr::new(number * RANGE)..VirtAddr::new((number + 1) * RANGE);
            *idle = if hypervisor.age(range) { 0 } else { *idle + 1 };
        }
    }

    println!("{} MiB of guest memory after {PASSES} passes, by 2 MiB", GUEST >> 20);
    println!("{:>12}  {:>12}", "idle passes", "MiB");
    for idle in 0..=PASSES {
        let ranges = idle_passes.iter().filter(|passes| **passes == idle).count();
        println!("{idle:>12}  {:>12}", ranges as u64 * (RANGE >> 20));
    }
    println!("{:>12}  {:>12}", "TLBIs", hypervisor.tlb.invalidations.get());
    // None: on arm64 a young check issues its TLBIs and leaves the wait to a later barrier.
    println!("{:>12}  {:>12}", "waits", hypervisor.tlb.waits.get());
    println!("Tables in ordinary memory, a loop for a guest: TLBIs are counted, none is executed.");
}

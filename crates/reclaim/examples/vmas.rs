//! The cost of many VMAs: a fault, advice about a page, and a new VMA in an address space of 10 to
//! 10,000 VMAs, and the reclaim of a page of a file that up to 1,000 VMAs map. Each time is the
//! least of several rounds. The last table is how long a thread that maps and unmaps waits beside
//! threads that fault. The machine is the host's memory and has no TLB, so nearly all of the time
//! is the engine's.
//!
//! ```text
//! cargo run --release -p pageout-reclaim --example vmas
//! ```

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::X86_64;
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::{
    Env, Format, Mmu, Notifier, Order, Pfn, Pte, Sound, Table, VirtAddr, VirtRange,
};
use pageout_reclaim::{
    Access, Advice, Backing, CpuCtx, Engine, Fault, Frames, Io, Limits, Lock, MappingKind, Memory,
    MmId, MmState, NewVma, NodeId, Submitted, Tuning, VmFlags, World, WriteGuard,
};
use std::sync::{Barrier as Start, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// The numbers of VMAs of an address space.
const VMAS: [u64; 4] = [10, 100, 1_000, 10_000];
/// The numbers of VMAs that map a file, each its own part.
const MAPPERS: [u64; 3] = [1, 100, 1_000];
/// The pages of that file.
const FILE: u64 = 8_000;
/// The most threads that fault beside the one that maps.
const FAULTING: usize = 3;
/// The time for which one thread maps beside them.
const BESIDE_FAULTS: Duration = Duration::from_secs(2);
/// The operations of a round.
const OPS: usize = 1_000;
const ROUNDS: usize = 9;
const FRAMES: usize = 12_000;
const LIMITS: Limits = Limits {
    frames: FRAMES,
    folios: FRAMES,
    vmas: 10_001,
    mms: 1,
    mappings: 1,
    shadows: FRAMES,
    ..Limits::NOTHING
};
const TUNING: Tuning = Tuning::recommended(FlushPolicy::X86);
const ROOM: &str = "the limits hold all of it";

/// The machine, of whose frames any may be a page table.
struct Machine<'m> {
    tables: HostTables<'m, X86_64>,
    locks: Vec<Lock>,
    free: Mutex<Vec<Pfn>>,
    waiting: Waiting,
}

/// The way in which threads wait for a lock.
enum Waiting {
    /// Spinning: the first that finds the lock free has it.
    Spinning,
    /// Spinning in a queue, as CPUs of a kernel do. A thread that is preempted lets all behind it
    /// wait.
    SpinningInOrder,
    /// Sleeping in a queue.
    Sleeping(Bed),
}

/// A wait queue for the words of all locks.
#[derive(Default)]
struct Bed {
    lock: Mutex<()>,
    woken: Condvar,
}

impl<'m> Machine<'m> {
    fn new(ram: &'m [AtomicU64], waiting: Waiting) -> Self {
        Self {
            tables: HostTables::new(ram, Pfn::new(0)),
            locks: (0..FRAMES).map(|_| Lock::default()).collect(),
            free: Mutex::new((0..FRAMES as u64).map(Pfn::new).collect()),
            waiting,
        }
    }

    fn free(&self) -> MutexGuard<'_, Vec<Pfn>> {
        self.free.lock().expect("no thread panics")
    }
}

impl Mmu for Machine<'_> {
    fn caps(&self) -> Caps {
        Caps::IDEAL
    }
    fn invalidate(&self, _: Invalidate) {}
    fn barrier(&self, _: Barrier) {}
}

impl<'m> Env for Machine<'m> {
    type Format = X86_64;
    type Table = HostTable<'m, X86_64>;
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
        self.locks[frame.get() as usize].try_write()
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
    fn locks_in_order(&self) -> bool {
        !matches!(self.waiting, Waiting::Spinning)
    }
    fn sleep(&self, word: &AtomicU32, seen: u32) {
        let Waiting::Sleeping(bed) = &self.waiting else { return self.relax() };
        let mut awake = bed.lock.lock().expect("no thread panics");
        while word.load(Ordering::Relaxed) == seen {
            awake = bed.woken.wait(awake).expect("no thread panics");
        }
    }
    fn wake(&self, _: &AtomicU32) {
        if let Waiting::Sleeping(bed) = &self.waiting {
            // No task is between its look at the word and its sleep.
            drop(bed.lock.lock().expect("no thread panics"));
            bed.woken.notify_all();
        }
    }
}

/// A supply of single frames. Their content does not matter, except that of page tables.
impl Frames for Machine<'_> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        if order == Order::default() { Machine::free(self).pop() } else { None }
    }
    fn free(&self, pfn: Pfn, _: Order) {
        Machine::free(self).push(pfn);
    }
    fn alloc_table(&self) -> Option<Pfn> {
        let frame = Machine::free(self).pop()?;
        self.zero(frame, 1);
        Some(frame)
    }
    fn free_table(&self, frame: Pfn) {
        Machine::free(self).push(frame);
    }
    fn zero(&self, pfn: Pfn, _: usize) {
        let table = self.tables.table(pfn);
        (0..X86_64::PTES).for_each(|i| table.set(i, Pte::NONE));
    }
    fn copy(&self, _: Pfn, _: Pfn, _: usize) {}
    fn free_pages(&self) -> usize {
        Machine::free(self).len()
    }
}

impl Backing for Machine<'_> {
    fn read(&self, _: Io) -> Submitted {
        Submitted::Done
    }
    fn write(&self, _: Io) -> Submitted {
        Submitted::Done
    }
}

impl World for Machine<'_> {
    fn now_ms(&self) -> u64 {
        0
    }
}

fn pages(first: u64, nr: u64) -> VirtRange {
    let at = |page: u64| VirtAddr::new(page << X86_64::PAGE_SHIFT);
    at(first)..at(first + nr)
}

/// Calls `work` with the engine of a new machine, a process, and a file.
fn on_new_machine<T>(
    waiting: Waiting,
    work: impl FnOnce(&mut Engine<'_, Machine<'_>>, &Machine<'_>, NewVma) -> T,
) -> T {
    let mut bytes = vec![MaybeUninit::uninit(); Memory::bytes_for(&LIMITS)];
    let memory = Memory::carve(&mut bytes, &LIMITS).expect("as many bytes as they take");
    let maps = MmState::new(memory, Pfn::new(0)).expect("few enough to be numbered");
    let ram: Vec<AtomicU64> = (0..FRAMES * X86_64::PTES).map(|_| AtomicU64::new(0)).collect();
    let machine = Machine::new(&ram, waiting);
    let mut cpu = CpuCtx::new();
    let mut engine = maps.on(&machine, &mut cpu, TUNING);
    let root = machine.alloc_table().expect(ROOM);
    let mm = engine.add_mm(root, Asid(1)).expect(ROOM);
    let mapping = engine.add_mapping(MappingKind::File).expect(ROOM);
    let new = NewVma { mm, range: pages(0, 1), flags: VmFlags::READ, mapping, pgoff: 0 };
    work(&mut engine, &machine, new)
}

fn read(engine: &mut Engine<'_, Machine<'_>>, mm: MmId, page: u64) {
    let fault = engine.handle_fault(mm, pages(page, 1).start, Access::Read);
    assert!(matches!(fault, Fault::Done(_)), "{fault:?}");
}

/// Returns the nanoseconds of each of `nr` calls of `work`.
fn timed(nr: usize, mut work: impl FnMut(usize)) -> f64 {
    let start = Instant::now();
    (0..nr).for_each(&mut work);
    start.elapsed().as_nanos() as f64 / nr as f64
}

fn least(rounds: impl Iterator<Item = f64>) -> f64 {
    rounds.fold(f64::INFINITY, f64::min)
}

/// Returns the nanoseconds of a fault on a page in memory, of advice that it is not needed, and of
/// mapping and unmapping one more VMA, all at random in an address space of `nr` VMAs.
fn in_address_space(nr: u64) -> [f64; 3] {
    on_new_machine(Waiting::Spinning, |engine, _, new| {
        // Pages two apart, in VMAs of one page each.
        for k in 0..nr {
            let vma = NewVma { range: pages(2 * k, 1), pgoff: k, ..new.clone() };
            engine.mmap(&vma).expect(ROOM);
            read(engine, new.mm, 2 * k);
        }
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % nr
        };
        let mut best = [f64::INFINITY; 3];
        for _ in 0..ROUNDS {
            let at: Vec<u64> = (0..OPS).map(|_| random()).collect();
            let dont_need = |engine: &mut Engine<'_, Machine<'_>>, page| {
                engine.madvise(new.mm, &pages(page, 1), Advice::DontNeed).expect("it is mapped");
            };
            let advice = timed(OPS, |k| dont_need(engine, 2 * at[k]));
            let fault = timed(OPS, |k| read(engine, new.mm, 2 * at[k]));
            let map = timed(OPS, |k| {
                let range = pages(2 * at[k] + 1, 1);
                let id = engine.mmap(&NewVma { range, pgoff: nr, ..new.clone() }).expect(ROOM);
                engine.munmap(id).expect("it lives");
            });
            for (best, ns) in best.iter_mut().zip([fault, advice, map]) {
                *best = best.min(ns);
            }
        }
        best
    })
}

/// Returns the nanoseconds for each page of reclaiming a file of which `nr` VMAs map a part each.
fn reclaim(nr: u64) -> f64 {
    on_new_machine(Waiting::Spinning, |engine, machine, new| {
        let part = FILE / nr;
        for first in (0..nr).map(|k| k * part) {
            let vma = NewVma { range: pages(first, part), pgoff: first, ..new.clone() };
            engine.mmap(&vma).expect(ROOM);
        }
        least((0..ROUNDS).map(|_| {
            (0..FILE).for_each(|page| read(engine, new.mm, page));
            let before = machine.free_pages();
            engine.maps().set_high_watermark(NodeId(0), before as u64 + FILE / 2).expect("a node");
            let start = Instant::now();
            assert!(
                (0..100).any(|_| engine.balance(NodeId(0)).expect("a node")),
                "half of the file is reclaimed"
            );
            let ns = start.elapsed().as_nanos() as f64;
            ns / (machine.free_pages() - before) as f64
        }))
    })
}

/// Returns the microseconds of mapping and unmapping a VMA beside `nr` threads that fault in the
/// same address space: the mean, and the most.
fn beside_faults(nr: usize, waiting: Waiting) -> [f64; 2] {
    on_new_machine(waiting, |engine, machine, new| {
        engine.mmap(&new).expect(ROOM);
        read(engine, new.mm, 0);
        let (maps, over, begin) = (engine.maps(), AtomicBool::new(false), Start::new(nr + 1));
        let fault = || {
            begin.wait();
            let mut cpu = CpuCtx::new();
            let mut engine = maps.on(machine, &mut cpu, TUNING);
            while !over.load(Ordering::Relaxed) {
                read(&mut engine, new.mm, 0);
            }
        };
        let map = || {
            let mut cpu = CpuCtx::new();
            let mut engine = maps.on(machine, &mut cpu, TUNING);
            let vma = NewVma { range: pages(1, 1), pgoff: 1, ..new.clone() };
            let once = |_| {
                let start = Instant::now();
                let id = engine.mmap(&vma).expect(ROOM);
                engine.munmap(id).expect("it lives");
                start.elapsed().as_nanos() as f64 / 1e3
            };
            begin.wait();
            let start = Instant::now();
            let in_time = |_: &usize| start.elapsed() < BESIDE_FAULTS;
            let times: Vec<f64> = (0..).take_while(in_time).map(once).collect();
            over.store(true, Ordering::Relaxed);
            let (sum, most) =
                (times.iter().sum::<f64>(), times.iter().copied().fold(0.0, f64::max));
            [sum / times.len() as f64, most]
        };
        thread::scope(|scope| {
            (0..nr).for_each(|_| drop(scope.spawn(fault)));
            map()
        })
    })
}

fn main() {
    println!("{:>8}{:>12}{:>12}{:>16}", "VMAs", "fault ns", "madvise ns", "mmap+munmap ns");
    for nr in VMAS {
        let [fault, advice, map] = in_address_space(nr);
        println!("{nr:>8}{fault:>12.0}{advice:>12.0}{map:>16.0}");
    }
    println!("\n{:>8}{:>21}", "mappers", "reclaim, ns a page");
    for nr in MAPPERS {
        println!("{nr:>8}{:>21.0}", reclaim(nr));
    }
    println!("\nmmap+munmap beside faults, us: mean, longest");
    println!("{:>8}{:>20}{:>20}{:>20}", "faulting", "spin", "spin in order", "sleep in order");
    for nr in 0..=FAULTING {
        let ways = [Waiting::Spinning, Waiting::SpinningInOrder, Waiting::Sleeping(Bed::default())];
        let times = ways.map(|waiting| beside_faults(nr, waiting));
        let columns = times.map(|[mean, most]| format!("{mean:>12.1}{most:>8.0}"));
        println!("{nr:>8}{}", columns.concat());
    }
}

//! A small operating system that uses the engine for all of reclaim. Two processes, and later a
//! child, use a file and private memory in a cgroup that has room for half of it.
//!
//! The parts that an embedder supplies are in `reclaim/machine.rs`, a trait each. They are
//! [`Env`](pageout_paging::Env) (page tables and their locks), [`Mmu`](pageout_paging::Mmu) (TLBs,
//! also other CPUs'), `Frames` (memory), `Backing` (a disk), and `World`, which is all of them. The
//! calls of an embedder are here, all on an [`Engine`] of the CPU that runs. They come from
//! accesses that fail, from requests of processes and administrators, and from the disk's
//! interrupt. They provide page faults, copy on write, fork, swap, limits, reclaim (direct, in the
//! background and on demand) and generations. They also provide the commands of `lru_gen` and the
//! kernel's counters. The engine allocates nothing: [`run`] gives it an array of bytes.
//!
//! ```text
//! cargo run -p pageout-reclaim --example reclaim
//! ```

#[path = "reclaim/machine.rs"]
mod machine;

use core::array::from_fn;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use machine::{CPUS, Disk, FRAMES, Machine, TABLES, Word, address};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::Riscv64;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::{Format, Order, Pfn};
use pageout_reclaim::{
    Access, Counter, CpuCtx, Engine, Errno, Fault, FolioFlags, Frames, Limits, Lock, MappingId,
    MappingKind, MemcgId, Memory, MmId, MmState, NewVma, NodeId, ReclaimRequest, TlbBatch, Tuning,
    VmFlags,
};
use pageout_uapi::lru_gen::{self, Enabled};
use std::collections::HashMap;

/// The pages at which each process maps the file, and its private memory.
const FILE: Range<u64> = 0x1000..0x1020;
const HEAP: Range<u64> = 0x2000..0x2018;
/// The pages of memory that the processes may use together.
const LIMIT: u64 = 40;
/// The number of swap slots: for all that processes can swap out, and 64 more, without which
/// generations swap out nothing.
const SLOTS: usize = 3 * 24 + 64;

/// The capacity of the engine.
const LIMITS: Limits = Limits {
    frames: FRAMES,
    folios: FRAMES,
    vmas: 6,
    mms: 3,
    mappings: 3,
    memcgs: 1,
    nodes: 1,
    shadows: FRAMES,
    slots: SLOTS,
    filters: 4,
};

/// The choices of this system for young checks and unmapping: in batches, with one TLB flush a
/// batch.
const TUNING: Tuning = Tuning::recommended(FlushPolicy::RISCV);

/// The operating system: the engine on the machine, and the expected content of each page.
struct Os<'e, 'm> {
    maps: &'e MmState<'m>,
    machine: Machine<'e>,
    cpus: [CpuCtx; CPUS],
    cgroup: MemcgId,
    file: MappingId,
    processes: Vec<MmId>,
    /// The values stored last to words of each process, and of the file.
    stored: HashMap<(Option<usize>, Word), u64>,
    stores: u64,
}

const ROOM: &str = "the limits hold all of it";

impl<'e, 'm> Os<'e, 'm> {
    fn boot(maps: &'e MmState<'m>, machine: Machine<'e>) -> Self {
        let mut cpus: [CpuCtx; CPUS] = Default::default();
        let mut engine = maps.on(&machine, &mut cpus[0], TUNING);
        let cgroup = engine.add_memcg(MemcgId::ROOT).expect(ROOM);
        maps.memcg(cgroup).expect("it is online").set_max(LIMIT);
        let file = engine.add_mapping(MappingKind::File).expect(ROOM);
        maps.mapping(file)
            .expect("it lives")
            .set_order(Order::new(2).expect("folios of four pages"));
        let (processes, stored) = (Vec::new(), HashMap::new());
        Self { maps, machine, cpus, cgroup, file, processes, stored, stores: 0 }
    }

    /// Returns the engine, on the CPU that runs.
    fn engine(&mut self) -> Engine<'_, Machine<'e>> {
        let cpu = &mut self.cpus[self.machine.cpus.current.get()];
        self.maps.on(&self.machine, cpu, TUNING)
    }

    /// Starts a process, which shares the file with the others.
    fn spawn(&mut self) {
        let (asid, cgroup, file) = (Asid(self.processes.len() as u32), self.cgroup, self.file);
        let root = self.machine.alloc_table().expect(ROOM);
        let mut engine = self.engine();
        let mm = engine.add_mm(root, asid).expect(ROOM);
        engine.set_memcg(mm, cgroup).expect("it lives");
        let heap = engine.add_mapping(MappingKind::Anon).expect(ROOM);
        let flags = VmFlags::READ | VmFlags::WRITE;
        for (pages, mapping, flags) in [(FILE, file, flags | VmFlags::SHARED), (HEAP, heap, flags)]
        {
            let range = address(pages.start)..address(pages.end);
            let new = NewVma { mm, range, flags, mapping, pgoff: pages.start - FILE.start };
            engine.mmap(&new).expect("nothing is in the way");
        }
        self.processes.push(mm);
    }

    fn fork(&mut self, parent: usize) {
        let (mm, asid) = (self.processes[parent], Asid(self.processes.len() as u32));
        let root = self.machine.alloc_table().expect(ROOM);
        let mut engine = self.engine();
        let child = engine.fork(mm, root, asid).expect(ROOM);
        let inherited = self.stored.clone().into_iter().filter(|(at, _)| at.0 == Some(parent));
        let child_has = |((_, at), value)| ((Some(self.processes.len()), at), value);
        self.stored.extend(inherited.map(child_has));
        self.processes.push(child);
    }

    /// Ends a process, and frees all it had.
    fn exit(&mut self, process: usize) {
        let mm = self.processes[process];
        let root = self.maps.mm(mm).expect("it lives").root();
        self.engine().exit_mm(mm).expect("it lives");
        self.machine.free_table(root);
    }

    /// Makes a CPU run a process, whose memory the next walk for young bits then visits.
    fn switch_to(&mut self, cpu: usize, process: usize) {
        self.machine.cpus.current.set(cpu);
        self.maps.lru_gen_use_mm(self.processes[process]).expect("it lives");
    }

    /// Loads or stores a word of a process, with faults until the access succeeds.
    fn access(&mut self, process: usize, at: Word, store: Option<u64>) -> u64 {
        let mm = self.processes[process];
        let access = if store.is_some() { Access::Write } else { Access::Read };
        loop {
            if let Some(word) = self.machine.access(self.maps.mm(mm).expect("it lives"), at, store)
            {
                return word;
            }
            match self.engine().handle_fault(mm, address(at.page), access) {
                Fault::Done(_) => {}
                // The page is being read. A kernel runs someone else meanwhile.
                Fault::Pending(_) => assert!(self.disk_interrupt() > 0, "someone reads it"),
                // Memory that could be freed waits for the disk. If none does, a process has to be
                // killed.
                Fault::OutOfMemory(_) => {
                    self.flush_file();
                    assert!(self.disk_interrupt() > 0, "out of memory");
                }
                fault => panic!("process {process} dies at {at:?}: {fault:?}"),
            }
        }
    }

    /// Ends the disk's transfers, and calls the engine for each.
    fn disk_interrupt(&mut self) -> usize {
        let ended = self.machine.run_disk();
        let mut engine = self.engine();
        for (io, write) in &ended {
            match write {
                true => engine.write_done(io.folio, Ok(())).expect("it goes on"),
                false => engine.read_done(io.folio, Ok(())).expect("it goes on"),
            }
        }
        ended.len()
    }

    /// Writes dirty pages of the file, as a flusher: reclaim writes only pages that it swaps out.
    fn flush_file(&mut self) {
        let file = self.file;
        let maps = self.maps;
        let mut engine = self.engine();
        for index in 0..FILE.end - FILE.start {
            let Some(id) = engine.filemap_get_folio(file, index).expect("it lives") else {
                continue;
            };
            if let Some(guard) = maps.folio(id).expect("it lives").try_lock() {
                let state = FolioFlags::UPTODATE | FolioFlags::WRITEBACK;
                if maps.folio(id).expect("it lives").flags() & state == FolioFlags::UPTODATE
                    && guard.is_dirty()
                {
                    let mut tlb_batch = TlbBatch::new(&engine);
                    let _ = tlb_batch.write_out(&guard, id);
                    tlb_batch.finish(&mut engine);
                }
            }
            engine.release(id, 1).expect("the caller has it");
        }
    }

    /// Writes to the cgroup's `memory.reclaim`. Dirty pages have to be written before they can be
    /// freed, so the call may ask to try again (EAGAIN). Returns the pages reclaimed in the end.
    fn memory_reclaim(&mut self, text: &str) -> u64 {
        let (cgroup, request) =
            (self.cgroup, ReclaimRequest::parse(text).expect("it is understood"));
        loop {
            match self.engine().memory_reclaim(cgroup, request) {
                Ok(pages) => return pages,
                Err(errno) => assert_eq!(errno, Errno::EAGAIN),
            }
            self.flush_file();
            assert!(self.disk_interrupt() > 0, "there is something to be had");
        }
    }

    /// Reclaims until `high` frames are free, as the background thread.
    fn kswapd(&mut self, high: u64) {
        self.maps.set_high_watermark(NodeId(0), high).expect("a node");
        loop {
            if self.engine().balance(NodeId(0)).expect("a node") {
                return;
            }
            self.flush_file();
            assert!(self.disk_interrupt() > 0, "there is something to be had");
        }
    }

    /// Returns the cgroup's part of `lru_gen`.
    fn lru_gen(&mut self) -> String {
        let (cgroup, mut text) = (self.cgroup, String::new());
        let engine = self.engine();
        let generations = engine.lru_gen_generations(cgroup, false).expect("it is online");
        let shown =
            lru_gen::show(&mut text, cgroup.index().into(), "/processes", [(0, generations)]);
        shown.expect("strings take all");
        text
    }

    /// Switches from the classic lists to generations, as an administrator. Twice, while only the
    /// first process uses its memory, opens two generations and evicts all older ones. The first of
    /// the two is needed for use to be seen, since no walk sees it on this machine. Returns the
    /// pages evicted.
    fn evict_by_generations(&mut self) -> u64 {
        let cgroup = self.cgroup;
        let enabled = Enabled::parse("y").expect("it is understood");
        self.engine().set_lru_gen_caps(enabled.into());
        let evicted = |os: &Self| {
            os.maps.memcg(cgroup).expect("it is online").vmstat().get(Counter::PgstealProactive)
        };
        let before = evicted(self);
        for _ in 0..2 {
            self.check(0, 0);
            self.flush_file();
            self.disk_interrupt();
            let (id, (seq, _)) =
                (cgroup.index(), self.maps.lru_gen_seqs(cgroup).expect("it is online"));
            let commands = format!("+ {id} 0 {seq}; + {id} 0 {}; - {id} 0 {seq} 100", seq + 1);
            let mut engine = self.engine();
            let done = lru_gen::write(&commands, |command| engine.lru_gen_command(command));
            done.expect("two generations are left, and no one else walks");
            self.disk_interrupt();
        }
        evicted(self) - before
    }

    /// Makes a process store a new number to one of two words of each page, on the given CPU.
    fn store(&mut self, cpu: usize, process: usize, pages: Range<u64>) {
        self.switch_to(cpu, process);
        for page in pages {
            self.stores += 1;
            let at = Word { page, word: 511 * (self.stores as usize / 3 % 2) };
            self.access(process, at, Some(self.stores));
            self.stored.insert(home(process, at), self.stores);
        }
    }

    /// Makes a process load both words of all its pages, which finds the values stored last.
    /// Returns the number of loads.
    fn check(&mut self, cpu: usize, process: usize) -> usize {
        self.switch_to(cpu, process);
        let mut loads = 0;
        for at in FILE.chain(HEAP).flat_map(|page| [0, 511].map(|word| Word { page, word })) {
            let found = self.access(process, at, None);
            let last = self.stored.get(&home(process, at)).copied().unwrap_or(0);
            assert_eq!(found, last, "process {process} loads {at:?}");
            loads += 1;
        }
        loads
    }
}

/// Returns the owner of a word. Words of the file are shared.
fn home(process: usize, at: Word) -> (Option<usize>, Word) {
    ((!FILE.contains(&at.page)).then_some(process), at)
}

/// The result of the run.
pub(crate) struct Outcome {
    /// The number of loads that found the value stored last: all of them.
    pub(crate) loads: usize,
    /// The pages that `memory.reclaim` reclaimed.
    pub(crate) reclaimed: u64,
    /// The frames that background reclaim left free.
    pub(crate) free: usize,
    /// The number of interrupts by which one CPU flushed another's TLB.
    pub(crate) interrupts: u32,
    /// The pages evicted with old generations, and the text of `lru_gen` then.
    pub(crate) evicted: u64,
    pub(crate) generations: String,
    /// The cgroup's `memory.stat`.
    pub(crate) stat: String,
}

fn scenario(os: &mut Os<'_, '_>) -> Outcome {
    os.spawn();
    os.spawn();
    // Each process runs on either CPU in turn. There is room for half of their memory: faults
    // reclaim.
    let mut loads = 0;
    for round in 0..4 {
        for process in 0..2 {
            let cpu = (round + process) % CPUS;
            os.store(cpu, process, HEAP);
            os.store(cpu, process, FILE.start + 8 * process as u64..FILE.end);
            loads += os.check(cpu, process);
        }
    }
    // A child shares its parent's pages, in memory and in swap, until either stores.
    os.fork(0);
    os.store(0, 0, HEAP.start..HEAP.start + 4);
    os.store(1, 2, HEAP.start + 2..HEAP.start + 8);
    // An administrator asks for memory back, and free frames run low.
    let reclaimed = os.memory_reclaim("64K swappiness=100");
    loads += os.check(1, 0) + os.check(0, 1) + os.check(1, 2);
    os.kswapd(FRAMES as u64 * 3 / 4);
    let free = os.machine.free_pages();
    loads += os.check(0, 0) + os.check(1, 1) + os.check(0, 2);
    let (evicted, generations) = (os.evict_by_generations(), os.lru_gen());
    loads += os.check(0, 0) + os.check(1, 1) + os.check(0, 2);
    let cgroup = os.cgroup;
    let stat = os.engine().memory_stat(cgroup).expect("it is online").to_string();
    assert!(os.maps.memcg(cgroup).expect("it is online").usage() <= LIMIT, "the limit holds");
    (0..3).for_each(|process| os.exit(process));
    os.disk_interrupt();
    assert_eq!(os.maps.free_slots(), SLOTS, "exits give swap slots back");
    let interrupts = os.machine.cpus.interrupts.get();
    Outcome { loads, reclaimed, free, interrupts, evicted, generations, stat }
}

pub(crate) fn run() -> Outcome {
    let entries: Vec<_> = (0..TABLES * Riscv64::PTES).map(|_| AtomicU64::new(0)).collect();
    let locks: [Lock; TABLES] = from_fn(|_| Lock::default());
    let mut bytes = [const { MaybeUninit::uninit() }; Memory::bytes_for(&LIMITS)];
    let memory = Memory::carve(&mut bytes, &LIMITS).expect("as many bytes as they take");
    let maps = MmState::new(memory, Pfn::new(0)).expect("few enough to number");
    let disk = Disk::new((FILE.end - FILE.start) as usize, SLOTS);
    let machine = Machine::new(&entries, &locks, disk);
    scenario(&mut Os::boot(&maps, machine))
}

/// The lines of `memory.stat` that the example prints.
const SHOWN: [&str; 9] = [
    "anon",
    "file",
    "workingset_refault_anon",
    "workingset_refault_file",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgsteal_proactive",
    "pswpout",
    "pgmajfault",
];

pub(crate) fn main() {
    let Outcome { loads, reclaimed, free, interrupts, evicted, generations, stat } = run();
    println!("engine memory: {} bytes for {FRAMES} frames", Memory::bytes_for(&LIMITS));
    println!("memory.reclaim of 16 pages got {reclaimed}; the background left {free} frames free");
    println!("{interrupts} interrupts told the other CPU to forget translations");
    let shown = |line: &&str| SHOWN.iter().any(|name| line.split(' ').next() == Some(name));
    println!("{evicted} pages went with old generations; left in lru_gen:\n{generations}");
    stat.lines().filter(shown).for_each(|line| println!("  {line}"));
    println!("{loads} loads found what was stored last");
}

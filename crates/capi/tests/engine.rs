//! C and Rust have one engine. A C program makes random calls of all of it on a small machine, and
//! the same calls are made here by the engine's own interface. Answers, results, callbacks and the
//! memory at the end are compared.
#![cfg(not(miri))] // it starts a compiler
#![forbid(unsafe_code)]

mod common;

use std::cell::{Cell, RefCell};
use std::io::{BufReader, Read};
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{Draw, compiled, fold};
use pageout_capi::types::Error;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{
    Env, Format, Level, Mmu, Notifier, Order, Pfn, Sound, Table, VirtAddr, VirtRange,
};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Access, Advice, Backing, CpuCtx, DirtyFolios, Engine, Fault, FaultKind, FolioFlags, FolioId,
    Frames, Io, IoError, Limits, LruvecId, MappingId, MappingKind, MemcgId, Memory, MmId, MmState,
    NewFolio, NewVma, NodeId, OutOfMemory, Place, ReclaimRequest, Submitted, TruncateError, Tuning,
    VmFlags, World,
};
use pageout_uapi::lru_gen;

/// The number of calls in each format. An engine with its assertions takes ten times as long.
const CASES: u64 = if cfg!(debug_assertions) { 20_000 } else { 500_000 };
const SEED: u64 = 18;

const FIRST: u64 = 0x100;
const FRAMES: usize = 256;
const WORDS: usize = 512;
const SLOTS: usize = 192;
const MMS: usize = 4;
const MAPS: usize = 8;
const MEMCGS: usize = 4;
const QUEUE: usize = 64;

const LIMITS: Limits = Limits {
    frames: FRAMES,
    folios: FRAMES,
    vmas: 96,
    mms: MMS,
    mappings: MAPS + MMS,
    memcgs: MEMCGS,
    nodes: 2,
    shadows: 128,
    slots: SLOTS,
    filters: 4,
};

#[test]
fn c_and_rust_agree_on_random_calls_of_the_engine() {
    let mut program = Command::new(compiled("engine"))
        .args([SEED.to_string(), CASES.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the C program starts");
    let mut records = BufReader::new(program.stdout.take().expect("its output is piped"));
    let arm64 = compare::<Arm64_4K>(&mut records, FlushPolicy::ARM64);
    let x86 = compare::<X86_64>(&mut records, FlushPolicy::X86);
    assert!(program.wait().expect("the C program ends").success());
    for (accesses, swapped) in [arm64, x86] {
        assert!(accesses > CASES / 10, "{accesses} accesses were made");
        assert!(swapped > CASES / 200, "{swapped} pages came from swap");
    }
}

/// Four threads of C share an engine, and each finds its pages as it left them.
#[test]
fn threads_of_c_share_an_engine() {
    let mut program = Command::new(compiled("threads"));
    let output = program.arg("50000").output().expect("the C program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
}

/// Makes every call in Rust, and compares it with C's. Returns the number of accesses that were
/// made in the end, and of pages read from swap.
fn compare<F: Format>(records: &mut impl Read, flush: FlushPolicy) -> (u64, u64) {
    let ram: Vec<AtomicU64> = (0..FRAMES * WORDS).map(|_| AtomicU64::new(0)).collect();
    let machine = Machine::<F>::new(&ram);
    let mut bytes = vec![MaybeUninit::uninit(); Memory::bytes_for(&LIMITS)];
    let memory = Memory::carve(&mut bytes, &LIMITS).expect("as many bytes as they take");
    let maps = MmState::new(memory, Pfn::new(FIRST)).expect("few enough to be numbered");
    for k in 1..FRAMES as u64 / 32 {
        maps.set_node_start(Pfn::new(FIRST + 32 * k), NodeId(k as u8 % 2)).expect("in order");
    }
    let mut cpu = CpuCtx::new();
    let engine = maps.on(&machine, &mut cpu, Tuning::recommended(flush));
    let mut run = Run::new(engine, &machine);
    let (mut accesses, mut swapped) = (0, 0);
    for number in 0..CASES {
        let (call, answer) = run.one_case();
        let answer = answer.unwrap_or_else(|error| i64::from(error as i32));
        if number + 1 == CASES {
            ram.iter().for_each(|word| machine.note(&[word.load(Relaxed)]));
            swapped = run.engine.vmstat().get("pswpin").expect("a counter");
        }
        let mut record = [0; 16];
        records.read_exact(&mut record).expect("a record for each case");
        let word = |k: usize| u64::from_ne_bytes(record[8 * k..][..8].try_into().expect("8 bytes"));
        let (c, rust) = ((word(0) as i64, word(1)), (answer, machine.trace.get()));
        assert_eq!(c, rust, "case {number} of seed {SEED}: {call}");
        accesses += u64::from(answer == ACCESSED);
    }
    (accesses, swapped)
}

/// The machine, and the parts of an operating system that the engine calls.
struct Machine<'m, F> {
    ram: &'m [AtomicU64],
    tables: HostTables<'m, F>,
    taken: RefCell<[bool; FRAMES]>,
    swap: RefCell<[u64; SLOTS]>,
    files: RefCell<[[u64; 256]; MAPS]>,
    /// Transfers in progress: folios, and true for reads.
    queue: RefCell<Vec<(FolioId, bool)>>,
    draw: RefCell<Draw>,
    trace: Cell<u64>,
    clock_ms: Cell<u64>,
    mmu: (),
}

impl<'m, F: Format> Machine<'m, F> {
    fn new(ram: &'m [AtomicU64]) -> Self {
        Self {
            ram,
            tables: HostTables::new(ram, Pfn::new(FIRST)),
            taken: RefCell::new([false; FRAMES]),
            swap: RefCell::new([0; SLOTS]),
            files: RefCell::new([[0; 256]; MAPS]),
            queue: RefCell::default(),
            draw: RefCell::new(Draw(SEED)),
            trace: Cell::new(0),
            clock_ms: Cell::new(0),
            mmu: (),
        }
    }

    fn below(&self, n: u64) -> u64 {
        self.draw.borrow_mut().below(n)
    }

    fn note(&self, words: &[u64]) {
        self.trace.set(fold(self.trace.get(), words));
    }

    fn page(&self, pfn: Pfn) -> &'m [AtomicU64] {
        &self.ram[pfn.offset_from(Pfn::new(FIRST)) as usize * WORDS..][..WORDS]
    }

    fn clear(&self, pfn: Pfn) {
        self.page(pfn).iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Gives the stored word of a transfer's page to `work`.
    fn stored(&self, io: Io, k: u64, work: impl FnOnce(&mut u64)) {
        match io.place {
            Place::Swap(slot) => work(&mut self.swap.borrow_mut()[slot.0 as usize + k as usize]),
            Place::File(mapping, index) => {
                let at = (index + k) as usize % 256;
                work(&mut self.files.borrow_mut()[mapping.index() % MAPS][at]);
            }
        }
    }

    fn submit(&self, io: Io, is_read: bool) -> Submitted {
        let (place, mapping, at) = match io.place {
            Place::File(mapping, index) => (0, mapping.to_bits(), index),
            Place::Swap(slot) => (1, 0, slot.0.into()),
        };
        let folio = io.folio.to_bits();
        self.note(&[if is_read { 5 } else { 6 }, folio, place, mapping, at, io.nr as u64]);
        let how = self.below(8);
        if how == 0 && self.below(4) == 0 {
            return Submitted::Failed(IoError::ALL[self.below(4) as usize]);
        }
        for k in 0..io.nr as u64 {
            let word = &self.page(io.pfn.add(k))[0];
            if is_read {
                self.clear(io.pfn.add(k));
                self.stored(io, k, |stored| word.store(*stored, Relaxed));
            } else {
                self.stored(io, k, |stored| *stored = word.load(Relaxed));
            }
        }
        let mut queue = self.queue.borrow_mut();
        if how != 1 || queue.len() == QUEUE {
            return Submitted::Done;
        }
        queue.push((io.folio, is_read));
        Submitted::Pending
    }

    /// Loads or stores the first word of a page as a CPU does. Returns `None` for a fault.
    fn access(&self, root: Pfn, addr: VirtAddr, store: Option<u64>) -> Option<u64> {
        let Descent::PteTable(frame, _) = descend(self, root, addr) else { return None };
        let (table, i) = (self.table(frame), F::index(Level::Pte, addr));
        let pte = table.load(i);
        if !F::is_valid(pte) {
            return None;
        }
        let used = if store.is_some() { F::hardware_dirty(pte)? } else { pte };
        table.cas(i, pte, F::mkyoung(used)).expect("one CPU");
        let word = &self.page(F::pfn(pte))[0];
        if let Some(value) = store {
            word.store(value, Relaxed);
        }
        Some(word.load(Relaxed))
    }
}

impl<F: Format> Mmu for Machine<'_, F> {
    fn caps(&self) -> Caps {
        Caps { range_limit: 64, cpus: 4, ..Caps::IDEAL }
    }

    fn invalidate(&self, what: Invalidate) {
        match what {
            Invalidate::Range { asid, start, nr, level } => {
                let level = u64::from(level != Level::Pte);
                self.note(&[7, asid.0.into(), start.get(), 8, nr as u64, level]);
            }
            Invalidate::AddressSpace(asid) => self.note(&[9, asid.0.into(), 0]),
            Invalidate::Everything => self.note(&[10]),
        }
    }

    fn barrier(&self, barrier: Barrier) {
        self.note(&[if barrier == Barrier::Publish { 11 } else { 12 }]);
    }
}

impl<'m, F: Format> Env for Machine<'m, F> {
    type Format = F;
    type Table = HostTable<'m, F>;
    type Mmu = Self;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = ()
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> HostTable<'m, F> {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, _: Pfn) -> Option<()> {
        Some(())
    }

    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn relax(&self) {}

    fn observer(&self) -> &() {
        &self.mmu
    }
}

impl<F: Format> Frames for Machine<'_, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        let mut taken = self.taken.borrow_mut();
        let runs = taken.chunks_exact_mut(order.nr_pages());
        let found = runs.enumerate().find(|(_, run)| run.iter().all(|taken| !taken));
        let pfn = found.map(|(k, run)| {
            run.fill(true);
            Pfn::new(FIRST + (k * order.nr_pages()) as u64)
        });
        self.note(&[1, pfn.map_or(u64::MAX, Pfn::get), order.get().into()]);
        pfn
    }

    fn free(&self, pfn: Pfn, order: Order) {
        self.note(&[2, pfn.get(), order.get().into()]);
        let first = (pfn.get() - FIRST) as usize;
        self.taken.borrow_mut()[first..][..order.nr_pages()].fill(false);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.alloc(Order::default()).inspect(|frame| self.clear(*frame))
    }

    fn free_table(&self, frame: Pfn) {
        self.free(frame, Order::default());
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.note(&[3, pfn.get(), nr as u64]);
        (0..nr as u64).for_each(|k| self.clear(pfn.add(k)));
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.note(&[4, from.get(), to.get()]);
        for k in 0..nr as u64 {
            let words = self.page(from.add(k)).iter().zip(self.page(to.add(k)));
            words.for_each(|(from, to)| to.store(from.load(Relaxed), Relaxed));
        }
    }

    fn free_pages(&self) -> usize {
        self.taken.borrow().iter().filter(|taken| !**taken).count()
    }

    fn free_pages_on(&self, node: NodeId) -> usize {
        let taken = self.taken.borrow();
        let on_node = |k: &usize| k / 32 % 2 == usize::from(node.0);
        (0..FRAMES).filter(|k| !taken[*k] && on_node(k)).count()
    }
}

impl<F: Format> Backing for Machine<'_, F> {
    fn read(&self, io: Io) -> Submitted {
        self.submit(io, true)
    }

    fn write(&self, io: Io) -> Submitted {
        self.submit(io, false)
    }
}

impl<F: Format> World for Machine<'_, F> {
    fn now_ms(&self) -> u64 {
        self.clock_ms.get()
    }
}

/// The answer of an access that was made in the end, and that of one that faulted four times.
const ACCESSED: i64 = 100;
const TIRED: i64 = 200;

type Answer = Result<i64, Error>;

/// The calls so far, and what they made.
struct Run<'e, 'm, F: Format> {
    engine: Engine<'e, Machine<'m, F>>,
    machine: &'e Machine<'m, F>,
    mms: [Option<MmId>; MMS],
    roots: [Pfn; MMS],
    alive: [bool; MMS],
    maps: [MappingId; MAPS],
    kinds: [MappingKind; MAPS],
    memcgs: [MemcgId; MEMCGS],
}

const KINDS: [MappingKind; 3] = [MappingKind::Anon, MappingKind::File, MappingKind::Shmem];

fn address(page: u64) -> VirtAddr {
    VirtAddr::new(if page < 128 { 0x4000_0000 } else { 0x7f00_0000_0000 } + (page << 12))
}

/// Returns the number of an outcome in C's header, with what it names.
fn outcome(fault: Fault) -> Result<(i64, u64, u64), Error> {
    let none = 0;
    Ok(match fault {
        Fault::Done(FaultKind::Minor) => (0, none, 0),
        Fault::Done(FaultKind::Major) => (1, none, 0),
        Fault::Pending(folio) => (2, folio.to_bits(), 0),
        Fault::BadAddress => (3, none, 0),
        Fault::WriteProtected => (4, none, 0),
        Fault::PastEnd => (5, none, 0),
        Fault::IoError(_) => (6, none, 0),
        Fault::Unsupported => (7, none, 0),
        Fault::OutOfMemory(OutOfMemory::Frames) => (8, none, 0),
        Fault::OutOfMemory(OutOfMemory::PageTables) => (9, none, 0),
        Fault::OutOfMemory(OutOfMemory::Table(_)) => (10, none, 0),
        Fault::OutOfMemory(OutOfMemory::Limit(memcg)) => (11, none, memcg.to_bits().into()),
        Fault::OutOfMemory(OutOfMemory::SlotEntries) => (12, none, 0),
        Fault::BadId(bad) => return Err(bad.into()),
    })
}

impl<'e, 'm, F: Format> Run<'e, 'm, F> {
    fn new(mut engine: Engine<'e, Machine<'m, F>>, machine: &'e Machine<'m, F>) -> Self {
        let kinds = std::array::from_fn(|i| KINDS[i % 3]);
        let maps = kinds.map(|kind| engine.add_mapping(kind).expect("there is room"));
        Self {
            engine,
            machine,
            mms: [None; MMS],
            roots: [Pfn::default(); MMS],
            alive: [false; MMS],
            maps,
            kinds,
            memcgs: [MemcgId::ROOT; MEMCGS],
        }
    }

    fn below(&self, n: u64) -> u64 {
        self.machine.below(n)
    }

    fn index(&self, n: usize) -> usize {
        self.machine.draw.borrow_mut().index(n)
    }

    fn note(&self, words: &[u64]) {
        self.machine.note(words);
    }

    /// Returns the address space, which may have ended, or the error of one that never was.
    fn mm(&self, i: usize) -> Result<MmId, Error> {
        self.mms[i].ok_or(Error::AddressSpace)
    }

    fn memcg(&self, i: usize) -> Result<MemcgId, Error> {
        let id = self.memcgs[i];
        self.engine.maps().memcg(id)?;
        Ok(id)
    }

    fn one_case(&mut self) -> (&'static str, Answer) {
        let pick = self.below(64);
        self.machine.clock_ms.set(self.machine.clock_ms.get() + self.below(20));
        match pick {
            0..36 => ("an access", self.touch()),
            36..41 => ("mmap", self.change_space(0)),
            41..46 => {
                let what = self.below(7);
                ("a call of a process", self.change_space(what))
            }
            46..49 => ("an address space", self.change_process(pick % 3)),
            49..52 => {
                let what = self.below(8);
                ("a cgroup", self.change_memcg(what))
            }
            52..55 => {
                let what = self.below(6);
                ("reclaim", self.reclaim(what))
            }
            55..59 => ("a transfer", self.end_transfer()),
            59..63 => {
                let what = self.below(8);
                ("a mapping", self.change_mapping(what))
            }
            _ => ("counters", self.note_stats()),
        }
    }

    fn touch(&mut self) -> Answer {
        let i = self.index(MMS);
        let (addr, word) = (address(self.below(192)), self.machine.draw.borrow_mut().next());
        let store = (self.below(2) == 0).then_some(word);
        let access = if store.is_some() { Access::Write } else { Access::Read };
        for _ in 0..4 {
            let done = self.alive[i].then(|| self.machine.access(self.roots[i], addr, store));
            if let Some(word) = done.flatten() {
                self.note(&[word]);
                return Ok(ACCESSED);
            }
            let fault = self.engine.handle_fault(self.mm(i)?, addr, access);
            let (number, folio, memcg) = outcome(fault)?;
            let failure = if let Fault::IoError(error) = fault { 2 + error as u64 } else { 0 };
            self.note(&[number as u64, folio, memcg, failure]);
            if number > 1 {
                return Ok(number);
            }
        }
        Ok(TIRED)
    }

    fn change_space(&mut self, what: u64) -> Answer {
        let (i, at) = (self.index(MMS), address(self.below(192)));
        let end = at.add(self.below(if what == 1 { 4 } else { 64 }) << 12);
        let to = address(self.below(192));
        let (bits, more) = (self.below(8), self.below(40));
        let at = if self.below(64) == 0 { at.add(self.below(4096)) } else { at };
        let range: VirtRange = at..end;
        if what == 0 {
            return self.mmap(i, range, bits);
        }
        let flags = VmFlags::from_bits_truncate(bits as u32);
        let empty = at >= end || (what == 3 && more == 0);
        // The border looks at addresses first, then at ids, then at other numbers.
        if empty && self.mm_is_named_first(what, i) {
            return Err(Error::AddressSpace);
        }
        if empty {
            return Err(Error::Addresses);
        }
        let mm = self.mm(i)?;
        match what {
            1 => self.engine.munmap_range(mm, &range)?,
            2 => self.engine.mprotect(mm, &range, flags)?,
            3 => self.engine.mremap(mm, &range, &(to..to.add(more << 12)))?,
            4 => self.engine.madvise(mm, &range, ADVICE[bits as usize % 7])?,
            5 => self.engine.mlock(mm, &range)?,
            _ => self.engine.munlock(mm, &range)?,
        }
        Ok(0)
    }

    /// Returns true if a call reads the number of an address space that never was before it reads
    /// the range: all but mremap.
    fn mm_is_named_first(&self, what: u64, i: usize) -> bool {
        what != 3 && self.mms[i].is_none()
    }

    fn mmap(&mut self, i: usize, range: VirtRange, bits: u64) -> Answer {
        let k = self.index(MAPS);
        let shared = self.kinds[k] != MappingKind::Anon && self.below(2) == 0;
        let pgoff = self.below(64);
        let mut flags = VmFlags::from_bits_truncate(bits as u32);
        if self.below(4) != 0 {
            flags |= VmFlags::READ | VmFlags::WRITE;
        }
        flags.set(VmFlags::SHARED, shared);
        let anon = self.kinds[k] == MappingKind::Anon;
        let pgoff = if anon { range.start.get() >> 12 } else { pgoff };
        if range.start >= range.end {
            return Err(Error::Addresses);
        }
        let mm = self.mm(i)?;
        self.engine.mmap(&NewVma { mm, range, flags, mapping: self.maps[k], pgoff })?;
        Ok(0)
    }

    fn change_process(&mut self, what: u64) -> Answer {
        let (i, from) = (self.index(MMS), self.index(MMS));
        if what == 0 && self.below(64) == 0 {
            self.engine.exit_mm(self.mm(i)?)?;
            self.machine.free_table(self.roots[i]);
            self.alive[i] = false;
            return Ok(0);
        }
        if self.alive[i] {
            self.engine.maps().lru_gen_use_mm(self.mm(i)?)?;
            return Ok(0);
        }
        let Some(root) = self.machine.alloc_table() else { return Ok(300) };
        let made = self.add_process(i, (what != 1).then_some(from), root);
        if made.is_err() {
            self.machine.free_table(root);
        }
        made
    }

    fn add_process(&mut self, i: usize, parent: Option<usize>, root: Pfn) -> Answer {
        let asid = Asid(i as u32 + 1);
        let mm = match parent {
            None => self.engine.add_mm(root, asid)?,
            Some(from) => self.engine.fork(self.mm(from)?, root, asid)?,
        };
        (self.mms[i], self.roots[i], self.alive[i]) = (Some(mm), root, true);
        self.note(&[mm.to_bits()]);
        Ok(0)
    }

    fn change_memcg(&mut self, what: u64) -> Answer {
        let (i, of, amount) = (self.index(MEMCGS), self.index(MEMCGS), self.below(160));
        let memcg = |run: &Self| run.engine.maps().memcg(run.memcgs[of]).expect("it is online");
        match what {
            0 => {
                let made = self.memcg(of).and_then(|parent| Ok(self.engine.add_memcg(parent)?));
                if let Ok(id) = made {
                    self.memcgs[i] = id;
                }
                self.note(&[self.memcgs[i].to_bits().into()]);
                made?;
            }
            1 => {
                let id = self.memcg(of)?;
                self.engine.remove_memcg(id)?;
            }
            2 if self.memcg(of)? == MemcgId::ROOT => return Err(Error::Memcg),
            2 => memcg(self).set_max(if amount < 30 { u64::MAX } else { amount }),
            3 => self.memcg(of).map(|_| memcg(self).set_min(amount / 8))?,
            4 => self.memcg(of).map(|_| memcg(self).set_low(amount / 4))?,
            5 => {
                self.memcg(of)?;
                let swappiness = u8::try_from(2 * amount).map_err(|_| Error::Number)?;
                memcg(self).set_swappiness(swappiness).map_err(|_| Error::Number)?;
            }
            6 => {
                let mm = self.index(MMS);
                let id = self.memcg(of)?;
                self.engine.set_memcg(self.mm(mm)?, id)?;
            }
            _ => {
                self.memcg(of)?;
                self.note(&[memcg(self).usage()]);
            }
        }
        Ok(0)
    }

    fn reclaim(&mut self, what: u64) -> Answer {
        let (of, amount) = (self.index(MEMCGS), self.below(64));
        match what {
            0 => {
                let nr = self.engine.try_to_free_pages();
                self.note(&[nr]);
            }
            1 => {
                let node = NodeId(amount as u8 % 3);
                let _named_twice = self.engine.maps().set_high_watermark(node, amount);
                return Ok(i64::from(self.engine.balance(node)?));
            }
            2 => {
                let text = format!("{amount}K swappiness={}", amount * 4);
                let request = ReclaimRequest::parse(&text)?;
                let memcg = self.memcg(of)?;
                let nr = self.engine.memory_reclaim(memcg, request)?;
                self.note(&[nr]);
            }
            3 => {
                let bits = if amount < 48 { 3 } else { amount % 10 };
                let caps = LruGenCaps::from_bits(bits as u8).ok_or(Error::Number)?;
                self.engine.set_lru_gen_caps(caps);
            }
            _ => {
                let memcg = self.memcg(of)?;
                let node = NodeId(amount as u8 / 4 % 2);
                let (youngest, oldest) = self
                    .engine
                    .maps()
                    .lru_gen_seqs(LruvecId { memcg, node })
                    .expect("it is online");
                self.note(&[youngest, oldest[0], oldest[1]]);
                let (sign, seq) = match amount % 2 {
                    0 => ('-', oldest[0] + amount % 3),
                    _ => ('+', youngest),
                };
                let (id, swappiness) = (memcg.index(), amount % 5 * 50);
                let text = format!("{sign} {id} {} {seq} {swappiness} {amount}", node.0);
                lru_gen::write(&text, |command| self.engine.lru_gen_command(command))?;
            }
        }
        Ok(0)
    }

    fn end_transfer(&mut self) -> Answer {
        let nr = self.machine.queue.borrow().len();
        if nr == 0 {
            return Ok(400);
        }
        let (i, how) = (self.index(nr), self.below(16));
        let result = if how < 12 { Ok(()) } else { Err(IoError::ALL[how as usize % 4]) };
        let (folio, is_read) = self.machine.queue.borrow_mut().swap_remove(i);
        self.note(&[self.engine.maps().transfer_is_pending(folio).into()]);
        match is_read {
            true => self.engine.read_done(folio, result)?,
            false => self.engine.write_done(folio, result)?,
        }
        Ok(0)
    }

    fn change_mapping(&mut self, what: u64) -> Answer {
        let (i, page, of) = (self.index(MAPS), self.below(96), self.index(MEMCGS));
        let mapping = self.maps[i];
        match what {
            0 if self.below(8) != 0 => return Ok(450),
            0 => {
                let used = self.engine.maps().mapping_is_used(mapping)?;
                if self.kinds[i] != MappingKind::Anon && used {
                    return Err(Error::MappingUsed);
                }
                self.engine.remove_mapping(mapping)?;
                self.kinds[i] = KINDS[page as usize % 3];
                self.maps[i] = self.engine.add_mapping(self.kinds[i]).expect("there is room");
                self.note(&[0, self.maps[i].to_bits()]);
            }
            1 => {
                let error = self.engine.maps().mapping(mapping)?.take_write_error();
                self.note(&[error.map_or(0, |error| 2 + error as u64)]);
                let size = if page < 10 { page + 40 } else { 1 << 40 };
                self.engine.maps().mapping(mapping)?.set_size(size);
            }
            2 => {
                let order = Order::new((page % 4) as u8).expect("a small order");
                self.engine.maps().mapping(mapping)?.set_order(order);
            }
            3 => {
                let cut = self.engine.truncate(mapping, page);
                let pending = matches!(cut, Err(TruncateError::Pending(_)));
                let folio =
                    if let Err(TruncateError::Pending(id)) = cut { id.to_bits() } else { 0 };
                self.note(&[folio]);
                match cut {
                    _ if pending => return Err(Error::Pending),
                    Err(TruncateError::BadId(bad)) => return Err(bad.into()),
                    Err(_) => return Err(Error::Kind),
                    Ok(()) => {}
                }
            }
            4 => {
                let nr = self.write_back(mapping, page % 8)?;
                self.note(&[nr]);
            }
            5 => return self.add_folio(i, page, of),
            _ => return self.use_folio(mapping, page),
        }
        Ok(0)
    }

    fn write_back(&mut self, mapping: MappingId, most: u64) -> Result<u64, Error> {
        if self.engine.maps().mapping(mapping)?.kind() != MappingKind::File {
            return Err(Error::Kind);
        }
        let (mut walk, mut started) = (DirtyFolios::of(mapping), 0);
        while started < most {
            let Some(id) = self.engine.next_dirty(&mut walk)? else { break };
            let begun = self.engine.write_back(id).expect("it lives");
            started += u64::from(matches!(begun, Some(Submitted::Done | Submitted::Pending)));
            self.engine.release(id, 1)?;
        }
        Ok(started)
    }

    fn add_folio(&mut self, i: usize, page: u64, of: usize) -> Answer {
        let order = Order::new((page % 3) as u8).expect("a small order");
        let Some(pfn) = self.machine.alloc(order) else { return Ok(500) };
        let index = page >> order.get() << order.get();
        let (mapping, flags) = (self.maps[i], FolioFlags::UPTODATE);
        let added = self.insert(NewFolio { pfn, order, mapping, index, flags }, of);
        match added {
            Ok(id) => {
                self.note(&[id.to_bits()]);
                self.engine.release(id, 1)?;
                Ok(0)
            }
            Err(error) => {
                self.machine.free(pfn, order);
                Err(error)
            }
        }
    }

    fn insert(&mut self, new: NewFolio, of: usize) -> Result<FolioId, Error> {
        if self.engine.maps().mapping(new.mapping)?.kind() != MappingKind::File {
            return Err(Error::Kind);
        }
        let memcg = self.memcg(of)?;
        let id = self.engine.add_folio(new)?;
        if let Err(full) = self.engine.charge(id, memcg) {
            self.engine.remove_folio(id).expect("nothing else uses it");
            return Err(full.into());
        }
        let guard = self
            .engine
            .maps()
            .folio(id)
            .expect("it lives")
            .try_lock()
            .expect("no one else knows it");
        let added = self.engine.filemap_add_folio(id);
        drop(guard);
        let Ok(shadow) = added else {
            self.engine.remove_folio(id).expect("nothing else uses it");
            return Err(Error::Exists);
        };
        if let Some(shadow) = shadow {
            self.engine.workingset_refault(id, shadow).expect("it lives");
        }
        self.engine.lru_add(id).expect("it lives");
        Ok(id)
    }

    fn use_folio(&mut self, mapping: MappingId, page: u64) -> Answer {
        let Some(id) = self.engine.filemap_get_folio(mapping, page)? else { return Ok(0) };
        let folio = self.engine.maps().folio(id).expect("it lives");
        self.note(&[0, id.to_bits(), folio.pfn().get(), folio.order().get().into()]);
        match page % 2 {
            0 => self.engine.maps().note_dirty(folio),
            _ => self.engine.mark_accessed(id).expect("it lives"),
        }
        self.note(&[0]);
        self.engine.release(id, 1)?;
        Ok(0)
    }

    fn note_stats(&mut self) -> Answer {
        let vmstat = self.engine.vmstat();
        let stat = self.engine.memory_stat(MemcgId::ROOT).expect("it is online");
        let events = self.engine.memory_events(MemcgId::ROOT).expect("it is online");
        for (_, value) in vmstat.0.iter().chain(&stat.0).chain(&events.0) {
            self.note(&[*value]);
        }
        self.note(&[0, self.engine.maps().free_slots() as u64, 0]);
        Ok(600)
    }
}

/// Advice in the order of C's numbers.
const ADVICE: [Advice; 7] = [
    Advice::Normal,
    Advice::Sequential,
    Advice::Random,
    Advice::Cold,
    Advice::PageOut,
    Advice::Free,
    Advice::DontNeed,
];

//! The engine on an embedder's world whose tables are checked. The world is the least that an
//! embedder writes, and knows nothing of the checks. If there is a mistake in its TLB maintenance,
//! in its supplies, or in the engine itself, the checks name the rule that is broken.

use pageout_exhibits::{Bug, Faulty};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::pte::{Arm64_4K, Riscv64, X86_64};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::testing::{LazyMmu, Machine, Tlbs};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::{Env, Format, Mmu, Notifier, Order, Pfn, Rules, Sound, Table, VirtAddr};
use pageout_reclaim::{
    Access, Backing, CpuCtx, Engine, Fault, Frames, Io, Limits, MappingKind, MemcgId, Memory, MmId,
    MmState, NewVma, ReclaimRequest, Submitted, Tuning, VmFlags, World,
};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;

const TABLES: Pfn = Pfn::new(1 << 20);
const NR_TABLES: u64 = 24;
const PAGES: u64 = 12;
/// The first page of anonymous memory, and of a file.
const ANON: u64 = 0x100;
const FILE: u64 = 0x200;
/// The pages that hardware uses on its own: few enough that others can be reclaimed.
const HOT: u64 = 4;
const HELD: usize = 256;
const LIMITS: Limits = Limits {
    frames: PAGES as usize,
    folios: PAGES as usize,
    vmas: 4,
    mms: 2,
    mappings: 2,
    slots: 64,
    ..Limits::NOTHING
};

/// The choices, with which a page that is found unused stays in TLBs until it is unmapped.
const TUNING: Tuning = Tuning::recommended(FlushPolicy::X86);

/// The embedder's mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    None,
    NoInvalidation,
    /// Barriers before invalidations are left out.
    NoPublish,
    /// Barriers after invalidations are left out.
    NoBarrier,
    SharedAsid,
    /// A frame in use is freed.
    FreeInUse,
    /// A page table in use is freed.
    FreeTableInUse,
}

/// TLB maintenance, which calls the machine's.
struct Maintenance<'t, F> {
    machine: LazyMmu<'t, F, HELD>,
    mistake: Mistake,
}

impl<F: Format> Mmu for Maintenance<'_, F> {
    fn caps(&self) -> Caps {
        self.machine.caps()
    }
    fn invalidate(&self, what: Invalidate) {
        if self.mistake != Mistake::NoInvalidation {
            self.machine.invalidate(what);
        }
    }
    fn barrier(&self, barrier: Barrier) {
        let left_out = match barrier {
            Barrier::Publish => Mistake::NoPublish,
            Barrier::Complete => Mistake::NoBarrier,
        };
        if self.mistake != left_out {
            self.machine.barrier(barrier);
        }
    }
    fn invalidate_local(&self, what: Invalidate) {
        self.machine.invalidate_local(what);
    }
}

struct Kernel<'t, F, R> {
    tables: HostTables<'t, F>,
    mmu: Maintenance<'t, F>,
    free: RefCell<Vec<Pfn>>,
    free_tables: RefCell<Vec<Pfn>>,
    rules: PhantomData<R>,
}

impl<'t, F: Format, R: Rules> Env for Kernel<'t, F, R> {
    type Format = F;
    type Table = HostTable<'t, F>;
    type Mmu = Maintenance<'t, F>;
    type Rules = R;
    type Observer = ();
    type TableGuard<'a>
        = ()
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> HostTable<'t, F> {
        self.tables.table(frame)
    }
    fn mmu(&self) -> &Maintenance<'t, F> {
        &self.mmu
    }
    fn try_lock_table(&self, _: Pfn) -> Option<()> {
        Some(())
    }
    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        None
    }
    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {}
}

impl<F: Format, R: Rules> Frames for Kernel<'_, F, R> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        if order == Order::default() { self.free.borrow_mut().pop() } else { None }
    }
    fn free(&self, pfn: Pfn, _: Order) {
        self.free.borrow_mut().push(pfn);
    }
    fn alloc_table(&self) -> Option<Pfn> {
        self.free_tables.borrow_mut().pop()
    }
    fn free_table(&self, frame: Pfn) {
        self.free_tables.borrow_mut().push(frame);
    }
    fn zero(&self, _: Pfn, _: usize) {}
    fn copy(&self, _: Pfn, _: Pfn, _: usize) {}
    fn free_pages(&self) -> usize {
        self.free.borrow().len()
    }
}

impl<F: Format, R: Rules> Backing for Kernel<'_, F, R> {
    fn read(&self, _: Io) -> Submitted {
        Submitted::Done
    }
    fn write(&self, _: Io) -> Submitted {
        Submitted::Done
    }
}

impl<F: Format, R: Rules> World for Kernel<'_, F, R> {
    fn now_ms(&self) -> u64 {
        0
    }
}

type On<'m, 't, F, R> = pageout_paging::testing::Checked<'m, Kernel<'t, F, R>, HELD>;

/// Lets a process and its child use more pages than there are frames, private ones and a file's. So
/// pages are swapped, read again, copied and freed. Hardware uses the first pages of the parent at
/// any time.
fn run<F: Format, R: Rules>(shootdown: Shootdown, mistake: Mistake) {
    let memory: Vec<_> = (0..NR_TABLES * F::PTES as u64).map(|_| AtomicU64::new(0)).collect();
    let tlbs = Tlbs::<F, HELD>::new(Caps { range_limit: 34, shootdown, ..Caps::IDEAL });
    let world = Kernel::<'_, F, R> {
        tables: HostTables::new(&memory, TABLES),
        mmu: Maintenance { machine: tlbs.mmu(0), mistake },
        free: RefCell::new((0..PAGES).map(Pfn::new).collect()),
        free_tables: RefCell::new((0..NR_TABLES).map(|k| TABLES.add(k)).collect()),
        rules: PhantomData,
    };
    let machine = Machine::new(world, &tlbs);
    let world = machine.checked();
    let mut bytes = [const { MaybeUninit::uninit() }; Memory::bytes_for(&LIMITS)];
    let memory = Memory::carve(&mut bytes, &LIMITS).expect("as many bytes as they take");
    let maps = MmState::new(memory, Pfn::new(0)).expect("few enough to be numbered");
    let mut cpu = CpuCtx::new();
    let mut engine = maps.on(&world, &mut cpu, TUNING);

    let range = page::<F>(ANON)..page::<F>(ANON + 2 * PAGES);
    let root = world.alloc_table().expect("a root table");
    tlbs.run(Asid(1), root);
    let parent = engine.add_mm(root, Asid(1)).expect("the first");
    let mapping = engine.add_mapping(MappingKind::Anon).expect("the first");
    let flags = VmFlags::READ | VmFlags::WRITE;
    let new = NewVma { mm: parent, range: range.clone(), flags, mapping, pgoff: ANON };
    engine.mmap(&new).expect("nothing is in the way");
    let file = engine.add_mapping(MappingKind::File).expect("the second");
    let at = page::<F>(FILE)..page::<F>(FILE + 2 * PAGES);
    let new = NewVma { mm: parent, range: at, flags: VmFlags::READ, mapping: file, pgoff: 0 };
    engine.mmap(&new).expect("nothing is in the way");
    machine.act_at_random(1, root, range.start..page::<F>(ANON + HOT));
    touch_all(&mut engine, &machine, parent, (ANON, Access::Write));

    let child_asid = if mistake == Mistake::SharedAsid { Asid(1) } else { Asid(2) };
    let child_root = world.alloc_table().expect("a root table");
    tlbs.run(child_asid, child_root);
    let child = engine.fork(parent, child_root, child_asid).expect("room for a child");
    touch_all(&mut engine, &machine, parent, (FILE, Access::Read));
    touch_all(&mut engine, &machine, child, (ANON, Access::Write));
    touch_all(&mut engine, &machine, parent, (ANON, Access::Write));
    if mistake == Mistake::FreeInUse {
        (0..PAGES).for_each(|k| world.free(Pfn::new(k), Order::default()));
    }
    if mistake == Mistake::FreeTableInUse {
        world.free_table(F::pfn(machine.env().table(root).load(0)));
    }
    for (mm, root) in [(parent, root), (child, child_root)] {
        machine.rest();
        engine.exit_mm(mm).expect("it lives");
        tlbs.end(root);
        assert!(!tlbs.may_hold(root, range.start), "exit_mm flushes");
        world.free_table(root);
    }
    engine.remove_mapping(mapping).expect("it lives");
    while engine.memory_reclaim(MemcgId::ROOT, ReclaimRequest::of(4096)).is_ok() {}
    assert_eq!(world.free_pages() as u64, PAGES, "all is free again");
}

fn page<F: Format>(number: u64) -> VirtAddr {
    VirtAddr::new(number << F::PAGE_SHIFT)
}

/// Uses each page of the process as hardware does, with faults.
fn touch_all<'m, 't, F: Format, R: Rules>(
    engine: &mut Engine<'_, On<'m, 't, F, R>>,
    machine: &Machine<'t, Kernel<'t, F, R>, HELD>,
    mm: MmId,
    (first, access): (u64, Access),
) {
    let root = engine.maps().mm(mm).expect("it lives").root();
    for number in first..first + 2 * PAGES {
        while !machine.access(root, page::<F>(number), access == Access::Write) {
            let fault = engine.handle_fault(mm, page::<F>(number), access);
            assert!(matches!(fault, Fault::Done(_)), "{fault:?}");
        }
    }
}

fn everywhere<R: Rules>(mistake: Mistake) {
    for shootdown in [Shootdown::Broadcast, Shootdown::Ipi] {
        run::<X86_64, R>(shootdown, mistake);
        run::<Arm64_4K, R>(shootdown, mistake);
        run::<Riscv64, R>(shootdown, mistake);
    }
}

#[test]
fn an_engine_on_a_checked_world_breaks_no_rule() {
    everywhere::<Sound>(Mistake::None);
}

#[test]
#[should_panic(expected = "while a TLB may hold")]
fn a_world_without_invalidations_is_found() {
    everywhere::<Sound>(Mistake::NoInvalidation);
}

#[test]
#[should_panic(expected = "before a barrier published the change of its entry")]
fn a_world_without_barriers_before_invalidations_is_found() {
    everywhere::<Sound>(Mistake::NoPublish);
}

#[test]
#[should_panic(expected = "no barrier of that CPU has completed it")]
fn a_world_without_barriers_after_invalidations_is_found() {
    everywhere::<Sound>(Mistake::NoBarrier);
}

#[test]
#[should_panic(expected = "one ASID, one address space")]
fn an_asid_of_two_processes_is_found() {
    everywhere::<Sound>(Mistake::SharedAsid);
}

#[test]
#[should_panic(expected = "flush before free")]
fn a_frame_freed_while_it_is_mapped_is_found() {
    everywhere::<Sound>(Mistake::FreeInUse);
}

#[test]
#[should_panic(expected = "while the Pgd entry for 0x0 leads there")]
fn a_table_freed_while_an_entry_leads_to_it_is_found() {
    everywhere::<Sound>(Mistake::FreeTableInUse);
}

#[test]
#[should_panic(expected = "flush before free")]
fn an_engine_that_frees_before_it_flushes_is_found() {
    Bug::during(Some(Bug::FreeBeforeFlush), || everywhere::<Faulty>(Mistake::None));
}

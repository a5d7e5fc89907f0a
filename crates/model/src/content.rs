//! Content: programs read what they wrote last, whatever TLBs hold.
//!
//! Programs on three cores read and write memory while a fourth reclaims it. Each store leaves a
//! token in the frame that the core's TLB leads to, stale or not. Writing out takes the frames'
//! content when a transfer begins, the earliest possible time. The same holds for guests of virtual
//! machines.

use super::{Kernel, Model, ModelEnv, ModelRun, ModelTable, Swap, Vm};
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::variant::{Lru, Variant};
use pageout_host::layout::{Arena, Ground, MAP_START};
use pageout_machine::platform::{Draw, Invalidation, Platform, Shape};
use pageout_machine::tlb::LevelShape;
use pageout_machine::{CoreId, LockGuard, Machine, Task, TaskSpec, Time};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::tlb::YoungFlush;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Env, Notifier, Order, Pfn, Sound, VirtAddr};
use pageout_reclaim::{
    Access, Backing, CpuCtx, Fault, FlushTiming, Frames, Io, Limits, MappingId, MappingKind,
    MemcgId, MmId, NewVma, ReclaimRequest, Submitted, Tuning, VmFlags, World,
};
use pageout_sim::Memory;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// The number of pages of each area.
const PAGES: u64 = 48;

/// Memory, and the content of it that programs expect.
struct Content {
    memory: RefCell<Memory>,
    expected: RefCell<BTreeMap<(u32, VirtAddr), u64>>,
    wrong: Cell<u64>,
    tokens: Cell<u64>,
}

impl Content {
    /// Returns memory of this number of frames, and a file of zeros.
    fn new(frames: usize, file: MappingId) -> Self {
        let mut memory = Memory::new(Pfn::new(0)..Pfn::new(frames as u64));
        memory.storage.truncated(file, 0);
        let (expected, wrong, tokens) = Default::default();
        Self { memory: RefCell::new(memory), expected, wrong, tokens }
    }

    /// Checks an access of a program that reached the frame `pfn` by address `at`. `whose` tells
    /// memory of different owners apart.
    fn reached(&self, whose: u32, at: VirtAddr, pfn: Pfn, store: bool) {
        let mut expected = self.expected.borrow_mut();
        let expected = expected.entry((whose, at)).or_insert(0);
        let mut memory = self.memory.borrow_mut();
        let found = memory.content(pfn);
        self.wrong.set(self.wrong.get() + u64::from(found != *expected));
        if store {
            self.tokens.set(self.tokens.get() + 1);
            *expected = self.tokens.get();
            // A free frame stays garbage, so that later accesses find it too.
            if memory.frame(pfn).used {
                memory.set_content(pfn, *expected);
            }
        }
    }
}

/// A [`ModelEnv`] whose frames have content.
struct Watched<'w, 'e, 'a, F: Arch> {
    env: &'w ModelEnv<'e, 'a, F>,
    content: &'w Content,
    /// True if flushes reach the machine and virtual machines. False is a deliberate mistake.
    flushes: bool,
}

impl<'e, 'a, F: Arch> Env for Watched<'_, 'e, 'a, F> {
    type Format = F;
    type Table = ModelTable<'e, 'a, F>;
    type Mmu = Self;
    type Rules = Sound;
    type Observer = ModelEnv<'e, 'a, F>;
    type TableGuard<'g>
        = LockGuard<'e, 'a, F>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.env.table(frame)
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<Self::TableGuard<'_>> {
        self.env.try_lock_table(frame)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        self.env.notifier(asid).filter(|_| self.flushes)
    }

    fn need_resched(&self) -> bool {
        self.env.need_resched()
    }

    fn observer(&self) -> &ModelEnv<'e, 'a, F> {
        self.env
    }

    fn relax(&self) {
        self.env.relax();
    }
}

impl<F: Arch> Mmu for Watched<'_, '_, '_, F> {
    fn caps(&self) -> Caps {
        self.env.caps()
    }

    fn invalidate(&self, what: Invalidate) {
        if self.flushes {
            self.env.invalidate(what);
        }
    }

    fn barrier(&self, barrier: Barrier) {
        if self.flushes {
            self.env.barrier(barrier);
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.env.invalidate_local(what);
    }

    fn remote(&self, asid: Asid) -> bool {
        self.env.remote(asid)
    }

    fn defer(&self, asid: Asid) {
        if self.flushes {
            self.env.defer(asid);
        }
    }
}

impl<F: Arch> Frames for Watched<'_, '_, '_, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        let pfn = self.env.alloc(order)?;
        self.content.memory.borrow_mut().alloc_run(pfn, order);
        Some(pfn)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        let freed = self.content.memory.borrow_mut().free(pfn, order);
        freed.expect("frames are freed once");
        self.env.free(pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.env.alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.env.free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.content.memory.borrow_mut().zero(pfn, nr);
        self.env.zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.content.memory.borrow_mut().copy(from, to, nr);
        self.env.copy(from, to, nr);
    }

    fn free_pages(&self) -> usize {
        self.env.free_pages()
    }
}

impl<F: Arch> Backing for Watched<'_, '_, '_, F> {
    fn read(&self, io: Io) -> Submitted {
        self.content.memory.borrow_mut().submit(false, io);
        self.env.read(io)
    }

    fn write(&self, io: Io) -> Submitted {
        self.content.memory.borrow_mut().submit(true, io);
        self.env.write(io)
    }
}

impl<F: Arch> World for Watched<'_, '_, '_, F> {
    fn now_ms(&self) -> u64 {
        self.env.now_ms()
    }
}

/// A case of the test: a machine, a policy, a seed.
#[derive(Clone, Copy, Debug)]
struct Case {
    platform: &'static str,
    format: FormatName,
    lru: Lru,
    flush: YoungFlush,
    shootdown: FlushTiming,
    seed: u64,
    flushes: bool,
    /// True if the programs are guests.
    guests: bool,
}

/// The outcome of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Outcome {
    /// The number of accesses that reached wrong content.
    wrong: u64,
    /// Accesses through entries whose page was old, and those whose page was no longer mapped.
    hidden: [u64; 2],
    /// The number of pages reclaimed, which programs then wrote to or read again.
    reclaimed: u64,
}

impl Case {
    fn variant(&self) -> Variant {
        let batched = Variant::of(YoungAlgorithm::Batched);
        Variant { lru: self.lru, flush: Some(self.flush), shootdown: self.shootdown, ..batched }
    }

    /// Returns a virtual machine for each address space if programs are guests.
    fn vms<F: Arch>(self, ground: &Ground<'_, F>, spaces: &Spaces) -> Vec<Vm> {
        let vm = |space: u32| {
            let root = ground.supply.alloc_table().expect(SIZED);
            Vm::new((Asid(space), spaces[space as usize].1), (Asid(2 + space), root))
        };
        let spaces = if self.guests { 0..2 } else { 0..0 };
        spaces.map(vm).collect()
    }

    /// Returns a shape whose TLB drops some entries by itself, and which holds invalidations back
    /// if its architecture can.
    fn shape(platform: &Platform) -> Shape {
        let mut shape = platform.shape().clone();
        shape.cores = 4;
        shape.tlb.l1 = LevelShape { sets: 4, ways: 16 };
        shape.tlb.l2 = None;
        if let Invalidation::Broadcast(broadcast) = &mut shape.invalidation {
            broadcast.hold = 64;
        }
        shape
    }

    fn run(self) -> Outcome {
        with_format!(self.format, F => self.run_as::<F>())
    }

    fn run_as<F: Arch>(self) -> Outcome {
        let platform = Platform::named(self.platform).expect("a shipped platform");
        let pages = 3 * PAGES as usize;
        let limits = Limits {
            frames: 2 * pages,
            folios: 2 * pages,
            vmas: 4,
            mms: 2,
            mappings: 3,
            memcgs: 1,
            nodes: 1,
            shadows: pages,
            slots: pages,
            filters: 4,
        };
        let mut arena = Arena::new::<F>(&limits, 64);
        let ground = arena.ground::<F>();
        let shape = Self::shape(&platform);
        ground.switch_with(self.lru, shape.caps::<F>());
        let threads = NonZeroUsize::MIN;
        let seed = self.seed;
        let model = Model { platform: None, cores: None, draws: 0, runs: 1, seed, threads };
        let mut setup = model.setup(&platform, ModelRun { draw: Draw::Nominal, seed });
        setup.shape = shape;
        let machine = Machine::new(setup, ground.env.tables());
        let (memcg, file, spaces) = add_spaces(&ground);
        let content = Content::new(limits.frames, file);
        let kernel = Kernel::new::<F>(ground.supply, Swap::Device);
        let kernel = kernel.with_vms(self.vms(&ground, &spaces));
        let run = Run::new(self, &ground, &kernel, (memcg, spaces), content);
        let mut tasks = vec![run.reclaiming()];
        tasks.extend((0..3).map(|core| run.program(core)));
        let report = machine.run(tasks);
        Outcome {
            wrong: run.content.wrong.get(),
            hidden: [report.hidden.accesses, report.hidden.after_unmap],
            reclaimed: run.reclaimed.get(),
        }
    }
}

const SIZED: &str = "the arena is sized for the test";

/// Address spaces, each with its root table.
type Spaces = [(MmId, Pfn); 2];

/// Adds two address spaces with private memory and a file that both may write to.
fn add_spaces<F: Arch>(ground: &Ground<'_, F>) -> (MemcgId, MappingId, Spaces) {
    let Ground { env, maps, supply } = ground;
    let cpu = &mut CpuCtx::new();
    let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
    let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
    let file = engine.add_mapping(MappingKind::File).expect(SIZED);
    let spaces = [0, 1].map(|space| {
        let root = supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, Asid(space)).expect(SIZED);
        engine.set_memcg(mm, memcg).expect("it lives");
        let anon = engine.add_mapping(MappingKind::Anon).expect(SIZED);
        let flags = VmFlags::READ | VmFlags::WRITE;
        for (area, flags, mapping) in [(0, flags, anon), (1, flags | VmFlags::SHARED, file)] {
            let range = page::<F>(area, 0)..page::<F>(area, PAGES);
            engine.mmap(&NewVma { mm, range, flags, mapping, pgoff: 0 }).expect(SIZED);
        }
        maps.lru_gen_use_mm(mm).expect("it lives");
        (mm, root)
    });
    (memcg, file, spaces)
}

struct Run<'r, 'a, F: Arch> {
    case: Case,
    ground: &'r Ground<'a, F>,
    kernel: &'r Kernel<'r>,
    memcg: MemcgId,
    spaces: Spaces,
    tuning: Tuning,
    content: Content,
    reclaimed: Cell<u64>,
    left: Cell<u32>,
}

impl<'r, 'a, F: Arch> Run<'r, 'a, F> {
    fn new(
        case: Case,
        ground: &'r Ground<'a, F>,
        kernel: &'r Kernel<'r>,
        (memcg, spaces): (MemcgId, Spaces),
        content: Content,
    ) -> Self {
        let tuning = case.variant().tuning(F::FLUSH);
        let (reclaimed, left) = (Cell::new(0), Cell::new(3));
        Self { case, ground, kernel, memcg, spaces, tuning, content, reclaimed, left }
    }

    fn on<R>(&self, task: &Task<'_, 'a, F>, work: impl FnOnce(&Watched<'_, '_, 'a, F>) -> R) -> R {
        let (content, flushes) = (&self.content, self.case.flushes);
        self.kernel.on(task, |env| work(&Watched { env, content, flushes }))
    }

    /// Reports to the engine which transfers have ended.
    fn end_transfers(&self, task: &Task<'_, 'a, F>, cpu: &mut CpuCtx) {
        let maps = &self.ground.maps;
        self.on(task, |world| self.kernel.end_transfers_of(world, task.now(), maps, cpu));
    }

    fn reclaiming(&'r self) -> TaskSpec<'r, 'a, F> {
        let body = move |task: &Task<'_, 'a, F>| {
            let mut cpu = CpuCtx::new();
            let request = ReclaimRequest::of(8 << F::PAGE_SHIFT);
            while self.left.get() > 0 {
                let reclaimed = self.on(task, |world| {
                    let maps = &self.ground.maps;
                    maps.on(world, &mut cpu, self.tuning).memory_reclaim(self.memcg, request)
                });
                self.reclaimed.set(self.reclaimed.get() + reclaimed.unwrap_or(0));
                task.wait_until(task.now() + Time::from_ns(20_000));
                self.end_transfers(task, &mut cpu);
            }
        };
        TaskSpec::new("reclaim", body).on(CoreId(0))
    }

    /// Returns a program: two threads run in the first address space, one in the second.
    fn program(&'r self, which: u16) -> TaskSpec<'r, 'a, F> {
        let space = u32::from(which) / 2;
        let (mm, root) = self.spaces[space as usize];
        let vm = self.kernel.vms().get(space as usize);
        let body = move |task: &Task<'_, 'a, F>| {
            match vm {
                Some(vm) => vm.enter(task),
                None => task.load_mm(Asid(space), root),
            }
            let mut cpu = CpuCtx::new();
            let mut random = fastrand::Rng::with_seed(self.case.seed * 4 + u64::from(which));
            for _ in 0..1_500 {
                let (area, store) = (random.u64(0..2), random.u8(0..3) == 0);
                // A few pages are used repeatedly.
                let nr = if random.bool() { random.u64(0..6) } else { random.u64(0..PAGES) };
                let at = page::<F>(area, nr);
                while task.access(at, store).is_err() {
                    let maps = |vm: &Vm| {
                        let mut supply = self.ground.supply;
                        self.on(task, |world| vm.map(world, at, store, &mut supply))
                    };
                    if !vm.is_some_and(maps) {
                        self.fault(task, &mut cpu, mm, at, store);
                    }
                }
                let pfn = frame_of(task, vm.map_or(Asid(space), Vm::vmid), at);
                // Both address spaces share the file.
                let whose = if area == 1 { u32::MAX } else { space };
                self.content.reached(whose, at, pfn, store);
                task.spend(Time::from_ns(random.u64(0..2_000)));
            }
            self.left.set(self.left.get() - 1);
        };
        TaskSpec::new(format!("program {which}"), body).on(CoreId(1 + which))
    }

    fn fault(&self, task: &Task<'_, 'a, F>, cpu: &mut CpuCtx, mm: MmId, at: VirtAddr, store: bool) {
        let access = if store { Access::Write } else { Access::Read };
        let maps = &self.ground.maps;
        let fault =
            self.on(task, |world| maps.on(world, cpu, self.tuning).handle_fault(mm, at, access));
        match fault {
            Fault::Done(_) => {}
            Fault::Pending(folio) => {
                if let Some(ends) = self.kernel.transfer_of(folio) {
                    task.wait_until(ends);
                }
                self.end_transfers(task, cpu);
            }
            failed => panic!("{at:?} cannot be resolved: {failed:?}"),
        }
    }
}

fn page<F: Arch>(area: u64, nr: u64) -> VirtAddr {
    MAP_START.add((area << 30) + (nr << F::PAGE_SHIFT))
}

/// Returns the frame that the last access went to, by its core's TLB.
fn frame_of<F: Arch>(task: &Task<'_, '_, F>, asid: Asid, at: VirtAddr) -> Pfn {
    let held = task.machine().held(task.core_id());
    let pages = |nr| (nr as u64) << F::PAGE_SHIFT;
    let covers = held.iter().find(|held| {
        held.asid == Some(asid) && held.start <= at && at < held.start.add(pages(held.nr_pages))
    });
    let held = covers.unwrap_or_else(|| panic!("{at:?} was just translated"));
    let pfn = held.pfn.expect("what is mapped has a frame");
    pfn.add((at.get() - held.start.get()) >> F::PAGE_SHIFT)
}

fn cases(flushes: bool, guests: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (platform, format) in [
        ("carmel-8-class", FormatName::Arm64_4K),
        ("arm64-server-32-class", FormatName::Arm64_4K),
        ("x86-server-class", FormatName::X86_64),
    ] {
        for lru in [Lru::Classic, Lru::Mglru] {
            for flush in YoungFlush::ALL {
                for shootdown in [FlushTiming::Immediate, FlushTiming::Deferred] {
                    let seed = 1;
                    let case =
                        Case { platform, format, lru, flush, shootdown, seed, flushes, guests };
                    // For guests, no TLB has the primary's entries.
                    if !guests || flush == YoungFlush::Nosync {
                        cases.push(case);
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn no_policy_of_flushing_changes_what_programs_read() {
    let mut hid = [0; 2];
    for case in cases(true, false) {
        let outcome = case.run();
        assert_eq!(outcome.wrong, 0, "{case:?}: {outcome:?}");
        assert!(outcome.reclaimed > 200, "{case:?}: {outcome:?}");
        hid = [hid[0] + outcome.hidden[0], hid[1] + outcome.hidden[1]];
    }
    assert!(hid.into_iter().all(|accesses| accesses > 0), "stale entries were used: {hid:?}");
}

#[test]
fn guests_reach_no_frame_that_their_process_lost() {
    for case in cases(true, true) {
        let outcome = case.run();
        assert_eq!(outcome.wrong, 0, "{case:?}: {outcome:?}");
        assert!(outcome.reclaimed > 200, "{case:?}: {outcome:?}");
    }
}

#[test]
fn flushes_that_are_left_out_are_noticed() {
    for case in cases(false, false).into_iter().chain(cases(false, true)) {
        let outcome = case.run();
        assert!(outcome.wrong > 0, "{case:?}: {outcome:?}");
    }
}

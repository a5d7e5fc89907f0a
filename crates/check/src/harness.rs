//! The agents: each runs the real engine on a CPU of its own.

use super::access::{Access, Accessed};
use super::agent_cpu::{AgentCpu, Ground};
use super::registers::Kind;
use super::scenario::{Agent, Before, Op, Scenario};
use super::schedule::Body;
use super::size::SizeLock;
use super::world::World;
use pageout_paging::contig::Getter;
use pageout_paging::mmu::Asid;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Order, Pfn, Rules, Table, VirtRange};
use pageout_reclaim::Agent as Reclaimer;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Advice, Aging, CpuCtx, Fault, FlushTiming, FolioFlags, Frames, MappingId, MappingKind, MemcgId,
    MmId, MmState, NewVma, Place, PmdLeaves, ReclaimOptions, Targets, Thp, TruncateError, Tuning,
    UnmapGranularity, Unmapping, VmFlags,
};
use std::marker::PhantomData;

/// The number of the scenario's first page: the first entry of a table.
pub const FIRST_PAGE: u64 = 1 << 12;

/// The process, the child it forks, and another that maps the same file.
pub const ASID: Asid = Asid(1);
const CHILD: Asid = Asid(2);
const NEIGHBOUR: Asid = Asid(3);

/// The choices of current kernels, except for the flush after a young bit was cleared, which is the
/// weakest: none.
pub const TUNING: Tuning = Tuning {
    aging: Aging {
        algorithm: YoungAlgorithm::Batched,
        flush: FlushPolicy::uniform(YoungFlush::None),
    },
    unmapping: Unmapping {
        by: UnmapGranularity::Batched,
        read: Getter::Contpte,
        shootdown: FlushTiming::Deferred,
    },
    // This makes PMD leaves if a scenario's folio is as large as one.
    thp: Thp::Always,
    pmd_leaves: PmdLeaves::WhereTheyFit,
};

/// The maximum number of faults that one access may take.
const PATIENCE: usize = 16;

/// The process, and the agents in it.
pub struct Harness<'a, R: Rules, F: Format> {
    /// The world that all agents share.
    pub world: &'a World<F>,
    /// The engine.
    pub maps: &'a MmState<'a>,
    /// The scenario that is played.
    pub scenario: &'a Scenario,
    /// The process.
    pub mm: MmId,
    /// The other process that maps the same file, if there is one.
    neighbour: Option<MmId>,
    /// The cgroup of both processes.
    pub memcg: MemcgId,
    /// The mapping that the process maps.
    pub mapping: MappingId,
    /// The lock of that mapping's size.
    size: SizeLock,
    rules: PhantomData<R>,
}

impl<'a, R: Rules, F: Format> Harness<'a, R, F> {
    /// Makes a process that has mapped the scenario's pages and has made its earlier accesses.
    pub fn set_up(world: &'a World<F>, maps: &'a MmState<'a>, scenario: &'a Scenario) -> Self {
        let env =
            Ground::<R, F>::new(AgentCpu { world, yielder: None, cpu: scenario.agents.len() });
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(&env, cpu, TUNING);
        if scenario.in_generations() {
            engine.set_lru_gen_caps(LruGenCaps::all());
        }
        let kind = match scenario.kind {
            Kind::File | Kind::Private => MappingKind::File,
            Kind::Shmem => MappingKind::Shmem,
            Kind::Anon => MappingKind::Anon,
        };
        let memcg = engine.add_memcg(MemcgId::ROOT).expect("there is room");
        let mapping = engine.add_mapping(kind).expect("there is room");
        maps.mapping(mapping).expect("it lives").set_order(scenario.order());
        for page in 0..scenario.order().nr_pages() as u64 {
            let content = if kind == MappingKind::File { 100 + page } else { 0 };
            let place = Place::File(mapping, FIRST_PAGE + page);
            world.hardware.memory().storage.set_content(place, content);
            world.expect(ASID, page, content);
        }
        let mut flags = VmFlags::READ | VmFlags::WRITE;
        flags.set(VmFlags::SHARED, matches!(scenario.kind, Kind::File | Kind::Shmem));
        let mut process = |asid| {
            let root = world.add_root(asid);
            let mm = engine.add_mm(root, asid).expect("there is room");
            engine.set_memcg(mm, memcg).expect("it lives");
            maps.mm(mm).expect("it lives").set_fault_around(F::PAGE_SIZE as u32 * F::PTES as u32);
            let range = world.addr(0)..world.addr(scenario.order().nr_pages() as u64);
            let new = NewVma { mm, range, flags, mapping, pgoff: FIRST_PAGE };
            engine.mmap(&new).expect("the range is free");
            mm
        };
        let mm = process(ASID);
        let has_neighbour = scenario.agents.iter().any(|a| matches!(a, Agent::Neighbour(_)));
        let neighbour = has_neighbour.then(|| process(NEIGHBOUR));
        let (size, rules) = (SizeLock::default(), PhantomData);
        let harness = Self { world, maps, scenario, mm, neighbour, memcg, mapping, size, rules };
        scenario.before.iter().for_each(|before| harness.before(&env, *before));
        harness.grow_old();
        harness
    }

    fn all_pages(&self) -> VirtRange {
        self.range(0, self.scenario.order().nr_pages() as u64)
    }

    fn before(&self, env: &Ground<'_, R, F>, before: Before) {
        let (maps, cpu) = (self.maps, &mut CpuCtx::new());
        let engine = &mut maps.on(env, cpu, TUNING);
        match before {
            Before::Did(op) => self.run_program(env, (self.mm, ASID), &[op]),
            Before::Split(from, to) => {
                for flags in [VmFlags::empty(), VmFlags::READ | VmFlags::WRITE] {
                    let done = engine.mprotect(self.mm, &self.range(from, to), flags);
                    done.expect("there is room for VMAs");
                }
            }
            Before::Freed => {
                let done = engine.madvise(self.mm, &self.all_pages(), Advice::Free);
                done.expect("anonymous pages may be given up");
                let pages = 0..self.scenario.order().nr_pages() as u64;
                pages.for_each(|page| self.world.forget_content(ASID, page));
            }
            Before::Reclaimed => {
                // Recently used pages are reclaimed the second time.
                self.reclaim(env);
                self.reclaim(env);
            }
        }
    }

    /// Ages once, without a flush.
    fn grow_old(&self) {
        for page in 0..self.scenario.order().nr_pages() as u64 {
            if let Some(leaf) = self.world.entry(ASID, self.world.addr(page)) {
                self.world.table(leaf.table).clear_bits(leaf.i, F::YOUNG);
            }
        }
    }

    /// Returns an agent's actions.
    pub fn body(&self, cpu: usize, agent: Agent) -> Body<'_> {
        Box::new(move |yielder| {
            let env =
                Ground::<R, F>::new(AgentCpu { world: self.world, yielder: Some(yielder), cpu });
            match agent {
                Agent::Program(ops) => self.run_program(&env, (self.mm, ASID), ops),
                Agent::Neighbour(ops) => {
                    let mm = self.neighbour.expect("the neighbour was set up");
                    self.run_program(&env, (mm, NEIGHBOUR), ops);
                }
                Agent::Flusher => self.flush(&env),
                Agent::Reclaim => self.reclaim(&env),
                Agent::Munmap(from, to) => self.munmap(&env, from, to),
                Agent::Mprotect(from, to) => self.mprotect(&env, from, to),
                Agent::DontNeed(from, to) => self.dont_need(&env, from, to),
                Agent::Fork => self.fork(&env),
                Agent::Migrate => self.migrate(&env),
                Agent::Age => self.age(&env),
                Agent::Truncate(from) => self.truncate(&env, from),
                Agent::Exit => self.exit(&env),
            }
        })
    }

    fn range(&self, from: u64, to: u64) -> VirtRange {
        self.world.addr(from)..self.world.addr(to)
    }

    fn run_program(&self, env: &Ground<'_, R, F>, (mm, asid): (MmId, Asid), ops: &[Op]) {
        for Op(page, access) in ops {
            self.access(env, mm, asid, *page, *access);
        }
    }

    /// Makes an access, with the faults it takes. Returns the value loaded or stored, unless the
    /// access is refused.
    pub fn access(
        &self,
        env: &Ground<'_, R, F>,
        mm: MmId,
        asid: Asid,
        page: u64,
        access: Access,
    ) -> Option<u64> {
        let addr = self.world.addr(page);
        let cpu = &mut CpuCtx::new();
        let how = match access {
            Access::Load => pageout_reclaim::Access::Read,
            Access::Store(_) => pageout_reclaim::Access::Write,
        };
        for _ in 0..PATIENCE {
            env.pause();
            if let Accessed::Done(value) = env.access(asid, page, access, &|pfn| self.keeps(pfn)) {
                return Some(value);
            }
            env.tell(|event| event.of_pages(page, 1), "faults on");
            let engine = &mut self.maps.on(env, cpu, TUNING);
            match self.size.shared(env, || engine.handle_fault(mm, addr, how)) {
                Fault::Done(_) => {}
                Fault::Pending(id) => {
                    while self.maps.transfer_is_pending(id) {
                        env.wait();
                    }
                }
                refused => {
                    let note = format!(": {refused:?}");
                    env.tell(|event| event.of_pages(page, 1).noting(note), "is refused");
                    return None;
                }
            }
        }
        let found = format!("the access to page {page} faulted {PATIENCE} times");
        self.world.fail(super::property::Property::Progress, found);
        None
    }

    /// Returns true if the folio of a frame is dirty, or is about to be read for write-out.
    fn keeps(&self, pfn: Pfn) -> bool {
        let written = FolioFlags::DIRTY | FolioFlags::WRITEBACK;
        let folio = self.maps.folio_of(pfn).and_then(|id| self.maps.folio(id).ok());
        folio.is_some_and(|folio| folio.flags().intersects(written))
    }

    fn flush(&self, env: &Ground<'_, R, F>) {
        let cpu = &mut CpuCtx::new();
        let engine = &mut self.maps.on(env, cpu, TUNING);
        if let Some(id) = engine.filemap_get_folio(self.mapping, FIRST_PAGE).expect("it lives") {
            // A folio that is clean, or on its way to storage, stays as it is.
            let _ = engine.write_back(id);
            engine.release(id, 1).expect("the caller has it");
        }
    }

    /// Reclaims from the cgroup once. `memory_reclaim` would try 17 times while others use the
    /// pages, and a search would spend its executions on the repetitions.
    pub fn reclaim(&self, env: &Ground<'_, R, F>) {
        let options =
            ReclaimOptions { may_swap: true, swappiness: None, agent: Reclaimer::Proactive };
        let nr_pages = self.scenario.order().nr_pages() as u64;
        let cpu = &mut CpuCtx::new();
        // Nothing reclaimed is no failure here: others may use the pages.
        self.maps
            .on(env, cpu, TUNING)
            .try_to_free_mem_cgroup_pages(self.memcg, nr_pages, options)
            .expect("it is online");
    }

    fn munmap(&self, env: &Ground<'_, R, F>, from: u64, to: u64) {
        let range = self.range(from, to);
        let done = self.maps.on(env, &mut CpuCtx::new(), TUNING).munmap_range(self.mm, &range);
        done.expect("there is room for VMAs");
        env.tell(|event| event, "returns");
        self.world.forbid(ASID, from..to, false, "munmap");
    }

    fn mprotect(&self, env: &Ground<'_, R, F>, from: u64, to: u64) {
        let (range, cpu) = (self.range(from, to), &mut CpuCtx::new());
        let done = self.maps.on(env, cpu, TUNING).mprotect(self.mm, &range, VmFlags::READ);
        done.expect("there is room for VMAs");
        env.tell(|event| event, "returns");
        self.world.forbid(ASID, from..to, true, "mprotect");
    }

    fn dont_need(&self, env: &Ground<'_, R, F>, from: u64, to: u64) {
        let (range, cpu) = (self.range(from, to), &mut CpuCtx::new());
        let done = self.maps.on(env, cpu, TUNING).madvise(self.mm, &range, Advice::DontNeed);
        done.expect("anonymous pages may be dropped");
        // The content of these pages is zero, or what was stored since.
        (from..to).for_each(|page| self.world.forget_content(ASID, page));
    }

    fn fork(&self, env: &Ground<'_, R, F>) {
        let root = self.world.add_root(CHILD);
        let forked = self.maps.on(env, &mut CpuCtx::new(), TUNING).fork(self.mm, root, CHILD);
        forked.expect("there is room for a child");
        env.tell(|event| event, "returns");
    }

    fn exit(&self, env: &Ground<'_, R, F>) {
        let done = self.maps.on(env, &mut CpuCtx::new(), TUNING).exit_mm(self.mm);
        done.expect("no one else ends it");
        env.tell(|event| event, "returns");
        let pages = self.scenario.order().nr_pages() as u64;
        self.world.forbid(ASID, 0..pages, false, "exit");
    }

    fn age(&self, env: &Ground<'_, R, F>) {
        // The address space may have ended.
        let _ = self.maps.lru_gen_use_mm(self.mm);
        let (cpu, (max_seq, _)) =
            (&mut CpuCtx::new(), self.maps.lru_gen_seqs(self.memcg).expect("it is online"));
        // Reclaim may have opened the next generation meanwhile.
        let _ = self
            .maps
            .on(env, cpu, TUNING)
            .try_to_inc_max_seq(self.memcg, max_seq, 100, true)
            .expect("it is online");
    }

    fn truncate(&self, env: &Ground<'_, R, F>, from: u64) {
        let cpu = &mut CpuCtx::new();
        env.pause();
        self.maps.mapping(self.mapping).expect("it lives").set_size(FIRST_PAGE + from);
        self.size.alone(env, || {
            let engine = &mut self.maps.on(env, cpu, TUNING);
            while let Err(error) = engine.truncate(self.mapping, FIRST_PAGE + from) {
                assert!(matches!(error, TruncateError::Pending(_)), "no anonymous memory: {error}");
                env.wait(); // for the end of the transfer
            }
        });
        env.tell(|event| event, "returns");
        let end = self.scenario.order().nr_pages() as u64;
        for asid in [ASID, NEIGHBOUR] {
            self.world.forbid(asid, from..end, false, "truncation");
        }
    }

    fn migrate(&self, env: &Ground<'_, R, F>) {
        let all = self.world.hardware.memory().range();
        let (cpu, targets) = (&mut CpuCtx::new(), &mut FreeFrames(env));
        // A folio with additional references stays where it is.
        let _ = self.maps.on(env, cpu, TUNING).migrate_range(all, targets);
    }
}

/// Targets of migration: free frames.
struct FreeFrames<'a, W>(&'a W);

impl<W: Frames> Targets for FreeFrames<'_, W> {
    fn take(&mut self, order: Order) -> Option<Pfn> {
        self.0.alloc(order)
    }

    fn give_back(&mut self, pfn: Pfn, order: Order) {
        self.0.free(pfn, order);
    }
}

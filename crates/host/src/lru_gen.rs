//! A session on the engine, with the same steps as on the lab's machine.

use crate::layout::{Arena, Ground};
use crate::walker::{Touch, make_young, touch};
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::lru_gen::{Backing, File, Region, Session, Step};
use pageout_experiment::variant::Variant;
use pageout_paging::mmu::Asid;
use pageout_paging::{Order, VirtAddr};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Access, CpuCtx, Fault, FolioFlags, Limits, MappingId, MappingKind, MemcgId, MmId, NewFolio,
    NewVma, Recency, Tuning, VmFlags,
};
use pageout_uapi::lru_gen;
use std::collections::BTreeSet;
use std::ops::Range;

const SIZED: &str = "the arena is sized for the session";

/// The bytes that kernels map around a fault (`fault_around_bytes`).
const FAULT_AROUND: u32 = 64 << 10;

/// The address at which the process that reads a file in maps it, and its number, far from all
/// others.
const FILLED_AT: VirtAddr = VirtAddr::new(64 << 30);
const FILLER: Asid = Asid(1000);

/// The maximum number of faults of an access: one for a page that is not present, and one for a
/// store to a page that was mapped read-only.
const FAULTS_AN_ACCESS: usize = 3;

/// Folios, frames and slots beyond those in use, for the pages that a round of reclaim has in hand.
const IN_FLIGHT: usize = 256;

/// The number of places for each possible shadow. A shadow may be in only a few places; with this
/// many, hardly any shadow replaces another.
const PLACES_A_SHADOW: usize = 8;

/// Runs a session on the engine, with entries of `format`; returns its transcript.
pub fn run(session: &Session, format: FormatName, variant: Variant) -> String {
    with_format!(format, F => run_as::<F>(session, variant))
}

fn run_as<F: Arch>(session: &Session, variant: Variant) -> String {
    let mut arena = Arena::new::<F>(&limits(session), tables::<F>(session));
    let ground = arena.ground::<F>();
    ground
        .maps
        .on(&ground.env, &mut CpuCtx::new(), Tuning::recommended(F::FLUSH))
        .set_lru_gen_caps(LruGenCaps::all());
    let mut machine = Machine::new(session, ground, variant.tuning(F::FLUSH));
    let answers: Vec<String> =
        session.steps.iter().filter_map(|(_, step)| machine.take(step)).collect();
    session.transcript(&answers)
}

/// Returns the limits that the engine must have room for. Free frames are neither split nor merged,
/// and some are skipped to align others: each size of folio may use all of them, and skip as many.
fn limits(session: &Session) -> Limits {
    let files: usize = session.files.iter().map(|file| file.pages as usize).sum();
    let anon = session.regions.iter().filter_map(|region| match region.backing {
        Backing::Anon { order } => Some((region.pages as usize, order)),
        Backing::File { .. } => None,
    });
    let orders = session.files.iter().map(|file| file.order);
    let orders: BTreeSet<u8> =
        orders.chain(anon.clone().map(|(_, order)| order)).chain([0]).collect();
    let anon: usize = anon.map(|(pages, _)| pages).sum();
    let pages = files + anon;
    Limits {
        frames: 2 * pages * orders.len() + IN_FLIGHT,
        folios: pages + IN_FLIGHT,
        vmas: session.regions.len() + session.files.len(),
        mms: session.processes.len() + 1,
        mappings: session.files.len() + session.regions.len(),
        memcgs: session.memcgs.len(),
        nodes: 1,
        shadows: PLACES_A_SHADOW * files,
        slots: anon + IN_FLIGHT,
        filters: 2 * (session.memcgs.len() + 1),
    }
}

/// Returns the number of page tables: the two uppermost of each process, and those below for each
/// region and for each file that is read in.
fn tables<F: Arch>(session: &Session) -> usize {
    let below = |pages: u64| (pages as usize).div_ceil(F::PTES) + 2;
    let files = session.files.iter().map(|file| below(file.pages));
    let regions = session.regions.iter().map(|region| below(region.pages));
    2 * (session.processes.len() + session.files.len()) + files.chain(regions).sum::<usize>()
}

/// The engine, and the objects in it that the session's names stand for.
struct Machine<'s, 'a, F> {
    session: &'s Session,
    ground: Ground<'a, F>,
    cpu: CpuCtx,
    tuning: Tuning,
    memcgs: Vec<MemcgId>,
    processes: Vec<MmId>,
    files: Vec<MappingId>,
}

impl<'s, 'a, F: Arch> Machine<'s, 'a, F> {
    fn new(session: &'s Session, ground: Ground<'a, F>, tuning: Tuning) -> Self {
        let cpu = CpuCtx::new();
        let (memcgs, processes, files) = Default::default();
        Self { session, ground, cpu, tuning, memcgs, processes, files }
    }

    /// Takes a step; returns its answer, if it has one.
    fn take(&mut self, step: &Step) -> Option<String> {
        match step {
            Step::Memcg(_) => self.add_memcg(),
            Step::Process(process) => self.start(self.session.processes[*process].memcg),
            Step::File(_) => self.add_file(),
            Step::Map(region) => self.map(*region),
            Step::Fill { memcg, file } => self.fill(*memcg, *file),
            Step::Read { memcg, file, pages } => self.read(*memcg, *file, pages.clone()),
            Step::Touch { region, pages, write } => self.touch(*region, pages.clone(), *write),
            Step::Sleep(ms) => self.ground.supply.pass(*ms),
            Step::Write(command) => {
                let text = command.text(|memcg| self.memcgs[memcg].index().to_string());
                return Some(self.write(&text));
            }
            Step::Show { memcg, full } => return Some(self.show(*memcg, *full)),
        }
        None
    }

    fn add_memcg(&mut self) {
        let Ground { env, maps, .. } = &self.ground;
        self.memcgs
            .push(maps.on(env, &mut self.cpu, self.tuning).add_memcg(MemcgId::ROOT).expect(SIZED));
    }

    fn start(&mut self, memcg: usize) {
        let mm = self.add_mm(Asid(self.processes.len() as u32), self.memcgs[memcg]);
        self.processes.push(mm);
    }

    fn add_mm(&mut self, asid: Asid, memcg: MemcgId) -> MmId {
        let Ground { env, maps, supply } = &self.ground;
        let engine = &mut maps.on(env, &mut self.cpu, self.tuning);
        let root = supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, asid).expect(SIZED);
        engine.set_memcg(mm, memcg).expect("it lives");
        maps.mm(mm).expect("it lives").set_fault_around(FAULT_AROUND);
        mm
    }

    fn add_file(&mut self) {
        let Ground { env, maps, .. } = &self.ground;
        self.files.push(
            maps.on(env, &mut self.cpu, self.tuning).add_mapping(MappingKind::File).expect(SIZED),
        );
    }

    fn map(&mut self, region: usize) {
        let Ground { env, maps, .. } = &self.ground;
        let engine = &mut maps.on(env, &mut self.cpu, self.tuning);
        let Region { process, backing, pages, .. } = &self.session.regions[region];
        let flags = VmFlags::READ | VmFlags::WRITE;
        let start = self.session.address(region);
        let (mapping, pgoff, flags) = match *backing {
            Backing::File { file, first } => (self.files[file], first, flags | VmFlags::SHARED),
            Backing::Anon { order } => {
                let mapping = engine.add_mapping(MappingKind::Anon);
                let mapping = mapping.expect(SIZED);
                let order = Order::new(order).expect("sessions have small orders");
                maps.mapping(mapping).expect("it lives").set_order(order);
                (mapping, start >> F::PAGE_SHIFT, flags)
            }
        };
        let range = VirtAddr::new(start)..VirtAddr::new(start + (pages << F::PAGE_SHIFT));
        let new = NewVma { mm: self.processes[*process], range, flags, mapping, pgoff };
        engine.mmap(&new).expect(SIZED);
    }

    /// Reads every page through a mapping of a process in the cgroup, which then exits. The marks
    /// of these uses are cleared, so that no page counts as used.
    fn fill(&mut self, memcg: usize, file: usize) {
        let File { pages, order, .. } = self.session.files[file];
        let (mapping, memcg) = (self.files[file], self.memcgs[memcg]);
        let order = Order::new(order).expect("sessions have small orders");
        self.ground.maps.mapping(mapping).expect("it lives").set_order(order);
        let mm = self.add_mm(FILLER, memcg);
        let range = FILLED_AT..FILLED_AT.add(pages << F::PAGE_SHIFT);
        let flags = VmFlags::READ | VmFlags::SHARED;
        let new = NewVma { mm, range: range.clone(), flags, mapping, pgoff: 0 };
        let Ground { env, maps, .. } = &self.ground;
        maps.on(env, &mut self.cpu, self.tuning).mmap(&new).expect(SIZED);
        let root = maps.mm(mm).expect("it lives").root();
        self.access(mm, FILLED_AT, 0..pages, Access::Read);
        let Ground { env, maps, supply } = &self.ground;
        make_young(env, root, range, |_| false);
        let engine = &mut maps.on(env, &mut self.cpu, self.tuning);
        for index in (0..pages).step_by(order.nr_pages()) {
            let id =
                engine.filemap_get_folio(mapping, index).expect("it lives").expect("it was read");
            maps.folio(id).expect("it lives").note_use(Recency::NONE, Recency::REFERENCED);
            engine.release(id, 1).expect("the caller has it");
        }
        engine.exit_mm(mm).expect("it lives");
        supply.free_table(root);
        maps.mapping(mapping).expect("it lives").set_order(Order::default());
    }

    /// Reads a page in that read(2) does not find.
    fn read_in(&mut self, memcg: usize, file: usize, index: u64) {
        let Ground { env, maps, supply } = &self.ground;
        let cpu = &mut self.cpu;
        let engine = &mut maps.on(env, cpu, self.tuning);
        let order = Order::default();
        let pfn = supply.alloc(order).expect(SIZED);
        let flags = FolioFlags::UPTODATE;
        let new = NewFolio { pfn, order, mapping: self.files[file], index, flags };
        let id = engine.add_folio(new).expect(SIZED);
        engine.charge(id, self.memcgs[memcg]).expect("it has no limit");
        if let Some(shadow) = engine.filemap_add_folio(id).expect("the page was not there") {
            engine.workingset_refault(id, shadow).expect("it lives");
        }
        engine.lru_add(id).expect("it lives");
        engine.release(id, 1).expect("the caller has it");
    }

    /// Reads pages. Each read is a call of its own through a shared descriptor: a read that
    /// continues in the folio that was read last is no new use.
    fn read(&mut self, memcg: usize, file: usize, pages: Range<u64>) {
        let mut last = None;
        for index in pages {
            let mapping = self.files[file];
            let find = |machine: &mut Self| {
                let Ground { env, maps, .. } = &machine.ground;
                maps.on(env, &mut machine.cpu, machine.tuning)
                    .filemap_get_folio(mapping, index)
                    .expect("it lives")
            };
            let id = find(self).unwrap_or_else(|| {
                self.read_in(memcg, file, index);
                find(self).expect("it was read just now")
            });
            let Ground { env, maps, .. } = &self.ground;
            if last.replace(id) != Some(id) {
                maps.on(env, &mut self.cpu, self.tuning).mark_accessed(id).expect("it lives");
            }
            maps.on(env, &mut self.cpu, self.tuning).release(id, 1).expect("the caller has it");
        }
    }

    fn touch(&mut self, region: usize, pages: Range<u64>, write: bool) {
        let mm = self.processes[self.session.regions[region].process];
        self.ground.maps.lru_gen_use_mm(mm).expect("it lives");
        let start = VirtAddr::new(self.session.address(region));
        self.access(mm, start, pages, if write { Access::Write } else { Access::Read });
    }

    /// Accesses each page, counted from `start`.
    fn access(&mut self, mm: MmId, start: VirtAddr, pages: Range<u64>, access: Access) {
        let Ground { env, maps, .. } = &self.ground;
        let root = maps.mm(mm).expect("it lives").root();
        for page in pages {
            let addr = start.add(page << F::PAGE_SHIFT);
            let mut faults = 0;
            while touch(env, root, addr, access == Access::Write) == Touch::Fault {
                faults += 1;
                assert!(faults <= FAULTS_AN_ACCESS, "a fault that was handled does not recur");
                let fault = maps.on(env, &mut self.cpu, self.tuning).handle_fault(mm, addr, access);
                assert!(matches!(fault, Fault::Done(_)), "{SIZED}: {fault:?}");
            }
        }
    }

    fn write(&mut self, text: &str) -> String {
        let Ground { env, maps, .. } = &self.ground;
        let engine = &mut maps.on(env, &mut self.cpu, self.tuning);
        match lru_gen::write(text, |command| engine.lru_gen_command(command)) {
            Ok(()) => "= 0\n".to_owned(),
            Err(errno) => format!("= {}\n", errno.name()),
        }
    }

    fn show(&self, memcg: usize, full: bool) -> String {
        let Ground { env, maps, .. } = &self.ground;
        let (mut text, cpu) = (String::new(), &mut CpuCtx::new());
        let (id, path) = (self.memcgs[memcg], format_args!("/{}", self.session.memcgs[memcg]));
        let engine = maps.on(env, cpu, self.tuning);
        let generations = engine.lru_gen_generations(id, full).expect("it is online");
        let shown = lru_gen::show(&mut text, id.index().into(), path, [(0, generations)]);
        shown.expect("a string takes everything");
        text
    }
}

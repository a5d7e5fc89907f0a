//! One run: a shell on every core but the last, where a task reclaims.

use super::ForkHeavy;
use crate::{Between, Kernel, Model, One, Program, Reported, Swap, activity, reported};
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::Reclaim;
use pageout_experiment::scenarios::metrics::fork_heavy as of;
use pageout_experiment::variant::Variant;
use pageout_host::layout::{Arena, Ground, MAP_START};
use pageout_machine::{CoreId, Machine, Task, TaskSpec, Time};
use pageout_paging::mmu::Asid;
use pageout_paging::{Pfn, VirtAddr, VirtRange};
use pageout_reclaim::{
    Access, Counter, CpuCtx, Fault, FaultKind, Frames, MappingKind, MemcgId, MmId, NewVma, Tuning,
    VmFlags,
};
use pageout_record::schema::Metric;
use pageout_record::stats::quantile;
use std::cell::{Cell, RefCell};

const SIZED: &str = "the arena is sized for the scenario";

/// Pages that each request is for: what kernels reclaim at a time (`SWAP_CLUSTER_MAX`).
const CLUSTER: u64 = 32;
/// Between two requests. Short against a loop, so that most loops meet one; some is needed where
/// nothing can be reclaimed, or no time would pass.
const PAUSE: Time = Time::from_ns(100_000);

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What each loop took, shortest first.
    each: Vec<Time>,
    /// 4K pages written to swap.
    written: u64,
    /// Before them and after.
    pub(super) between: Between,
}

/// A shell, which has a part of what all share.
struct Shells<'r, 'a, F: Arch> {
    ground: &'r Ground<'a, F>,
    kernel: &'r Kernel<'r>,
    tuning: Tuning,
    memcg: MemcgId,
    spaces: Vec<(MmId, Pfn)>,
    bytes: u64,
    next_asid: Cell<u32>,
    /// Shells that are not done.
    left: Cell<usize>,
    each: RefCell<Vec<Time>>,
}

impl<'r, 'a, F: Arch> Shells<'r, 'a, F> {
    /// Shells with all of their memory written to.
    fn fill(
        of: &ForkHeavy,
        ground: &'r Ground<'a, F>,
        kernel: &'r Kernel<'r>,
        (shells, tuning): (u16, Tuning),
    ) -> Self {
        let Ground { env, maps, supply } = ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, tuning);
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        let mut all = Self {
            ground,
            kernel,
            tuning,
            memcg,
            spaces: Vec::new(),
            bytes: of.bytes,
            next_asid: Cell::new(shells.into()),
            left: Cell::new(0),
            each: RefCell::default(),
        };
        for shell in 0..shells {
            let mapping = engine.add_mapping(MappingKind::Anon).expect(SIZED);
            let root = supply.alloc_table().expect(SIZED);
            let mm = engine.add_mm(root, Asid(shell.into())).expect(SIZED);
            engine.set_memcg(mm, memcg);
            let flags = VmFlags::READ | VmFlags::WRITE;
            let new = NewVma { mm, range: all.eighths(0..8), flags, mapping, pgoff: 0 };
            engine.mmap(&new).expect(SIZED);
            for at in all.pages(0..8) {
                let fault = engine.handle_fault(mm, at, Access::Write);
                assert_eq!(fault, Fault::Done(FaultKind::Minor), "{SIZED}");
            }
            maps.lru_gen_use_mm(mm);
            all.spaces.push((mm, root));
        }
        all
    }

    fn eighths(&self, part: std::ops::Range<u64>) -> VirtRange {
        let at = |eighth: u64| MAP_START.add(self.bytes / 8 * eighth);
        at(part.start)..at(part.end)
    }

    fn pages(&self, part: std::ops::Range<u64>) -> impl Iterator<Item = VirtAddr> + use<'r, 'a, F> {
        let range = self.eighths(part);
        let pages = (range.end.get() - range.start.get()) >> F::PAGE_SHIFT;
        (0..pages).map(move |page| range.start.add(page << F::PAGE_SHIFT))
    }

    fn program(&self, mm: MmId) -> Program<'r, 'a> {
        Program { maps: &self.ground.maps, kernel: self.kernel, mm, tuning: self.tuning }
    }

    /// A shell's loop: it writes to a quarter of its memory and forks. The child writes to the
    /// first quarter and reads the second, makes an eighth read-only, unmaps a quarter and exits.
    fn once(&self, task: &Task<'_, 'a, F>, cpu: &mut CpuCtx, shell: usize) {
        let (maps, kernel) = (&self.ground.maps, self.kernel);
        let (mm, root) = self.spaces[shell];
        for at in self.pages(0..2) {
            self.program(mm).access(task, cpu, at, true);
        }
        let asid = Asid(self.next_asid.get());
        self.next_asid.set(asid.0 + 1);
        let (child, table) = kernel.on(task, |env| {
            env.within(activity::FORK, || {
                let table = env.alloc_table().expect(SIZED);
                let child = maps.on(env, cpu, self.tuning).fork(mm, table, asid);
                (child.expect(SIZED), table)
            })
        });
        task.load_mm(asid, table);
        maps.lru_gen_use_mm(child);
        for (part, store) in [(0..2, true), (2..4, false)] {
            for at in self.pages(part) {
                self.program(child).access(task, cpu, at, store);
            }
        }
        kernel.on(task, |env| {
            let engine = &mut maps.on(env, cpu, self.tuning);
            env.within(activity::MPROTECT, || {
                let done = engine.mprotect(child, &self.eighths(4..5), VmFlags::READ);
                done.expect("the child maps the range");
            });
            env.within(activity::MUNMAP, || {
                let done = engine.munmap_range(child, &self.eighths(6..8));
                done.expect("the child maps the range");
            });
            env.within(activity::EXIT, || engine.exit_mm(child));
        });
        task.load_mm(Asid(shell as u32), root);
        kernel.on(task, |env| env.free_table(table));
    }

    fn shell<'s>(&'s self, shell: usize, name: &str, loops: u32) -> TaskSpec<'s, 'a, F> {
        let body = move |task: &Task<'_, 'a, F>| {
            task.load_mm(Asid(shell as u32), self.spaces[shell].1);
            let mut cpu = CpuCtx::new();
            for _ in 0..loops {
                let begun = task.now();
                self.once(task, &mut cpu, shell);
                self.each.borrow_mut().push(task.now().since(begun));
            }
            self.left.set(self.left.get() - 1);
        };
        TaskSpec::new(format!("{name} {shell}"), body).on(CoreId(shell as u16))
    }

    fn reclaiming<'s>(&'s self, core: CoreId) -> TaskSpec<'s, 'a, F> {
        let bytes = (CLUSTER << F::PAGE_SHIFT).to_string();
        let body = move |task: &Task<'_, 'a, F>| {
            let (maps, mut cpu) = (&self.ground.maps, CpuCtx::new());
            while self.left.get() > 0 {
                self.kernel.on(task, |env| {
                    env.within(activity::MEMORY_RECLAIM, || {
                        // What it got shows in the pages written.
                        let memcg = self.memcg;
                        let _ = maps.on(env, &mut cpu, self.tuning).memory_reclaim(memcg, &bytes);
                    });
                });
                task.wait_until(task.now() + PAUSE);
            }
        };
        TaskSpec::new("reclaim", body).on(core)
    }

    fn tasks<'s>(
        &'s self,
        (name, loops): (&str, u32),
        reclaiming: Option<CoreId>,
    ) -> Vec<TaskSpec<'s, 'a, F>> {
        let shells = self.spaces.len();
        self.left.set(shells);
        let reclaim = reclaiming.map(|core| self.reclaiming(core));
        (0..shells).map(|shell| self.shell(shell, name, loops)).chain(reclaim).collect()
    }
}

/// Runs the scenario: a loop of each shell that is not told of, and then the others.
pub(super) fn run<F: Arch>(of: &ForkHeavy, model: &Model, variant: Variant, one: One) -> Outcome {
    let cores = model.shape(&of.platform).cores;
    let mut arena = Arena::new::<F>(&of.limits::<F>(cores), of.tables::<F>(cores));
    let ground = arena.ground::<F>();
    ground.switch_with(variant.lru, of.platform.shape().caps::<F>());
    let machine = Machine::new(model.setup(&of.platform, one), ground.env.tables());
    let kernel = Kernel::new::<F>(ground.supply, Swap::Compressed);
    let shells = (ForkHeavy::shells(cores), variant.tuning(F::FLUSH));
    let shells = Shells::fill(of, &ground, &kernel, shells);
    let reclaiming = (of.reclaim == Reclaim::Running).then_some(CoreId(cores - 1));
    let before = machine.run(shells.tasks(("first", 1), reclaiming));
    shells.each.take();
    let vmstat = ground.maps.memcg(shells.memcg).vmstat();
    let swapped = vmstat.get(Counter::Pswpout);
    let after = machine.run(shells.tasks(("shell", of.loops), reclaiming));
    let written = (vmstat.get(Counter::Pswpout) - swapped) << (F::PAGE_SHIFT - 12);
    let each = shells.each.take();
    Outcome { each, written, between: Between { before, after } }
}

impl Outcome {
    fn loops(&self) -> f64 {
        self.each.len() as f64
    }

    /// What a loop takes on average, in microseconds.
    pub fn mean(&self) -> f64 {
        self.each.iter().copied().sum::<Time>().ns() / 1e3 / self.loops()
    }

    /// What so large a share of the loops stays below, in microseconds.
    fn quantile(&self, part: f64) -> f64 {
        let each: Vec<_> = self.each.iter().map(|time| time.ns() / 1e3).collect();
        quantile(&each, part).expect("there is a loop")
    }

    /// What shells spend in a call a loop, in microseconds, of which invalidating or waiting.
    fn within(&self, call: &str, flushing: bool) -> f64 {
        let time = self.between.time(|path| {
            let own = matches!(path.last(), Some(&"invalidate" | &"wait"));
            path[0].starts_with("shell ") && path.contains(&call) && (own || !flushing)
        });
        time.ns() / 1e3 / self.loops()
    }

    /// What shells spend a loop on invalidating, or waiting until others have, in microseconds.
    fn flushing(&self) -> f64 {
        let time = self.between.time(|path| {
            let own = matches!(path.last(), Some(&"invalidate" | &"wait"));
            own && path[0].starts_with("shell ")
        });
        time.ns() / 1e3 / self.loops()
    }
}

/// What is told with the interval of the draws.
const REPORTED: [Reported<Outcome>; 15] = [
    (of::LOOP, Outcome::mean),
    (of::LOOP_P50, |one| one.quantile(0.5)),
    (of::LOOP_P90, |one| one.quantile(0.9)),
    (of::LOOP_P99, |one| one.quantile(0.99)),
    (of::LOOP_LONGEST, |one| one.quantile(1.0)),
    (of::FORK, |one| one.within("fork", false)),
    (of::FAULT, |one| one.within("fault", false)),
    (of::MPROTECT, |one| one.within("mprotect", false)),
    (of::MUNMAP, |one| one.within("munmap", false)),
    (of::EXIT, |one| one.within("exit", false)),
    (of::FLUSHING, Outcome::flushing),
    (of::OF_FORK, |one| one.within("fork", true)),
    (of::OF_FAULT, |one| one.within("fault", true)),
    (of::OF_EXIT, |one| one.within("exit", true)),
    (of::STOLEN, |one| one.between.stolen().ns() / 1e3 / one.loops()),
];

/// The metrics of runs with nominal prices and of those with drawn ones.
pub(super) fn metrics(nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
    let one = &nominal[0];
    let mut metrics = reported(&REPORTED, nominal, drawn);
    metrics.extend(one.between.metrics(of::EACH, one.loops()));
    let written = one.written as f64 / one.loops();
    metrics.push(of::WRITTEN.one(written));
    metrics
}

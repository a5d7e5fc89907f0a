//! `bench machine`: accesses on one core of the modelled machine, by the place where its TLB finds
//! their translation, compared with a walk of the same tables without any TLB.

use super::traces::programs;
use pageout_experiment::clock::timed;
use pageout_experiment::metrics::{counted, labels, measured, per_page};
use pageout_experiment::rounds::{Cell, Rounds, measure, turns};
use pageout_host::bench::{Bound, goal_record};
use pageout_machine::platform::{Draw, Platform, Shape};
use pageout_machine::tlb::{Found, Space, Tlb};
use pageout_machine::{CoreId, Machine, Setup, Time};
use pageout_paging::contig::set_ptes;
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{Arm64_4K, Prot, X86_64};
use pageout_paging::table::HostTables;
use pageout_paging::{Format, Level, Pfn, Table, VirtAddr};
use pageout_record::schema::{Basis, Better, Ground, Labels, Record};
use std::hint::black_box;
use std::iter::repeat_with;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

/// The scenario of the accesses' records.
pub const ACCESSES: &str = "bench machine";
/// The metrics of the accesses' records. The first three are times: of a task on a core, with
/// clock, statistics and scheduling; of the TLB only; and of the four levels of tables without a
/// TLB. The others are the places where translations were found.
pub const ACCESS_COLUMNS: [&str; 6] =
    ["by a task", "by the TLB alone", "by tables alone", "in l1, %", "in l2, %", "walks, %"];

/// The number of accesses a round, in each way.
const STRING: usize = 1 << 18;
/// Lowest accepted rate, in million accesses a second, of a task whose translations all fit the
/// TLB.
const HELD_IN_L1: f64 = 50.0;
/// Lowest accepted rate, in million accesses a second, if one access in twenty is to a far page.
const MOSTLY_IN_L1: f64 = 20.0;
/// Bytes for each mapped page that the machine adds to page tables.
const BYTES_A_PAGE: f64 = 2.0;
const ROOT: Pfn = Pfn::new(0);
const SPACE: Asid = Asid(1);

/// The memory that a program uses repeatedly, at random.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Uses {
    /// Half of the pages that the first level holds.
    L1,
    /// The pages of [`Uses::L1`] for nineteen accesses of twenty, else any of [`Uses::Far`].
    Mostly,
    /// Half of the pages that the second level holds.
    L2,
    /// Sixteen times the pages that the second level holds.
    Far,
}

impl Uses {
    const ALL: [Self; 4] = [Self::L1, Self::Mostly, Self::L2, Self::Far];

    const fn name(self) -> &'static str {
        match self {
            Self::L1 => "half of l1",
            Self::Mostly => "95% half of l1",
            Self::L2 => "half of l2",
            Self::Far => "16 times l2",
        }
    }

    /// Returns the number of TLB entries for all of it.
    fn entries(self, shape: &Shape) -> usize {
        let l1 = shape.tlb.l1.entries() as usize;
        let l2 = shape.tlb.l2.map_or(l1, |l2| l2.entries() as usize);
        match self {
            Self::L1 => l1 / 2,
            Self::L2 => l2 / 2,
            Self::Far | Self::Mostly => l2 * 16,
        }
    }
}

/// Runs the benchmark and returns its records: times, counts and goals, also of real programs. Each
/// program is repeated `repeat` times, or until it has made the accesses that its goal is about.
pub fn machine(
    rounds: Rounds,
    repeat: Option<u16>,
    seed: u64,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<Record> {
    let mut cells: Vec<Box<dyn Cell>> = Vec::new();
    for uses in Uses::ALL {
        cells.push(Box::new(Accesses::<X86_64>::new("x86-server-class", uses, false, seed)));
        for blocks in [false, true] {
            let name = "arm64-server-32-class";
            cells.push(Box::new(Accesses::<Arm64_4K>::new(name, uses, blocks, seed)));
        }
    }
    let mut records = measure(&mut cells, rounds, progress);
    let goals: Vec<_> = records.iter().filter_map(|record| goal(record, seed)).collect();
    records.extend(goals);
    records.extend(programs(repeat, seed, progress));
    records
}

/// Returns the goal of a row, if it has one.
fn goal(record: &Record, seed: u64) -> Option<Record> {
    let field = |name: &str| record.fields.get(name).map_or("", String::as_str);
    let name = format!("{}, {}, {}", field("platform"), field("uses"), field("maps"));
    let metric = |name: &str| -> &[f64] {
        let metric = record.metric(name);
        metric.map_or(&[], |metric| &metric.values)
    };
    let rate = || metric(ACCESS_COLUMNS[0]).iter().map(|ns| 1e3 / ns).collect();
    let accesses = |least| {
        let unit = ("million/s", Basis::Measured);
        let what = format!("{name}: accesses");
        goal_record(&what, Bound::AtLeast(least), unit, rate(), seed)
    };
    match field("uses") {
        uses if uses == Uses::L1.name() => Some(accesses(HELD_IN_L1)),
        uses if uses == Uses::Mostly.name() => Some(accesses(MOSTLY_IN_L1)),
        uses if uses == Uses::Far.name() => Some(goal_record(
            &format!("{name}: memory a page beside its tables"),
            Bound::AtMost(BYTES_A_PAGE),
            ("bytes", Basis::Counted),
            metric(BYTES).to_vec(),
            seed,
        )),
        _ => None,
    }
}

const BYTES: &str = "bytes";

/// A row of the benchmark: page tables, a string of accesses, and their times.
struct Accesses<F> {
    platform: Platform,
    uses: Uses,
    blocks: bool,
    /// The number of mapped pages.
    pages: usize,
    memory: Vec<AtomicU64>,
    string: Vec<(VirtAddr, bool)>,
    times: [Vec<f64>; 3],
    /// The seed of the string.
    seed: u64,
    format: PhantomData<F>,
}

impl<F: Format> Accesses<F> {
    fn new(platform: &str, uses: Uses, blocks: bool, seed: u64) -> Self {
        let platform = Platform::named(platform).expect("a platform that comes with the program");
        let each = if blocks { F::CONT_PTES } else { 1 };
        let used = uses.entries(platform.shape()) * each;
        let pages = used.next_multiple_of(F::PTES);
        let near = Uses::L1.entries(platform.shape()) * each;
        let mut random = fastrand::Rng::with_seed(seed);
        let access = || {
            let anywhere = uses != Uses::Mostly || random.u8(..20) == 0;
            let page = random.usize(..if anywhere { used } else { near }) as u64;
            (VirtAddr::new(page << F::PAGE_SHIFT), random.u8(..4) == 0)
        };
        Self {
            platform,
            uses,
            blocks,
            pages,
            memory: map::<F>(pages / F::PTES, blocks),
            string: repeat_with(access).take(STRING).collect(),
            times: Default::default(),
            seed,
            format: PhantomData,
        }
    }

    fn tables(&self) -> HostTables<'_, F> {
        HostTables::new(&self.memory, ROOT)
    }

    fn setup(&self, cores: u16) -> Setup {
        let shape = Shape { cores, ..self.platform.shape().clone() };
        Setup::new(shape, self.platform.prices(Draw::Nominal), 0)
    }

    /// Returns the nanoseconds of an access, after every page was used once.
    fn by_task(&self) -> f64 {
        let machine = Machine::new(self.setup(1), self.tables());
        let task = machine.alone(CoreId(0));
        task.load_mm(SPACE, ROOT);
        let all = || {
            for (at, store) in &self.string {
                task.access(*at, *store).expect("everything is mapped");
            }
        };
        all();
        per_access(timed(all).1)
    }

    fn by_tlb(&self) -> f64 {
        let shape = self.platform.shape();
        let mut tlb = Tlb::<F>::new(&shape.tlb, self.tables());
        let space = Space { asid: SPACE, root: ROOT, caps: shape.caps::<F>() };
        let mut all = || {
            for (at, store) in &self.string {
                if tlb.find(SPACE, *at, *store, Time::ZERO) == Found::Miss {
                    black_box(tlb.walk(&space, *at, *store, Time::ZERO));
                }
            }
        };
        all();
        per_access(timed(all).1)
    }

    fn by_tables(&self) -> f64 {
        let tables = self.tables();
        let walk = |at| {
            let mut frame = ROOT;
            for level in [Level::Pgd, Level::Pud, Level::Pmd] {
                frame = F::pfn(tables.table(frame).load(F::index(level, at)));
            }
            F::is_young(tables.table(frame).load(F::index(Level::Pte, at)))
        };
        let all = || self.string.iter().filter(|(at, _)| walk(*at)).count();
        black_box(all());
        per_access(timed(|| black_box(all())).1)
    }

    /// Returns where translations are found, in per cent, counted in a separate run; and the bytes
    /// a page.
    fn counts(&self) -> ([f64; 3], f64) {
        let machine = Machine::new(self.setup(1), self.tables());
        let task = machine.alone(CoreId(0));
        task.load_mm(SPACE, ROOT);
        let count = || {
            let all = self.string.iter();
            all.for_each(|(at, store)| task.access(*at, *store).expect("everything is mapped"));
            machine.report().counts
        };
        let (before, after) = (count(), count());
        let walks = after.walks - before.walks;
        let l2 = after.l2_hits - before.l2_hits;
        let part = |nr: u64| nr as f64 * 100.0 / STRING as f64;
        let pages = self.pages as f64;
        let bytes = machine.bytes_by_tables() as f64 / pages;
        ([part(STRING as u64 - l2 - walks), part(l2), part(walks)], bytes)
    }
}

fn per_access(ns: u64) -> f64 {
    ns as f64 / STRING as f64
}

/// Makes page tables that map `leaves` tables of pages from address zero on. No two consecutive
/// pages have consecutive frames, except in contiguous blocks.
fn map<F: Format>(leaves: usize, blocks: bool) -> Vec<AtomicU64> {
    let pmds = leaves.div_ceil(F::PTES);
    let words = (2 + pmds + leaves) * F::PTES;
    let memory: Vec<_> = repeat_with(|| AtomicU64::new(0)).take(words).collect();
    let tables = HostTables::<F>::new(&memory, ROOT);
    let frame = |k: usize| ROOT.add(k as u64);
    tables.table(frame(0)).set(0, F::table(frame(1)));
    (0..pmds).for_each(|pmd| tables.table(frame(1)).set(pmd, F::table(frame(2 + pmd))));
    for leaf in 0..leaves {
        let at = frame(2 + pmds + leaf);
        tables.table(frame(2 + leaf / F::PTES)).set(leaf % F::PTES, F::table(at));
        let first = (leaf + 1) * F::PTES;
        let nr = if blocks { F::PTES } else { 1 };
        for i in (0..F::PTES).step_by(nr) {
            let pfn = if blocks { first } else { 2 * (first + i) };
            let pte = F::leaf(Level::Pte, Pfn::new(pfn as u64), Prot::WRITE);
            set_ptes::<F, _>(tables.table(at), i, pte, nr);
        }
    }
    memory
}

impl<F: Format> Cell for Accesses<F> {
    fn sample(&mut self, round: usize) {
        for way in turns(3, round) {
            let ns = [Self::by_task, Self::by_tlb, Self::by_tables][way](self);
            self.times[way].push(ns);
        }
    }

    fn records(&mut self) -> Vec<Record> {
        let times = ACCESS_COLUMNS.iter().zip(&self.times);
        let mut metrics: Vec<_> = times.map(|(name, ns)| measured(name, "ns", ns)).collect();
        let (parts, bytes) = self.counts();
        let parts = ACCESS_COLUMNS[3..].iter().zip(parts);
        metrics.extend(parts.map(|(name, part)| counted(name, "%", part, Better::Higher)));
        metrics.push(per_page(BYTES, bytes));
        vec![Record {
            scenario: ACCESSES.to_owned(),
            ground: Ground::Host,
            seed: self.seed,
            fields: labels([
                ("platform", self.platform.name().to_owned()),
                ("uses", self.uses.name().to_owned()),
                ("maps", if self.blocks { "contiguous blocks" } else { "pages" }.to_owned()),
            ]),
            variant: Labels::new(),
            metrics,
        }]
    }
}

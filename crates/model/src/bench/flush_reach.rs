//! `bench flush-reach`: one entry of a run is young. How many valid translations does the flush
//! after the young check evict, if programs access the run between the clear and the TLBI?
//!
//! It plays every schedule: any entry may be young, and other cores may access any part of the run
//! before each TLBI (with two cores, before each of the first two). The check is the engine's. The
//! TLBs are the modelled machine's, used without time.

use pageout_experiment::formats::Arch;
use pageout_experiment::metrics::{counted, labels};
use pageout_machine::Time;
use pageout_machine::tlb::{Found, Held, LevelShape, Space, Tlb, TlbShape, Walks};
use pageout_paging::contig::set_ptes;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::pte::{Arm64_4K, Prot};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, Format, Level, LockedTable, Notifier, Pfn, Pte, Sound, Table, VirtAddr};
use pageout_record::schema::{Better, Ground, Record};
use std::cell::RefCell;
use std::iter::{once, repeat_n, repeat_with};
use std::sync::atomic::AtomicU64;

/// The scenario of the benchmark's records.
pub const FLUSH_REACH: &str = "bench flush-reach";
/// The axis of the benchmark's variants.
pub const FLUSH: &str = "flush";
/// The choice that the other is compared with.
pub const FLUSH_OF_ENTRY: &str = "young entry's";
/// The metrics of the benchmark's records.
pub const FLUSH_REACH_COLUMNS: [(&str, Better); 7] = [
    ("schedules", Better::Neither),
    ("TLBIs", Better::Lower),
    ("stale entries evicted", Better::Neither),
    ("valid entries evicted", Better::Lower),
    ("valid, mean", Better::Lower),
    ("no valid, %", Better::Neither),
    ("pages of these", Better::Neither),
];

type F = Arm64_4K;

/// The number of entries of the run.
const NR: usize = 4;
/// The index of the first entry, inside a contiguous block.
const FIRST: usize = 4;
const ROOT: Pfn = Pfn::new(0);
const TABLE: Pfn = Pfn::new(3);
const SPACE: Asid = Asid(1);
/// A TLB that holds every translation that is used here.
const TLB: TlbShape = TlbShape {
    l1: LevelShape { sets: 1, ways: 16 },
    l2: None,
    contiguous: true,
    coalesce: 1,
    caches_invalid: false,
    walk_cache: 0,
    page_drops: Walks::None,
};

/// The way in which the run is mapped, checked and flushed.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// True if the run lies in a contiguous block, which one TLB entry holds.
    block: bool,
    /// True if one TLBI covers a range; otherwise it covers one page.
    ranges: bool,
    algorithm: YoungAlgorithm,
    /// The number of cores that access the run.
    cores: usize,
}

/// The program of a core. `held` is true if it uses the young page before the check. `before` has,
/// for each TLBI, the pages of the run that it accesses before it, as bits.
#[derive(Clone, Debug)]
struct Program {
    held: bool,
    before: Vec<u8>,
}

/// The counts of one schedule.
#[derive(Clone, Copy, Default, Debug)]
struct Evicted {
    tlbis: u64,
    stale: u64,
    valid: u64,
    pages: u64,
}

/// Plays all schedules, and returns a record for each case.
pub fn flush_reach() -> Vec<Record> {
    let mut records = Vec::new();
    for (ranges, cores) in [(true, 1), (false, 1), (true, 2)] {
        for block in [false, true] {
            for algorithm in [YoungAlgorithm::PerEntry, YoungAlgorithm::Batched] {
                records.push(Case { block, ranges, algorithm, cores }.record());
            }
        }
    }
    records
}

impl Case {
    fn record(self) -> Record {
        let all = self.play();
        let most = |of: fn(&Evicted) -> u64| all.iter().map(of).max().unwrap_or(0) as f64;
        let share = |part: usize| part as f64 / all.len() as f64;
        let sum: u64 = all.iter().map(|one| one.valid).sum();
        let none = all.iter().filter(|one| one.valid == 0).count();
        let values = [
            all.len() as f64,
            most(|one| one.tlbis),
            most(|one| one.stale),
            most(|one| one.valid),
            share(sum as usize),
            share(none) * 100.0,
            most(|one| one.pages),
        ];
        let metric =
            |((name, better), value): (&(&str, Better), f64)| counted(name, "", value, *better);
        let given = [
            ("TLBI", if self.ranges { "ranges" } else { "pages" }),
            ("mapped", if self.block { "in a block" } else { "page by page" }),
        ];
        let is_single = self.algorithm == YoungAlgorithm::PerEntry;
        let flush = if is_single { FLUSH_OF_ENTRY } else { "run's" };
        let mut fields = labels(given.map(|(name, value)| (name, value.to_owned())));
        fields.insert("other cores".to_owned(), self.cores.to_string());
        Record {
            scenario: FLUSH_REACH.to_owned(),
            ground: Ground::Model,
            seed: 0,
            fields,
            variant: labels([(FLUSH, flush.to_owned())]),
            metrics: FLUSH_REACH_COLUMNS.iter().zip(values).map(metric).collect(),
        }
    }

    /// Plays every possible schedule.
    fn play(self) -> Vec<Evicted> {
        let memory: Vec<_> = repeat_with(|| AtomicU64::new(0)).take(4 * F::PTES).collect();
        let cores = Cores::new(self, HostTables::new(&memory, ROOT));
        let programs = self.programs();
        let nr = programs.len();
        let mut all = Vec::new();
        for young in 0..NR {
            for schedule in 0..nr.pow(self.cores as u32) {
                let of = |core: u32| &programs[schedule / nr.pow(core) % nr];
                all.push(cores.play(young, &(0..self.cores as u32).map(of).collect::<Vec<_>>()));
            }
        }
        all
    }

    /// Returns every possible program of a core. Before a single TLBI, it may access any set of
    /// pages; before each of several, any one page or none. So there is every order of first
    /// accesses.
    fn programs(self) -> Vec<Program> {
        let moments = self.moments() as u32;
        let orders: Vec<Vec<u8>> = if moments == 1 {
            (0..1 << NR).map(|pages| vec![pages]).collect()
        } else {
            let choices: Vec<u8> = once(0).chain((0..NR).map(|page| 1 << page)).collect();
            let nr = choices.len();
            let choose = |k: usize| (0..moments).map(|at| choices[k / nr.pow(at) % nr]).collect();
            (0..nr.pow(moments)).map(choose).collect()
        };
        let with =
            |before: Vec<u8>| [false, true].map(|held| Program { held, before: before.clone() });
        orders.into_iter().flat_map(with).collect()
    }

    /// Returns the number of moments at which others act: before each TLBI. Entry by entry, a TLBI
    /// follows each check of an entry that was accessed since the last one.
    fn moments(self) -> usize {
        match self.ranges && self.algorithm != YoungAlgorithm::PerEntry {
            true => 1,
            false if self.cores > 1 => 2,
            false => NR,
        }
    }
}

/// Page tables with the run, and the TLBs of the cores that use it.
struct Cores<'a> {
    case: Case,
    tables: HostTables<'a, F>,
    state: RefCell<State<'a>>,
}

struct State<'a> {
    tlbs: Vec<Tlb<'a, F>>,
    programs: Vec<Program>,
    evicted: Evicted,
}

impl<'a> Cores<'a> {
    fn new(case: Case, tables: HostTables<'a, F>) -> Self {
        for (level, frame) in [(0, ROOT), (1, Pfn::new(1)), (2, Pfn::new(2))] {
            tables.table(frame).set(0, F::table(Pfn::new(level + 1)));
        }
        let tlbs = repeat_with(|| Tlb::new(&TLB, tables)).take(case.cores).collect();
        let state = State { tlbs, programs: Vec::new(), evicted: Evicted::default() };
        Self { case, tables, state: RefCell::new(state) }
    }

    /// Plays one schedule: the run gets one young entry, and is checked.
    fn play(&self, young: usize, programs: &[&Program]) -> Evicted {
        self.map(FIRST + young);
        {
            let state = &mut *self.state.borrow_mut();
            state.programs = programs.iter().map(|program| (*program).clone()).collect();
            state.evicted = Evicted::default();
            for (tlb, program) in state.tlbs.iter_mut().zip(programs) {
                tlb.forget_all_but_global(Time::ZERO);
                if program.held {
                    access(tlb, FIRST + young);
                }
            }
        }
        let flush = FlushPolicy::ARM64;
        let check = YoungCheck { env: self, algorithm: self.case.algorithm, flush, asid: SPACE };
        let table = LockedTable::lock(self, TABLE);
        check.clear_flush_young_ptes(&table, address(FIRST), NR);
        self.state.borrow().evicted
    }

    /// Maps the block, with one young entry.
    fn map(&self, young: usize) {
        let table = self.tables.table(TABLE);
        let nr = F::CONT_PTES;
        (0..nr).for_each(|k| table.set(k, Pte::NONE));
        // Consecutive frames make a block; with gaps between frames there is none.
        let apart = if self.case.block { 1 } else { 2 };
        let frame = |k: usize| Pfn::new((1 << 20) + (k * apart) as u64);
        let step = if self.case.block { nr } else { 1 };
        for k in (0..nr).step_by(step) {
            let old = F::mkold(F::leaf(Level::Pte, frame(k), Prot::READ));
            set_ptes::<F, _>(table, k, old, step);
        }
        let pte = table.load(young);
        table.set(young, F::mkyoung(pte));
    }

    /// Issues one TLBI, after the programs have acted.
    fn tlbi(&self, what: Invalidate) {
        let Invalidate::Range { start, nr, .. } = what else {
            unreachable!("a run is less than an address space")
        };
        let state = &mut *self.state.borrow_mut();
        let moment = state.evicted.tlbis as usize;
        state.evicted.tlbis += 1;
        for (tlb, program) in state.tlbs.iter_mut().zip(&state.programs) {
            let pages = program.before.get(moment).copied().unwrap_or(0);
            let chosen = (0..NR).filter(|page| pages >> page & 1 != 0);
            chosen.for_each(|page| access(tlb, FIRST + page));
        }
        for tlb in &mut state.tlbs {
            let end = start.add((nr as u64) << F::PAGE_SHIFT);
            let covers = |held: &Held| {
                let held_end = held.start.add((held.nr_pages as u64) << F::PAGE_SHIFT);
                held.start < end && start < held_end
            };
            for held in tlb.entries().filter(covers) {
                let table = self.tables.table(TABLE);
                let first = F::index(Level::Pte, held.start);
                if (first..first + held.nr_pages).any(|k| F::is_young(table.load(k))) {
                    state.evicted.valid += 1;
                    state.evicted.pages += held.nr_pages as u64;
                } else {
                    state.evicted.stale += 1;
                }
            }
            tlb.forget(what, Time::ZERO);
        }
    }
}

/// Simulates a program's access to the page that an entry of the table maps.
fn access(tlb: &mut Tlb<'_, F>, entry: usize) {
    let space = Space { asid: SPACE, root: ROOT, caps: F::CAPS };
    if tlb.find(SPACE, address(entry), false, Time::ZERO) == Found::Miss {
        let walk = tlb.walk(&space, address(entry), false, Time::ZERO);
        assert!(walk.fault.is_none(), "all is mapped");
    }
}

const fn address(entry: usize) -> VirtAddr {
    VirtAddr::new((entry as u64) << F::PAGE_SHIFT)
}

impl<'a> Env for Cores<'a> {
    type Format = F;
    type Table = HostTable<'a, F>;
    type Mmu = Self;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'g>
        = ()
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> HostTable<'a, F> {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, _frame: Pfn) -> Option<()> {
        Some(())
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {}
}

impl Mmu for Cores<'_> {
    fn caps(&self) -> Caps {
        F::CAPS
    }

    /// Issues one TLBI for four pages, or for the sixteen of a block, if there are ranges.
    fn invalidate(&self, what: Invalidate) {
        match what {
            Invalidate::Range { asid, start, nr, level } if !self.case.ranges => {
                let starts = repeat_n(start, nr).enumerate();
                for (k, start) in starts {
                    let start = start.add((k as u64) << F::shift(level));
                    self.tlbi(Invalidate::Range { asid, start, nr: 1, level });
                }
            }
            what => self.tlbi(what),
        }
    }

    fn barrier(&self, _barrier: Barrier) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most_valid(case: Case) -> u64 {
        case.play().iter().map(|one| one.valid).max().expect("there are schedules")
    }

    #[test]
    fn the_flush_of_a_run_evicts_what_was_accessed_of_it_and_no_more() {
        let case = |block, ranges, algorithm| Case { block, ranges, algorithm, cores: 1 };
        for ranges in [true, false] {
            assert_eq!(most_valid(case(false, ranges, YoungAlgorithm::Batched)), NR as u64);
            assert_eq!(most_valid(case(false, ranges, YoungAlgorithm::PerEntry)), 1);
        }
        let block = case(true, true, YoungAlgorithm::Batched);
        assert_eq!(most_valid(block), 1, "one entry holds the block");
        assert_eq!(block.play().iter().map(|one| one.pages).max(), Some(16));
    }

    #[test]
    fn nobody_loses_what_nobody_accesses() {
        for algorithm in [YoungAlgorithm::PerEntry, YoungAlgorithm::Batched] {
            let case = Case { block: false, ranges: true, algorithm, cores: 1 };
            let all = case.play();
            assert!(all.iter().any(|one| one.valid == 0 && one.stale == 1 && one.tlbis == 1));
        }
    }
}

//! Aging in batches: a walk leaves the same state as one that goes entry by entry, and the next
//! walk enters the tables that were worth it. It is checked for every small case of one table.

use super::agent_cpu::{AgentCpu, Ground};
use super::event_log;
use super::format::{INTERRUPTS, Small};
use super::harness::{ASID, FIRST_PAGE, TUNING};
use super::registers::Kind;
use super::tables::LIMITS;
use super::world::{FIRST_FRAME, Leaf, World};
use pageout_exhibits::harness::{Counterexample, choice};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Order, Rules, Table};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Advice, Aging, CpuCtx, FolioFlags, FolioId, Frames, MapAs, MappingKind, MemcgId, MmId, MmState,
    NewFolio, NewVma, Recency, Tuning, VmFlags,
};
use pageout_sim::EngineMemory;
use std::fmt;

/// Pages mapped in small formats: all of one folio, or of two.
const PAGES: u64 = 4;

/// The first sequence number of the youngest generation.
const FIRST_SEQ: u64 = 3;

/// The mapped folios, and their state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    /// log2 of the pages of each folio.
    order: u8,
    /// Folios mapped, and pages of the VMA.
    folios: u64,
    pages: u64,
    /// The first page whose VMA is left out of aging.
    split: u64,
    /// The used pages: bit k is page k.
    young: u64,
    /// True if a reclaim has isolated the folios.
    isolated: bool,
}

/// The state after a walk.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Left {
    young: Vec<bool>,
    folios: Vec<Recency>,
    /// True if the next walk enters the table.
    entered: bool,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let young = self.young.iter().enumerate().filter(|(_, young)| **young);
        let young: Vec<String> = young.map(|(page, _)| page.to_string()).collect();
        match &young[..] {
            [] => write!(f, "no page is young")?,
            pages => write!(f, "young pages are {}", pages.join(" and "))?,
        }
        for (number, folio) in self.folios.iter().enumerate() {
            match folio.generation() {
                Some(generation) => write!(f, ", folio {number} is in generation {generation}")?,
                None => write!(f, ", folio {number} is in no generation")?,
            }
            let marks = [
                (Recency::WORKINGSET, " (working set)"),
                (Recency::REFERENCED, " (referenced)"),
                (Recency::RECLAIM, " (to reclaim)"),
            ];
            let mut marks = marks.iter().filter(|(mark, _)| folio.contains(*mark));
            marks.try_for_each(|(_, words)| f.write_str(words))?;
            if folio.refs() > 0 {
                write!(f, " (further uses: {})", folio.refs())?;
            }
        }
        Ok(())
    }
}

/// A process that maps a case.
struct Stage<'a, R: Rules, F: Format> {
    world: &'a World<F>,
    maps: &'a MmState<'a>,
    env: Ground<'a, R, F>,
    mm: MmId,
    folios: Vec<FolioId>,
    algorithm: YoungAlgorithm,
    seq: u64,
}

/// Walks every case, a table of a few entries, by each young algorithm, and compares the outcomes
/// with entries checked one by one. Returns the number of cases.
pub fn aging<R: Rules, F: Small>() -> Result<u64, Box<Counterexample>> {
    let mut tried = 0;
    for case in cases() {
        let alone = walk::<R, F>(&case, YoungAlgorithm::PerEntry).0;
        let found_young = |page: u64| case.young >> page & 1 == 1 && !alone.young[page as usize];
        let worth = (0..case.pages).any(found_young);
        let in_batches = |algorithm: &YoungAlgorithm| *algorithm != YoungAlgorithm::PerEntry;
        for algorithm in YoungAlgorithm::ALL.into_iter().filter(in_batches) {
            let (left, start, steps) = walk::<R, F>(&case, algorithm);
            let found = match () {
                () if (&left.young, &left.folios) != (&alone.young, &alone.folios) => Some((
                    "a batch leaves what its entries would one by one",
                    format!("one by one, {alone}; in a batch, {left}"),
                )),
                () if left.entered != worth => Some((
                    "a walk enters the tables that the last one found worth it",
                    format!("the next walk {}", entering(left.entered)),
                )),
                () => None,
            };
            if let Some((property, found)) = found {
                let (format, call) = (F::LABEL, format!("a walk, young={}", choice(&algorithm)));
                let failed = Counterexample { property, found, format, call, table: start, steps };
                return Err(Box::new(failed));
            }
            tried += 1;
        }
    }
    Ok(tried)
}

fn entering(entered: bool) -> &'static str {
    if entered { "enters the table" } else { "passes the table" }
}

/// Returns all cases: one folio of four pages, or two of two; all pages in one VMA, or the last
/// ones in a VMA of their own; each set of used pages.
fn cases() -> impl Iterator<Item = Case> {
    let layouts = [(2, 1), (1, 2)].into_iter();
    let layouts = layouts.flat_map(|of| (1..=PAGES).map(move |split| (of, split)));
    layouts.flat_map(|((order, folios), split)| {
        let isolated = false;
        let case = move |young| Case { order, folios, pages: PAGES, split, young, isolated };
        (0..1 << PAGES).map(case)
    })
}

/// Walks a case twice. Returns the state after the first walk and the work that it leaves for the
/// second, with the start and the steps of the first.
fn walk<R: Rules, F: Small>(
    case: &Case,
    algorithm: YoungAlgorithm,
) -> (Left, Vec<String>, Vec<String>) {
    let world = World::<F>::new(1, F::MACHINE, Kind::File, FIRST_PAGE);
    let mut memory = EngineMemory::new(&LIMITS);
    let maps = memory.state(FIRST_FRAME);
    let cpu = &mut CpuCtx::new();
    let mut stage = Stage::<R, F>::set_up(&world, &maps, cpu, case, algorithm);
    let start = world.describe();
    world.begin_log();
    stage.age(cpu, true);
    let steps = event_log::lines(world.events());
    let young = (0..case.pages).map(|page| stage.is_young(page)).collect();
    let folios =
        stage.folios.iter().map(|id| maps.folio(*id).expect("it lives").recency()).collect();
    let entered = stage.age(cpu, false) == 1;
    (Left { young, folios, entered }, start, steps)
}

/// Looks around a folio of eight pages in use, in a VMA of sixteen that has nothing else. Two young
/// entries are enough for the next walk to enter the table. A run that is checked at once counts as
/// a whole, however many of its pages were used. Entry by entry, each look-around counts its own
/// entry: it skips those of an isolated folio.
pub fn looking_around<R: Rules, F: Format>() -> Result<u64, Box<Counterexample>> {
    let mut tried = 0;
    for algorithm in YoungAlgorithm::ALL {
        for used in 1..=8 {
            let young = (1 << used) - 1;
            let isolated = true;
            let case = Case { order: 3, folios: 1, pages: 16, split: 16, young, isolated };
            let world = World::<F>::new(1, INTERRUPTS, Kind::File, FIRST_PAGE);
            let mut memory = EngineMemory::new(&LIMITS);
            let maps = memory.state(FIRST_FRAME);
            let cpu = &mut CpuCtx::new();
            let mut stage = Stage::<R, F>::set_up(&world, &maps, cpu, &case, algorithm);
            stage.set_young(0);
            stage.age(cpu, true);
            stage.set_young(young);
            let start = world.describe();
            world.begin_log();
            maps.on(&stage.env, cpu, Tuning { aging: stage.aging(), ..TUNING })
                .folio_referenced(stage.folios[0], None, None)
                .expect("it lives");
            let steps = event_log::lines(world.events());
            let entered = stage.age(cpu, false) == 1;
            let counted = if algorithm == YoungAlgorithm::PerEntry { 1 } else { 8 };
            if entered != (counted >= 2) {
                return Err(Box::new(Counterexample {
                    property: "a run in use counts whole in whether a table is worth a walk",
                    found: format!(
                        "{counted} of 16 are young, the next walk {}",
                        entering(entered)
                    ),
                    format: F::NAME,
                    call: format!("folio_referenced, young={}", choice(&algorithm)),
                    table: start,
                    steps,
                }));
            }
            tried += 1;
        }
    }
    Ok(tried)
}

impl<'a, R: Rules, F: Format> Stage<'a, R, F> {
    fn set_up(
        world: &'a World<F>,
        maps: &'a MmState<'a>,
        cpu: &mut CpuCtx,
        case: &Case,
        algorithm: YoungAlgorithm,
    ) -> Self {
        let env = Ground::<R, F>::new(AgentCpu { world, yielder: None, cpu: 0 });
        let engine = &mut maps.on(&env, cpu, TUNING);
        engine.set_lru_gen_caps(LruGenCaps::all());
        let root = world.add_root(ASID);
        let mapping = engine.add_mapping(MappingKind::File).expect("there is room");
        let mm = engine.add_mm(root, ASID).expect("there is room");
        let range = world.addr(0)..world.addr(case.pages);
        let new = NewVma { mm, range, flags: VmFlags::READ, mapping, pgoff: 0 };
        let vma = engine.mmap(&new).expect("the range is free");
        let order = Order::new(case.order).expect("the folio is small");
        let mut folios = Vec::new();
        for k in 0..case.folios {
            let pfn = env.alloc(order).expect("memory is free");
            let index = k << case.order;
            let new = NewFolio { pfn, order, mapping, index, flags: FolioFlags::UPTODATE };
            let id = engine.add_folio(new).expect("there is room");
            if !case.isolated {
                engine.lru_add(id).expect("it lives");
                // The walk's use is then the second one of the folio, which makes it young.
                engine.mark_accessed(id).expect("it lives");
            }
            let mapped = engine.map_folio(vma, id, MapAs::Ptes, &mut &world.hardware.tables);
            mapped.expect("it is not mapped");
            folios.push(id);
        }
        if case.split < case.pages {
            let last = world.addr(case.split)..world.addr(case.pages);
            let told = engine.madvise(mm, &last, Advice::Sequential);
            told.expect("there is room for another VMA");
        }
        let stage = Self { world, maps, env, mm, folios, algorithm, seq: FIRST_SEQ };
        stage.set_young(case.young);
        stage
    }

    fn aging(&self) -> Aging {
        Aging { algorithm: self.algorithm, ..TUNING.aging }
    }

    /// Makes the pages in the mask young, and no others.
    fn set_young(&self, mask: u64) {
        for page in 0..u64::BITS.into() {
            let Some(Leaf { table, i, pte, .. }) = self.world.entry(ASID, self.world.addr(page))
            else {
                return;
            };
            if F::is_present(pte) {
                let young = mask >> page & 1 == 1;
                let pte = if young { F::mkyoung(pte) } else { F::mkold(pte) };
                self.world.table(table).swap(i, F::encode(pte));
            }
        }
    }

    fn is_young(&self, page: u64) -> bool {
        let entry = self.world.entry(ASID, self.world.addr(page));
        entry.is_some_and(|leaf| F::is_young(leaf.pte))
    }

    /// Walks the process: all tables if `force`, and otherwise only those in the filter. Returns
    /// the number of PTE tables entered.
    fn age(&mut self, cpu: &mut CpuCtx, force: bool) -> u64 {
        let before = self.maps.mm_stats(MemcgId::ROOT).expect("it is online").nonleaf_found;
        self.maps.lru_gen_use_mm(self.mm).expect("it lives");
        let (maps, aging) = (self.maps, self.aging());
        let opened = maps
            .on(&self.env, cpu, Tuning { aging, ..TUNING })
            .try_to_inc_max_seq(MemcgId::ROOT, self.seq, 100, force)
            .expect("it is online");
        assert!(opened, "no one else walks");
        self.seq += 1;
        maps.mm_stats(MemcgId::ROOT).expect("it is online").nonleaf_found - before
    }
}

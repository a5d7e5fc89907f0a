//! A batch leaves the same state as its entries one by one: every small state of a file's folio is
//! unmapped in both ways, and the results are compared.

use super::access::{Access, Accessed};
use super::agent_cpu::{AgentCpu, Ground};
use super::event_log;
use super::format::Small;
use super::harness::{ASID, FIRST_PAGE, TUNING};
use super::registers::Kind;
use super::tables::LIMITS;
use super::world::{FIRST_FRAME, World};
use pageout_exhibits::harness::Counterexample;
use pageout_experiment::variant::shootdown_name;
use pageout_paging::contig::Getter;
use pageout_paging::mmu::{Barrier, Invalidate};
use pageout_paging::pte::{Entry, SwapEntry, SwapKind};
use pageout_paging::{Format, Mmu, Order, Pfn, Pte, Rules, Table};
use pageout_reclaim::{
    CpuCtx, FlushTiming, FolioFlags, Frames, MapAs, MappingKind, MmState, NewFolio, NewVma,
    TlbBatch, Tuning, UnmapGranularity, Unmapping, VmFlags,
};
use pageout_sim::EngineMemory;

/// Pages of the folio: a block of four, or two of two.
const PAGES: usize = 4;

/// The state of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Clean,
    Young,
    Dirty,
    ReadOnly,
    UffdWp,
}

const STATES: [State; 5] =
    [State::Clean, State::Young, State::Dirty, State::ReadOnly, State::UffdWp];

/// A folio to unmap: the pages that the VMA maps, and the state of each entry.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// First page mapped, and past the last.
    mapped: (usize, usize),
    states: [State; PAGES],
    /// True if userfaultfd write-protects in the VMA.
    uffd_wp: bool,
    shootdown: FlushTiming,
}

/// The state after unmapping.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Left {
    entries: Vec<Pte>,
    mapcount: u32,
    /// The number of references that pass to the caller.
    refs: u32,
    all: bool,
    dirty: bool,
    /// Pages that a TLB still translates.
    cached: Vec<u64>,
}

/// Unmaps every small state in both ways; returns the number of states compared.
pub fn unmapping<R: Rules, F: Small>() -> Result<u64, Box<Counterexample>> {
    let mut compared = 0;
    for case in cases() {
        let alone = unmap::<R, F>(&case, (UnmapGranularity::PerEntry, Getter::Raw), false).0;
        let ways = [Getter::Contpte, Getter::Raw].map(|read| (UnmapGranularity::Batched, read));
        let left = |how| unmap::<R, F>(&case, how, false).0;
        if let Some(how) = ways.into_iter().find(|how| left(*how) != alone) {
            let (batched, start, steps) = unmap::<R, F>(&case, how, true);
            return Err(Box::new(Counterexample {
                property: "a batch leaves what its entries would one by one",
                found: difference::<F>(&alone, &batched),
                format: F::LABEL,
                call: format!(
                    "try_to_unmap of a file's folio, shootdown {}",
                    shootdown_name(case.shootdown)
                ),
                table: start,
                steps,
            }));
        }
        compared += 1;
    }
    Ok(compared)
}

/// Returns every range of mapped pages with every state of each entry. A block is contiguous if it
/// is mapped as a whole and its entries differ only in young and dirty.
fn cases() -> impl Iterator<Item = Case> {
    let ranges = (0..PAGES).flat_map(|from| (from + 1..=PAGES).map(move |to| (from, to)));
    ranges.flat_map(|mapped| {
        let states = (0..STATES.len().pow(PAGES as u32)).map(|number| {
            std::array::from_fn(|k| STATES[number / STATES.len().pow(k as u32) % STATES.len()])
        });
        let matters = move |states: &[State; PAGES]| {
            (0..PAGES).all(|k| (mapped.0..mapped.1).contains(&k) || states[k] == State::Clean)
        };
        states.filter(matters).flat_map(move |states| {
            let marks = states.contains(&State::UffdWp);
            let flags = if marks { vec![true] } else { vec![false, true] };
            flags.into_iter().flat_map(move |uffd_wp| {
                [FlushTiming::Immediate, FlushTiming::Deferred].map(|shootdown| Case {
                    mapped,
                    states,
                    uffd_wp,
                    shootdown,
                })
            })
        })
    })
}

/// Sets up the case and unmaps the folio. Returns the result; if `told` is true, also the start and
/// the steps, for a counterexample.
fn unmap<R: Rules, F: Small>(
    case: &Case,
    (by, read): (UnmapGranularity, Getter),
    told: bool,
) -> (Left, Vec<String>, Vec<String>) {
    let world = World::<F>::new(1, F::MACHINE, Kind::File, FIRST_PAGE);
    let mut memory = EngineMemory::new(&LIMITS);
    let maps = memory.state(FIRST_FRAME);
    let env = Ground::<R, F>::new(AgentCpu { world: &world, yielder: None, cpu: 0 });
    let cpu = &mut CpuCtx::new();
    let pfn = set_up(&world, &maps, &env, cpu, case);
    let start = if told { world.describe() } else { Vec::new() };
    if told {
        world.begin_log();
    }
    let id = maps.folio_of(pfn).expect("the folio is there");
    let guard = maps.folio(id).expect("it lives").try_lock().expect("no one else is here");
    let unmapping = Unmapping { by, read, shootdown: case.shootdown };
    let engine = &mut maps.on(&env, cpu, Tuning { unmapping, ..TUNING });
    let mut tlb_batch = TlbBatch::new(engine);
    let done = engine.try_to_unmap(&guard, &mut tlb_batch);
    tlb_batch.finish(engine);
    let pages = 0..PAGES as u64;
    let left = Left {
        entries: pages.clone().map(|page| entry(&world, page).unwrap_or(Pte::NONE)).collect(),
        mapcount: guard.folio().mapcount(),
        refs: done.refs,
        all: done.all,
        dirty: guard.folio().flags().contains(FolioFlags::DIRTY),
        cached: pages.filter(|page| world.is_cached(0, ASID, *page)).collect(),
    };
    (left, start, event_log::lines(world.events()))
}

fn set_up<R: Rules, F: Small>(
    world: &World<F>,
    maps: &MmState<'_>,
    env: &Ground<'_, R, F>,
    cpu: &mut CpuCtx,
    case: &Case,
) -> Pfn {
    let engine = &mut maps.on(env, cpu, TUNING);
    let root = world.add_root(ASID);
    let mapping = engine.add_mapping(MappingKind::File).expect("there is room");
    let mm = engine.add_mm(root, ASID).expect("there is room");
    let (from, to) = (case.mapped.0 as u64, case.mapped.1 as u64);
    let mut flags = VmFlags::READ | VmFlags::WRITE | VmFlags::SHARED;
    flags.set(VmFlags::UFFD_WP, case.uffd_wp);
    let range = world.addr(from)..world.addr(to);
    let new = NewVma { mm, range, flags, mapping, pgoff: from };
    let vma = engine.mmap(&new).expect("the range is free");
    let order = Order::new(PAGES.ilog2() as u8).expect("the folio is small");
    let pfn = env.alloc(order).expect("memory is free");
    let new = NewFolio { pfn, order, mapping, index: 0, flags: FolioFlags::UPTODATE };
    let id = engine.add_folio(new).expect("there is room");
    engine.map_folio(vma, id, MapAs::Ptes, &mut &world.hardware.tables).expect("it is not mapped");
    let states: Vec<_> = (from..to)
        .map(|page| {
            let leaf = world.entry(ASID, world.addr(page)).expect("it is mapped");
            (page, leaf.table, leaf.i, F::encode(state::<F>(leaf.pte, case, page as usize)))
        })
        .collect();
    states.iter().for_each(|(_, table, i, state)| world.table(*table).set(*i, *state));
    env.invalidate(Invalidate::Everything);
    env.barrier(Barrier::Complete);
    for (page, table, i, state) in states {
        // A missing flush shows because of this access.
        let _: Accessed = env.access(ASID, page, Access::Load, &|_| true);
        world.table(table).set(i, state);
    }
    pfn
}

/// Returns the entry of `page` in the case. It is contiguous only if its whole block is read-only,
/// or write-protected by userfaultfd, or neither: other blocks become single entries.
fn state<F: Small>(pte: Pte, case: &Case, page: usize) -> Pte {
    let block = F::CONT_PTES;
    let first = page / block * block;
    let alike = |k: usize| match case.states[k] {
        State::ReadOnly | State::UffdWp => Some(case.states[k]),
        State::Clean | State::Young | State::Dirty => None,
    };
    let uniform = F::is_cont(pte) && (first..first + block).all(|k| alike(k) == alike(first));
    let base = if uniform { pte } else { F::mknoncont(pte) };
    match case.states[page] {
        State::Clean => base,
        State::Young => F::mkyoung(base),
        State::Dirty => F::mkdirty(F::mkyoung(base)),
        State::ReadOnly => F::wrprotect(base),
        State::UffdWp => F::mkuffd_wp(base),
    }
}

fn entry<F: Small>(world: &World<F>, page: u64) -> Option<Pte> {
    world.entry(ASID, world.addr(page)).map(|leaf| leaf.pte)
}

fn difference<F: Format>(alone: &Left, batched: &Left) -> String {
    let mut entries = alone.entries.iter().zip(&batched.entries);
    if let Some(page) = entries.position(|(alone, batched)| alone != batched) {
        let word = |pte: Pte| match pte {
            pte if pte.is_none() => "nothing".to_owned(),
            pte if F::is_present(pte) => "a mapping".to_owned(),
            pte => match F::entry(pte) {
                Entry::Swap(SwapEntry { kind: SwapKind::Marker, .. }) => "a marker".to_owned(),
                other => format!("{other:?}"),
            },
        };
        let (alone, batched) = (word(alone.entries[page]), word(batched.entries[page]));
        return format!("one by one, page {page} is left {alone}; in a batch, {batched}");
    }
    format!("one by one {alone:?}, in a batch {batched:?}")
}

//! The steps of scenarios, in a form that shrinks to fewer and simpler steps.

use crate::hardware::CPUS;
use crate::model::Machine;
use pageout_paging::mmu::Shootdown;
use pageout_paging::pte::SwapKind;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Advice, Aging, FlushTiming, PmdLeaves, Thp, Tuning, UnmapGranularity, Unmapping, VmFlags,
};
use pageout_sim::Answer;
use proptest::collection::vec;
use proptest::prelude::*;

/// The number of pages of an address space that programs use.
pub(crate) const SPACE: u64 = 40;
/// The largest number of processes at once.
pub(crate) const PROCESSES: usize = 4;
/// The number of files.
pub(crate) const FILES: usize = 3;
/// The number of mappings of shared memory, numbered after the files.
pub(crate) const SHMEMS: usize = 2;
/// The number of files and mappings of shared memory.
pub(crate) const SHARED: usize = FILES + SHMEMS;
/// The number of pages of each file.
pub(crate) const FILE: u64 = 32;

/// A run of pages of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) process: usize,
    pub(crate) at: u64,
    pub(crate) nr: u64,
}

/// An operation. Processes, cgroups and other objects are chosen by number. An operation on an
/// object that does not exist is skipped.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Load {
        process: usize,
        page: u64,
    },
    Store {
        process: usize,
        page: u64,
    },
    /// Stores to every page.
    Fill(Span),
    MapAnonymous {
        span: Span,
        order: u8,
    },
    MapFile {
        span: Span,
        file: usize,
        pgoff: u64,
        order: u8,
        shared: bool,
        write: bool,
    },
    /// A file or shared memory ends with this page from now on, and may grow again.
    Truncate {
        file: usize,
        from: u64,
    },
    Unmap(Span),
    Protect {
        span: Span,
        prot: VmFlags,
    },
    Remap {
        span: Span,
        to: u64,
        nr: u64,
    },
    Advise {
        span: Span,
        advice: Advice,
    },
    Lock {
        span: Span,
        on: bool,
    },
    WriteProtect {
        span: Span,
        on: bool,
    },
    Spawn {
        memcg: usize,
    },
    Fork {
        process: usize,
    },
    Exit {
        process: usize,
    },
    FaultAround {
        process: usize,
        pages: u32,
    },
    ReclaimCgroup {
        memcg: usize,
        pages: u64,
        swappiness: Option<u8>,
    },
    ReclaimAll,
    Balance {
        node: u8,
        high: u64,
    },
    SetMax {
        memcg: usize,
        pages: u64,
    },
    Protection {
        memcg: usize,
        min: u64,
        low: u64,
    },
    MoveProcess {
        process: usize,
        memcg: usize,
    },
    AddCgroup {
        parent: usize,
    },
    RemoveCgroup {
        memcg: usize,
    },
    /// Writes to a file of `/sys/kernel/mm/lru_gen/`.
    SwitchLruGen {
        caps: u8,
    },
    MinTtl {
        ms: u64,
    },
    /// Opens a generation after the youngest, or asks for one after an older one.
    Age {
        memcg: usize,
        node: u8,
        older: u64,
        swappiness: u8,
        force: bool,
    },
    /// Evicts generations up to the one that is `older` generations older than the youngest.
    EvictGenerations {
        memcg: usize,
        node: u8,
        older: u64,
        swappiness: u8,
        pages: u64,
    },
    /// Uses a file's page through a file descriptor.
    MarkAccessed {
        file: usize,
        page: u64,
    },
    /// Reclaims for a zone.
    ReclaimZone {
        zone: usize,
    },
    /// Moves the folios in a range of frames to the lowest free frames, or the highest.
    Migrate {
        at: u64,
        nr: u64,
        high: bool,
    },
    /// Lets the tables of VMAs, address spaces and mappings grow.
    Grow {
        vmas: usize,
        mms: usize,
        mappings: usize,
    },
    /// Takes the frames of a range away, and empties them.
    Offline {
        at: u64,
        nr: u64,
    },
    /// Adds all frames that were taken away.
    Online,
    /// Compacts memory.
    Compact,
    /// Sets the reactions of storage from now on.
    Storage {
        reads: Answer,
        writes: Answer,
    },
    /// Ends transfers in progress.
    Finish {
        nr: usize,
        ok: bool,
    },
    /// Writes a file's dirty folios, as the flushers do.
    WriteFile {
        file: usize,
        page: u64,
    },
    /// Makes a CPU's TLB drop all it holds. The CPU reads no entry before it runs a process again.
    Evict,
    /// Lends a page to a device, as kernels do with pages that processes may store to.
    Lend {
        process: usize,
        page: u64,
        kind: SwapKind,
    },
    /// Sets the variant from now on.
    Tune(usize),
}

/// An event inside of an operation.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A CPU's hardware accesses a page, if that needs no fault.
    Access { cpu: usize, process: usize, page: u64, store: bool },
    /// A CPU accesses a page of which it holds an old translation.
    Held { cpu: usize, pick: usize, store: bool },
    /// The device accesses a page that it was lent.
    Device { pick: usize, store: bool },
    /// Another CPU runs an operation, if the current one holds no lock.
    Op { cpu: usize, op: Op },
    /// Another CPU runs an operation, and a third then uses an entry that is gone and that it still
    /// holds.
    Race { cpu: usize, holder: usize, race: Race },
}

/// A race on a page, once a CPU holds an old translation of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Race {
    /// The entry is gone: one CPU stores to the page, and the holder loads it.
    StoreAndLoad,
    /// The entry is gone: one CPU writes the page out, and the holder stores to it.
    WriteOutAndStore,
}

/// An event that happens `after` calls of the ground after the one before.
#[derive(Clone, Debug)]
pub(crate) struct Meanwhile {
    pub(crate) after: u8,
    pub(crate) what: What,
}

/// An operation on a CPU, and the events inside of it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) cpu: usize,
    pub(crate) op: Op,
    pub(crate) meanwhile: Vec<Meanwhile>,
}

impl Span {
    pub(crate) const fn new(process: usize, at: u64, nr: u64) -> Self {
        Self { process, at, nr }
    }
}

impl Step {
    /// Makes a step of only an operation, on the first CPU.
    pub(crate) fn alone(op: Op) -> Self {
        Self { cpu: 0, op, meanwhile: Vec::new() }
    }
}

/// The number of variants.
pub(crate) const TUNINGS: usize = 3 * 2 * 2 * 3 * 2 * 2;

/// The first variant whose faults make large folios and map them by PMD leaves.
pub(crate) const LEAVES: usize = 3 * 2 * 2 * 3 * 3;

/// Returns a variant by number: algorithm, unmap and shootdown first. The parts after them, from
/// the flush on, may change the young bits that are found.
pub(crate) fn tuning(number: usize) -> Tuning {
    let algorithm = YoungAlgorithm::ALL[number % 3];
    let by = [UnmapGranularity::Batched, UnmapGranularity::PerEntry][number / 3 % 2];
    let shootdown = [FlushTiming::Deferred, FlushTiming::Immediate][number / 6 % 2];
    let flush = [YoungFlush::Sync, YoungFlush::Nosync, YoungFlush::None][number / 12 % 3];
    let aging = Aging { algorithm, flush: FlushPolicy::uniform(flush) };
    let thp = [Thp::Never, Thp::Always][number / 36 % 2];
    let unmapping = Unmapping { by, read: algorithm.getter(), shootdown };
    let pmd_leaves = [PmdLeaves::Never, PmdLeaves::WhereTheyFit][number / 72 % 2];
    Tuning { aging, unmapping, thp, pmd_leaves }
}

fn process() -> impl Strategy<Value = usize> {
    0..PROCESSES
}

fn span() -> impl Strategy<Value = Span> {
    let nr = prop_oneof![1..4_u64, Just(4), Just(8), 1..20_u64, Just(16)];
    (process(), 0..SPACE, nr).prop_map(|(process, at, nr)| Span {
        process,
        at,
        nr: nr.min(SPACE - at),
    })
}

/// Returns spans that often begin where a block does, or a leaf.
fn aligned() -> impl Strategy<Value = Span> {
    (span(), prop_oneof![Just(1_u64), Just(4), Just(8)])
        .prop_map(|(span, align)| Span { at: span.at / align * align, ..span })
}

fn access() -> impl Strategy<Value = (usize, u64)> {
    (process(), 0..SPACE)
}

fn accesses_alone() -> BoxedStrategy<Op> {
    prop_oneof![
        access().prop_map(|(process, page)| Op::Load { process, page }),
        access().prop_map(|(process, page)| Op::Store { process, page }),
    ]
    .boxed()
}

fn accesses() -> BoxedStrategy<Op> {
    prop_oneof![8 => accesses_alone(), 1 => span().prop_map(Op::Fill)].boxed()
}

fn flusher() -> BoxedStrategy<Op> {
    (0..SHARED, 0..FILE).prop_map(|(file, page)| Op::WriteFile { file, page }).boxed()
}

/// Returns operations that change one address space and wait for no folio's lock.
fn changes() -> BoxedStrategy<Op> {
    let prot = prop_oneof![
        Just(VmFlags::READ),
        Just(VmFlags::READ | VmFlags::WRITE),
        Just(VmFlags::empty()),
    ];
    prop_oneof![
        1 => span().prop_map(Op::Unmap),
        3 => (span(), prot).prop_map(|(span, prot)| Op::Protect { span, prot }),
        2 => (span(), 0..SPACE, 1..16_u64, any::<bool>()).prop_map(|(span, to, nr, whole)| {
            let nr = if whole { span.nr } else { nr }.min(SPACE - to);
            Op::Remap { span, to, nr }
        }),
        1 => span().prop_map(|span| Op::Advise { span, advice: Advice::DontNeed }),
    ]
    .boxed()
}

fn mappings() -> BoxedStrategy<Op> {
    let file = (aligned(), 0..SHARED, 0..FILE, 0..5_u8, any::<(bool, bool, bool)>());
    prop_oneof![
        4 => (aligned(), 0..5_u8).prop_map(|(span, order)| Op::MapAnonymous { span, order }),
        4 => file.prop_map(|(span, file, pgoff, order, (shared, write, alike))| {
            let pgoff = if alike { span.at % FILE } else { pgoff };
            let span = Span { nr: span.nr.min(FILE - pgoff), ..span };
            Op::MapFile { span, file, pgoff, order, shared, write }
        }),
        1 => (process(), 0..20_u32).prop_map(|(process, pages)| Op::FaultAround { process, pages }),
        1 => truncate(FILE),
    ]
    .boxed()
}

fn truncate(pages: u64) -> BoxedStrategy<Op> {
    (0..SHARED, 0..pages).prop_map(|(file, from)| Op::Truncate { file, from }).boxed()
}

fn advice() -> BoxedStrategy<Op> {
    let advice = prop_oneof![
        2 => Just(Advice::Cold),
        3 => Just(Advice::PageOut),
        3 => Just(Advice::Free),
        1 => Just(Advice::DontNeed),
        1 => Just(Advice::Sequential),
        1 => Just(Advice::Normal),
    ];
    prop_oneof![
        5 => (span(), advice).prop_map(|(span, advice)| Op::Advise { span, advice }),
        2 => (span(), any::<bool>()).prop_map(|(span, on)| Op::Lock { span, on }),
        2 => (span(), any::<bool>()).prop_map(|(span, on)| Op::WriteProtect { span, on }),
    ]
    .boxed()
}

fn processes() -> BoxedStrategy<Op> {
    prop_oneof![
        2 => (0..4_usize).prop_map(|memcg| Op::Spawn { memcg }),
        4 => process().prop_map(|process| Op::Fork { process }),
        1 => process().prop_map(|process| Op::Exit { process }),
    ]
    .boxed()
}

fn reclaim() -> BoxedStrategy<Op> {
    let swappiness = prop_oneof![Just(None), Just(Some(201)), Just(Some(0)), Just(Some(100))];
    let cgroup = (0..4_usize, 1..64_u64, swappiness);
    prop_oneof![
        4 => cgroup.prop_map(|(memcg, pages, swappiness)| {
            Op::ReclaimCgroup { memcg, pages, swappiness }
        }),
        3 => Just(Op::ReclaimAll),
        1 => (0..3_usize).prop_map(|zone| Op::ReclaimZone { zone }),
        1 => (0..2_u8, 0..80_u64).prop_map(|(node, high)| Op::Balance { node, high }),
    ]
    .boxed()
}

fn migrate() -> BoxedStrategy<Op> {
    let moves = (0..96_u64, 1..48_u64, any::<bool>());
    prop_oneof![
        4 => moves.prop_map(|(at, nr, high)| Op::Migrate { at, nr, high }),
        1 => Just(Op::Compact),
    ]
    .boxed()
}

fn hotplug() -> BoxedStrategy<Op> {
    let ranges = (0..80_u64, 1..17_u64);
    prop_oneof![
        2 => ranges.prop_map(|(at, nr)| Op::Offline { at, nr }),
        1 => Just(Op::Online),
        1 => (0..8_usize, 0..2_usize, 0..2_usize)
            .prop_map(|(vmas, mms, mappings)| Op::Grow { vmas, mms, mappings }),
    ]
    .boxed()
}

fn moves() -> BoxedStrategy<Op> {
    (process(), 0..4_usize).prop_map(|(process, memcg)| Op::MoveProcess { process, memcg }).boxed()
}

fn cgroups() -> BoxedStrategy<Op> {
    let memcg = || 0..4_usize;
    prop_oneof![
        2 => (memcg(), prop_oneof![Just(u64::MAX), 8..64_u64])
            .prop_map(|(memcg, pages)| Op::SetMax { memcg, pages }),
        1 => (memcg(), 0..24_u64, 0..24_u64)
            .prop_map(|(memcg, min, low)| Op::Protection { memcg, min, low }),
        2 => moves(),
        1 => memcg().prop_map(|parent| Op::AddCgroup { parent }),
        1 => memcg().prop_map(|memcg| Op::RemoveCgroup { memcg }),
    ]
    .boxed()
}

fn switch() -> BoxedStrategy<Op> {
    caps().prop_map(|caps| Op::SwitchLruGen { caps: caps.bits() }).boxed()
}

fn age() -> BoxedStrategy<Op> {
    let older = prop_oneof![4 => Just(0), 1 => 1..3_u64];
    let swappiness = prop_oneof![4 => Just(100), 1 => Just(0), 1 => Just(201)];
    (0..4_usize, 0..2_u8, older, swappiness, any::<bool>())
        .prop_map(|(memcg, node, older, swappiness, force)| Op::Age {
            memcg,
            node,
            older,
            swappiness,
            force,
        })
        .boxed()
}

fn lru_gen() -> BoxedStrategy<Op> {
    let swappiness = prop_oneof![4 => Just(100), 1 => Just(0), 1 => Just(201)];
    let evict = (0..4_usize, 0..2_u8, 0..4_u64, swappiness, 0..64_u64).prop_map(
        |(memcg, node, older, swappiness, pages)| Op::EvictGenerations {
            memcg,
            node,
            older,
            swappiness,
            pages,
        },
    );
    prop_oneof![
        8 => age(),
        5 => evict,
        3 => switch(),
        1 => prop_oneof![Just(0), 0..40_u64].prop_map(|ms| Op::MinTtl { ms }),
        6 => (0..SHARED, 0..FILE).prop_map(|(file, page)| Op::MarkAccessed { file, page }),
    ]
    .boxed()
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![4 => Just(Answer::AtOnce), 2 => Just(Answer::Late), 1 => Just(Answer::Failure)]
}

fn storage() -> BoxedStrategy<Op> {
    prop_oneof![
        2 => (answer(), answer()).prop_map(|(reads, writes)| Op::Storage { reads, writes }),
        3 => (1..9_usize, prop_oneof![4 => Just(true), 1 => Just(false)])
            .prop_map(|(nr, ok)| Op::Finish { nr, ok }),
        3 => flusher(),
        2 => Just(Op::Evict),
        1 => (0..TUNINGS).prop_map(Op::Tune),
    ]
    .boxed()
}

fn lend() -> BoxedStrategy<Op> {
    let kind = prop_oneof![Just(SwapKind::DevicePrivate), Just(SwapKind::DeviceExclusive)];
    (access(), kind).prop_map(|((process, page), kind)| Op::Lend { process, page, kind }).boxed()
}

fn op() -> BoxedStrategy<Op> {
    prop_oneof![
        30 => accesses(),
        8 => mappings(),
        8 => changes(),
        9 => advice(),
        4 => processes(),
        14 => reclaim(),
        5 => migrate(),
        3 => hotplug(),
        4 => cgroups(),
        8 => storage(),
        6 => lend(),
        10 => lru_gen(),
    ]
    .boxed()
}

fn race() -> BoxedStrategy<What> {
    let race = prop_oneof![
        2 => Just(Race::StoreAndLoad),
        1 => Just(Race::WriteOutAndStore),
    ];
    (0..CPUS, 0..CPUS, race)
        .prop_map(|(cpu, holder, race)| What::Race { cpu, holder, race })
        .boxed()
}

fn meanwhile() -> BoxedStrategy<Meanwhile> {
    let touch = (0..3_usize, access(), any::<bool>())
        .prop_map(|(cpu, (process, page), store)| What::Access { cpu, process, page, store });
    let held = (0..3_usize, 0..64_usize, any::<bool>()).prop_map(|(cpu, pick, store)| What::Held {
        cpu,
        pick,
        store,
    });
    let device =
        (0..64_usize, any::<bool>()).prop_map(|(pick, store)| What::Device { pick, store });
    let nested = prop_oneof![
        4 => accesses_alone(),
        1 => flusher(),
        4 => changes(),
        1 => switch(),
        1 => age(),
        1 => moves(),
        1 => reclaim(),
        1 => migrate(),
    ];
    let nested = (0..3_usize, nested).prop_map(|(cpu, op)| What::Op { cpu, op });
    let after = prop_oneof![0..4_u8, 0..24_u8];
    (after, prop_oneof![2 => touch, 8 => held, 3 => device, 2 => nested, 1 => race()])
        .prop_map(|(after, what)| Meanwhile { after, what })
        .boxed()
}

/// Returns steps, with events inside of them if CPUs are `busy`.
pub(crate) fn step(busy: bool) -> BoxedStrategy<Step> {
    let inside = if busy { vec(meanwhile(), 0..5).boxed() } else { Just(Vec::new()).boxed() };
    (0..3_usize, op(), inside).prop_map(|(cpu, op, meanwhile)| Step { cpu, op, meanwhile }).boxed()
}

/// Returns steps among mappings that faults map by leaves, if they may.
pub(crate) fn leafy() -> BoxedStrategy<Step> {
    step(true)
        .prop_map(|mut step| {
            align(&mut step.op);
            step
        })
        .boxed()
}

/// The number of pages of a leaf in the small formats.
const LEAF: u64 = 8;

/// Makes mappings begin and end where leaves do, and most moves too, and makes every variant one of
/// leaves.
fn align(op: &mut Op) {
    match op {
        Op::MapAnonymous { span, .. } => {
            span.at -= span.at % LEAF;
            span.nr = span.nr.next_multiple_of(LEAF).min(SPACE - span.at);
        }
        Op::MapFile { span, pgoff, order, .. } => {
            span.at -= span.at % LEAF;
            *pgoff -= *pgoff % LEAF;
            span.nr = span.nr.next_multiple_of(LEAF).min(FILE - *pgoff).min(SPACE - span.at);
            *order = LEAF.ilog2() as u8;
        }
        Op::Remap { span, to, nr } if *to % 4 != 0 => {
            span.at -= span.at % LEAF;
            *to -= *to % LEAF;
            span.nr = LEAF;
            *nr = LEAF;
        }
        Op::Tune(number) => *number = LEAVES + *number % (TUNINGS - LEAVES),
        _ => {}
    }
}

/// The number of pages of the one process of [`crowded`] steps.
const CROWDED: u64 = 4;

/// Returns steps of one process with few pages, which are reclaimed while its threads use them.
pub(crate) fn crowded() -> BoxedStrategy<Step> {
    let span = Span { process: 0, at: 0, nr: CROWDED };
    let page = || 0..CROWDED;
    let access = (page(), any::<bool>()).prop_map(|(page, store)| match store {
        true => Op::Store { process: 0, page },
        false => Op::Load { process: 0, page },
    });
    let file = (0..3_u8, any::<bool>()).prop_map(move |(order, shared)| Op::MapFile {
        span,
        file: 0,
        pgoff: 0,
        order,
        shared,
        write: true,
    });
    let prot = prop_oneof![Just(VmFlags::empty()), Just(VmFlags::READ | VmFlags::WRITE)];
    let protect = (page(), prot)
        .prop_map(move |(at, prot)| Op::Protect { span: Span { at, nr: 1, ..span }, prot });
    let op = prop_oneof![
        12 => access,
        1 => file,
        1 => (0..3_u8).prop_map(move |order| Op::MapAnonymous { span, order }),
        3 => Just(Op::Advise { span, advice: Advice::Free }),
        3 => protect,
        1 => Just(Op::FaultAround { process: 0, pages: 8 }),
        8 => Just(Op::ReclaimAll),
    ];
    let touch = (0..CPUS, page()).prop_map(|(cpu, page)| What::Access {
        cpu,
        process: 0,
        page,
        store: false,
    });
    let inside = (0..16_u8, prop_oneof![race(), touch.boxed()])
        .prop_map(|(after, what)| Meanwhile { after, what });
    (0..CPUS, op, vec(inside, 0..4))
        .prop_map(|(cpu, op, meanwhile)| Step { cpu, op, meanwhile })
        .boxed()
}

/// Returns steps of processes that share a few pages, which are swapped out while they are used.
pub(crate) fn sharing() -> BoxedStrategy<Step> {
    let span = |process| Span { process, at: 0, nr: CROWDED };
    let sharers = || 0..2_usize;
    let access = (sharers(), 0..CROWDED, any::<bool>()).prop_map(|(process, page, store)| {
        if store { Op::Store { process, page } } else { Op::Load { process, page } }
    });
    let map = (sharers(), 0..3_u8, prop_oneof![4 => Just(true), 1 => Just(false)]).prop_map(
        move |(process, order, shared)| Op::MapFile {
            span: span(process),
            file: FILES,
            pgoff: 0,
            order,
            shared,
            write: true,
        },
    );
    let truncate = (0..CROWDED).prop_map(|from| Op::Truncate { file: FILES, from });
    let end = (1..5_usize, prop_oneof![4 => Just(true), 1 => Just(false)])
        .prop_map(|(nr, ok)| Op::Finish { nr, ok });
    let op = prop_oneof![
        16 => access,
        4 => map,
        1 => sharers().prop_map(move |process| Op::Unmap(span(process))),
        1 => Just(Op::Spawn { memcg: 0 }),
        1 => Just(Op::Fork { process: 0 }),
        1 => sharers().prop_map(move |process| {
            Op::Advise { span: span(process), advice: Advice::PageOut }
        }),
        1 => truncate,
        1 => Just(Op::FaultAround { process: 0, pages: 8 }),
        1 => (answer(), answer()).prop_map(|(reads, writes)| Op::Storage { reads, writes }),
        2 => end,
        1 => switch(),
        9 => Just(Op::ReclaimAll),
    ];
    let touch = (0..CPUS, sharers(), 0..CROWDED, any::<bool>())
        .prop_map(|(cpu, process, page, store)| What::Access { cpu, process, page, store });
    let held = (0..CPUS, 0..8_usize, any::<bool>()).prop_map(|(cpu, pick, store)| What::Held {
        cpu,
        pick,
        store,
    });
    let inside = (0..16_u8, prop_oneof![1 => race(), 1 => touch.boxed(), 2 => held.boxed()])
        .prop_map(|(after, what)| Meanwhile { after, what });
    (0..CPUS, op, vec(inside, 0..4))
        .prop_map(|(cpu, op, meanwhile)| Step { cpu, op, meanwhile })
        .boxed()
}

/// Returns the parts of the multi-generational LRU that are on: all of them, none, or any.
fn caps() -> impl Strategy<Value = LruGenCaps> {
    let parts = (0..8_u8).prop_map(LruGenCaps::from_bits_retain);
    prop_oneof![3 => Just(LruGenCaps::all()), 2 => Just(LruGenCaps::empty()), 1 => parts]
}

/// Returns machines.
pub(crate) fn machine() -> impl Strategy<Value = Machine> {
    let shootdown = prop_oneof![Just(Shootdown::Broadcast), Just(Shootdown::Ipi)];
    let limit = prop_oneof![3 => Just(usize::MAX), 1 => Just(3)];
    let bits = prop_oneof![2 => Just([true; CPUS]), 1 => any::<[bool; CPUS]>()];
    (shootdown, bits, limit, any::<[bool; 3]>(), caps()).prop_map(
        |(shootdown, sets_bits, range_limit, [nonleaf, zones, nodes], lru_gen)| Machine {
            shootdown,
            sets_bits,
            range_limit,
            nonleaf,
            zones,
            nodes,
            lru_gen,
        },
    )
}

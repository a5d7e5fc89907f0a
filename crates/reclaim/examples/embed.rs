//! An operating system that links the engine: two processes share a file, and reclaim asks which of
//! its folios were used.
//!
//! Everything but `main` and `table` uses only `core`, as a kernel would. The engine's memory is an
//! array of bytes whose length follows from the limits.
//!
//! ```text
//! cargo run -p pageout-reclaim --example embed
//! ```

use core::array::from_fn;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::Arm64_4K;
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::walk::{Descent, TableFrames, descend};
use pageout_paging::{Env, Format, Level, Mmu, Notifier, Order, Pfn, Sound, Table, VirtAddr};
use pageout_reclaim::{
    CpuCtx, Engine, FolioFlags, FolioId, FolioRef, Limits, Lock, MapAs, MappingKind, Memory, Mm,
    MmId, MmState, NewFolio, NewVma, Refs, Tuning, VmFlags, WriteGuard, folio_check_references,
};

/// The order of a folio: one contiguous block.
const ORDER: u8 = 4;
/// The number of folios of the file.
const FOLIOS: usize = 4;
/// The frame of the first page table. The file's pages are in the frames from 0 on.
const FIRST_TABLE: Pfn = Pfn::new(1 << 20);
/// The number of page tables: for each process a root, and one of each level below it.
const TABLES: usize = 2 * 4;
/// The address at which both processes map the file.
const START: VirtAddr = VirtAddr::new(1 << 30);

const LIMITS: Limits = Limits {
    frames: FOLIOS << ORDER,
    folios: FOLIOS,
    vmas: 2,
    mms: 2,
    mappings: 1,
    ..Limits::NOTHING
};

/// The choices of this system for young checks and unmapping.
const TUNING: Tuning = Tuning::recommended(FlushPolicy::ARM64);

/// The machine: page tables with their locks, and the TLBs.
struct Os<'m> {
    tables: HostTables<'m, Arm64_4K>,
    locks: &'m [Lock],
    tlbs: Tlbs,
}

/// TLB maintenance. A kernel would execute TLBI and DSB here.
#[derive(Default)]
struct Tlbs {
    invalidated: AtomicU32,
}

impl Mmu for Tlbs {
    fn caps(&self) -> Caps {
        Caps { range_limit: 512, ..Caps::IDEAL }
    }

    fn invalidate(&self, _what: Invalidate) {
        self.invalidated.fetch_add(1, Relaxed);
    }

    fn barrier(&self, _barrier: Barrier) {}
}

impl<'m> Env for Os<'m> {
    type Format = Arm64_4K;
    type Table = HostTable<'m, Arm64_4K>;
    type Mmu = Tlbs;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = WriteGuard<'a>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &Tlbs {
        &self.tlbs
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.locks[frame.offset_from(FIRST_TABLE) as usize].try_write()
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        core::hint::spin_loop();
    }
}

/// Sets the accessed bit, as hardware does on an access. No kernel would do this by hand.
fn touch(os: &Os<'_>, mm: &Mm, addr: VirtAddr) {
    if let Descent::PteTable(frame, _) = descend(os, mm.root(), addr) {
        let (table, i) = (os.table(frame), Arm64_4K::index(Level::Pte, addr));
        let mut old = table.load(i);
        while let Err(found) = table.cas(i, old, Arm64_4K::mkyoung(old)) {
            old = found;
        }
    }
}

/// A file mapped by two processes, the second of which executes it.
struct SharedFile {
    folios: [FolioId; FOLIOS],
    mms: [MmId; 2],
}

fn share_a_file(engine: &mut Engine<'_, Os<'_>>) -> SharedFile {
    let mut frames = FIRST_TABLE..FIRST_TABLE.add(TABLES as u64);
    let sized = "the limits hold all of it";
    let order = Order::new(ORDER).expect("a small order");
    let file = engine.add_mapping(MappingKind::File).expect(sized);
    let folios = from_fn(|k| {
        let first = (k << ORDER) as u64;
        let (pfn, flags) = (Pfn::new(first), FolioFlags::empty());
        let new = NewFolio { pfn, order, mapping: file, index: first, flags };
        engine.add_folio(new).expect(sized)
    });
    let bytes = (FOLIOS as u64) << ORDER << Arm64_4K::PAGE_SHIFT;
    let mms = [VmFlags::READ, VmFlags::READ | VmFlags::EXEC].map(|flags| {
        let root = frames.take().expect(sized);
        let mm = engine.add_mm(root, Asid(root.offset_from(FIRST_TABLE) as u32));
        let mm = mm.expect(sized);
        let range = START..START.add(bytes);
        let new = NewVma { mm, range, flags, mapping: file, pgoff: 0 };
        let vma = engine.mmap(&new).expect(sized);
        for folio in folios {
            engine.map_folio(vma, folio, MapAs::Ptes, &mut frames).expect(sized);
        }
        mm
    });
    SharedFile { folios, mms }
}

/// The result of one round of reclaim over the file: the check of each folio, and the decision.
pub(crate) type Round = [(Refs, FolioRef); FOLIOS];

fn reclaim(engine: &mut Engine<'_, Os<'_>>, file: &SharedFile) -> Round {
    file.folios.map(|id| {
        let Some(guard) = engine.maps().folio(id).expect("it lives").try_lock() else {
            return (Refs::Unknown, FolioRef::Keep);
        };
        let found = engine.folio_referenced(id, Some(&guard), None).expect("it lives");
        (found.refs, folio_check_references(&guard, found))
    })
}

/// The folios that each process uses in each round, before reclaim runs.
const USES: [[&[u64]; 2]; 2] = [[&[1, 2], &[2, 3]], [&[1], &[]]];

/// Runs the example. Returns the results of each round, and the number of invalidations.
pub(crate) fn run() -> ([Round; 2], u32) {
    let tables: Vec<_> = (0..TABLES * Arm64_4K::PTES).map(|_| AtomicU64::new(0)).collect();
    let locks: [Lock; TABLES] = from_fn(|_| Lock::default());
    let mut bytes = [const { MaybeUninit::uninit() }; Memory::bytes_for(&LIMITS)];
    let memory = Memory::carve(&mut bytes, &LIMITS).expect("as many bytes as they take");
    let maps = MmState::new(memory, Pfn::new(0)).expect("few enough to number");
    let tables = HostTables::new(&tables, FIRST_TABLE);
    let os = Os { tables, locks: &locks, tlbs: Tlbs::default() };
    let cpu = &mut CpuCtx::new();
    let engine = &mut maps.on(&os, cpu, TUNING);
    let file = share_a_file(engine);
    let rounds = USES.map(|uses| {
        for (mm, used) in file.mms.into_iter().zip(uses) {
            for k in used {
                touch(
                    &os,
                    maps.mm(mm).expect("it lives"),
                    START.add(k << ORDER << Arm64_4K::PAGE_SHIFT),
                );
            }
        }
        reclaim(engine, &file)
    });
    (rounds, os.tlbs.invalidated.load(Relaxed))
}

pub(crate) fn main() {
    let ([one, two], invalidated) = run();
    let bytes = Memory::bytes_for(&LIMITS);
    println!("engine memory: {bytes} bytes for {FOLIOS} folios of {} pages", 1 << ORDER);
    println!("folio  {:<16}  round 2", "round 1");
    for (k, (one, two)) in one.iter().zip(&two).enumerate() {
        println!("{k:>5}  {:<16}  {}", cell(one), cell(two));
    }
    println!("{invalidated} invalidations");
}

fn cell((refs, decision): &(Refs, FolioRef)) -> String {
    match refs {
        Refs::Vmas(nr) => format!("{nr}  {decision:?}"),
        Refs::Unknown => format!("?  {decision:?}"),
    }
}

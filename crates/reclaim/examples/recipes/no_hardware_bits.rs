//! A CPU without accessed bits: the flag is set when a page is mapped, and no second fault sets it.
//!
//! Two processes read a file of twice the memory's size, some of its pages in every pass. The CPU
//! faults on entries that are old, as riscv64 without Svadu, arm64 without FEAT_HAFDBS and TLBs
//! that software fills do.

use super::machine::{Hardware, Machine, address};
use super::system::{ROOM, START, System, TUNING, boot};
use core::fmt::Write as _;
use pageout_paging::contig::{AccessFlags, set_access_flags};
use pageout_paging::mmu::Caps;
use pageout_paging::pte::{Arm64_4K, Riscv64Base};
use pageout_paging::walk::TableFrames;
use pageout_paging::{Format, LockedTable, Pfn};
use pageout_reclaim::{
    Access, Counter, Frames, MapAs, MappingId, MappingKind, MemcgId, MmId, VmaId,
};

const FRAMES: usize = 32;
const PAGES: u64 = 64;
/// The pages that every pass reads.
const HOT: u64 = 12;
const PASSES: u64 = 12;
/// The bytes that one fault maps around its page, if they are in memory.
const AROUND: u32 = 64 << 10;

/// The way in which a fault handler maps pages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageIn {
    /// True if the first entry of a page is young.
    pub(crate) young: bool,
    /// The number of bytes mapped around a fault, or 0.
    pub(crate) around: u32,
    /// The value of `Caps::hardware_af`, which is wrong here if it is true.
    pub(crate) declared: bool,
}

/// The counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    pub(crate) faults: u64,
    /// The faults that found the page mapped, and only set its flag.
    pub(crate) for_flags: u64,
    pub(crate) read: u64,
    pub(crate) evicted: u64,
}

/// Reads a page as the CPU does, and handles its faults. Returns the number of those that only set
/// a flag.
fn read<F: Format>(system: &mut System<'_, '_, F>, mm: MmId, page: u64, how: PageIn) -> u64 {
    let (root, addr) = (system.maps.mm(mm).expect("it lives").root(), address::<F>(page));
    let mut for_flags = 0;
    while system.machine.walk(root, addr, Access::Read).is_none() {
        let was_mapped = F::is_valid(system.machine.entry(root, addr));
        // The new entry is young: the access that faulted is about to use it.
        system.fault(mm, page, Access::Read);
        for_flags += u64::from(was_mapped);
        if !how.young && !was_mapped {
            system.machine.make_old(root, addr); // a handler that leaves the flag to a fault
        }
    }
    for_flags
}

/// Returns the pages of one pass: the hot ones, and 12 others in order.
fn pass(number: u64) -> impl Iterator<Item = u64> {
    let others = (0..12).map(move |k| HOT + (number * 12 + k) % (PAGES - HOT));
    (0..HOT).chain(others)
}

pub(crate) fn run<F: Format>(how: PageIn) -> Counts {
    let caps = Caps { hardware_af: how.declared, hardware_dirty: how.declared, ..Caps::IDEAL };
    let hardware = Hardware { caps, sets_bits: false, second: None };
    boot::<F, _>(FRAMES, hardware, |system| {
        let file = system.engine().add_mapping(MappingKind::File).expect(ROOM);
        let mms = [0, 1].map(|_| {
            let (mm, _) = system.spawn_on(MemcgId::ROOT, file, PAGES);
            system.maps.mm(mm).expect("it lives").set_fault_around(how.around);
            mm
        });
        let uses = (0..PASSES).flat_map(|number| mms.map(|mm| (number, mm)));
        let uses = uses.flat_map(|(number, mm)| pass(number).map(move |page| (mm, page)));
        let for_flags = uses.map(|(mm, page)| read(system, mm, START + page, how)).sum();
        Counts {
            faults: system.minor + system.major,
            for_flags,
            read: system.major,
            evicted: system.count(Counter::PgstealFile),
        }
    })
}

/// A supply of page tables: the machine's.
struct Tables<'a, 'm, F>(&'a Machine<'m, F>);

impl<F: Format> TableFrames for Tables<'_, '_, F> {
    fn take(&mut self) -> Option<Pfn> {
        self.0.alloc_table()
    }

    fn give_back(&mut self, frame: Pfn) {
        self.0.free_table(frame);
    }
}

/// Maps a page that is in memory ahead of its use. The entry that `map_folio` makes is old, so its
/// flag is set here if `young` says so.
fn map_ahead<F: Format>(
    system: &mut System<'_, '_, F>,
    (mm, vma, file): (MmId, VmaId, MappingId),
    index: u64,
    young: bool,
) {
    let (maps, machine) = (system.maps, &system.machine);
    let mut engine = maps.on(machine, &mut system.cpu, TUNING);
    let folio = engine.filemap_get_folio(file, index).expect("it lives").expect("it was read");
    engine.map_folio(vma, folio, MapAs::Ptes, &mut Tables(machine)).expect(ROOM);
    if young {
        let (mm, addr) = (maps.mm(mm).expect("it lives"), address::<F>(START + index));
        let (table, _) = machine.place(mm.root(), addr).expect("it is mapped");
        let pt = LockedTable::lock(machine, table);
        set_access_flags(machine, &pt, mm.asid(), addr, AccessFlags::Young);
    }
    engine.release(folio, 1).expect("the caller has it");
}

/// Returns the faults of a process whose hot pages the caller mapped ahead.
pub(crate) fn faults_ahead<F: Format>(young: bool) -> u64 {
    let caps = Caps { hardware_af: false, hardware_dirty: false, ..Caps::IDEAL };
    let hardware = Hardware { caps, sets_bits: false, second: None };
    boot::<F, _>(FRAMES, hardware, |system| {
        let file = system.engine().add_mapping(MappingKind::File).expect(ROOM);
        let (first, _) = system.spawn_on(MemcgId::ROOT, file, PAGES);
        let (mm, vma) = system.spawn_on(MemcgId::ROOT, file, PAGES);
        for index in 0..HOT {
            system.touch(first, START + index, Access::Read);
            map_ahead(system, (mm, vma, file), index, young);
        }
        let before = system.minor + system.major;
        (0..HOT).for_each(|index| {
            system.touch(mm, START + index, Access::Read);
        });
        system.minor + system.major - before
    })
}

/// The handlers that the table compares.
pub(crate) const HANDLERS: [(&str, PageIn); 4] = [
    ("old: a second fault each", PageIn { young: false, around: 0, declared: false }),
    ("young", PageIn { young: true, around: 0, declared: false }),
    ("young, and 64 KiB around", PageIn { young: true, around: AROUND, declared: false }),
    ("64 KiB around, bits declared", PageIn { young: true, around: AROUND, declared: true }),
];

pub(crate) fn text() -> String {
    let mut text = String::new();
    let heads = ["faults", "for flags", "read", "evicted"];
    let mut row = |format: &str, name: &str, cells: [String; 4]| {
        let [faults, flags, read, evicted] = cells;
        let _ = writeln!(text, "{format:<13}{name:<30}{faults:>7}{flags:>11}{read:>6}{evicted:>9}");
    };
    row("format", "new entries", heads.map(str::to_owned));
    type Run = fn(PageIn) -> Counts;
    let formats: [(&str, Run); 2] =
        [(Riscv64Base::NAME, run::<Riscv64Base>), (Arm64_4K::NAME, run::<Arm64_4K>)];
    for (format, run) in formats {
        for (name, how) in HANDLERS {
            let Counts { faults, for_flags, read, evicted } = run(how);
            row(format, name, [faults, for_flags, read, evicted].map(|n| n.to_string()));
        }
    }
    let [old, young] = [false, true].map(faults_ahead::<Riscv64Base>);
    let _ = writeln!(text, "{HOT} pages mapped ahead: {old} faults, {young} with their flags set");
    text
}

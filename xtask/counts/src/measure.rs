//! The measurements: reclaim of a mapped file, and passes of aging over it.

use crate::board::{code, instructions, stack_of};
use crate::kernel::Kernel;
use core::fmt::{self, Write};
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU64;
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{Arm64_4K, Format};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::{Order, Pfn, VirtAddr};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    CpuCtx, Engine, FolioFlags, Limits, Lock, MapAs, MappingKind, MemcgId, Memory, MmState,
    NewFolio, NewVma, ReclaimRequest, Tuning, VmFlags,
};

/// The size of the file, 1 GiB, as the lab's.
const PAGES: usize = 1 << 18;
const TABLES: usize = PAGES / Arm64_4K::PTES + 3;
const START: VirtAddr = VirtAddr::new(1 << 32);

const LIMITS: Limits = Limits {
    frames: PAGES,
    folios: PAGES,
    vmas: 1,
    mms: 1,
    mappings: 1,
    memcgs: 1,
    shadows: PAGES,
    filters: 2,
    ..Limits::NOTHING
};

const TUNING: Tuning = Tuning::recommended(FlushPolicy::ARM64);

/// The kind of lists.
#[derive(Clone, Copy, PartialEq)]
enum Lru {
    Classic,
    Mglru,
}

/// Memory for page tables, their locks and the engine's tables.
struct Ram {
    tables: [AtomicU64; TABLES * Arm64_4K::PTES],
    locks: [Lock; TABLES],
    engine: [MaybeUninit<u8>; Memory::bytes_for(&LIMITS)],
}

/// Instructions for each page, and bytes of stack.
struct Took {
    each: f64,
    stack: usize,
}

/// Counts everything, and prints a line for each figure: a name, an order, and instructions for
/// each page, separated by tabs. At the end come bytes: of stack, the most at any order, and of
/// code.
pub(crate) fn all(out: &mut impl Write) -> fmt::Result {
    let mut ram = Ram {
        tables: [const { AtomicU64::new(0) }; TABLES * Arm64_4K::PTES],
        locks: core::array::from_fn(|_| Lock::default()),
        engine: [const { MaybeUninit::uninit() }; Memory::bytes_for(&LIMITS)],
    };
    let mut stacks = [0; 3];
    let [classic, mglru, aging] = &mut stacks;
    for order in [0, 4, 9] {
        for (name, lru, most) in [
            ("reclaim, classic", Lru::Classic, &mut *classic),
            ("reclaim, MGLRU", Lru::Mglru, &mut *mglru),
        ] {
            let Took { each, stack } = mapped(&mut ram, order, lru, reclaim);
            *most = stack.max(*most);
            writeln!(out, "{name}\t{order}\t{each:.1}")?;
        }
    }
    for order in [0, 4, 8, 9] {
        for (name, young) in [("aging, none young", false), ("aging, all young", true)] {
            let Took { each, stack } =
                mapped(&mut ram, order, Lru::Mglru, |kernel, engine, memcg| {
                    age(kernel, engine, memcg, young)
                });
            *aging = stack.max(*aging);
            writeln!(out, "{name}\t{order}\t{each:.1}")?;
        }
    }
    for (name, stack) in ["reclaim, classic", "reclaim, MGLRU", "aging"].into_iter().zip(stacks) {
        writeln!(out, "stack of {name}\tall\t{stack}")?;
    }
    writeln!(out, "code, in whole KiB\tall\t{}", code().next_multiple_of(1 << 10))
}

/// Does `work` with a file that one process maps, all of whose pages were used once before.
fn mapped<R>(
    ram: &mut Ram,
    order: u8,
    lru: Lru,
    work: impl FnOnce(&Kernel<'_>, &mut Engine<'_, Kernel<'_>>, MemcgId) -> R,
) -> R {
    const ROOM: &str = "there is room for the file";
    let kernel = Kernel::new(&ram.tables, &ram.locks);
    let memory = Memory::carve(&mut ram.engine, &LIMITS).expect(ROOM);
    let maps = MmState::new(memory, Pfn::new(0)).expect(ROOM);
    let cpu = &mut CpuCtx::new();
    let engine = &mut maps.on(&kernel, cpu, TUNING);
    engine.set_lru_gen_caps(match lru {
        Lru::Classic => LruGenCaps::empty(),
        Lru::Mglru => LruGenCaps::CORE | LruGenCaps::MM_WALK,
    });
    let mut frames = kernel.table_frames();
    let root = frames.start;
    frames.start = root.add(1);
    let memcg = engine.add_memcg(MemcgId::ROOT).expect(ROOM);
    let mapping = engine.add_mapping(MappingKind::File).expect(ROOM);
    let mm = engine.add_mm(root, Asid(0)).expect(ROOM);
    engine.set_memcg(mm, memcg).expect("both live");
    maps.lru_gen_use_mm(mm).expect("it lives");
    let range = START..START.add((PAGES << Arm64_4K::PAGE_SHIFT) as u64);
    let vma = NewVma { mm, range, flags: VmFlags::READ, mapping, pgoff: 0 };
    let vma = engine.mmap(&vma).expect(ROOM);
    let (order, flags) = (Order::new(order).expect("at most 9"), FolioFlags::UPTODATE);
    for index in (0..PAGES as u64).step_by(order.nr_pages()) {
        let new = NewFolio { pfn: Pfn::new(index), order, mapping, index, flags };
        let id = engine.add_folio(new).expect(ROOM);
        engine.charge(id, memcg).expect("the cgroup has no limit");
        engine.filemap_add_folio(id).expect("each page is added once");
        if lru == Lru::Mglru {
            engine.mark_accessed(id).expect("it lives");
        }
        engine.lru_add(id).expect("it lives");
        engine.map_folio(vma, id, MapAs::Ptes, &mut frames).expect(ROOM);
        engine.release(id, 1).expect("the caller has it");
    }
    work(&kernel, engine, memcg)
}

/// Reclaims 80 % of the file, whose entries are all young. Pages are those freed.
fn reclaim(kernel: &Kernel<'_>, engine: &mut Engine<'_, Kernel<'_>>, memcg: MemcgId) -> Took {
    kernel.use_all_pages();
    let request = ReclaimRequest::of((PAGES as u64 * 4 / 5) << Arm64_4K::PAGE_SHIFT);
    let (took, stack) = stack_of(|| {
        let before = instructions();
        engine.memory_reclaim(memcg, request).expect("there is enough");
        instructions() - before
    });
    Took { each: took as f64 / kernel.freed() as f64, stack }
}

/// Opens a generation after a forced walk.
fn age(
    kernel: &Kernel<'_>,
    engine: &mut Engine<'_, Kernel<'_>>,
    memcg: MemcgId,
    young: bool,
) -> Took {
    if young {
        kernel.use_all_pages();
    }
    let (youngest, _) = engine.maps().lru_gen_seqs(memcg).expect("it is online");
    let (took, stack) = stack_of(|| {
        let before = instructions();
        let opened = engine.try_to_inc_max_seq(memcg, youngest, 60, true).expect("it is online");
        assert!(opened, "no other walk opens it");
        instructions() - before
    });
    Took { each: took as f64 / PAGES as f64, stack }
}

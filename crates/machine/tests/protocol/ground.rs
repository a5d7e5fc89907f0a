//! Page tables and setups for the tests.

use pageout_machine::platform::{
    Architecture, Broadcast, Draw, Invalidation, Ipi, Platform, Prices, Shape,
};
use pageout_machine::{CoreId, Machine, Setup, Task};
use pageout_paging::mmu::{Asid, Barrier, Invalidate};
use pageout_paging::pte::Prot;
use pageout_paging::table::HostTables;
use pageout_paging::tlb::YoungFlush;
use pageout_paging::{Format, Level, Mmu, Pfn, Table, VirtAddr};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

/// Address spaces of one table of writable pages each, old and clean.
pub(crate) struct Ground<F> {
    memory: Vec<AtomicU64>,
    format: PhantomData<F>,
}

const BASE: u64 = 1;
const LEVELS: [Level; 3] = [Level::Pgd, Level::Pud, Level::Pmd];

impl<F: Format> Ground<F> {
    pub(crate) fn new(spaces: u32) -> Self {
        let entries = spaces as usize * 4 * F::PTES;
        let memory = (0..entries).map(|_| AtomicU64::new(0)).collect();
        let ground = Self { memory, format: PhantomData };
        for space in 0..spaces {
            let frames = ground.frames(space);
            for (i, _) in LEVELS.iter().enumerate() {
                ground.tables().table(frames[i]).set(0, F::table(frames[i + 1]));
            }
            let leaf = F::leaf(Level::Pte, Pfn::new(1 << 16 | u64::from(space) << 12), Prot::WRITE);
            for i in 0..F::PTES {
                ground.tables().table(frames[3]).set(i, F::encode(F::advance(leaf, i)));
            }
        }
        ground
    }

    fn frames(&self, space: u32) -> [Pfn; 4] {
        std::array::from_fn(|i| Pfn::new(BASE + 4 * u64::from(space) + i as u64))
    }

    pub(crate) fn tables(&self) -> HostTables<'_, F> {
        HostTables::new(&self.memory, Pfn::new(BASE))
    }

    pub(crate) fn machine(&self, setup: Setup) -> Machine<'_, F> {
        Machine::new(setup, self.tables())
    }

    /// Loads the address space of that number.
    pub(crate) fn load(&self, task: &Task<'_, '_, F>, space: u32) {
        task.load_mm(asid(space), self.frames(space)[0]);
    }

    pub(crate) fn leaves(&self, space: u32) -> Pfn {
        self.frames(space)[3]
    }

    /// Clears the young bit of a page, and flushes the page as `how` says if the bit was set.
    /// Returns true if it was.
    pub(crate) fn age(
        &self,
        task: &Task<'_, '_, F>,
        space: u32,
        i: usize,
        how: YoungFlush,
    ) -> bool {
        let young = task.table(self.leaves(space)).test_and_clear_bit(i, F::YOUNG);
        if young && how != YoungFlush::None {
            task.barrier(Barrier::Publish);
            task.invalidate(page(space, i));
        }
        if young && how == YoungFlush::Sync {
            task.barrier(Barrier::Complete);
        }
        young
    }

    /// Returns true if the page is young in the tables.
    pub(crate) fn is_young(&self, space: u32, i: usize) -> bool {
        F::is_young(self.tables().table(self.leaves(space)).load(i))
    }
}

pub(crate) const fn asid(space: u32) -> Asid {
    Asid(space + 1)
}

pub(crate) fn at<F: Format>(i: usize) -> VirtAddr {
    VirtAddr::new((i as u64) << F::PAGE_SHIFT)
}

pub(crate) fn page(space: u32, i: usize) -> Invalidate {
    pages(space, i, 1)
}

pub(crate) fn pages(space: u32, i: usize, nr: usize) -> Invalidate {
    // All formats of these tests have pages of 4 KiB.
    let start = VirtAddr::new((i as u64) << 12);
    Invalidate::Range { asid: asid(space), start, nr, level: Level::Pte }
}

fn setup(name: &str, cores: u16, change: impl FnOnce(&mut Shape, &mut Prices)) -> Setup {
    let platform = Platform::named(name).expect("a shipped platform");
    let mut shape = platform.shape().clone();
    shape.cores = cores;
    let mut prices = platform.prices(Draw::Nominal);
    change(&mut shape, &mut prices);
    Setup { log: true, ..Setup::new(shape, prices, 7) }
}

/// Returns the setup of a machine that broadcasts, its shape changed by `change`.
pub(crate) fn arm64(cores: u16, change: impl FnOnce(&mut Broadcast)) -> Setup {
    setup("arm64-server-32-class", cores, |shape, _| {
        let Invalidation::Broadcast(broadcast) = &mut shape.invalidation else { unreachable!() };
        change(broadcast);
    })
}

/// Returns the setup of a machine that interrupts, its shape changed by `change`.
pub(crate) fn x86(cores: u16, change: impl FnOnce(&mut Ipi)) -> Setup {
    setup("x86-server-class", cores, |shape, _| {
        let Invalidation::Ipi(ipi) = &mut shape.invalidation else { unreachable!() };
        change(ipi);
    })
}

/// Returns the setup of a machine of another architecture that interrupts. Its names and prices are
/// x86's.
pub(crate) fn riscv(cores: u16) -> Setup {
    let mut setup = x86(cores, |ipi| {
        ipi.tag_slots = 0;
        ipi.full_flush_ceiling = 64;
        ipi.lazy = false;
    });
    setup.shape.architecture = Architecture::Riscv;
    setup
}

/// Returns a core's entries, as page numbers of an address space.
pub(crate) fn held<F: Format>(machine: &Machine<'_, F>, core: u16, space: u32) -> Vec<usize> {
    let mut all: Vec<_> = machine
        .held(CoreId(core))
        .into_iter()
        .filter(|entry| entry.asid == Some(asid(space)) && entry.level == 1)
        .map(|entry| (entry.start.get() >> F::PAGE_SHIFT) as usize)
        .collect();
    all.sort_unstable();
    all
}

/// Returns the number of accesses that were hidden so far.
pub(crate) fn hidden<F: Format>(machine: &Machine<'_, F>) -> u64 {
    machine.report().hidden.accesses
}

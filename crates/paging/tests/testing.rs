//! The wrappers for embedders' tests, applied to an embedder: a small kernel that maps, replaces,
//! ages and folds pages of two address spaces. Without mistakes it passes, whenever hardware acts.
//! With one mistake, the wrappers name the rule that is broken.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::pte::{Arm64_4K, Prot, Riscv64, SmallArm4, X86_64};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::testing::{Access, Checked, LazyMmu, Machine, Tlbs};
use pageout_paging::tlb::{FlushPolicy, flush_range};
use pageout_paging::walk::make_table;
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{
    Env, Format, Level, LockedTable, Mmu, Notifier, Pfn, Pte, Sound, Table, VirtAddr, contig,
};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// The first frame of page tables, far from those of pages.
const TABLES: Pfn = Pfn::new(1 << 20);
const HELD: usize = 256;

/// The mistake of an embedder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    None,
    NoTlbi,
    NoPublish,
    NoBarrier,
    SharedAsid,
    EarlyContiguous,
    PlainStore,
    EarlyFree,
}

/// The embedder's TLB maintenance, on top of the machine's.
struct KernelMmu<'t, F> {
    machine: LazyMmu<'t, F, HELD>,
    mistake: Mistake,
}

impl<F: Format> Mmu for KernelMmu<'_, F> {
    fn caps(&self) -> Caps {
        self.machine.caps()
    }

    fn invalidate(&self, what: Invalidate) {
        if self.mistake != Mistake::NoTlbi {
            self.machine.invalidate(what);
        }
    }

    fn barrier(&self, barrier: Barrier) {
        let left_out = match barrier {
            Barrier::Publish => Mistake::NoPublish,
            Barrier::Complete => Mistake::NoBarrier,
        };
        if self.mistake != left_out {
            self.machine.barrier(barrier);
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.machine.invalidate_local(what);
    }
}

/// The embedder's environment.
struct Kernel<'t, F> {
    tables: HostTables<'t, F>,
    mmu: KernelMmu<'t, F>,
}

impl<'t, F: Format> Env for Kernel<'t, F> {
    type Format = F;
    type Table = HostTable<'t, F>;
    type Mmu = KernelMmu<'t, F>;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = ()
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> HostTable<'t, F> {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &KernelMmu<'t, F> {
        &self.mmu
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

/// The kernel's work in one address space, in any environment.
struct Space<'e, E: Env> {
    env: &'e E,
    asid: Asid,
    root: Pfn,
    table: Pfn,
}

/// The first page that is mapped: the first of a block in every format.
const START: VirtAddr = VirtAddr::new(1 << 14);

impl<'e, E: Env> Space<'e, E> {
    fn new(env: &'e E, asid: Asid, root: Pfn, frames: &mut Range<Pfn>) -> Self {
        let table = make_table(env, root, START, Level::Pte, frames).expect("frames for tables");
        Self { env, asid, root, table }
    }

    fn page(k: usize) -> VirtAddr {
        let block = START.align_up(E::Format::PAGE_SHIFT + E::Format::CONT_SHIFT);
        block.add((k as u64) << E::Format::PAGE_SHIFT)
    }

    fn locked(&self) -> LockedTable<'e, E> {
        LockedTable::lock(self.env, self.table)
    }

    /// Maps page `k` to a frame of the folio in `folio`, and folds its block if it is complete.
    fn map(&self, k: usize, pfn: Pfn, folio: &Range<Pfn>) {
        let leaf = E::Format::leaf(Level::Pte, pfn, Prot::WRITE);
        contig::set_pte(self.env, &self.locked(), self.asid, Self::page(k), leaf, folio);
    }

    /// Takes page `k` out and flushes it from every TLB.
    fn unmap(&self, k: usize) {
        let (pt, addr) = (self.locked(), Self::page(k));
        contig::get_and_clear_ptes(self.env, &pt, self.asid, addr, 1);
        flush_range(self.env, self.asid, addr, 1, Level::Pte);
    }

    /// Takes the tables out from the top, as at the end of an address space.
    fn exit(&self) {
        let mut at = self.root;
        for level in [Level::Pgd, Level::Pud, Level::Pmd] {
            let (table, i) = (self.env.table(at), E::Format::index(level, START));
            at = E::Format::pfn(table.load(i));
            table.set(i, Pte::NONE);
            self.env.mmu().invalidate(Invalidate::AddressSpace(self.asid));
            self.env.mmu().barrier(Barrier::Complete);
        }
    }

    fn age(&self, nr: usize) -> bool {
        let (env, asid) = (self.env, self.asid);
        let (algorithm, flush) = (YoungAlgorithm::Line, FlushPolicy::ARM64);
        let check = YoungCheck { env, algorithm, flush, asid };
        check.clear_flush_young_ptes(&self.locked(), Self::page(0), nr)
    }
}

/// Maps a block of pages of one folio page by page, uses, replaces and ages them, in two address
/// spaces. Returns the number of steps.
fn run<F: Format>(mistake: Mistake, plan: impl Fn(&Machine<'_, Kernel<'_, F>, HELD>)) -> u64 {
    let memory: Vec<AtomicU64> = (0..16 * F::PTES).map(|_| AtomicU64::new(0)).collect();
    let caps = Caps { range_limit: 512, ..Caps::IDEAL };
    let tlbs = Tlbs::<F, HELD>::new(caps);
    let tables = HostTables::new(&memory, TABLES);
    let mmu = KernelMmu { machine: tlbs.mmu(0), mistake };
    let machine = Machine::new(Kernel { tables, mmu }, &tlbs);
    plan(&machine);
    let env = machine.checked();
    let mut frames = TABLES.add(2)..TABLES.add(16);

    let first = Space::new(&env, Asid(1), TABLES, &mut frames);
    tlbs.run(first.asid, first.root);
    live::<F>(&first, mistake, &machine);

    let shared = mistake == Mistake::SharedAsid;
    let asid = if shared { first.asid } else { Asid(2) };
    let second = Space::new(&env, asid, TABLES.add(1), &mut frames);
    tlbs.run(second.asid, second.root);
    live::<F>(&second, mistake, &machine);
    machine.steps()
}

type On<'m, 't, F> = Checked<'m, Kernel<'t, F>, HELD>;

/// Runs the life of one address space.
fn live<'m, 't, F: Format>(
    space: &Space<'_, On<'m, 't, F>>,
    mistake: Mistake,
    machine: &Machine<'_, Kernel<'t, F>, HELD>,
) {
    let nr = F::CONT_PTES.max(4);
    let folio = Pfn::new(1024)..Pfn::new(1024 + nr as u64);
    let page = Space::<On<'m, 't, F>>::page;
    for k in 0..nr {
        if k == nr - 1 {
            // Each page that is mapped so far is used, and is in TLBs.
            for used in 0..k {
                assert!(machine.access(space.root, page(used), used % 2 == 0));
            }
            if mistake == Mistake::EarlyContiguous {
                let table = space.locked().table();
                let i = F::index(Level::Pte, page(0));
                let pte = table.load(i);
                let _ = table.cas(i, pte, F::mkcont(pte));
            }
        }
        space.map(k, folio.start.add(k as u64), &folio);
    }
    assert!(machine.access(space.root, page(nr - 1), true));
    assert!(space.age(nr), "pages were used");

    // One page is replaced by another: its block is unfolded first.
    assert!(machine.access(space.root, page(1), true));
    if mistake == Mistake::PlainStore {
        let i = F::index(Level::Pte, page(1));
        let table = space.locked().table();
        let pte = table.load(i);
        table.set(i, F::mkold(pte));
    }
    if mistake == Mistake::EarlyFree {
        machine.tlbs().check_free(folio.start.add(1)..folio.start.add(2));
    }
    space.unmap(1);
    let other = Pfn::new(5000);
    space.map(1, other, &(other..other.add(1)));
    machine.tlbs().check_free(folio.start.add(1)..folio.start.add(2));
    assert!(machine.access(space.root, page(1), false));
    for k in 0..nr {
        space.unmap(k);
    }
    space.exit();
}

/// Checks that the kernel passes whatever hardware uses, at each of many moments and at random.
fn correct<F: Format>() {
    let pages = F::CONT_PTES.max(4) as u64;
    let first = START.align_up(F::PAGE_SHIFT + F::CONT_SHIFT);
    let addr = |page| first.add(page << F::PAGE_SHIFT);
    let quiet = run::<F>(Mistake::None, |_| ());
    for after in (0..=quiet).step_by(1 + quiet as usize / 400) {
        let page = after % pages;
        run::<F>(Mistake::None, |machine| {
            machine.plan(Access { after, root: TABLES, addr: addr(page), store: after % 3 == 0 });
        });
    }
    for seed in 1..200 {
        run::<F>(Mistake::None, |machine| {
            machine.act_at_random(seed, TABLES, addr(0)..addr(pages));
        });
    }
}

#[test]
fn a_correct_embedder_passes_on_arm64() {
    correct::<SmallArm4>();
}

#[test]
fn a_correct_embedder_passes_on_x86_64() {
    correct::<X86_64>();
}

#[test]
fn a_correct_embedder_passes_on_riscv64() {
    correct::<Riscv64>();
}

#[test]
#[should_panic(expected = "break before make")]
fn no_tlbi_is_found() {
    run::<X86_64>(Mistake::NoTlbi, |_| ());
}

#[test]
#[should_panic(expected = "no barrier of that CPU has completed it")]
fn no_barrier_is_found() {
    run::<Arm64_4K>(Mistake::NoBarrier, |_| ());
}

#[test]
#[should_panic(expected = "before a barrier published the change of its entry")]
fn no_barrier_before_an_invalidation_is_found() {
    run::<Arm64_4K>(Mistake::NoPublish, |_| ());
}

#[test]
#[should_panic(expected = "one ASID, one address space")]
fn shared_asids_are_found() {
    run::<Arm64_4K>(Mistake::SharedAsid, |_| ());
}

#[test]
#[should_panic(expected = "break before make: entry")]
fn a_contiguous_bit_set_early_is_found() {
    run::<Arm64_4K>(Mistake::EarlyContiguous, |_| ());
}

#[test]
#[should_panic(expected = "one atomic operation")]
fn a_plain_store_over_a_live_entry_is_found() {
    run::<X86_64>(Mistake::PlainStore, |_| ());
}

#[test]
#[should_panic(expected = "flush before free")]
fn frames_freed_early_are_found() {
    run::<X86_64>(Mistake::EarlyFree, |_| ());
}

/// An ASID may be used again once every TLB has dropped its old translations.
#[test]
fn an_asid_used_again_is_flushed_first() {
    let roll_over = |flushed: bool| {
        let tlbs = Tlbs::<X86_64, HELD>::new(Caps::IDEAL);
        let (asid, mmu) = (Asid(3), tlbs.mmu(1));
        tlbs.run(asid, TABLES);
        let leaf = X86_64::leaf(Level::Pte, Pfn::new(9), Prot::READ);
        tlbs.offer(TABLES, START, Level::Pte, X86_64::mkyoung(leaf));
        tlbs.end(TABLES);
        mmu.invalidate(Invalidate::AddressSpace(asid));
        if flushed {
            mmu.barrier(Barrier::Complete);
        }
        tlbs.run(asid, TABLES.add(1));
    };
    roll_over(true);
    let panic = std::panic::catch_unwind(|| roll_over(false)).expect_err("a TLB still holds it");
    let text = panic.downcast_ref::<String>().expect("a formatted message");
    assert!(text.contains("its invalidation was issued"), "{text}");
}

/// Another CPU's barrier completes nothing of this one's.
#[test]
fn a_barrier_is_for_the_cpu_that_issued() {
    let tlbs = Tlbs::<X86_64, HELD>::new(Caps::IDEAL);
    tlbs.run(Asid(1), TABLES);
    let young = |pfn| X86_64::mkyoung(X86_64::leaf(Level::Pte, Pfn::new(pfn), Prot::READ));
    tlbs.offer(TABLES, START, Level::Pte, young(9));
    tlbs.mmu(0).invalidate(Invalidate::AddressSpace(Asid(1)));
    tlbs.mmu(1).barrier(Barrier::Complete);
    assert!(tlbs.may_hold(TABLES, START));
    // A walk between the invalidation and the barrier brings it back.
    tlbs.offer(TABLES, START, Level::Pte, young(9));
    tlbs.mmu(0).barrier(Barrier::Complete);
    assert!(tlbs.may_hold(TABLES, START));
    tlbs.mmu(0).invalidate(Invalidate::Everything);
    tlbs.mmu(0).barrier(Barrier::Complete);
    assert!(!tlbs.may_hold(TABLES, START));
}

/// Hardware that leaves bits to software faults where they are not set.
#[test]
fn hardware_sets_only_what_it_can() {
    let memory: Vec<AtomicU64> = (0..8 * 512).map(|_| AtomicU64::new(0)).collect();
    let accesses = |caps: Caps, pte: Pte| {
        let tlbs = Tlbs::<Arm64_4K, HELD>::new(caps);
        let mmu = KernelMmu { machine: tlbs.mmu(0), mistake: Mistake::None };
        let kernel = Kernel { tables: HostTables::new(&memory, TABLES), mmu };
        let machine = Machine::new(kernel, &tlbs);
        let mut frames = TABLES.add(1)..TABLES.add(8);
        let table = make_table(machine.env(), TABLES, START, Level::Pte, &mut frames);
        let table = machine.env().table(table.expect("frames for tables"));
        table.set(F4K::index(Level::Pte, START), pte);
        tlbs.run(Asid(1), TABLES);
        [false, true].map(|store| machine.access(TABLES, START, store))
    };
    type F4K = Arm64_4K;
    let leaf = F4K::leaf(Level::Pte, Pfn::new(9), Prot::WRITE);
    let (no_af, no_dirty) =
        (Caps { hardware_af: false, ..Caps::IDEAL }, Caps { hardware_dirty: false, ..Caps::IDEAL });
    assert_eq!(accesses(Caps::IDEAL, leaf), [true, true]);
    assert_eq!(accesses(no_af, leaf), [false, false]);
    assert_eq!(accesses(no_dirty, leaf), [true, false]);
    assert_eq!(accesses(no_af, F4K::mkyoung(leaf)), [true, true]);
    assert_eq!(accesses(Caps::IDEAL, Pte::NONE), [false, false]);
    let read_only = F4K::leaf(Level::Pte, Pfn::new(9), Prot::READ);
    assert_eq!(accesses(Caps::IDEAL, read_only), [true, false]);
}

/// With as many CPUs as [`Caps`] says, invalidations on each of them are enough.
#[test]
fn local_invalidations_on_each_cpu_are_enough() {
    let freed = |cpus: u16, on: u32| {
        let caps = Caps { cpus, shootdown: Shootdown::Ipi, ..Caps::IDEAL };
        let tlbs = Tlbs::<Riscv64, HELD>::new(caps);
        tlbs.run(Asid(1), TABLES);
        let leaf = Riscv64::leaf(Level::Pte, Pfn::new(9), Prot::READ);
        tlbs.offer(TABLES, START, Level::Pte, Riscv64::mkyoung(leaf));
        (0..on).for_each(|cpu| tlbs.mmu(cpu).sfence_vma(Some(START), Some(Asid(1))));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tlbs.check_free(Pfn::new(9)..Pfn::new(10));
        }))
        .is_ok()
    };
    assert!(freed(1, 1) && freed(2, 2) && freed(64, 64));
    assert!(!freed(2, 1) && !freed(64, 63));
}

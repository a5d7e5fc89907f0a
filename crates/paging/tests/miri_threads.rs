//! Two threads on one table. One checks young bits under the table's lock; the other acts as
//! hardware, which takes no lock and only ever sets bits. It is small enough for Miri.

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::{Arm64_4K, Prot, Riscv64, SmallArm4, X86_64};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{
    Env, Format, Level, LockedTable, Mmu, Notifier, Pfn, Pte, Sound, VirtAddr, contig,
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier as Gate, Mutex, MutexGuard};

/// The frame of the one table.
const TABLE: Pfn = Pfn::new(100);
const FOLIO: Pfn = Pfn::new(0x8_0000);
/// The first entry that is checked. Entries 4 to 24 are: parts of blocks at both ends, a whole one
/// between.
const FIRST: usize = 4;
const NR: usize = 20;

struct Shared<'a, F> {
    tables: HostTables<'a, F>,
    lock: Mutex<()>,
}

struct NoTlb;

impl Mmu for NoTlb {
    fn caps(&self) -> Caps {
        Caps::IDEAL
    }

    fn invalidate(&self, _what: Invalidate) {}

    fn barrier(&self, _barrier: Barrier) {}
}

impl<'t, F: Format> Env for Shared<'t, F> {
    type Format = F;
    type Table = HostTable<'t, F>;
    type Mmu = NoTlb;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = MutexGuard<'a, ()>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> HostTable<'t, F> {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &NoTlb {
        &NoTlb
    }

    fn try_lock_table(&self, _frame: Pfn) -> Option<MutexGuard<'_, ()>> {
        self.lock.try_lock().ok()
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        std::thread::yield_now();
    }
}

/// Returns the changes that hardware makes to an entry when it writes through it: bits to set and
/// bits to clear.
fn write_bits<F: Format>(pte: Pte) -> (u64, u64) {
    let written = F::mkyoung(F::hardware_dirty(pte).expect("a writable page"));
    (written.0 & !pte.0, pte.0 & !written.0)
}

/// Checks by `algorithm` while hardware writes through each entry once. Afterwards each is dirty,
/// and each access was reported or can still be seen.
fn race<F: Format>(algorithm: YoungAlgorithm) {
    let memory: Vec<AtomicU64> = (0..F::PTES).map(|_| AtomicU64::new(0)).collect();
    let shared = Shared::<F> { tables: HostTables::new(&memory, TABLE), lock: Mutex::new(()) };
    let nr = NR.min(F::PTES - FIRST);
    let leaf = F::leaf(Level::Pte, FOLIO, Prot::WRITE);
    contig::set_ptes::<F, _>(shared.table(TABLE), 0, leaf, 32.min(F::PTES));
    let check = YoungCheck { env: &shared, algorithm, flush: FlushPolicy::ARM64, asid: Asid(0) };
    let addr = VirtAddr::new((FIRST as u64) << F::PAGE_SHIFT);
    let gate = Gate::new(2);
    let reports = std::thread::scope(|scope| {
        let hardware = scope.spawn(|| {
            gate.wait();
            for entry in &memory[FIRST..FIRST + nr] {
                let (set, clear) = write_bits::<F>(Pte(entry.load(Relaxed)));
                entry.fetch_and(!clear, Relaxed);
                entry.fetch_or(set, Relaxed);
            }
        });
        gate.wait();
        let mut reports = 0;
        while !hardware.is_finished() {
            let pt = LockedTable::lock(&shared, TABLE);
            reports += usize::from(check.clear_flush_young_ptes(&pt, addr, nr));
            let pte = contig::Getter::Raw.get::<F, _>(shared.table(TABLE), FIRST);
            reports += usize::from(check.clear_flush_young_run(&pt, addr, pte, nr).1);
        }
        reports
    });
    let left = |entry: &AtomicU64| F::is_young(Pte(entry.load(Relaxed)));
    let still_young = memory[FIRST..FIRST + nr].iter().any(left);
    assert!(reports > 0 || still_young, "{nr} accesses and none was seen");
    let pt = LockedTable::lock(&shared, TABLE);
    assert_eq!(check.test_and_clear_young_ptes(&pt, addr, nr), still_young);
    assert!(!memory[FIRST..FIRST + nr].iter().any(left));
    for (i, entry) in memory.iter().enumerate() {
        let written = (FIRST..FIRST + nr).contains(&i);
        assert_eq!(F::is_dirty(Pte(entry.load(Relaxed))), written, "entry {i}");
    }
}

#[test]
fn x86_64_against_hardware() {
    YoungAlgorithm::ALL.into_iter().for_each(race::<X86_64>);
}

#[test]
fn arm64_4k_against_hardware() {
    YoungAlgorithm::ALL.into_iter().for_each(race::<Arm64_4K>);
}

#[test]
fn small_arm_blocks_of_4_against_hardware() {
    YoungAlgorithm::ALL.into_iter().for_each(race::<SmallArm4>);
}

#[test]
fn riscv64_against_hardware() {
    YoungAlgorithm::ALL.into_iter().for_each(race::<Riscv64>);
}

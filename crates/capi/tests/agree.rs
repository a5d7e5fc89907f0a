//! C and Rust agree. A C program, compiled against the committed header and linked with the static
//! library, makes random calls. The same calls are made here, and results, tables and calls of the
//! MMU are compared one by one.
#![cfg(not(miri))] // it starts a compiler
#![forbid(unsafe_code)]

mod common;

use std::cell::Cell;
use std::io::{BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{Draw, compiled, fold};
use pageout_capi::types::Error;
use pageout_paging::batch::{BatchFlags, folio_pte_batch_flags};
use pageout_paging::contig::{Getter, gather};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::{Arm64_4K, Arm64_16K, Arm64_64K, Prot, Riscv64, X86_64};
use pageout_paging::table::HostTable;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{
    Env, Format, Level, LockedTable, Mmu, Notifier, Pfn, Pte, Run, Sound, VirtAddr,
};

const CASES: u64 = 1_000_000;
const SEED: u64 = 18;

#[test]
fn c_and_rust_agree_on_a_million_random_calls() {
    let mut program = Command::new(compiled("agree"))
        .args([SEED.to_string(), CASES.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the C program starts");
    let mut records = BufReader::new(program.stdout.take().expect("its output is piped"));
    let memory: Vec<AtomicU64> = (0..Arm64_64K::PTES).map(|_| AtomicU64::new(0)).collect();
    let mut draw = Draw(SEED);
    let mut young = 0_u64;
    for number in 0..CASES {
        let mut record = [0; 32];
        records.read_exact(&mut record).expect("a record for each case");
        let word = |k: usize| u64::from_ne_bytes(record[8 * k..][..8].try_into().expect("8 bytes"));
        let c = Outcome { answer: word(0) as i64, pte: word(1), asked: word(2), table: word(3) };
        let (call, rust) = one_case(&memory, &mut draw);
        assert_eq!(c, rust, "case {number} of seed {SEED}: {call}");
        young += u64::from(rust.asked != 0);
    }
    assert!(program.wait().expect("the C program ends").success());
    assert!(young > CASES / 100, "{young} calls reached the MMU");
}

/// The result of a call, and the state it left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Outcome {
    answer: i64,
    /// The entry that was returned.
    pte: u64,
    /// The calls of the MMU, as a hash.
    asked: u64,
    /// The table, as a hash.
    table: u64,
}

/// A table, and an MMU that records its calls.
struct Ground<'a, F> {
    table: HostTable<'a, F>,
    mmu: Recorder,
}

struct Recorder {
    asked: Cell<u64>,
    range_limit: usize,
}

impl Mmu for Recorder {
    fn caps(&self) -> Caps {
        Caps { range_limit: self.range_limit, ..Caps::IDEAL }
    }

    fn invalidate(&self, what: Invalidate) {
        self.asked.set(match what {
            Invalidate::Range { asid, start, nr, level } => {
                let words = [1, u64::from(asid.0), start.get(), nr as u64, level as u64];
                fold(self.asked.get(), &words)
            }
            Invalidate::AddressSpace(asid) => fold(self.asked.get(), &[2, u64::from(asid.0)]),
            Invalidate::Everything => panic!("a young check flushes one address space"),
        });
    }

    fn barrier(&self, barrier: Barrier) {
        let kind = if barrier == Barrier::Publish { 3 } else { 4 };
        self.asked.set(fold(self.asked.get(), &[kind]));
    }
}

impl<'t, F: Format> Env for Ground<'t, F> {
    type Format = F;
    type Table = HostTable<'t, F>;
    type Mmu = Recorder;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = ()
    where
        Self: 'a;

    fn table(&self, _frame: Pfn) -> HostTable<'t, F> {
        self.table
    }

    fn mmu(&self) -> &Recorder {
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

/// Runs the next case. Returns the name of its call, for messages, and the outcome.
fn one_case(memory: &[AtomicU64], draw: &mut Draw) -> (String, Outcome) {
    match draw.below(64) {
        0 => case_of::<Arm64_64K>(memory, draw),
        1..5 => case_of::<Arm64_16K>(memory, draw),
        pick if pick % 3 == 0 => case_of::<Arm64_4K>(memory, draw),
        pick if pick % 3 == 1 => case_of::<X86_64>(memory, draw),
        _ => case_of::<Riscv64>(memory, draw),
    }
}

fn entry<F: Format>(prot: u64, pfn: u64, young: bool, dirty: bool) -> Pte {
    let allowed = match prot {
        0..4 => Prot::WRITE,
        4..7 => Prot::READ,
        _ => Prot::NONE,
    };
    let clean = F::leaf(Level::Pte, Pfn::new(pfn), allowed);
    let pte = match prot {
        0..4 if dirty => F::hardware_dirty(clean).expect("a writable entry"),
        4..7 if dirty => F::mkdirty(clean),
        _ => clean,
    };
    if young { F::mkyoung(pte) } else { pte }
}

/// Fills in a run of entries, some of them odd, some blocks of them contiguous. Returns the first
/// index and the number.
fn fill<F: Format>(table: &[AtomicU64], draw: &mut Draw) -> (usize, usize) {
    let n = 1 + draw.index(F::PTES.min(320));
    let start = draw.index(F::PTES - n + 1);
    let pfn = draw.below(1 << 16) << F::TABLE_SHIFT;
    let (prot, young, dirty) = (draw.below(8), draw.below(4), draw.below(3));
    let one = start + draw.index(n);
    table.iter().for_each(|entry| entry.store(0, Relaxed));
    for (i, place) in table.iter().enumerate().skip(start).take(n) {
        let y = match young {
            0 | 1 => young == 1,
            2 => draw.below(2) == 1,
            _ => i == one,
        };
        let d = if dirty < 2 { dirty == 1 } else { draw.below(2) == 1 };
        place.store(entry::<F>(prot, pfn + i as u64, y, d).0, Relaxed);
    }
    for _ in 0..draw.below(4) {
        let i = start + draw.index(n);
        let odd = match draw.below(4) {
            0 => 0,
            1 => draw.next(),
            2 => entry::<F>(prot, pfn + i as u64 + 1, false, false).0,
            _ => entry::<F>((prot + 4) % 8, pfn + i as u64, true, false).0,
        };
        table[i].store(odd, Relaxed);
    }
    for block in (0..F::PTES).step_by(F::CONT_PTES).filter(|_| F::CONT_SHIFT > 0) {
        let whole = start <= block && block + F::CONT_PTES <= start + n;
        if whole && draw.below(2) == 1 {
            for entry in &table[block..block + F::CONT_PTES] {
                entry.store(F::encode(F::mkcont(Pte(entry.load(Relaxed)))).0, Relaxed);
            }
        }
    }
    (start, n)
}

fn case_of<F: Format>(memory: &[AtomicU64], draw: &mut Draw) -> (String, Outcome) {
    let entries = &memory[..F::PTES];
    let (first, len) = fill::<F>(entries, draw);
    let i = first + draw.index(len);
    let room = F::PTES - i;
    let few = draw.below(8) != 0 && room >= 40;
    let mut nr = 1 + draw.index(if few { 40 } else { room });
    if draw.below(64) == 0 {
        nr = if draw.below(2) == 0 { 0 } else { room + 1 + draw.index(5) };
    }
    let op = draw.below(8);
    let shift = if op == 7 { F::shift(Level::Pmd) } else { F::PAGE_SHIFT };
    let addr = draw.below(1 << 16) << (shift + F::TABLE_SHIFT)
        | (i as u64) << shift
        | draw.below(1 << shift);
    let algorithm = YoungAlgorithm::ALL[draw.index(3)];
    let flush = [YoungFlush::Sync, YoungFlush::Nosync, YoungFlush::None][draw.index(3)];
    let asid = Asid(draw.below(1 << 16) as u32);
    let flags = draw.below(32) as u32;
    let range_limit = if draw.below(2) == 0 { usize::MAX } else { 1 + draw.index(64) };
    let flushes = op >= 2 && draw.below(2) == 0;

    let table = HostTable::<F>::new(entries).expect("a table of its format");
    let mmu = Recorder { asked: Cell::new(0), range_limit };
    let ground = Ground { table, mmu };
    let check = YoungCheck { env: &ground, algorithm, flush: FlushPolicy::uniform(flush), asid };
    let pt = LockedTable::lock(&ground, Pfn::new(0));
    let at = VirtAddr::new(addr).align_down(F::PAGE_SHIFT);
    let fits = (1..=room).contains(&nr);
    let mut out = Outcome::default();
    out.answer = match op {
        0..5 if !fits => Error::Range as i64,
        0..5 if flushes => i64::from(check.clear_flush_young_ptes(&pt, at, nr)),
        0..5 => i64::from(check.test_and_clear_young_ptes(&pt, at, nr)),
        5 if !fits => Error::Range as i64,
        5 if !F::is_present(gather::<F, _>(table, i)) => Error::Entry as i64,
        5 => {
            let mut pte = gather::<F, _>(table, i);
            let run = Run { first: i, nr };
            let nr = folio_pte_batch_flags::<F, _>(table, run, &mut pte, batch_flags(flags));
            out.pte = pte.0;
            nr as i64
        }
        6 => {
            out.pte = gather::<F, _>(table, i).0;
            0
        }
        _ if flushes => i64::from(check.pmdp_clear_flush_young(&pt, at)),
        _ => i64::from(check.pmdp_test_and_clear_young(&pt, at)),
    };
    out.asked = ground.mmu.asked.get();
    out.table = entries.iter().fold(0, |hash, entry| fold(hash, &[entry.load(Relaxed)]));
    let call = format!(
        "{}, call {op}, flushes {flushes}, {algorithm:?}, {flush:?}, {nr} entries from {i}, \
         flags {flags:#x}",
        F::NAME
    );
    (call, out)
}

fn batch_flags(bits: u32) -> BatchFlags {
    let has = |bit: u32| bits & 1 << bit != 0;
    BatchFlags {
        respect_dirty: has(0),
        respect_soft_dirty: has(1),
        respect_write: has(2),
        merge_write: has(3),
        merge_young_dirty: has(4),
        read: Getter::Contpte,
    }
}

//! Barry Song's question about the batched arm64 clear-flush ("arm64: mm: implement the
//! architecture-specific clear_flush_young_ptes()", v6 4/5, 2026). Of four entries one is young.
//! How many valid translations does the batch's one flush evict, if accesses may come between the
//! clear and the invalidation?
//!
//! Without an access, only the young entry's, whose flush is owed: entries that are not young are
//! in no TLB. With accesses, one more for each page that was first used in that window, at most
//! three. Each of them is walked again and found young, so that it costs a walk and hides nothing.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{Access, Decode, Event, FIRST_TABLE, Ground, Layout, World};
use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::pte::{Arm64_4K, Arm64_16K, Arm64_64K, Riscv64, X86_64};
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{LockedTable, Sound, VirtAddr};
use std::collections::BTreeSet;

const NR: usize = 4;

/// The number of translations that invalidations evicted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Evicted {
    /// The evictions of old entries: the next access must set the bit again, so the flush is owed.
    owed: usize,
    /// The evictions of young entries, which were used since they were cleared.
    needless: usize,
}

/// Returns the translations that the flushes among `events` evict from a TLB that holds entry
/// `young`'s translation and caches each accessed page's.
fn evicted<F: Decode>(events: &[Event], young: usize) -> Evicted {
    let (mut held, mut marked) = (BTreeSet::from([young]), BTreeSet::from([young]));
    let mut evicted = Evicted::default();
    for event in events {
        match event {
            Event::Accessed { entry, .. } => {
                marked.insert(*entry);
                held.insert(*entry);
            }
            Event::Cleared(entry) => {
                marked.remove(entry);
            }
            Event::Invalidate(Invalidate::Range { start, nr, level, .. }) => {
                let first = F::index(*level, *start);
                for entry in first..first + nr {
                    match (held.remove(&entry), marked.contains(&entry)) {
                        (true, true) => evicted.needless += 1,
                        (true, false) => evicted.owed += 1,
                        (false, _) => {}
                    }
                }
            }
            _ => {}
        }
    }
    evicted
}

/// Clear-flushes four single entries, of which `young` is young, while hardware makes `accesses`.
/// Returns the evicted translations, and the number of table operations.
fn run<F: Decode>(
    algorithm: YoungAlgorithm,
    flush: FlushPolicy,
    young: usize,
    accesses: &[Access],
) -> (Evicted, usize) {
    let world = World::<F>::new(1);
    let case = Layout::folio(0).case::<F>(0..NR, |i| i == young);
    world.reset(&case.entries);
    world.plan(accesses, 0);
    let env = Ground::<Sound, F>::new(&world);
    let check = YoungCheck { env: &env, algorithm, flush, asid: Asid(1) };
    let pt = LockedTable::lock(&env, FIRST_TABLE);
    assert!(check.clear_flush_young_ptes(&pt, VirtAddr::new(0), NR));
    (world.with_events(|events| evicted::<F>(events, young)), world.ops())
}

/// Tries every young entry, every set of the others accessed, and every moment. Returns each sum of
/// evictions that occurred.
fn each<F: Decode>(algorithm: YoungAlgorithm, flush: FlushPolicy) -> BTreeSet<(usize, Evicted)> {
    let mut seen = BTreeSet::new();
    for young in 0..NR {
        for set in 0..1_usize << NR {
            if set >> young & 1 == 1 {
                continue; // held in the TLB, it reaches no table before the invalidation
            }
            for before in 0.. {
                let accesses: Vec<Access> = (0..NR)
                    .filter(|entry| set >> entry & 1 == 1)
                    .map(|entry| Access { before, entry, write: false })
                    .collect();
                let (evicted, ops) = run::<F>(algorithm, flush, young, &accesses);
                seen.insert((accesses.len(), evicted));
                if before >= ops {
                    break;
                }
            }
        }
    }
    seen
}

/// Checks one flush for the batch: in addition to the owed translation, it may evict those of pages
/// used in between, and does.
fn one_flush<F: Decode>(algorithm: YoungAlgorithm, flush: FlushPolicy) {
    let seen = each::<F>(algorithm, flush);
    let alone = seen.iter().filter(|(accesses, _)| *accesses == 0);
    assert!(alone.eq([&(0, Evicted { owed: 1, needless: 0 })]));
    for accesses in 1..NR {
        let at: Vec<_> = seen.iter().filter(|(n, _)| *n == accesses).map(|(_, e)| e).collect();
        // No others than those of the used pages: each is owed (cleared after the access) or
        // needless.
        assert!(at.iter().all(|e| e.owed + e.needless <= 1 + accesses), "{at:?}");
        let most = at.iter().map(|e| e.needless).max();
        assert_eq!(most, Some(accesses), "{at:?}");
    }
}

/// Checks that a flush for each entry evicts only owed translations.
fn flush_an_entry<F: Decode>(algorithm: YoungAlgorithm, flush: FlushPolicy) {
    for (accesses, evicted) in each::<F>(algorithm, flush) {
        assert_eq!(evicted.needless, 0, "{accesses} accesses");
        assert!((1..=1 + accesses).contains(&evicted.owed), "{accesses} accesses: {evicted:?}");
    }
}

/// Checks that without a flush none is evicted. Then a stale translation hides accesses until it is
/// dropped.
fn no_flush<F: Decode>(flush: FlushPolicy) {
    for algorithm in YoungAlgorithm::ALL {
        for (accesses, evicted) in each::<F>(algorithm, flush) {
            assert_eq!(evicted, Evicted::default(), "{accesses} accesses");
        }
    }
}

#[test]
fn arm64_evicts_what_was_used_in_the_window_and_nothing_else() {
    fn arm64<F: Decode>() {
        one_flush::<F>(YoungAlgorithm::Batched, FlushPolicy::ARM64);
        one_flush::<F>(YoungAlgorithm::Line, FlushPolicy::ARM64);
        flush_an_entry::<F>(YoungAlgorithm::PerEntry, FlushPolicy::ARM64);
    }
    arm64::<Arm64_4K>();
    arm64::<Arm64_16K>();
    arm64::<Arm64_64K>();
}

#[test]
fn x86_and_riscv_flush_nothing_and_if_forced_an_entry_at_a_time() {
    no_flush::<X86_64>(FlushPolicy::X86);
    no_flush::<Riscv64>(FlushPolicy::RISCV);
    let forced = FlushPolicy::uniform(YoungFlush::Nosync);
    for algorithm in [YoungAlgorithm::PerEntry, YoungAlgorithm::Batched] {
        flush_an_entry::<X86_64>(algorithm, forced);
        flush_an_entry::<Riscv64>(algorithm, forced);
    }
    one_flush::<X86_64>(YoungAlgorithm::Line, forced);
    one_flush::<Riscv64>(YoungAlgorithm::Line, forced);
}

/// Four entries of a contiguous block, which a TLB holds as one translation: that one is owed. No
/// access walks in between, for the translation serves it until it is evicted.
#[test]
fn of_a_block_the_one_translation_is_evicted() {
    fn block<F: Decode>() {
        for algorithm in YoungAlgorithm::ALL {
            for young in 0..F::CONT_PTES {
                let world = World::<F>::new(1);
                let case = Layout::folio(1).case::<F>(0..NR, |i| i == young);
                world.reset(&case.entries);
                let env = Ground::<Sound, F>::new(&world);
                let flush = FlushPolicy::ARM64;
                let check = YoungCheck { env: &env, algorithm, flush, asid: Asid(1) };
                let pt = LockedTable::lock(&env, FIRST_TABLE);
                assert!(check.clear_flush_young_ptes(&pt, VirtAddr::new(0), NR));
                let covers_block = |event: &&Event| {
                    let whole = (VirtAddr::new(0), F::CONT_PTES);
                    matches!(event, Event::Invalidate(Invalidate::Range { start, nr, .. })
                        if (*start, *nr) == whole)
                };
                let any = |event: &&Event| matches!(event, Event::Invalidate(_));
                let count = |is: &dyn Fn(&&Event) -> bool| world.events().iter().filter(is).count();
                assert_eq!((count(&any), count(&covers_block)), (1, 1), "{algorithm:?} {young}");
            }
        }
    }
    block::<Arm64_4K>();
    block::<Arm64_16K>();
    block::<Arm64_64K>();
    block::<Riscv64>();
}

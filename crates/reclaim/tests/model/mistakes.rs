//! The property fails if a rule of soundness is broken, one rule at a time.

use crate::model::Machine;
use crate::property::{hold, quietly, search};
use crate::steps::{LEAVES, Op, Span, Step, TUNINGS, crowded, sharing, step};
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::{Format, Rules, Sound, VirtAddr};
use pageout_reclaim::{Advice, VmFlags};
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::cell::Cell;
use std::panic::catch_unwind;

/// The number of scenarios searched before a mistake counts as not found.
const SCENARIOS: u32 = 4000;

/// A variant that batches and defers, and flushes nothing when a young bit is cleared.
const NO_YOUNG_FLUSH: usize = 24;

/// A rule of soundness that is broken.
#[derive(Clone, Copy)]
enum Mistake {
    FreesBeforeTheFlush,
    WritesBeforeTheFlush,
    RemovesBeforeTheFlush,
    UnlocksBeforeTheFlush,
    RestoresBeforeTheFlush,
    LeavesZerosBeforeTheFlush,
    FaultsWithoutTheLock,
    CopiesBeforeTheFlush,
    ForgetsWhatIsPending,
    MarksTheFirstAlone,
    CountsABatchOnce,
    MovesFoliosForPages,
    JoinsOnceSettled,
    JoinsWhileSwitching,
    LeavesEdgesFolded,
    WritesWithoutABreak,
    SplitsBeforeTheFlush,
    LosesStoresAtASplit,
    CountsASplitOnce,
    SharesTheFirstAlone,
    KeepsTheTable,
    TrustsGatheredFlags,
    ForgetsASlot,
    CountsTheIndexTwice,
    LeaksTheSlot,
    TakesBackClean,
    BatchesPastTheTable,
}

thread_local! {
    static MADE: Cell<Option<Mistake>> = const { Cell::new(None) };
}

/// Rules of which this thread's mistake breaks one. With a type for each mistake, the engine would
/// be compiled for each.
struct Mistaken;

impl Mistaken {
    fn making<T>(mistake: Mistake, work: impl FnOnce() -> T) -> T {
        MADE.set(Some(mistake));
        let done = work();
        MADE.set(None);
        done
    }
}

macro_rules! broken {
    ($rule:ident($($arg:ident: $of:ty),*) -> $out:ty { $($mistake:ident => $wrong:expr),* }) => {
        fn $rule($($arg: $of),*) -> $out {
            match MADE.get() {
                $(Some(Mistake::$mistake) => $wrong,)*
                _ => Sound::$rule($($arg),*),
            }
        }
    };
}

impl Rules for Mistaken {
    broken!(flush_before_free() -> bool { FreesBeforeTheFlush => false });
    broken!(flush_before_write_out() -> bool { WritesBeforeTheFlush => false });
    // Freeing before the flush implies removing before it.
    broken!(flush_before_remove() -> bool {
        FreesBeforeTheFlush => false,
        RemovesBeforeTheFlush => false
    });
    broken!(flush_before_unlock() -> bool { UnlocksBeforeTheFlush => false });
    broken!(flush_before_restore() -> bool { RestoresBeforeTheFlush => false });
    broken!(flush_before_zeros() -> bool { LeavesZerosBeforeTheFlush => false });
    broken!(faults_lock_folios() -> bool { FaultsWithoutTheLock => false });
    broken!(flush_before_copy() -> bool { CopiesBeforeTheFlush => false });
    broken!(flush_pending_before_change() -> bool { ForgetsWhatIsPending => false });
    broken!(entries_marked(nr: usize) -> usize { MarksTheFirstAlone => 1 });
    broken!(mappings_removed(nr: u32) -> u32 { CountsABatchOnce => 1 });
    broken!(pages_moved(nr: usize) -> i64 { MovesFoliosForPages => 1 });
    broken!(joins_generation(on: bool, switching: bool) -> bool {
        JoinsOnceSettled => on && !switching,
        JoinsWhileSwitching => on || switching
    });
    broken!(unfold_edges() -> bool { LeavesEdgesFolded => false });
    broken!(break_before_make() -> bool { WritesWithoutABreak => false });
    broken!(flush_before_split() -> bool { SplitsBeforeTheFlush => false });
    broken!(split_keeps_dirty() -> bool { LosesStoresAtASplit => false });
    broken!(mappings_of_split(nr: u32) -> u32 { CountsASplitOnce => 1 });
    broken!(pages_shared(nr: usize) -> usize { SharesTheFirstAlone => 1 });
    broken!(leaf_gives_up_its_table() -> bool { KeepsTheTable => false });
    broken!(access_flags_of_each_entry() -> bool { TrustsGatheredFlags => false });
    broken!(slots_indexed(nr: usize) -> usize { ForgetsASlot => nr - 1 });
    broken!(entries_of_index() -> u16 { CountsTheIndexTwice => 2 });
    broken!(slot_entries_left() -> u16 { LeaksTheSlot => 1 });
    broken!(taken_back_dirty() -> bool { TakesBackClean => false });

    /// Wrong batches end with their folio and their VMA, but go on past the table.
    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, end: VirtAddr) -> usize {
        match MADE.get() {
            Some(Mistake::BatchesPastTheTable) => {
                in_folio.min(((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize)
            }
            _ => Sound::max_batch::<F>(addr, in_folio, end),
        }
    }
}

/// Searches the same scenarios each time, so that the result does not depend on luck.
fn found_in<F: Format>(mistake: Mistake, step: BoxedStrategy<Step>) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let searched = || search::<F, Mistaken>((step, 0..TUNINGS), SCENARIOS, rng);
    let failure = Mistaken::making(mistake, searched).expect("the mistake is found");
    println!("{failure}");
}

/// Checks that a scenario holds, and that with the mistake it does not.
fn only_wrong<F: Format>(mistake: Mistake, variant: usize, steps: &[Step]) {
    let holds = || hold::<F, Mistaken>(Machine::IDEAL, variant, steps);
    holds();
    let wrong = || quietly(|| catch_unwind(holds));
    Mistaken::making(mistake, wrong).expect_err("the mistake is found");
}

fn found<F: Format>(mistake: Mistake) {
    found_in::<F>(mistake, step(true));
}

/// Searches among threads of one process with few pages.
fn found_in_a_crowd<F: Format>(mistake: Mistake) {
    found_in::<F>(mistake, crowded());
}

#[test]
fn frames_freed_before_the_flush_are_reached() {
    found::<SmallX86>(Mistake::FreesBeforeTheFlush);
    found::<SmallArm4>(Mistake::FreesBeforeTheFlush);
}

#[test]
fn what_is_written_out_before_the_flush_is_lost() {
    found::<SmallX86>(Mistake::WritesBeforeTheFlush);
    found::<SmallArm4>(Mistake::WritesBeforeTheFlush);
}

#[test]
fn what_is_removed_before_the_flush_is_read_stale() {
    found_in_a_crowd::<SmallX86>(Mistake::RemovesBeforeTheFlush);
    found_in_a_crowd::<SmallArm4>(Mistake::RemovesBeforeTheFlush);
}

#[test]
fn what_is_unlocked_before_the_flush_loses_a_store() {
    found_in_a_crowd::<SmallX86>(Mistake::UnlocksBeforeTheFlush);
    found_in_a_crowd::<SmallArm4>(Mistake::UnlocksBeforeTheFlush);
}

/// A split block becomes lazyfree, is written to, and comes back whole. That is too unlikely for a
/// random scenario.
#[test]
fn entries_restored_before_the_flush_are_a_conflict() {
    let span = Span::new(0, 0, 4);
    let page = Span::new(0, 1, 1);
    let protect = |prot| Step::alone(Op::Protect { span: page, prot });
    let steps = [
        Step::alone(Op::MapAnonymous { span, order: 2 }),
        Step::alone(Op::Fill(span)),
        Step::alone(Op::Advise { span, advice: Advice::Free }),
        protect(VmFlags::empty()),
        protect(VmFlags::READ | VmFlags::WRITE),
        Step::alone(Op::Store { process: 0, page: 1 }),
        Step::alone(Op::ReclaimAll),
    ];
    only_wrong::<SmallArm4>(Mistake::RestoresBeforeTheFlush, NO_YOUNG_FLUSH, &steps);
}

#[test]
fn zeros_left_before_the_flush_are_read_stale() {
    found_in_a_crowd::<SmallX86>(Mistake::LeavesZerosBeforeTheFlush);
    found_in_a_crowd::<SmallArm4>(Mistake::LeavesZerosBeforeTheFlush);
}

#[test]
fn a_fault_without_the_folios_lock_is_seen() {
    found_in_a_crowd::<SmallX86>(Mistake::FaultsWithoutTheLock);
    found_in_a_crowd::<SmallArm4>(Mistake::FaultsWithoutTheLock);
}

#[test]
fn what_is_copied_before_the_flush_is_lost() {
    found::<SmallX86>(Mistake::CopiesBeforeTheFlush);
    found::<SmallArm4>(Mistake::CopiesBeforeTheFlush);
}

#[test]
fn a_pending_flush_that_is_forgotten_lets_stores_through() {
    found::<SmallX86>(Mistake::ForgetsWhatIsPending);
    found::<SmallArm4>(Mistake::ForgetsWhatIsPending);
}

/// A run of a file's pages is reclaimed while userfaultfd write-protects it. In random scenarios it
/// is stored to too rarely after that.
#[test]
fn marks_that_only_the_first_gets_are_missed() {
    let span = Span::new(0, 0, 4);
    let file = Op::MapFile { span, file: 0, pgoff: 0, order: 2, shared: true, write: true };
    let load = |page| Op::Load { process: 0, page };
    let mut steps: Vec<_> =
        [file, load(0), load(1), load(2), load(3), Op::WriteProtect { span, on: true }].into();
    steps.extend((0..4).map(|_| Op::ReclaimAll));
    steps.extend((0..4).map(|page| Op::Store { process: 0, page }));
    let steps: Vec<_> = steps.into_iter().map(Step::alone).collect();
    only_wrong::<SmallX86>(Mistake::MarksTheFirstAlone, NO_YOUNG_FLUSH, &steps);
}

#[test]
fn a_batch_that_is_counted_once_does_not_add_up() {
    found::<SmallX86>(Mistake::CountsABatchOnce);
}

#[test]
fn edges_left_folded_are_seen() {
    found::<SmallArm4>(Mistake::LeavesEdgesFolded);
}

#[test]
fn a_conversion_without_a_break_is_a_conflict() {
    found::<SmallArm4>(Mistake::WritesWithoutABreak);
}

#[test]
fn gathered_flags_that_are_trusted_fault_for_ever() {
    found::<SmallArm4>(Mistake::TrustsGatheredFlags);
}

#[test]
fn generations_that_count_folios_for_pages_do_not_add_up() {
    found::<SmallX86>(Mistake::MovesFoliosForPages);
    found::<SmallArm4>(Mistake::MovesFoliosForPages);
}

/// The lists are switched to generations, and back.
#[test]
fn what_joins_behind_a_switch_is_lost() {
    found::<SmallX86>(Mistake::JoinsOnceSettled);
    found::<SmallArm4>(Mistake::JoinsOnceSettled);
    found::<SmallX86>(Mistake::JoinsWhileSwitching);
    found::<SmallArm4>(Mistake::JoinsWhileSwitching);
}

#[test]
fn shared_memory_written_before_the_flush_is_lost() {
    found_in::<SmallX86>(Mistake::WritesBeforeTheFlush, sharing());
    found_in::<SmallArm4>(Mistake::WritesBeforeTheFlush, sharing());
}

#[test]
fn a_page_whose_slot_the_index_forgets_is_lost() {
    found_in::<SmallX86>(Mistake::ForgetsASlot, sharing());
}

#[test]
fn a_slot_that_the_index_counts_twice_does_not_add_up() {
    found_in::<SmallX86>(Mistake::CountsTheIndexTwice, sharing());
}

#[test]
fn a_slot_that_is_kept_for_a_page_taken_back_is_leaked() {
    found_in::<SmallX86>(Mistake::LeaksTheSlot, sharing());
}

#[test]
fn a_page_taken_back_clean_is_lost() {
    found_in::<SmallX86>(Mistake::TakesBackClean, sharing());
}

#[test]
fn a_batch_past_its_table_is_seen() {
    found::<SmallX86>(Mistake::BatchesPastTheTable);
    found::<SmallArm4>(Mistake::BatchesPastTheTable);
}

#[test]
fn a_leaf_split_before_the_flush_is_seen() {
    found::<SmallX86>(Mistake::SplitsBeforeTheFlush);
    found::<SmallArm4>(Mistake::SplitsBeforeTheFlush);
}

#[test]
fn a_split_that_is_counted_once_does_not_add_up() {
    found::<SmallX86>(Mistake::CountsASplitOnce);
    found::<SmallArm4>(Mistake::CountsASplitOnce);
}

#[test]
fn pages_of_a_leaf_that_a_child_shares_are_not_exclusive() {
    found::<SmallX86>(Mistake::SharesTheFirstAlone);
    found::<SmallArm4>(Mistake::SharesTheFirstAlone);
}

#[test]
fn a_table_kept_of_a_leaf_that_went_is_seen() {
    found::<SmallX86>(Mistake::KeepsTheTable);
    found::<SmallArm4>(Mistake::KeepsTheTable);
}

/// A leaf becomes lazyfree, is stored to, and is split by reclaim, which takes its pages for
/// unused.
#[test]
fn stores_lost_at_a_split_are_seen() {
    let span = Span::new(0, 0, 8);
    let mut steps = vec![
        Op::MapAnonymous { span, order: 0 },
        Op::Fill(span),
        Op::Advise { span, advice: Advice::Free },
        Op::Store { process: 0, page: 1 },
    ];
    steps.extend((0..4).map(|_| Op::ReclaimAll));
    let steps: Vec<_> = steps.into_iter().map(Step::alone).collect();
    only_wrong::<SmallX86>(Mistake::LosesStoresAtASplit, LEAVES, &steps);
    only_wrong::<SmallArm4>(Mistake::LosesStoresAtASplit, LEAVES, &steps);
}

//! The property fails if a rule of soundness is broken, one rule at a time.

use crate::model::Machine;
use crate::property::{hold, quietly, search};
use crate::steps::{LEAVES, Op, Span, Step, TUNINGS, crowded, sharing, step};
use pageout_exhibits::{Bug, Faulty};
use pageout_paging::Format;
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_reclaim::{Advice, VmFlags};
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::panic::catch_unwind;

/// The number of scenarios searched before a bug counts as not found.
const SCENARIOS: u32 = 4000;

/// A variant that batches and defers, and flushes nothing when a young bit is cleared.
const NO_YOUNG_FLUSH: usize = 24;

/// Searches the same scenarios each time, so that the result does not depend on luck.
fn found_in<F: Format>(bug: Bug, step: BoxedStrategy<Step>) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let searched = || search::<F, Faulty>((step, 0..TUNINGS), SCENARIOS, rng);
    let failure = Bug::during(Some(bug), searched).expect("the bug is found");
    println!("{failure}");
}

/// Checks that a scenario holds, and that with the bug it does not.
fn only_wrong<F: Format>(bug: Bug, variant: usize, steps: &[Step]) {
    let holds = || hold::<F, Faulty>(Machine::IDEAL, variant, steps);
    holds();
    let wrong = || quietly(|| catch_unwind(holds));
    Bug::during(Some(bug), wrong).expect_err("the bug is found");
}

fn found<F: Format>(bug: Bug) {
    found_in::<F>(bug, step(true));
}

/// Searches among threads of one process with few pages.
fn found_in_a_crowd<F: Format>(bug: Bug) {
    found_in::<F>(bug, crowded());
}

#[test]
fn frames_freed_before_the_flush_are_reached() {
    found::<SmallX86>(Bug::FreeBeforeFlush);
    found::<SmallArm4>(Bug::FreeBeforeFlush);
}

#[test]
fn what_is_written_out_before_the_flush_is_lost() {
    found::<SmallX86>(Bug::WriteOutBeforeFlush);
    found::<SmallArm4>(Bug::WriteOutBeforeFlush);
}

#[test]
fn what_is_removed_before_the_flush_is_read_stale() {
    found_in_a_crowd::<SmallX86>(Bug::RemoveBeforeFlush);
    found_in_a_crowd::<SmallArm4>(Bug::RemoveBeforeFlush);
}

#[test]
fn what_is_unlocked_before_the_flush_loses_a_store() {
    found_in_a_crowd::<SmallX86>(Bug::UnlockBeforeFlush);
    found_in_a_crowd::<SmallArm4>(Bug::UnlockBeforeFlush);
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
    only_wrong::<SmallArm4>(Bug::RestoreBeforeFlush, NO_YOUNG_FLUSH, &steps);
}

#[test]
fn zeros_left_before_the_flush_are_read_stale() {
    found_in_a_crowd::<SmallX86>(Bug::ZerosBeforeFlush);
    found_in_a_crowd::<SmallArm4>(Bug::ZerosBeforeFlush);
}

#[test]
fn a_fault_without_the_folios_lock_is_seen() {
    found_in_a_crowd::<SmallX86>(Bug::FaultWithoutLock);
    found_in_a_crowd::<SmallArm4>(Bug::FaultWithoutLock);
}

#[test]
fn what_is_copied_before_the_flush_is_lost() {
    found::<SmallX86>(Bug::CopyBeforeFlush);
    found::<SmallArm4>(Bug::CopyBeforeFlush);
}

#[test]
fn a_pending_flush_that_is_forgotten_lets_stores_through() {
    found::<SmallX86>(Bug::PendingFlushMissed);
    found::<SmallArm4>(Bug::PendingFlushMissed);
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
    only_wrong::<SmallX86>(Bug::UffdWpBatched, NO_YOUNG_FLUSH, &steps);
}

#[test]
fn a_batch_that_is_counted_once_does_not_add_up() {
    found::<SmallX86>(Bug::MapcountOnce);
}

#[test]
fn edges_left_folded_are_seen() {
    found::<SmallArm4>(Bug::FoldedEdges);
}

#[test]
fn a_conversion_without_a_break_is_a_conflict() {
    found::<SmallArm4>(Bug::MakeBeforeBreak);
}

#[test]
fn gathered_flags_that_are_trusted_fault_for_ever() {
    found::<SmallArm4>(Bug::GatheredFlags);
}

#[test]
fn generations_that_count_folios_for_pages_do_not_add_up() {
    found::<SmallX86>(Bug::MovesFolios);
    found::<SmallArm4>(Bug::MovesFolios);
}

/// The lists are switched to generations, and back.
#[test]
fn what_joins_behind_a_switch_is_lost() {
    found::<SmallX86>(Bug::JoinOnceSettled);
    found::<SmallArm4>(Bug::JoinOnceSettled);
    found::<SmallX86>(Bug::JoinWhileSwitching);
    found::<SmallArm4>(Bug::JoinWhileSwitching);
}

#[test]
fn shared_memory_written_before_the_flush_is_lost() {
    found_in::<SmallX86>(Bug::WriteOutBeforeFlush, sharing());
    found_in::<SmallArm4>(Bug::WriteOutBeforeFlush, sharing());
}

#[test]
fn a_page_whose_slot_the_index_forgets_is_lost() {
    found_in::<SmallX86>(Bug::SlotForgotten, sharing());
}

#[test]
fn a_slot_that_the_index_counts_twice_does_not_add_up() {
    found_in::<SmallX86>(Bug::IndexCountsTwice, sharing());
}

#[test]
fn a_slot_that_is_kept_for_a_page_taken_back_is_leaked() {
    found_in::<SmallX86>(Bug::SlotLeaked, sharing());
}

#[test]
fn a_page_taken_back_clean_is_lost() {
    found_in::<SmallX86>(Bug::TakenBackClean, sharing());
}

#[test]
fn a_batch_past_its_table_is_seen() {
    found::<SmallX86>(Bug::BatchPastTable);
    found::<SmallArm4>(Bug::BatchPastTable);
}

#[test]
fn a_leaf_split_before_the_flush_is_seen() {
    found::<SmallX86>(Bug::SplitBeforeFlush);
    found::<SmallArm4>(Bug::SplitBeforeFlush);
}

#[test]
fn a_split_that_is_counted_once_does_not_add_up() {
    found::<SmallX86>(Bug::SplitCountsOnce);
    found::<SmallArm4>(Bug::SplitCountsOnce);
}

#[test]
fn pages_of_a_leaf_that_a_child_shares_are_not_exclusive() {
    found::<SmallX86>(Bug::SharedOnce);
    found::<SmallArm4>(Bug::SharedOnce);
}

#[test]
fn a_table_kept_of_a_leaf_that_went_is_seen() {
    found::<SmallX86>(Bug::TableKept);
    found::<SmallArm4>(Bug::TableKept);
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
    only_wrong::<SmallX86>(Bug::SplitLosesDirty, LEAVES, &steps);
    only_wrong::<SmallArm4>(Bug::SplitLosesDirty, LEAVES, &steps);
}

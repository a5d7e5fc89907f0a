//! The property fails when a rule of soundness is broken, one rule at a time: what is owed and
//! dropped is seen.

use crate::model::Machine;
use crate::property::{hold, quietly, search};
use crate::steps::{LEAVES, Op, Span, Step, TUNINGS, crowded, sharing, step};
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::{Format, Rules, Sound, VirtAddr};
use pageout_reclaim::{Advice, VmFlags};
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::panic::catch_unwind;

/// Scenarios searched before a mistake counts as not found.
const SCENARIOS: u32 = 4000;

/// A variant that batches and defers, and flushes nothing when a young bit is cleared.
const NO_YOUNG_FLUSH: usize = 24;

/// Rules with one of them broken.
macro_rules! mistake {
    ($name:ident, $rule:ident($($arg:ident: $of:ty),*) -> $out:ty, $wrong:expr) => {
        struct $name;

        impl Rules for $name {
            fn $rule($($arg: $of),*) -> $out {
                $wrong
            }
        }
    };
}

mistake!(FreesBeforeTheFlush, flush_before_free() -> bool, false);
mistake!(WritesBeforeTheFlush, flush_before_write_out() -> bool, false);
mistake!(RemovesBeforeTheFlush, flush_before_remove() -> bool, false);
mistake!(UnlocksBeforeTheFlush, flush_before_unlock() -> bool, false);
mistake!(RestoresBeforeTheFlush, flush_before_restore() -> bool, false);
mistake!(LeavesZerosBeforeTheFlush, flush_before_zeros() -> bool, false);
mistake!(FaultsWithoutTheLock, faults_lock_folios() -> bool, false);
mistake!(CopiesBeforeTheFlush, flush_before_copy() -> bool, false);
mistake!(ForgetsWhatIsPending, flush_pending_before_change() -> bool, false);
mistake!(MarksTheFirstAlone, entries_marked(_nr: usize) -> usize, 1);
mistake!(CountsABatchOnce, mappings_removed(_nr: u32) -> u32, 1);
mistake!(MovesFoliosForPages, pages_moved(_nr: usize) -> i64, 1);
mistake!(JoinsOnceSettled, joins_generation(on: bool, switching: bool) -> bool, on && !switching);
mistake!(JoinsWhileSwitching, joins_generation(on: bool, switching: bool) -> bool, on || switching);
mistake!(LeavesEdgesFolded, unfold_edges() -> bool, false);
mistake!(WritesWithoutABreak, break_before_make() -> bool, false);
mistake!(SplitsBeforeTheFlush, flush_before_split() -> bool, false);
mistake!(LosesStoresAtASplit, split_keeps_dirty() -> bool, false);
mistake!(CountsASplitOnce, mappings_of_split(_nr: u32) -> u32, 1);
mistake!(SharesTheFirstAlone, pages_shared(_nr: usize) -> usize, 1);
mistake!(KeepsTheTable, leaf_gives_up_its_table() -> bool, false);
mistake!(TrustsGatheredFlags, access_flags_of_each_entry() -> bool, false);

mistake!(ForgetsASlot, slots_indexed(nr: usize) -> usize, nr - 1);
mistake!(CountsTheIndexTwice, entries_of_index() -> u16, 2);
mistake!(LeaksTheSlot, slot_entries_left() -> u16, 1);
mistake!(TakesBackClean, taken_back_dirty() -> bool, false);

/// Batches end with their folio and their VMA, and go on past the table.
struct BatchesPastTheTable;

impl Rules for BatchesPastTheTable {
    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, end: VirtAddr) -> usize {
        in_folio.min(((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize)
    }
}

/// Looks in the same scenarios each time: what is found does not depend on luck.
fn found_in<F: Format, R: Rules>(step: BoxedStrategy<Step>) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let failure = search::<F, R>((step, 0..TUNINGS), SCENARIOS, rng).expect("the mistake is found");
    println!("{failure}");
}

/// A scenario holds, and with the mistake it does not.
fn only_wrong<F: Format, R: Rules>(variant: usize, steps: &[Step]) {
    hold::<F, Sound>(Machine::IDEAL, variant, steps);
    let wrong = || hold::<F, R>(Machine::IDEAL, variant, steps);
    quietly(|| catch_unwind(wrong)).expect_err("the mistake is found");
}

fn found<F: Format, R: Rules>() {
    found_in::<F, R>(step(true));
}

/// Among threads of one process with few pages.
fn found_in_a_crowd<F: Format, R: Rules>() {
    found_in::<F, R>(crowded());
}

#[test]
fn frames_freed_before_the_flush_are_reached() {
    found::<SmallX86, FreesBeforeTheFlush>();
    found::<SmallArm4, FreesBeforeTheFlush>();
}

#[test]
fn what_is_written_out_before_the_flush_is_lost() {
    found::<SmallX86, WritesBeforeTheFlush>();
    found::<SmallArm4, WritesBeforeTheFlush>();
}

#[test]
fn what_is_removed_before_the_flush_is_read_stale() {
    found_in_a_crowd::<SmallX86, RemovesBeforeTheFlush>();
    found_in_a_crowd::<SmallArm4, RemovesBeforeTheFlush>();
}

#[test]
fn what_is_unlocked_before_the_flush_loses_a_store() {
    found_in_a_crowd::<SmallX86, UnlocksBeforeTheFlush>();
    found_in_a_crowd::<SmallArm4, UnlocksBeforeTheFlush>();
}

/// A split block is given up lazily, written to, and comes back whole. Too much has to come
/// together for a random scenario.
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
    only_wrong::<SmallArm4, RestoresBeforeTheFlush>(NO_YOUNG_FLUSH, &steps);
}

#[test]
fn zeros_left_before_the_flush_are_read_stale() {
    found_in_a_crowd::<SmallX86, LeavesZerosBeforeTheFlush>();
    found_in_a_crowd::<SmallArm4, LeavesZerosBeforeTheFlush>();
}

#[test]
fn a_fault_without_the_folios_lock_is_seen() {
    found_in_a_crowd::<SmallX86, FaultsWithoutTheLock>();
    found_in_a_crowd::<SmallArm4, FaultsWithoutTheLock>();
}

#[test]
fn what_is_copied_before_the_flush_is_lost() {
    found::<SmallX86, CopiesBeforeTheFlush>();
    found::<SmallArm4, CopiesBeforeTheFlush>();
}

#[test]
fn a_pending_flush_that_is_forgotten_lets_stores_through() {
    found::<SmallX86, ForgetsWhatIsPending>();
    found::<SmallArm4, ForgetsWhatIsPending>();
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
    only_wrong::<SmallX86, MarksTheFirstAlone>(NO_YOUNG_FLUSH, &steps);
}

#[test]
fn a_batch_that_is_counted_once_does_not_add_up() {
    found::<SmallX86, CountsABatchOnce>();
}

#[test]
fn edges_left_folded_are_seen() {
    found::<SmallArm4, LeavesEdgesFolded>();
}

#[test]
fn a_conversion_without_a_break_is_a_conflict() {
    found::<SmallArm4, WritesWithoutABreak>();
}

#[test]
fn gathered_flags_that_are_trusted_fault_for_ever() {
    found::<SmallArm4, TrustsGatheredFlags>();
}

#[test]
fn generations_that_count_folios_for_pages_do_not_add_up() {
    found::<SmallX86, MovesFoliosForPages>();
    found::<SmallArm4, MovesFoliosForPages>();
}

/// Switching to generations, and back.
#[test]
fn what_joins_behind_a_switch_is_lost() {
    found::<SmallX86, JoinsOnceSettled>();
    found::<SmallArm4, JoinsOnceSettled>();
    found::<SmallX86, JoinsWhileSwitching>();
    found::<SmallArm4, JoinsWhileSwitching>();
}

#[test]
fn shared_memory_written_before_the_flush_is_lost() {
    found_in::<SmallX86, WritesBeforeTheFlush>(sharing());
    found_in::<SmallArm4, WritesBeforeTheFlush>(sharing());
}

#[test]
fn a_page_whose_slot_the_index_forgets_is_lost() {
    found_in::<SmallX86, ForgetsASlot>(sharing());
}

#[test]
fn a_slot_that_the_index_counts_twice_does_not_add_up() {
    found_in::<SmallX86, CountsTheIndexTwice>(sharing());
}

#[test]
fn a_slot_that_is_kept_for_a_page_taken_back_is_leaked() {
    found_in::<SmallX86, LeaksTheSlot>(sharing());
}

#[test]
fn a_page_taken_back_clean_is_lost() {
    found_in::<SmallX86, TakesBackClean>(sharing());
}

#[test]
fn a_batch_past_its_table_is_seen() {
    found::<SmallX86, BatchesPastTheTable>();
    found::<SmallArm4, BatchesPastTheTable>();
}

#[test]
fn a_leaf_split_before_the_flush_is_seen() {
    found::<SmallX86, SplitsBeforeTheFlush>();
    found::<SmallArm4, SplitsBeforeTheFlush>();
}

#[test]
fn a_split_that_is_counted_once_does_not_add_up() {
    found::<SmallX86, CountsASplitOnce>();
    found::<SmallArm4, CountsASplitOnce>();
}

#[test]
fn pages_of_a_leaf_that_a_child_shares_are_not_exclusive() {
    found::<SmallX86, SharesTheFirstAlone>();
    found::<SmallArm4, SharesTheFirstAlone>();
}

#[test]
fn a_table_kept_of_a_leaf_that_went_is_seen() {
    found::<SmallX86, KeepsTheTable>();
    found::<SmallArm4, KeepsTheTable>();
}

/// A leaf is given up lazily, stored to, and split by reclaim, which takes its pages for unused.
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
    only_wrong::<SmallX86, LosesStoresAtASplit>(LEAVES, &steps);
    only_wrong::<SmallArm4, LosesStoresAtASplit>(LEAVES, &steps);
}

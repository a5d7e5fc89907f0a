//! The property fails when a rule of soundness is broken, one rule at a time: what is owed and
//! dropped is seen.

use crate::property::search;
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::{Format, Rules, VirtAddr};
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Scenarios searched before a mistake counts as not found.
const SCENARIOS: u32 = 4000;

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
mistake!(CopiesBeforeTheFlush, flush_before_copy() -> bool, false);
mistake!(ForgetsWhatIsPending, flush_pending_before_change() -> bool, false);
mistake!(MarksTheFirstAlone, entries_marked(_nr: usize) -> usize, 1);
mistake!(CountsABatchOnce, mappings_removed(_nr: u32) -> u32, 1);
mistake!(MovesFoliosForPages, pages_moved(_nr: usize) -> i64, 1);
mistake!(JoinsOnceSettled, joins_generation(on: bool, switching: bool) -> bool, on && !switching);
mistake!(JoinsWhileSwitching, joins_generation(on: bool, switching: bool) -> bool, on || switching);
mistake!(LeavesEdgesFolded, unfold_edges() -> bool, false);
mistake!(WritesWithoutABreak, break_before_make() -> bool, false);
mistake!(TrustsGatheredFlags, access_flags_of_each_entry() -> bool, false);

/// Batches end with their folio and their VMA, and go on past the table.
struct BatchesPastTheTable;

impl Rules for BatchesPastTheTable {
    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, end: VirtAddr) -> usize {
        in_folio.min(((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize)
    }
}

/// Looks in the same scenarios each time: what is found does not depend on luck.
fn found<F: Format, R: Rules>() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let failure = search::<F, R>(SCENARIOS, rng).expect("the mistake is found");
    println!("{failure}");
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
fn what_is_copied_before_the_flush_is_lost() {
    found::<SmallX86, CopiesBeforeTheFlush>();
    found::<SmallArm4, CopiesBeforeTheFlush>();
}

#[test]
fn a_pending_flush_that_is_forgotten_lets_stores_through() {
    found::<SmallX86, ForgetsWhatIsPending>();
    found::<SmallArm4, ForgetsWhatIsPending>();
}

#[test]
fn marks_that_only_the_first_gets_are_missed() {
    found::<SmallX86, MarksTheFirstAlone>();
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
fn a_batch_past_its_table_is_seen() {
    found::<SmallX86, BatchesPastTheTable>();
    found::<SmallArm4, BatchesPastTheTable>();
}

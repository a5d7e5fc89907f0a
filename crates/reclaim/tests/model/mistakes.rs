//! The property fails when a rule of soundness is broken, one rule at a time: what is owed and
//! dropped is seen.

use crate::property::search;
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::{Format, Rules};

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
mistake!(ForgetsWhatIsPending, flush_pending_before_change() -> bool, false);
mistake!(BatchesOverMarks, may_batch_unmap(_wp: bool, _swap: bool) -> bool, true);
mistake!(CountsABatchOnce, mappings_removed(_nr: u32) -> u32, 1);
mistake!(LeavesEdgesFolded, unfold_edges() -> bool, false);
mistake!(WritesWithoutABreak, break_before_make() -> bool, false);
mistake!(TrustsGatheredFlags, access_flags_of_each_entry() -> bool, false);

fn found<F: Format, R: Rules>(signs: &[&str]) {
    let failure = search::<F, R>(SCENARIOS).expect("the mistake is found");
    println!("{failure}");
    let known = signs.iter().any(|sign| failure.what.contains(sign));
    assert!(known, "found for another reason than {signs:?}: {failure}");
}

#[test]
fn frames_freed_before_the_flush_are_reached() {
    let signs = ["which is free", "which was used anew"];
    found::<SmallX86, FreesBeforeTheFlush>(&signs);
    found::<SmallArm4, FreesBeforeTheFlush>(&signs);
}

#[test]
fn what_is_written_out_before_the_flush_is_lost() {
    let signs = ["loads"];
    found::<SmallX86, WritesBeforeTheFlush>(&signs);
    found::<SmallArm4, WritesBeforeTheFlush>(&signs);
}

#[test]
fn a_pending_flush_that_is_forgotten_lets_stores_through() {
    let signs =
        ["is mapped no more", "permits what its VMA does not", "against its VMA", "leads to"];
    found::<SmallX86, ForgetsWhatIsPending>(&signs);
    found::<SmallArm4, ForgetsWhatIsPending>(&signs);
}

#[test]
fn marks_that_are_batched_over_are_missed() {
    found::<SmallX86, BatchesOverMarks>(&["each entry leaves its own"]);
}

#[test]
fn a_batch_that_is_counted_once_does_not_add_up() {
    found::<SmallX86, CountsABatchOnce>(&["mapcount of"]);
}

#[test]
fn edges_left_folded_are_seen() {
    found::<SmallArm4, LeavesEdgesFolded>(&["of a block", "which is free", "a block and a page"]);
}

#[test]
fn a_conversion_without_a_break_is_a_conflict() {
    found::<SmallArm4, WritesWithoutABreak>(&["a block and a page of it"]);
}

#[test]
fn gathered_flags_that_are_trusted_fault_for_ever() {
    found::<SmallArm4, TrustsGatheredFlags>(&["faults for ever"]);
}

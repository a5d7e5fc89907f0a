//! The engine's decisions with the bug of the thread.

use crate::bug::Bug;
use pageout_paging::{Format, Level, Pte, Rules, Run, Sound, VirtAddr, contig};

/// The engine with the bug that the thread has ([`Bug::during`]), or sound without one. With a
/// type for each bug, the engine would be compiled for each.
#[derive(Clone, Copy, Debug)]
pub struct Faulty;

/// Defines a rule that is [`Sound`]'s, but for these bugs.
macro_rules! rule {
    ($rule:ident($($arg:ident: $of:ty),*) -> $out:ty { $($bug:ident => $wrong:expr),* }) => {
        fn $rule($($arg: $of),*) -> $out {
            match Bug::current() {
                $(Some(Bug::$bug) => $wrong,)*
                _ => Sound::$rule($($arg),*),
            }
        }
    };
}

impl Rules for Faulty {
    rule!(flush_before_free() -> bool { FreeBeforeFlush => false });
    rule!(flush_before_write_out() -> bool { WriteOutBeforeFlush => false });
    // Freeing before the flush implies removing before it.
    rule!(flush_before_remove() -> bool {
        FreeBeforeFlush => false,
        RemoveBeforeFlush => false
    });
    rule!(flush_before_unlock() -> bool { UnlockBeforeFlush => false });
    rule!(flush_before_restore() -> bool { RestoreBeforeFlush => false });
    rule!(flush_before_zeros() -> bool { ZerosBeforeFlush => false });
    rule!(flush_before_copy() -> bool { CopyBeforeFlush => false });
    rule!(flush_pending_before_change() -> bool { PendingFlushMissed => false });
    rule!(faults_lock_folios() -> bool { FaultWithoutLock => false });
    rule!(entries_marked(nr: usize) -> usize { UffdWpBatched => 1 });
    rule!(mappings_removed(nr: u32) -> u32 { MapcountOnce => 1 });
    rule!(unfold_edges() -> bool { FoldedEdges => false });
    rule!(break_before_make() -> bool { MakeBeforeBreak => false });
    rule!(access_flags_of_each_entry() -> bool { GatheredFlags => false });
    rule!(flush_before_split() -> bool { SplitBeforeFlush => false });
    rule!(split_keeps_dirty() -> bool { SplitLosesDirty => false });
    rule!(mappings_of_split(nr: u32) -> u32 { SplitCountsOnce => 1 });
    rule!(pages_shared(nr: usize) -> usize { SharedOnce => 1 });
    rule!(leaf_gives_up_its_table() -> bool { TableKept => false });
    rule!(pages_moved(nr: usize) -> i64 { MovesFolios => 1 });
    rule!(joins_generation(in_use: bool, switching: bool) -> bool {
        JoinOnceSettled => in_use && !switching,
        JoinWhileSwitching => in_use || switching
    });
    rule!(filter_noted(seq: u64) -> u64 { FilterNotedHere => seq });
    rule!(look_around_young(nr: usize) -> usize { LookAroundOne => 1 });
    rule!(slots_indexed(nr: usize) -> usize { SlotForgotten => nr - 1 });
    rule!(entries_of_index() -> u16 { IndexCountsTwice => 2 });
    rule!(slot_entries_left() -> u16 { SlotLeaked => 1 });
    rule!(taken_back_dirty() -> bool { TakenBackClean => false });

    fn extend_to_blocks<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
        let sound = Sound::extend_to_blocks::<F>(run, first, last);
        match Bug::current() {
            Some(Bug::FirstEntryAlone) if F::is_cont(first) => {
                let start = contig::align_down(run.first, F::CONT_PTES);
                Run::between(start, contig::align_up(run.end(), F::CONT_PTES))
            }
            Some(Bug::FirstEntryAlone) => run,
            Some(Bug::LastBlockCut) if run.nr > 1 => Run::between(sound.first, run.end()),
            Some(Bug::ByteLength) => byte_length::<F>(run, first, last),
            _ => sound,
        }
    }

    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, end: VirtAddr) -> usize {
        let in_range = ((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize;
        let in_table = F::PTES - F::index(Level::Pte, addr);
        match Bug::current() {
            Some(Bug::BatchPastEnd) => in_folio.min(in_table),
            Some(Bug::BatchPastFolio) => in_range.min(in_table),
            Some(Bug::BatchPastTable) => in_folio.min(in_range),
            Some(Bug::BatchPastWindow) => in_folio,
            _ => Sound::max_batch::<F>(addr, in_folio, end),
        }
    }
}

/// Returns the entries of a check that takes bytes for entries.
fn byte_length<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
    let block_bytes = F::CONT_PTES << F::PAGE_SHIFT;
    let mut start = run.first << F::PAGE_SHIFT;
    let mut end = start + run.nr; // the first half of the bug: entries added to bytes
    if F::is_cont(last) {
        end = contig::align_up(end, block_bytes);
    }
    if F::is_cont(first) {
        start = contig::align_down(start, block_bytes);
    }
    // The second: bytes taken for entries.
    Run { first: start >> F::PAGE_SHIFT, nr: end - start }
}

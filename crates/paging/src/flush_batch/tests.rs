extern crate std;

use super::{FLUSHED_SHIFT, FlushBatch, LAST, MASK, Pending, deferred};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::vec::Vec;

fn at(pending: u32, flushed: u32) -> FlushBatch {
    FlushBatch(AtomicU32::new(pending | (flushed << FLUSHED_SHIFT)))
}

/// Returns numbers around both ends of the field and around the reset.
fn numbers() -> impl Iterator<Item = u32> + Clone {
    (0..4).chain(LAST - 3..LAST + 4).chain(MASK - 3..=MASK)
}

#[test]
fn a_deferral_is_pending_whatever_came_before() {
    for pending in numbers() {
        // The last flushed one is the last deferral or an earlier one, never a later one.
        for flushed in numbers().filter(|flushed| *flushed <= pending) {
            let batch = at(pending, flushed);
            assert_eq!(batch.pending().is_some(), pending != flushed);
            batch.note_deferral();
            assert!(batch.pending().is_some(), "{pending} {flushed}");
            let reset = pending > LAST;
            let word = if reset { 1 } else { (pending + 1) | (flushed << FLUSHED_SHIFT) };
            assert_eq!(batch.0.load(SeqCst), word, "{pending} {flushed}");
        }
    }
}

#[test]
fn a_mark_counts_unless_more_was_deferred() {
    for pending in numbers().filter(|pending| *pending > 0) {
        for later in 0..4 {
            let batch = at(pending, 0);
            let seen = batch.pending().expect("one is pending");
            (0..later).for_each(|_| batch.note_deferral());
            batch.mark_flushed(seen);
            assert_eq!(batch.pending().is_some(), later > 0, "{pending}, {later} later");
        }
    }
}

/// Numbers go on after a mark. If they began anew, a thread that checked before another's mark
/// could take a deferral made since for the one that it saw.
#[test]
fn a_late_mark_does_not_count_for_what_was_deferred_since() {
    for pending in numbers().filter(|pending| (1..=LAST).contains(pending)) {
        let batch = at(pending, 0);
        let (first, late) = (batch.pending(), batch.pending());
        batch.mark_flushed(first.expect("one is pending"));
        assert_eq!(batch.0.load(SeqCst), pending | pending << FLUSHED_SHIFT);
        batch.note_deferral();
        batch.mark_flushed(late.expect("one was pending"));
        assert!(batch.pending().is_some(), "{pending}");
    }
}

#[test]
fn counting_from_nothing_never_spills_over() {
    let mut word = 0;
    for _ in 0..3 * MASK {
        word = deferred(word);
        assert!((1..=LAST + 1).contains(&word));
    }
}

#[test]
fn nothing_deferred_is_nothing_pending() {
    assert_eq!(FlushBatch::new().pending(), None::<Pending>);
}

/// A thread defers; another checks, flushes and marks. Each deferral is flushed before a later
/// check returns that nothing is pending.
#[test]
fn two_threads_lose_no_deferral() {
    const DEFERRALS: u64 = if cfg!(miri) { 100 } else { 200_000 };
    let batch = FlushBatch::new();
    let (cleared, flushed) = (AtomicU64::new(0), AtomicU64::new(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=DEFERRALS {
                cleared.store(number, SeqCst);
                batch.note_deferral();
            }
            done.store(true, SeqCst);
        });
        scope.spawn(|| {
            let mut flushes = Vec::new();
            loop {
                let last = done.load(SeqCst);
                match batch.pending() {
                    Some(seen) => {
                        // A flush invalidates the entries that were cleared before it.
                        flushed.store(cleared.load(SeqCst), SeqCst);
                        batch.mark_flushed(seen);
                        flushes.push(seen);
                    }
                    None if last => break,
                    None => {}
                }
            }
            assert!(!flushes.is_empty());
        });
    });
    assert_eq!(flushed.load(SeqCst), DEFERRALS, "the last question found nothing pending");
}

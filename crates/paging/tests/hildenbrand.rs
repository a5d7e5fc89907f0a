//! Both halves of David Hildenbrand's question about the batched arm64 clear ("support batched
//! checking of the young flag for MGLRU", v3 6/6): a range that spans several blocks, and a first
//! entry that is not contiguous where later ones are. What a design does that asks the first entry
//! alone is in the exhibits' tests.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{Call, Case, Engine, Expected, Layout, World, check_call};
use pageout_paging::pte::Arm64_4K;
use pageout_paging::tlb::YoungFlush;

/// Every family's every check of `case`, and what the oracle expects: whether any was young, and
/// the entries that must be old.
fn holds(case: &Case, young: bool, old: std::ops::Range<usize>) {
    let world = World::<Arm64_4K>::new(1);
    let expected = Expected::of::<Arm64_4K>(case);
    assert_eq!(expected.young, young);
    for (i, must) in expected.must.iter().enumerate() {
        assert_eq!(*must, old.contains(&i), "entry {i}");
    }
    for flush in [YoungFlush::Sync, YoungFlush::Nosync, YoungFlush::None] {
        for call in Call::all(flush) {
            let held = check_call::<Engine, _>(&world, case, &expected, call);
            held.unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
}

#[test]
fn a_range_over_several_blocks_whole() {
    for young in [16, 31, 32, 40, 63] {
        let case = Layout::folio(u64::MAX).case::<Arm64_4K>(16..64, |i| i == young);
        holds(&case, true, 16..64);
    }
    let beside = Layout::folio(u64::MAX).case::<Arm64_4K>(16..64, |i| i == 15 || i == 64);
    holds(&beside, false, 16..64);
}

#[test]
fn a_range_over_several_blocks_partial_at_both_ends() {
    // 20..60 takes part of the block at 16, all of 32, part of 48.
    for young in [16, 19, 20, 31, 47, 59, 60, 63] {
        let case = Layout::folio(u64::MAX).case::<Arm64_4K>(20..60, |i| i == young);
        holds(&case, true, 16..64);
    }
    let beside = Layout::folio(u64::MAX).case::<Arm64_4K>(20..60, |i| i == 15 || i == 64);
    holds(&beside, false, 16..64);
}

#[test]
fn a_first_entry_not_contiguous_before_whole_blocks() {
    // The block at 16 is not contiguous; those at 32 and 48 are.
    for young in [20, 31, 32, 47, 48, 63] {
        let case = Layout::folio(0b1100).case::<Arm64_4K>(20..64, |i| i == young);
        holds(&case, true, 20..64);
    }
    let beside = Layout::folio(0b1100).case::<Arm64_4K>(20..64, |i| i == 19 || i == 64);
    holds(&beside, false, 20..64);
}

#[test]
fn a_first_entry_not_contiguous_before_a_trailing_part_of_a_block() {
    // The run ends at 37, inside the block at 32; hardware may have set the bit past its end.
    for young in [20, 32, 36, 37, 47] {
        let case = Layout::folio(0b100).case::<Arm64_4K>(20..37, |i| i == young);
        holds(&case, true, 20..48);
    }
    let beside = Layout::folio(0b100).case::<Arm64_4K>(20..37, |i| i == 19 || i == 48);
    holds(&beside, false, 20..48);
}

#[test]
fn a_first_entry_contiguous_before_a_last_that_is_not() {
    for young in [32, 35, 47, 48, 52] {
        let case = Layout::folio(0b100).case::<Arm64_4K>(35..53, |i| i == young);
        holds(&case, true, 32..53);
    }
    let beside = Layout::folio(0b100).case::<Arm64_4K>(35..53, |i| i == 31 || i == 53);
    holds(&beside, false, 32..53);
}

//! Both halves of David Hildenbrand's question about the batched arm64 clear ("support batched
//! checking of the young flag for MGLRU", v3 6/6). A range spans several blocks, and a first entry
//! is not contiguous while later ones are. The exhibits' tests show the result of a design that
//! checks only the first entry.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{Call, Case, Decode, Expected, Layout, World, check_call};
use pageout_paging::Sound;
use pageout_paging::pte::{Arm64_4K, Arm64_16K, Arm64_64K, Riscv64};
use pageout_paging::tlb::YoungFlush;
use std::ops::Range;

/// Does every algorithm's every check of `case`, and compares with the oracle: true if any was
/// young, and the entries that must be old.
fn holds<F: Decode>(case: &Case, young: bool, old: &Range<usize>) {
    let world = World::<F>::new(1);
    let expected = Expected::of::<F>(case);
    assert_eq!(expected.young, young);
    for (i, must) in expected.must.iter().enumerate() {
        assert_eq!(*must, old.contains(&i), "entry {i}");
    }
    for flush in [YoungFlush::Sync, YoungFlush::Nosync, YoungFlush::None] {
        for call in Call::all(flush) {
            let held = check_call::<Sound, _>(&world, case, &expected, call);
            held.unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
}

/// Checks the check of `run`, with the contiguous blocks `cont`. It finds each of the entries
/// `young` if only it is young, and makes `old` old. It neither sees nor changes the entries
/// around.
fn each<F: Decode>(cont: u64, run: Range<usize>, young: &[usize], old: Range<usize>) {
    for young in young {
        let case = Layout::folio(cont).case::<F>(run.clone(), |i| i == *young);
        holds::<F>(&case, true, &old);
    }
    let beside = Layout::folio(cont).case::<F>(run, |i| i + 1 == old.start || i == old.end);
    holds::<F>(&beside, false, &old);
}

/// Makes tests of a case, given in multiples of its block, for every format that has blocks.
macro_rules! in_every_format {
    ($($name:ident: $case:expr;)*) => {$(
        #[test]
        fn $name() {
            fn in_format<F: Decode>() {
                let case: fn(usize) -> (u64, Range<usize>, Vec<usize>, Range<usize>) = $case;
                let (cont, run, young, old) = case(F::CONT_PTES);
                each::<F>(cont, run, &young, old);
            }
            in_format::<Arm64_4K>();
            in_format::<Arm64_16K>();
            in_format::<Arm64_64K>();
            in_format::<Riscv64>();
        }
    )*};
}

in_every_format! {
    a_range_over_several_blocks_whole: |b| {
        (u64::MAX, b..4 * b, vec![b, 2 * b - 1, 2 * b, 2 * b + 8, 4 * b - 1], b..4 * b)
    };
    // The range takes part of the block at b, all of 2b, part of 3b.
    a_range_over_several_blocks_partial_at_both_ends: |b| {
        let young = [b, b + 3, b + 4, 2 * b - 1, 3 * b - 1, 4 * b - 5, 4 * b - 4, 4 * b - 1];
        (u64::MAX, b + 4..4 * b - 4, young.to_vec(), b..4 * b)
    };
    // The block at b is not contiguous; those at 2b and 3b are.
    a_first_entry_not_contiguous_before_whole_blocks: |b| {
        let young = [b + 4, 2 * b - 1, 2 * b, 3 * b - 1, 3 * b, 4 * b - 1];
        (0b1100, b + 4..4 * b, young.to_vec(), b + 4..4 * b)
    };
    // The run ends inside the block at 2b; hardware may have set the bit past its end.
    a_first_entry_not_contiguous_before_a_trailing_part_of_a_block: |b| {
        let young = [b + 4, 2 * b, 2 * b + 4, 2 * b + 5, 3 * b - 1];
        (0b100, b + 4..2 * b + 5, young.to_vec(), b + 4..3 * b)
    };
    a_first_entry_contiguous_before_a_last_that_is_not: |b| {
        let young = [2 * b, 2 * b + 3, 3 * b - 1, 3 * b, 3 * b + 4];
        (0b100, 2 * b + 3..3 * b + 5, young.to_vec(), 2 * b..3 * b + 5)
    };
}

//! Eight entries a step: our own check.
//!
//! One step reads a 64-byte line and ors it; only if an entry is young are young entries found and
//! cleared, each by one atomic operation. What an old entry costs is its share of a read. The floor
//! is the table's read bandwidth plus one locked operation a young entry.

use super::widened;
use crate::batch::{BatchFlags, ignore};
use crate::contig::align_down;
use crate::env::Env;
use crate::pte::{Format, Pte};
use crate::table::{LINE, Table};
use core::ops::Range;

/// Clears the young bits of `nr` entries from index `i` on, and of whole blocks where the run begins
/// or ends inside one; whether any was set.
#[inline]
pub fn test_and_clear_young_ptes<E: Env>(
    table: E::Table,
    ahead: Option<E::Table>,
    i: usize,
    nr: usize,
) -> bool {
    if nr == 1 && (E::Format::CONT_SHIFT == 0 || !E::Format::is_cont(table.load(i))) {
        let young = E::Format::is_young(table.load(i));
        return young && table.test_and_clear_bit(i, E::Format::YOUNG);
    }
    test_and_clear_young(table, ahead, widened::<E>(table, i, nr), E::Format::YOUNG)
}

/// Clears `bit` in the entries of `run`; whether any was set. Prefetches the same lines of `ahead`.
#[inline]
pub fn test_and_clear_young<T: Table>(
    table: T,
    ahead: Option<T>,
    run: Range<usize>,
    bit: u64,
) -> bool {
    let mut young = false;
    let mut base = align_down(run.start, LINE);
    while base < run.end {
        if let Some(ahead) = ahead {
            ahead.prefetch_write(base);
        }
        let entries = table.line(base);
        young |= clear_in_line(table, base, entries, within(&run, base), bit);
        base += LINE;
    }
    young
}

/// Clears the young bits in the parts of contiguous blocks that stick out of the run of `nr` entries
/// from `i` on; whether any was set. The run itself is not touched.
#[inline]
pub(crate) fn clear_young_edges<E: Env>(table: E::Table, i: usize, nr: usize) -> bool {
    let wide = widened::<E>(table, i, nr);
    let mut young = false;
    for edge in [wide.start..i, i + nr..wide.end] {
        if !edge.is_empty() {
            young |= test_and_clear_young(table, None, edge, E::Format::YOUNG);
        }
    }
    young
}

/// Finds the batch that begins at index `i` with `first` (an entry with the ignored bits cleared),
/// at most `max_nr` entries, and clears its young bits in the same pass.
#[inline]
pub(crate) fn batch<F: Format, T: Table>(
    table: T,
    i: usize,
    first: Pte,
    max_nr: usize,
) -> (usize, bool) {
    let step = F::step(first);
    let run = i..i + max_nr;
    let mut young = false;
    let mut base = align_down(i, LINE);
    while base < run.end {
        let entries = table.line(base);
        let expected = first
            .0
            .wrapping_sub(step.wrapping_mul(i as u64 - base as u64));
        let wanted = within(&run, base);
        let odd = mismatches::<F>(entries, expected, step) & wanted;
        if odd != 0 {
            let end = odd.trailing_zeros();
            young |= clear_in_line(table, base, entries, wanted & ((1 << end) - 1), F::YOUNG);
            return (base + end as usize - i, young);
        }
        young |= clear_in_line(table, base, entries, wanted, F::YOUNG);
        base += LINE;
    }
    (max_nr, young)
}

/// The entries of the line at `base` that lie in `run`, as a bit mask.
#[inline]
fn within(run: &Range<usize>, base: usize) -> u32 {
    let from = run.start.saturating_sub(base);
    let to = (run.end - base).min(LINE);
    (0xff >> (LINE - to)) & (0xff << from)
}

/// The entries that differ from `expected + k · step` in a bit that batches do not ignore.
#[inline]
fn mismatches<F: Format>(entries: [u64; LINE], expected: u64, step: u64) -> u32 {
    let differs = |k: usize| {
        let kept = ignore::<F>(Pte(entries[k]), BatchFlags::NONE);
        kept.0 ^ expected.wrapping_add(step.wrapping_mul(k as u64))
    };
    let all: [u64; LINE] = core::array::from_fn(differs);
    if all.iter().fold(0, |or, d| or | d) == 0 {
        return 0;
    }
    all.iter()
        .enumerate()
        .fold(0, |mask, (k, d)| mask | u32::from(*d != 0) << k)
}

/// Clears `bit` where it is set in the `wanted` entries of the line at `base`; whether any was.
#[inline]
fn clear_in_line<T: Table>(
    table: T,
    base: usize,
    entries: [u64; LINE],
    wanted: u32,
    bit: u64,
) -> bool {
    if entries.iter().fold(0, |or, e| or | e) & bit == 0 {
        return false;
    }
    let set = entries.iter().enumerate();
    let mut set = set.fold(0, |mask, (k, e)| mask | u32::from(e & bit != 0) << k) & wanted;
    let young = set != 0;
    while set != 0 {
        // Hardware may have changed other bits since the read; this one only software clears, under
        // the table's lock, so what was read young is young still.
        table.clear_bits(base + set.trailing_zeros() as usize, bit);
        set &= set - 1;
    }
    young
}

//! Eight entries a step: this project's own check.
//!
//! One step reads a 64-byte line and ors it. Only if an entry is young, the line is read again, and
//! each young entry is cleared by one atomic operation: all eight in a row, without a loop, if all
//! are young. So an old entry costs its share of one read. If all are young, the second read adds a
//! few per cent to the atomics.

use super::widened::widened;
use crate::batch::{YoungRun, batch_and_clear_young};
use crate::contig::align_down;
use crate::env::Env;
use crate::pte::{Format, Pte};
use crate::table::{LINE, Table, each, mask};
use crate::{Rules, Run};

/// Clears the young bit of entry `i`, or of every entry of its contiguous block. Returns true if
/// any was set.
#[inline]
pub fn test_and_clear_young_pte<E: Env>(table: E::Table, i: usize) -> bool {
    let pte = table.load(i);
    if E::Format::CONT_SHIFT > 0 && E::Format::is_cont(pte) {
        return test_and_clear_young_block::<E>(table, i);
    }
    E::Format::is_young(pte) && table.test_and_clear_bit(i, E::Format::YOUNG)
}

#[inline(never)] // the check of a single entry stays short
fn test_and_clear_young_block<E: Env>(table: E::Table, i: usize) -> bool {
    test_and_clear_young(table, None, widened::<E>(table, Run::one(i)), E::Format::YOUNG)
}

/// Clears the young bits of `run`, and of whole blocks if it begins or ends inside one. Returns
/// true if any was set.
#[inline]
pub fn test_and_clear_young_ptes<E: Env>(
    table: E::Table,
    ahead: Option<E::Table>,
    run: Run,
) -> bool {
    test_and_clear_young(table, ahead, widened::<E>(table, run), E::Format::YOUNG)
}

/// Clears `bit` in the entries of `run`, and returns true if any was set. Prefetches the same lines
/// of `ahead`.
#[inline]
pub fn test_and_clear_young<T: Table>(table: T, ahead: Option<T>, run: Run, bit: u64) -> bool {
    let mut young = false;
    let mut base = align_down(run.first, LINE);
    while base < run.end() {
        if let Some(ahead) = ahead {
            ahead.prefetch_write(base);
        }
        let set = table.line_with(base, bit);
        if set != 0 {
            young |= clear(table, base, set & within(run, base), bit);
        }
        base += LINE;
    }
    young
}

/// Finds the batch with which `run` begins, whose first entry is the present `pte`, and clears its
/// young bits in the same pass. Also clears those of the parts of contiguous blocks outside the
/// batch.
#[inline]
pub(crate) fn check_batch<E: Env>(
    table: E::Table,
    ahead: Option<E::Table>,
    run: Run,
    pte: Pte,
) -> YoungRun {
    let mut found = batch_and_clear_young::<E::Format, _>(table, ahead, run, pte);
    let batch = Run { nr: found.nr, ..run };
    let wide = widened::<E>(table, batch);
    if wide != batch {
        let before = Run::between(wide.first, batch.first);
        let after = Run::between(batch.end(), wide.end());
        for edge in [before, after] {
            found.dirty |= edge.indices().any(|k| E::Format::is_dirty(table.load(k)));
            found.young |= test_and_clear_young(table, None, edge, E::Format::YOUNG);
        }
    }
    found
}

/// Finds the batch with which `run` begins, whose first entry is the valid `pte`, and clears its
/// young bits in the same pass.
#[inline(always)] // so that callers that ignore `dirty` do not pay for it
pub(crate) fn batch<F: Format, T: Table>(
    table: T,
    ahead: Option<T>,
    run: Run,
    pte: Pte,
) -> YoungRun {
    let before = F::STEP.wrapping_mul((run.first % LINE) as u64);
    let mut expected = (pte.0 & !F::IGNORED).wrapping_sub(before);
    let (mut young, mut dirty) = (false, false);
    let mut base = align_down(run.first, LINE);
    while base < run.end() {
        if let Some(ahead) = ahead {
            ahead.prefetch_write(base);
        }
        let entries = table.line(base);
        let odd = or(&differences::<F>(&entries, base, expected)) & !F::IGNORED;
        if odd == 0 && covers(run, base) {
            let any = or(&entries);
            if any & F::YOUNG != 0 {
                young |= clear_in_line(table, base, WHOLE, F::YOUNG);
            }
            // Most lines have none of the bits, or the folio is known to be dirty.
            if !dirty && any & F::DIRTY_BITS != 0 {
                dirty = entries.iter().any(|entry| F::is_dirty(Pte(*entry)));
            }
        } else {
            let part = batch_in_line::<F, T>(table, entries, run, base, expected);
            (young, dirty) = (young | part.young, dirty | part.dirty);
            let end = base.max(run.first) + part.nr;
            if end < run.end().min(base + LINE) {
                return YoungRun { nr: end - run.first, young, dirty };
            }
        }
        base += LINE;
        expected = expected.wrapping_add(F::STEP * LINE as u64);
    }
    YoungRun { nr: run.nr, young, dirty }
}

/// Does the same for the part of `run` in the line at `base`, whose entries were just read.
#[inline(always)] // as above
fn batch_in_line<F: Format, T: Table>(
    table: T,
    entries: [u64; LINE],
    run: Run,
    base: usize,
    expected: u64,
) -> YoungRun {
    let wanted = within(run, base);
    let odd = differences::<F>(&table.line(base), base, expected);
    let odd = mask(each(|k| odd[k] & !F::IGNORED != 0)) & wanted;
    let same = if odd == 0 { wanted } else { wanted & !(!0 << odd.trailing_zeros()) };
    let young = clear_in_line(table, base, same, F::YOUNG);
    let dirty = bits(&entries, F::is_dirty) & same != 0;
    YoungRun { nr: same.count_ones() as usize, young, dirty }
}

/// The candidates of an aging walk in a line without contiguous entries, kept when the first was
/// found. By default there are none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// The index at which the next line begins.
    end: usize,
    bits: u32,
}

impl Known {
    /// Returns the first at or after index `i`, which does not lie before the line.
    #[inline(always)]
    pub(crate) fn from(self, i: usize) -> Option<usize> {
        let bits = self.bits & (WHOLE << (i + LINE - self.end).min(LINE));
        (bits != 0).then(|| self.end - LINE + bits.trailing_zeros() as usize)
    }

    /// Returns the index at which the next line begins, 0 by default.
    #[inline]
    pub(crate) fn end(self) -> usize {
        self.end
    }
}

/// Finds the first candidate of an aging walk in `run`, which is not empty. It reads raw young
/// bits, but finds the same as the gathering getter. That is the first entry in `run` of a
/// contiguous block in which any entry is young. Returns it with the candidates of its line, if all
/// are single.
#[inline]
pub(crate) fn next_young<E: Env>(
    table: E::Table,
    ahead: Option<E::Table>,
    run: Run,
) -> Option<(usize, Known)> {
    let wide = widened::<E>(table, run);
    let mut base = align_down(wide.first, LINE);
    while base < wide.end() {
        if let Some(ahead) = ahead {
            ahead.prefetch_write(base);
        }
        if or(&table.line(base)) & E::Format::YOUNG != 0 {
            let entries = table.line(base);
            if covers(wide, base) && is_young_part_of_block::<E>(&entries) {
                let block = align_down(base, E::Format::CONT_PTES);
                return Some((block.max(run.first), Known::default()));
            }
            let found = next_in_line::<E>(entries, wide, base);
            if let Some((k, known)) = found {
                return Some((k.max(run.first), known));
            }
        }
        base += LINE;
    }
    None
}

/// Returns the first candidate in the line at `base`: of a contiguous block, its first entry.
/// Returns it with the candidates of the line, if all are single.
#[inline]
fn next_in_line<E: Env>(entries: [u64; LINE], wide: Run, base: usize) -> Option<(usize, Known)> {
    let candidate = |pte| E::Rules::is_candidate::<E::Format>(pte, false);
    let bits = bits(&entries, candidate) & within(wide, base);
    if bits == 0 {
        return None;
    }
    let k = base + bits.trailing_zeros() as usize;
    Some(match bits_of_blocks::<E::Format>(&entries) {
        0 => (k, Known { end: base + LINE, bits }),
        blocks if blocks >> (k - base) & 1 == 0 => (k, Known::default()),
        _ => (align_down(k, E::Format::CONT_PTES), Known::default()),
    })
}

/// Returns true if a line certainly is part of one contiguous block, which is no shorter, and has a
/// candidate.
#[inline]
fn is_young_part_of_block<E: Env>(entries: &[u64; LINE]) -> bool {
    if E::Format::CONT_PTES < LINE {
        return false;
    }
    let any = or(entries) & (E::Format::YOUNG | E::Format::SPECIAL);
    let block = Pte(and(entries) | any);
    E::Format::is_cont(block) && E::Rules::is_candidate::<E::Format>(block, false)
}

/// Returns the contiguous entries of a line, as a bit mask.
#[inline]
fn bits_of_blocks<F: Format>(entries: &[u64; LINE]) -> u32 {
    if F::CONT_SHIFT == 0 || or(entries) & F::CONT == 0 { 0 } else { bits(entries, F::is_cont) }
}

/// The bit mask of all entries of a line.
const WHOLE: u32 = 0xff;

/// Returns the entries of the line at `base` that lie in `run`, as a bit mask.
#[inline]
fn within(run: Run, base: usize) -> u32 {
    let from = run.first.saturating_sub(base);
    let to = (run.end() - base).min(LINE);
    (WHOLE >> (LINE - to)) & (WHOLE << from)
}

/// Returns true if `run` has all entries of the line at `base`.
#[inline]
fn covers(run: Run, base: usize) -> bool {
    base >= run.first && base + LINE <= run.end()
}

/// Returns the difference of each entry of the line at `base` from the pages from `expected` on.
#[inline(always)]
fn differences<F: Format>(entries: &[u64; LINE], base: usize, expected: u64) -> [u64; LINE] {
    each(|k| {
        let page = expected.wrapping_add(F::STEP.wrapping_mul(k as u64));
        F::decode(Pte(entries[k]), base + k).0 ^ page
    })
}

#[inline(always)]
fn or(words: &[u64; LINE]) -> u64 {
    let [a, b, c, d, e, f, g, h] = *words;
    a | b | c | d | e | f | g | h
}

#[inline(always)]
fn and(words: &[u64; LINE]) -> u64 {
    let [a, b, c, d, e, f, g, h] = *words;
    a & b & c & d & e & f & g & h
}

/// Returns a bit mask of the entries for which `is` returns true.
#[inline(always)]
fn bits(entries: &[u64; LINE], is: impl Fn(Pte) -> bool) -> u32 {
    mask(each(|k| is(Pte(entries[k]))))
}

/// Clears `bit` where it is set in the `wanted` entries of the line at `base`. Returns true if any
/// was.
#[inline]
fn clear_in_line<T: Table>(table: T, base: usize, wanted: u32, bit: u64) -> bool {
    let entries = table.line(base);
    if and(&entries) & bit != 0 && wanted == WHOLE {
        let base = align_down(base, LINE);
        each(|k| table.clear_bits(base + k, bit));
        return true;
    }
    clear(table, base, bits(&entries, |pte| pte.0 & bit != 0) & wanted, bit)
}

/// Clears `bit` in the entries `set` of the line at `base`, which have it. Returns true if there
/// are any.
#[inline]
fn clear<T: Table>(table: T, base: usize, mut set: u32, bit: u64) -> bool {
    let young = set != 0;
    while set != 0 {
        // Hardware may have changed other bits since the read. Only software clears this one, under
        // the table's lock, so an entry that was young is young still.
        table.clear_bits(base + set.trailing_zeros() as usize, bit);
        set &= set - 1;
    }
    young
}

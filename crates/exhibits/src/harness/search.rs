//! The cases that are tried: all of them in small formats; at full size those around edges, and
//! random ones.

use super::{Case, Counterexample, Decode, Expected, Layout, Outside, PageKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// Visits every case of a format with small tables: every run, every mix of contiguous blocks and
/// single entries, PROT_NONE pages, folio pages or swap entries beside it, every pattern of young
/// bits. Returns the number of cases.
///
/// # Errors
/// The visitor's first error.
/// The first the visitor returns.
pub fn each_small_case<F: Decode>(
    mut visit: impl FnMut(&Case, &Expected) -> Result<(), Box<Counterexample>>,
) -> Result<u64, Box<Counterexample>> {
    assert!(F::PTES == 8, "only tables of 8 are searched exhaustively");
    let mut cases = 0;
    for layout in small_layouts::<F>() {
        for run in runs(F::PTES) {
            for young in 0..1 << F::PTES {
                let case = layout.case::<F>(run.clone(), |i| young >> i & 1 == 1);
                visit(&case, &Expected::of::<F>(&case))?;
                cases += 1;
            }
        }
    }
    Ok(cases)
}

/// Returns every layout of a small table.
fn small_layouts<F: Decode>() -> Vec<Layout> {
    let mixes = if F::CONT_SHIFT == 0 { 1 } else { 1 << (F::PTES / F::CONT_PTES) };
    let mut layouts = Vec::new();
    for outside in [Outside::Folio, Outside::Swap] {
        for cont in 0..mixes {
            let kind = PageKind::Present;
            layouts.push(Layout { cont, kind, outside });
        }
        let kind = PageKind::ProtNone;
        layouts.push(Layout { cont: 0, kind, outside });
    }
    layouts
}

/// Returns every run in a table of `ptes`.
fn runs(ptes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..ptes).flat_map(move |start| (start + 1..=ptes).map(move |end| start..end))
}

/// Visits the cases of a full-size format whose runs start and end at or beside the edges of lines,
/// blocks and the table. Of the entries around those edges, none, all, each single one and each
/// pair are young. Returns the number of cases.
///
/// # Errors
/// The visitor's first error.
/// The first the visitor returns.
pub fn each_edge_case<F: Decode>(
    mut visit: impl FnMut(&Case, &Expected) -> Result<(), Box<Counterexample>>,
) -> Result<u64, Box<Counterexample>> {
    let last_block = 1 << ((F::PTES / F::CONT_PTES.max(16)) - 1);
    let mut cases = 0;
    for start in [0, 1, 7, 8, 9, 15, 16, 17, 479, 480, 495, 496, 497, 503, 504, 511] {
        for nr in [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, F::PTES] {
            let run = start..(start + nr).min(F::PTES);
            let (first, last) = (run.start / 16, (run.end - 1) / 16);
            let all = u64::MAX >> (64 - F::PTES / 16);
            for cont in [0, all, all & !(1 << first), all & !(1 << last), last_block | 2] {
                let layout = Layout::folio(cont);
                let mut try_young = |young: &[usize], whole: bool| {
                    let case = layout.case::<F>(run.clone(), |i| whole || young.contains(&i));
                    cases += 1;
                    visit(&case, &Expected::of::<F>(&case))
                };
                try_young(&[], false)?;
                try_young(&[], true)?;
                let near = near_edges(&run, F::PTES);
                for (k, a) in near.iter().enumerate() {
                    for b in &near[k..] {
                        try_young(&[*a, *b], false)?;
                    }
                }
            }
        }
    }
    Ok(cases)
}

/// Returns the entries at and beside the ends of a run, and of the lines and blocks with those
/// ends.
fn near_edges(run: &Range<usize>, ptes: usize) -> Vec<usize> {
    let ends = [run.start, run.end - 1];
    let edges = ends.into_iter().flat_map(|end| {
        let lines = [end / 8 * 8, end / 8 * 8 + 8];
        let blocks = [end / 16 * 16, end / 16 * 16 + 16];
        [end, end + 1].into_iter().chain(lines).chain(blocks)
    });
    let near: BTreeSet<usize> =
        edges.flat_map(|edge| [edge.wrapping_sub(1), edge]).filter(|i| *i < ptes).collect();
    near.into_iter().collect()
}

/// Returns a random case: a run of any length (short ones more often), blocks contiguous or not,
/// any density of young entries, any surroundings.
pub fn random_case<F: Decode>(rng: &mut fastrand::Rng) -> Case {
    let longest = match rng.u8(..16) {
        0 => F::PTES,
        1..8 => 40,
        _ => 4,
    };
    let nr = rng.usize(1..=longest.min(F::PTES));
    let start = rng.usize(..=F::PTES - nr);
    let kind = if rng.u8(..8) == 0 { PageKind::ProtNone } else { PageKind::Present };
    let mixed = [0, u64::MAX, rng.u64(..)][rng.usize(..3)];
    let cont = if kind == PageKind::Present { mixed } else { 0 };
    let outside = [Outside::Folio, Outside::Swap][rng.usize(..2)];
    let layout = Layout { cont, kind, outside };
    let thin = rng.u32(..8);
    let words: Vec<u64> = (0..F::PTES.div_ceil(64))
        .map(|_| (0..thin).fold(u64::MAX, |word, _| word & rng.u64(..)))
        .collect();
    layout.case::<F>(start..start + nr, |i| words[i / 64] >> (i % 64) & 1 == 1)
}

/// Returns the numbers of the random cases to try: `count` of them, or only the one in the
/// environment variable `PAGEOUT_CASE`. A case's number is its seed, so it can be replayed by
/// itself.
///
/// # Panics
/// If the variable is not a number.
pub fn case_numbers(count: u64) -> Range<u64> {
    match std::env::var("PAGEOUT_CASE") {
        Ok(number) => {
            let number = number.parse().expect("PAGEOUT_CASE is a case's number");
            number..number + 1
        }
        Err(_) => 0..count,
    }
}

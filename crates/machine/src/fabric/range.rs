//! A range of pages as the invalidate instructions of arm64.

use pageout_paging::VirtAddr;
use pageout_paging::mmu::Invalidate;
use pageout_paging::{Format, Level};

/// The maximum number of pages that one instruction covers: 32 · 2^(5·3+1).
pub(super) const MAX_RANGE_PAGES: usize = 32 << 16;

/// Returns the pages that each instruction covers, in order; together they invalidate `pages`
/// pages. Each covers (num + 1) · 2^(5·scale + 1) pages with num 0 to 31, scale from 3 down. An
/// instruction for a single page follows where the number is odd (Linux 7.3.4,
/// __flush_tlb_range_op).
///
/// # Panics
/// If there are more than [`MAX_RANGE_PAGES`].
pub(super) fn range_operations(pages: usize) -> impl Iterator<Item = usize> {
    assert!(pages <= MAX_RANGE_PAGES, "a range of {pages} pages is the whole address space's");
    let mut left = pages;
    let mut scale = 4;
    std::iter::from_fn(move || {
        while scale > 0 && left > 1 {
            scale -= 1;
            let unit = 5 * scale + 1;
            let num = (left >> unit).min(32);
            if num > 0 {
                left -= num << unit;
                return Some(num << unit);
            }
        }
        (left > 0).then(|| std::mem::take(&mut left))
    })
}

/// Returns the instructions for an invalidation.
pub(super) fn operations<F: Format>(
    what: Invalidate,
    ranges: bool,
) -> impl Iterator<Item = Invalidate> {
    let (whole, pieces) = match what {
        Invalidate::Range { asid, start, nr, level } => match pieces::<F>(nr, level, ranges) {
            Some(pieces) => (None, Some((asid, start, level, pieces))),
            None => (Some(Invalidate::AddressSpace(asid)), None),
        },
        whole => (Some(whole), None),
    };
    let ranges = pieces.into_iter().flat_map(|(asid, start, level, pieces)| {
        pieces.scan(start, move |at: &mut VirtAddr, nr| {
            let start = *at;
            *at = start.add((nr as u64) << F::shift(level));
            Some(Invalidate::Range { asid, start, nr, level })
        })
    });
    whole.into_iter().chain(ranges)
}

/// Returns the entries that each instruction covers; `None` where the range is the whole address
/// space's.
fn pieces<F: Format>(
    nr: usize,
    level: Level,
    ranges: bool,
) -> Option<Box<dyn Iterator<Item = usize>>> {
    let each = F::nr_pages(level);
    match ranges {
        // One instruction for each entry, up to a table's (MAX_DVM_OPS).
        false => (nr < F::PTES).then(|| Box::new(std::iter::repeat_n(1_usize, nr)) as Box<_>),
        true if nr * each > MAX_RANGE_PAGES => None,
        true if nr == 1 => Some(Box::new(std::iter::once(1))),
        true => Some(Box::new(range_operations(nr * each).map(move |pages| pages / each))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_paging::mmu::Asid;
    use pageout_paging::pte::Arm64_4K;

    /// Returns every count that lies within two of a boundary of the encoding, and all small ones.
    fn counts() -> impl Iterator<Item = usize> {
        let units = (0..4).flat_map(|scale| (1..=32).map(move |num| num << (5 * scale + 1)));
        let near = units.flat_map(|unit: usize| unit.saturating_sub(2)..=unit + 2);
        near.chain(1..=4096).filter(|pages| (1..=MAX_RANGE_PAGES).contains(pages))
    }

    #[test]
    fn a_range_is_covered_exactly_by_at_most_five_instructions() {
        for pages in counts().chain([MAX_RANGE_PAGES - 1, MAX_RANGE_PAGES]) {
            let all: Vec<_> = range_operations(pages).collect();
            assert_eq!(all.iter().sum::<usize>(), pages);
            assert!(all.len() <= 5, "{pages} pages by {all:?}");
            for covered in &all {
                let encodes = |scale: u32| {
                    let unit = 5 * scale + 1;
                    covered.trailing_zeros() >= unit && (1..=32).contains(&(covered >> unit))
                };
                assert!(*covered == 1 || (0..4).any(encodes), "{covered} pages of {pages}");
            }
            let singles = all.iter().filter(|covered| **covered == 1).count();
            assert_eq!(singles, pages % 2, "only an odd tail is a single page: {all:?}");
        }
    }

    #[test]
    fn every_count_is_covered_exactly() {
        for pages in 1..=MAX_RANGE_PAGES {
            let (count, sum) = range_operations(pages).fold((0, 0), |(n, s), p| (n + 1, s + p));
            assert!(sum == pages && count <= 5, "{pages} pages: {sum} by {count}");
        }
    }

    fn told(nr: usize, level: Level, ranges: bool) -> Vec<Invalidate> {
        let start = VirtAddr::new(1 << 30);
        let what = Invalidate::Range { asid: Asid(3), start, nr, level };
        operations::<Arm64_4K>(what, ranges).collect()
    }

    #[test]
    fn pieces_follow_one_another_in_the_units_of_their_level() {
        for (nr, level, ranges) in [
            (1, Level::Pte, true),
            (37, Level::Pte, true),
            (4097, Level::Pte, true),
            (3, Level::Pmd, true),
            (511, Level::Pte, false),
            (3, Level::Pmd, false),
        ] {
            let mut next = VirtAddr::new(1 << 30);
            let mut left = nr;
            for piece in told(nr, level, ranges) {
                let Invalidate::Range { asid, start, nr, level: of } = piece else {
                    panic!("{piece:?}")
                };
                assert_eq!((asid, start, of), (Asid(3), next, level));
                next = start.add((nr as u64) << Arm64_4K::shift(level));
                left -= nr;
            }
            assert_eq!(left, 0);
        }
    }

    #[test]
    fn without_range_instructions_there_is_one_an_entry_below_max_dvm_ops() {
        assert_eq!(told(16, Level::Pte, false).len(), 16);
        assert_eq!(told(511, Level::Pte, false).len(), 511);
        assert_eq!(told(512, Level::Pte, false), [Invalidate::AddressSpace(Asid(3))]);
        assert_eq!(told(512, Level::Pte, true).len(), 1);
        assert_eq!(told(MAX_RANGE_PAGES + 1, Level::Pte, true).len(), 1);
    }
}

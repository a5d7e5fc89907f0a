//! A filter of references, which drops those on which every TLB of some size must hit.

use std::fmt;

use serde::Serialize;

use super::event::Page;

/// The largest number accepted of sets, of ways, and for the window.
pub const MAX_FILTER: u32 = 1 << 10;

/// The smallest TLBs for which a trace is dense enough.
///
/// A TLB that replaces the least recently used entry, and that [`FilterShape::suits`] accepts, hits
/// on every reference that is not in the trace. That holds if all references go to it, and if only
/// those of the trace do. `docs/trace-format.md` explains how far its misses on the trace may be
/// from those on all references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct FilterShape {
    /// Sets, a power of two; a page belongs to the set of its number modulo this.
    pub sets: u32,
    /// The number of ways in each set.
    pub ways: u32,
    /// The number of entries of a fully associative TLB.
    pub window: u32,
}

impl FilterShape {
    /// The default, which is no larger than the first level of any platform that comes with the
    /// program.
    pub const DEFAULT: Self = Self { sets: 16, ways: 4, window: 32 };

    /// The filter that drops only references to the page that was used last.
    pub const EVERY_PAGE: Self = Self { sets: 1, ways: 1, window: 1 };

    /// Parses `16x4,32`: sets, ways, window.
    ///
    /// # Errors
    /// A message that says which shapes are accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once(',').and_then(|(of_sets, window)| {
            let (sets, ways) = of_sets.split_once('x')?;
            Some([sets, ways, window])
        });
        let [sets, ways, window] = parts.unwrap_or_default().map(|n| n.parse().unwrap_or(0));
        let shape = Self { sets, ways, window };
        let accepted = format!(
            "accepted is SETSxWAYS,ENTRIES, each from 1 to {MAX_FILTER}, sets a power of two"
        );
        if shape.is_valid() { Ok(shape) } else { Err(accepted) }
    }

    /// Returns true if `sets` is a power of two and all three are from 1 to [`MAX_FILTER`].
    pub(crate) fn is_valid(self) -> bool {
        let Self { sets, ways, window } = self;
        sets.is_power_of_two() && [sets, ways, window].iter().all(|n| (1..=MAX_FILTER).contains(n))
    }

    /// Returns true if a trace of this shape is dense enough for such a TLB: its entries are for
    /// single pages, in `sets` sets (indexed by the page number's low bits) of `ways` ways.
    pub fn suits(self, sets: u32, ways: u32) -> bool {
        let as_sets = sets.is_power_of_two() && sets >= self.sets && ways >= self.ways;
        as_sets || ways >= self.window
    }
}

impl fmt::Display for FilterShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sets, ways, window } = self;
        write!(f, "{sets}x{ways},{window}")
    }
}

/// A filter, which decides for each reference whether it may be dropped.
///
/// A reference may be dropped if its page is both among the pages *used* last and among those
/// *emitted* last. The first makes a TLB hit that sees all references, and the second one that sees
/// the trace: there a page that stays in use must be emitted again before it would be evicted.
#[derive(Debug)]
pub(crate) struct Filter {
    shape: FilterShape,
    /// The most recently used pages, the last one first; at most `window`.
    used: Vec<Used>,
    /// The number of emissions in all, and of each set.
    emissions: u64,
    of_set: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Used {
    page: Page,
    /// The last emission of the page, and the last as a store.
    emitted: Emission,
    stored: Option<Emission>,
}

/// An emission by its number, from 1.
#[derive(Debug, Clone, Copy)]
struct Emission {
    in_all: u64,
    of_set: u64,
}

impl Filter {
    pub(crate) fn new(shape: FilterShape) -> Self {
        Self { shape, used: Vec::new(), emissions: 0, of_set: vec![0; shape.sets as usize] }
    }

    /// Records a reference to `page` and returns true if it may be dropped; the caller passes the
    /// others to [`Filter::emit`].
    pub(crate) fn drops(&mut self, page: Page, store: bool) -> bool {
        let Some(place) = self.used.iter().position(|used| used.page == page) else {
            return false;
        };
        let Used { emitted, stored, .. } = self.used[place];
        let since = if store { stored } else { Some(emitted) };
        let drops = self.recently_used(place) && since.is_some_and(|at| self.in_reach(page, at));
        if drops {
            self.used[..=place].rotate_right(1);
        }
        drops
    }

    /// Records a reference that is in the trace.
    pub(crate) fn emit(&mut self, page: Page, store: bool) {
        let set = self.set(page);
        self.emissions += 1;
        self.of_set[set] += 1;
        let emitted = Emission { in_all: self.emissions, of_set: self.of_set[set] };
        let before = self.used.iter().position(|used| used.page == page);
        let stored = before.and_then(|place| self.used.remove(place).stored);
        let stored = if store { Some(emitted) } else { stored };
        self.used.truncate(self.shape.window as usize - 1);
        self.used.insert(0, Used { page, emitted, stored });
    }

    /// Forgets everything: each page is emitted at its next use.
    pub(crate) fn clear(&mut self) {
        self.used.clear();
    }

    /// Returns true if fewer pages of its set than the set has ways were used since the page at
    /// `place`.
    fn recently_used(&self, place: usize) -> bool {
        let set = self.set(self.used[place].page);
        let others = self.used[..place].iter().filter(|used| self.set(used.page) == set);
        others.count() < self.shape.ways as usize
    }

    /// Returns true if an emission of `page` is among the last of its set and among the last in
    /// all.
    fn in_reach(&self, page: Page, emission: Emission) -> bool {
        let of_set = self.of_set[self.set(page)];
        of_set - emission.of_set < self.shape.ways.into()
            && self.emissions - emission.in_all < self.shape.window.into()
    }

    fn set(&self, page: Page) -> usize {
        // Truncation keeps the low bits, which are those wanted.
        page.number() as usize & (self.shape.sets as usize - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A reference: page number, and whether it stores.
    type Reference = (u64, bool);

    /// The textbook's LRU by sets, with one entry for each page.
    struct Tlb {
        sets: Vec<Vec<u64>>,
        ways: usize,
    }

    impl Tlb {
        fn new(sets: usize, ways: usize) -> Self {
            Self { sets: vec![Vec::new(); sets], ways }
        }

        fn holds(&self, page: u64) -> bool {
            self.sets[page as usize % self.sets.len()].contains(&page)
        }

        /// Returns true if the page misses; then the TLB holds it.
        fn misses(&mut self, page: u64) -> bool {
            let missed = !self.holds(page);
            let nr = self.sets.len();
            let set = &mut self.sets[page as usize % nr];
            set.retain(|held| *held != page);
            set.insert(0, page);
            set.truncate(self.ways);
            missed
        }
    }

    fn page(number: u64) -> Page {
        Page::new(number).expect("a page")
    }

    /// Returns, for each reference, true if it is emitted; the filter forgets everything from time
    /// to time.
    fn emitted(shape: FilterShape, references: &[Reference], clear_every: usize) -> Vec<bool> {
        let mut filter = Filter::new(shape);
        let one = |(at, (number, store)): (usize, &Reference)| {
            if at % clear_every == clear_every - 1 {
                filter.clear();
            }
            let drops = filter.drops(page(*number), *store);
            if !drops {
                filter.emit(page(*number), *store);
            }
            !drops
        };
        references.iter().enumerate().map(one).collect()
    }

    fn misses(references: &[Reference], emitted: Option<&[bool]>, sets: usize, ways: usize) -> u64 {
        let mut tlb = Tlb::new(sets, ways);
        let seen = |at: usize| emitted.is_none_or(|emitted| emitted[at]);
        let seen = references.iter().enumerate().filter(|(at, _)| seen(*at));
        seen.map(|(_, (page, _))| u64::from(tlb.misses(*page))).sum()
    }

    const SHAPES: [FilterShape; 5] = [
        FilterShape { sets: 4, ways: 2, window: 6 },
        FilterShape { sets: 2, ways: 3, window: 5 },
        FilterShape { sets: 8, ways: 1, window: 4 },
        FilterShape { sets: 1, ways: 4, window: 4 },
        FilterShape::EVERY_PAGE,
    ];

    /// Sets and ways at the filter's own size and above, and the number of ways that misses may
    /// differ by.
    fn tlbs(shape: FilterShape) -> Vec<(usize, usize, usize)> {
        let [sets, ways, window] = [shape.sets, shape.ways, shape.window].map(|n| n as usize);
        let by_sets = [1, 2, 4]
            .into_iter()
            .flat_map(|more| [0, 1, 3].map(|extra| (sets * more, ways + extra, ways - 1)));
        let by_window = [0, 1, 7].map(|extra| (1, window + extra, window - 1));
        by_sets.chain(by_window).collect()
    }

    /// References with loops, sweeps, hot pages and chance, as programs have them.
    fn references() -> impl Strategy<Value = Vec<Reference>> {
        let pages = prop_oneof![
            2 => (0..24_u64, 1..12_u64, 1..4_usize).prop_map(|(first, nr, times)| {
                (0..times).flat_map(|_| first..first + nr).collect::<Vec<_>>()
            }),
            3 => (0..4_u64, 1..6_usize).prop_map(|(page, times)| vec![page * 8; times]),
            3 => proptest::collection::vec(0..24_u64, 1..12),
        ];
        let some = proptest::collection::vec((pages, any::<u8>()), 1..60);
        some.prop_map(|parts| {
            let stores = |mask: u8| move |(k, page)| (page, mask >> (k % 8) & 1 == 1);
            let part = |(pages, mask): (Vec<u64>, u8)| {
                pages.into_iter().enumerate().map(stores(mask)).collect::<Vec<_>>()
            };
            parts.into_iter().flat_map(part).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// TLBs that see all references hit on the dropped ones, and so do those that see only the
        /// trace.
        #[test]
        fn what_is_left_out_hits(references in references(), clear_every in 20..400_usize) {
            for shape in SHAPES {
                let emitted = emitted(shape, &references, clear_every);
                for (sets, ways, _) in tlbs(shape) {
                    let (mut all, mut trace) = (Tlb::new(sets, ways), Tlb::new(sets, ways));
                    for ((page, _), emitted) in references.iter().zip(&emitted) {
                        let missed = all.misses(*page);
                        if *emitted {
                            trace.misses(*page);
                        } else {
                            prop_assert!(!missed && trace.holds(*page), "{shape:?} {sets} {ways}");
                        }
                    }
                }
            }
        }

        /// An entry in which a store was cached is still there at a store that is dropped.
        #[test]
        fn a_store_left_out_finds_its_page_dirty(
            references in references(),
            clear_every in 20..400_usize,
        ) {
            for shape in SHAPES {
                let emitted = emitted(shape, &references, clear_every);
                for (sets, ways, _) in tlbs(shape) {
                    let mut tlb = Tlb::new(sets, ways);
                    let mut dirty = std::collections::BTreeSet::new();
                    for ((page, store), emitted) in references.iter().zip(&emitted) {
                        if *emitted {
                            tlb.misses(*page);
                            dirty.retain(|page| tlb.holds(*page));
                            dirty.extend(store.then_some(*page));
                        } else if *store {
                            prop_assert!(dirty.contains(page), "{shape:?} {sets} {ways}");
                        }
                    }
                }
            }
        }

        #[test]
        fn misses_on_the_trace_are_those_of_a_tlb_not_much_larger_or_smaller(
            references in references(),
            clear_every in 20..400_usize,
        ) {
            for shape in SHAPES {
                let emitted = emitted(shape, &references, clear_every);
                for (sets, ways, off) in tlbs(shape) {
                    let all = |ways| misses(&references, None, sets, ways);
                    let trace = misses(&references, Some(&emitted), sets, ways);
                    let (least, most) = (all(ways + off), all(ways - off));
                    prop_assert!(
                        (least..=most).contains(&trace),
                        "{least} {trace} {most}: {shape:?} {sets} {ways}"
                    );
                }
            }
        }
    }

    fn numbers(shape: FilterShape, numbers: &[u64]) -> Vec<u64> {
        let references: Vec<_> = numbers.iter().map(|number| (*number, false)).collect();
        let emitted = emitted(shape, &references, usize::MAX);
        let kept = numbers.iter().zip(emitted).filter(|(_, emitted)| *emitted);
        kept.map(|(number, _)| *number).collect()
    }

    #[test]
    fn a_page_that_stays_in_use_comes_again_before_it_would_be_evicted() {
        let shape = FilterShape { sets: 1, ways: 4, window: 4 };
        // Page 1 is always the last but one in use, yet in the trace it grows old.
        let used = [1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1];
        assert_eq!(numbers(shape, &used), [1, 2, 3, 4, 5, 1, 6]);
    }

    #[test]
    fn a_page_that_others_have_pushed_out_comes_again_though_it_is_in_the_trace_lately() {
        let shape = FilterShape { sets: 1, ways: 4, window: 4 };
        // Of all references, 1 to 3 are used between the uses of 4, and a fourth page is new.
        let used = [1, 2, 3, 4, 1, 2, 3, 5, 4];
        assert_eq!(numbers(shape, &used), [1, 2, 3, 4, 5, 4]);
    }

    #[test]
    fn a_store_is_emitted_though_its_page_was_loaded() {
        let mut filter = Filter::new(FilterShape::DEFAULT);
        for (store, drops) in [(false, false), (false, true), (true, false), (true, true)] {
            assert_eq!(filter.drops(page(7), store), drops);
            if !drops {
                filter.emit(page(7), store);
            }
        }
        assert!(filter.drops(page(7), false));
        filter.clear();
        assert!(!filter.drops(page(7), false));
    }

    #[test]
    fn shapes_come_back_and_others_are_refused() {
        for shape in SHAPES.into_iter().chain([FilterShape::DEFAULT]) {
            assert_eq!(FilterShape::parse(&shape.to_string()), Ok(shape));
        }
        for text in ["", "16x4", "16,32", "3x4,32", "0x4,32", "16x0,32", "16x4,0", "16x4,1025"] {
            let error = FilterShape::parse(text).expect_err(text);
            assert!(error.contains("SETSxWAYS,ENTRIES"), "{error}");
        }
    }

    #[test]
    fn tlbs_that_are_too_small_are_told() {
        let shape = FilterShape::DEFAULT;
        let suits = [(16, 4), (32, 4), (16, 12), (1, 32), (1, 48), (5, 32)];
        assert!(suits.iter().all(|(sets, ways)| shape.suits(*sets, *ways)));
        let too_small = [(8, 4), (16, 3), (1, 31), (24, 4)];
        assert!(!too_small.iter().any(|(sets, ways)| shape.suits(*sets, *ways)));
    }
}

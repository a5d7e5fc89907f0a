//! Demand MIN: the fewest faults with which a page reference string can be served.
//!
//! Belady's MIN (*A study of replacement algorithms for a virtual-storage computer*, IBM Systems
//! Journal 5(2), 1966) loads a page when it is accessed and evicts the page whose next access is
//! farthest in the future. No policy that works page by page on demand has fewer faults. It is no
//! bound where pages are loaded before an access: with fault-around, read-ahead or large folios.
//! Write-out is not counted.
//!
//! The bound is one for replays of the trace. The program itself used some pages more often than
//! its trace has them; `docs/traces.md` lists which.

use crate::bit_tree::BitTree;
use crate::reference_string::ReferenceString;
use crate::room::{NoRoom, filled};
use std::num::NonZeroUsize;

/// The value for a page that has no further use.
const NEVER: u32 = u32::MAX;

/// The number of faults that serving a reference string takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DemandFaults {
    /// The number of accesses to pages that were not resident.
    pub faults: usize,
    /// The number of faults on pages that were resident before.
    pub refaults: usize,
}

impl DemandFaults {
    /// Returns the counts for `faults` faults on a string. The first fault of each page is no
    /// refault, and every other fault is one.
    pub(crate) fn of(string: &ReferenceString, faults: usize) -> Self {
        Self { faults, refaults: faults - string.nr_pages() }
    }
}

/// MIN on one string, with any number of frames.
#[derive(Debug)]
pub struct DemandMin<'s> {
    string: &'s ReferenceString,
    /// For each access, the position in the string of the next access to its page.
    next_uses: Vec<u32>,
}

impl<'s> DemandMin<'s> {
    /// Finds the next use of each access. Takes four bytes for each access, and four for each page
    /// while it runs.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub fn of(string: &'s ReferenceString) -> Result<Self, NoRoom> {
        let mut last = filled(NEVER, string.nr_pages())?;
        let mut next_uses = filled(NEVER, string.pages().len())?;
        for (now, page) in string.pages().iter().enumerate().rev() {
            // Strings are shorter than NEVER.
            next_uses[now] = std::mem::replace(&mut last[*page as usize], now as u32);
        }
        Ok(Self { string, next_uses })
    }

    /// Returns, for each access, the position of the next access to its page, if there is one.
    pub fn next_uses(&self) -> impl ExactSizeIterator<Item = Option<u32>> {
        self.next_uses.iter().map(|next| (*next != NEVER).then_some(*next))
    }

    /// Returns the faults with `frames` frames. Takes a bit for each access, and steps in the
    /// logarithm of the number of accesses.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub fn faults(&self, frames: NonZeroUsize) -> Result<DemandFaults, NoRoom> {
        // A resident page is named by its next use. A page without a next use frees its frame at
        // once: it would be the next victim anyway.
        let mut resident = BitTree::new(self.next_uses.len())?;
        let mut nr_resident = 0;
        let mut faults = 0;
        for (now, next) in self.next_uses.iter().enumerate() {
            if resident.remove(now) {
                nr_resident -= 1;
            } else {
                faults += 1;
                if nr_resident == frames.get() {
                    resident.pop_last().expect("resident pages are used again");
                    nr_resident -= 1;
                }
            }
            if *next != NEVER {
                resident.insert(*next as usize);
                nr_resident += 1;
            }
        }
        Ok(DemandFaults::of(self.string, faults))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::ReplacementPolicy;
    use crate::source::TraceSource;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn frames(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).expect("at least one")
    }

    fn served(string: &ReferenceString, number: usize) -> DemandFaults {
        let min = DemandMin::of(string).expect("there is room");
        min.faults(frames(number)).expect("there is room")
    }

    fn min(string: &ReferenceString, number: usize) -> usize {
        served(string, number).faults
    }

    /// Returns the smallest number of faults over every choice of every victim: it follows all sets
    /// of pages that can be resident, with the fewest faults that lead to each.
    fn every_choice(numbers: &[u8], frames: usize) -> usize {
        let mut reachable = BTreeMap::from([(BTreeSet::new(), 0)]);
        for page in numbers {
            let mut after = BTreeMap::new();
            let mut reach = |resident: BTreeSet<u8>, faults: usize| {
                let fewest = after.entry(resident).or_insert(faults);
                *fewest = faults.min(*fewest);
            };
            for (resident, faults) in reachable {
                let with = |mut resident: BTreeSet<u8>| {
                    resident.insert(*page);
                    resident
                };
                if resident.contains(page) {
                    reach(resident, faults);
                } else if resident.len() < frames {
                    reach(with(resident), faults + 1);
                } else {
                    for victim in &resident {
                        let mut left = resident.clone();
                        left.remove(victim);
                        reach(with(left), faults + 1);
                    }
                }
            }
            reachable = after;
        }
        reachable.into_values().min().unwrap_or(0)
    }

    fn lru(string: &ReferenceString, number: usize) -> usize {
        let lru = ReplacementPolicy::Lru.faults(string, frames(number));
        lru.expect("there is room").faults
    }

    #[test]
    fn the_textbook_string() {
        let string = ReferenceString::of_numbers(&[
            7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1,
        ]);
        let done = served(&string, 3);
        assert_eq!(done, DemandFaults { faults: 9, refaults: 3 });
        assert_eq!(lru(&string, 3), 12);
    }

    #[test]
    fn enough_frames_leave_first_faults_only() {
        for sample in TraceSource::samples() {
            let string = ReferenceString::of_trace(&sample, None).expect("a trace");
            let done = served(&string, string.nr_pages());
            assert_eq!(done, DemandFaults { faults: string.nr_pages(), refaults: 0 });
        }
    }

    #[test]
    fn samples_fault_more_under_lru_and_less_with_more_frames() {
        for sample in TraceSource::samples() {
            let string = ReferenceString::of_trace(&sample, None).expect("a trace");
            let mut before = usize::MAX;
            for percent in [10, 25, 50] {
                let number = string.nr_pages() * percent / 100;
                let (best, lru) = (min(&string, number), lru(&string, number));
                println!("{sample:?}, {percent} % of {}: {best}, LRU {lru}", string.nr_pages());
                assert!(string.nr_pages() <= best && best < lru && best < before);
                before = best;
            }
        }
    }

    proptest! {
        #[test]
        fn no_choice_of_victims_has_fewer_faults(
            numbers in prop::collection::vec(0..7_u8, 0..24),
            frames in 1..5_usize,
        ) {
            let string = ReferenceString::of_numbers(&numbers);
            prop_assert_eq!(min(&string, frames), every_choice(&numbers, frames));
            prop_assert!(min(&string, frames) <= lru(&string, frames));
        }

        #[test]
        fn more_frames_never_cost_a_fault(numbers in prop::collection::vec(0..40_u8, 0..200)) {
            let string = ReferenceString::of_numbers(&numbers);
            for frames in 1..40 {
                prop_assert!(min(&string, frames + 1) <= min(&string, frames));
            }
        }
    }
}

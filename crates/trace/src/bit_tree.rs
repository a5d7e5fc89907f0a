//! A set of numbers whose largest is found in a few steps.

use crate::room::{NoRoom, filled};

/// Numbers below a bound, as one bit each. A bit of the next level is set if its word of this level
/// has any bit.
#[derive(Debug)]
pub(crate) struct BitTree {
    /// The levels: the numbers first, a single word last.
    levels: Vec<Vec<u64>>,
}

impl BitTree {
    /// Returns an empty set of numbers below `bound`.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(crate) fn new(bound: usize) -> Result<Self, NoRoom> {
        let mut levels = Vec::new();
        let mut words = bound.div_ceil(64).max(1);
        levels.push(filled(0, words)?);
        while words > 1 {
            words = words.div_ceil(64);
            levels.push(filled(0, words)?);
        }
        Ok(Self { levels })
    }

    /// Adds a number.
    pub(crate) fn insert(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            let before = *word;
            *word |= 1 << (number % 64);
            if before != 0 {
                return;
            }
            number /= 64;
        }
    }

    /// Removes a number; returns true if the set had it.
    pub(crate) fn remove(&mut self, mut number: usize) -> bool {
        if self.levels[0][number / 64] & 1 << (number % 64) == 0 {
            return false;
        }
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            *word &= !(1 << (number % 64));
            if *word != 0 {
                break;
            }
            number /= 64;
        }
        true
    }

    /// Removes and returns the largest number.
    pub(crate) fn pop_last(&mut self) -> Option<usize> {
        let mut last = 0;
        for level in self.levels.iter().rev() {
            last = 64 * last + level[last].checked_ilog2()? as usize;
        }
        self.remove(last);
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(usize),
        Remove(usize),
        PopLast,
    }

    const BOUND: usize = 10_000;

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..BOUND).prop_map(Step::Insert),
            (0..BOUND).prop_map(Step::Remove),
            Just(Step::PopLast)
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec(step(), 0..300)) {
            let mut tree = BitTree::new(BOUND).expect("there is room");
            let mut set = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Insert(number) => {
                        tree.insert(number);
                        set.insert(number);
                    }
                    Step::Remove(number) => {
                        prop_assert_eq!(tree.remove(number), set.remove(&number));
                    }
                    Step::PopLast => prop_assert_eq!(tree.pop_last(), set.pop_last()),
                }
            }
            while let Some(last) = set.pop_last() {
                prop_assert_eq!(tree.pop_last(), Some(last));
            }
            prop_assert_eq!(tree.pop_last(), None);
        }
    }

    #[test]
    fn bounds_at_the_ends_of_words_have_room() {
        for bound in [0, 1, 63, 64, 65, 4096, 4097] {
            let mut tree = BitTree::new(bound).expect("there is room");
            (0..bound).for_each(|number| tree.insert(number));
            assert_eq!(tree.pop_last(), bound.checked_sub(1));
        }
    }
}

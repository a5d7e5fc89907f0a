//! A part of the cells, which a machine or a job runs.

use pageout_experiment::fields::number;
use std::fmt;
use std::str::FromStr;

/// Shard K of N: every Nth cell, from the Kth on. So shards have similar loads if cells grow along
/// the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// The number of the shard, from 1.
    nr: usize,
    of: usize,
}

impl Shard {
    /// The shard of all cells.
    pub const WHOLE: Self = Self { nr: 1, of: 1 };

    /// Returns true if the shard has the cell at this place in the plan, counted from 0.
    pub const fn has(self, place: usize) -> bool {
        place % self.of == self.nr - 1
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').and_then(|(nr, of)| Some((number(nr)?, number(of)?)));
        match parts {
            Some((nr, of)) if 1 <= nr && nr <= of => Ok(Self { nr, of }),
            _ => Err("expected K/N with K from 1 to N, such as 3/64"),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.nr, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shards_are_read() {
        for text in ["1/1", "3/64"] {
            assert_eq!(text.parse::<Shard>().expect("a shard").to_string(), text);
        }
        for text in ["0/4", "5/4", "1/0", "1", "/", "-1/4", "1/4/2", "one/4", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn each_cell_is_in_one_shard(cells in 0..300_usize, of in 1..70_usize) {
            for place in 0..cells {
                let has = |nr: &usize| Shard { nr: *nr, of }.has(place);
                prop_assert_eq!((1..=of).filter(has).count(), 1);
            }
        }
    }
}

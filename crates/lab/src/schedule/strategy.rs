//! The choice of turns by a seed.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

use super::layout::{Listed, MAX_TURNS, Orders};

/// For how many rounds of the others a turn is given up, at most.
const MAX_HOLD: u64 = 4;

/// A way to choose turns by a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// At one point in so many, whichever a hash of seed, point and CPU takes.
    Rate(u64),
    /// So many turns, at points drawn from all that a run without turns passes.
    Few(u64),
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "rate={rate}"),
            Self::Few(turns) => write!(f, "few={turns}"),
        }
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected rate=N, one point in N, or few=N, N turns; N from 1 to {MAX_TURNS} turns, \
                 and to 1000000000 points"
            )
        };
        let (name, number) = text.split_once('=').ok_or_else(expected)?;
        let number = |most: u64| {
            let number: Option<u64> = number.parse().ok();
            number.filter(|number| (1..=most).contains(number)).ok_or_else(expected)
        };
        match name {
            "rate" => Ok(Self::Rate(number(1_000_000_000)?)),
            "few" => Ok(Self::Few(number(MAX_TURNS as u64)?)),
            _ => Err(expected()),
        }
    }
}

impl Strategy {
    /// The orders of a seed, where a run without turns passes so many points.
    pub(super) fn orders(self, seed: u64, points: u64) -> Orders {
        match self {
            Self::Rate(rate) => Orders { seed, rate, ..Orders::default() },
            Self::Few(turns) => {
                let mut rng = Rng::with_seed(seed);
                let mut at = BTreeSet::new();
                while (at.len() as u64) < turns.min(points) {
                    at.insert(rng.u64(1..=points));
                }
                let turn = |nth| Listed { point: 0, cpu: 0, nth, hold: rng.u64(1..=MAX_HOLD) };
                Orders { seed, listed: at.into_iter().map(turn).collect(), ..Orders::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_is_read_as_it_is_written() {
        for text in ["rate=64", "few=3"] {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
        for bad in ["", "rate", "rate=0", "few=9000", "few=x", "pct=3"] {
            assert!(bad.parse::<Strategy>().unwrap_err().starts_with("expected rate=N"), "{bad}");
        }
    }

    #[test]
    fn few_turns_are_drawn_from_all_points_by_the_seed() {
        let orders = Strategy::Few(5).orders(1, 1000);
        assert_eq!(orders.listed.len(), 5);
        assert_eq!(orders.rate, 0);
        assert!(orders.listed.iter().all(|turn| (1..=1000).contains(&turn.nth)));
        assert!(orders.listed.iter().all(|turn| (1..=MAX_HOLD).contains(&turn.hold)));
        assert_eq!(orders, Strategy::Few(5).orders(1, 1000));
        assert_ne!(orders.listed, Strategy::Few(5).orders(2, 1000).listed);
        assert_eq!(Strategy::Few(5).orders(1, 2).listed.len(), 2);
    }
}

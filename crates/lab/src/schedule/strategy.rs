//! The choice of turns by a seed.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

use super::layout::{LOWEST, Listed, MAX_TURNS, Orders};

/// The maximum number of rounds for which a CPU gives way to the others.
const MAX_HOLD: u64 = 4;

/// A way to choose turns by a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// A turn at one point in this many, chosen by a hash of seed, point and CPU.
    Rate(u64),
    /// A fixed number of turns, at points drawn from all that a run without turns passes.
    Few(u64),
    /// Drawn priorities of CPUs. At this many points less one, the CPU that comes there falls below
    /// all others: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with
    /// probabilistic guarantees of finding bugs", ASPLOS 2010.
    Pct(u64),
}

/// The deepest search by priorities.
const MAX_DEPTH: u64 = 64;

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "rate={rate}"),
            Self::Few(turns) => write!(f, "few={turns}"),
            Self::Pct(depth) => write!(f, "pct={depth}"),
        }
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected few=N, N turns from 1 to {MAX_TURNS}, rate=N, one point in N, to \
                 1000000000, or pct=N, priorities with N - 1 changes, N from 1 to {MAX_DEPTH}"
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
            "pct" => Ok(Self::Pct(number(MAX_DEPTH)?)),
            _ => Err(expected()),
        }
    }
}

impl Strategy {
    /// Returns the orders of a seed, on `cpus` CPUs, if a run without turns passes `points` points.
    pub(super) fn orders(self, seed: u64, points: u64, cpus: u8) -> Orders {
        match self {
            Self::Rate(rate) => Orders { seed, rate, ..Orders::default() },
            Self::Few(turns) => {
                let mut rng = Rng::with_seed(seed);
                let at = places(&mut rng, turns, points);
                let turn = |nth| Listed { point: 0, cpu: 0, nth, hold: rng.u64(1..=MAX_HOLD) };
                Orders { seed, listed: at.into_iter().map(turn).collect(), ..Orders::default() }
            }
            Self::Pct(depth) => {
                let mut rng = Rng::with_seed(seed);
                let mut priorities: Vec<u64> =
                    (0..cpus).map(|cpu| LOWEST + u64::from(cpu)).collect();
                rng.shuffle(&mut priorities);
                let changes = places(&mut rng, depth - 1, points).into_iter();
                let listed = changes.map(|nth| Listed { point: 0, cpu: 0, nth, hold: 1 }).collect();
                Orders { seed, priorities, listed, ..Orders::default() }
            }
        }
    }
}

/// Draws `many` different numbers of points.
fn places(rng: &mut Rng, many: u64, points: u64) -> BTreeSet<u64> {
    let mut at = BTreeSet::new();
    while (at.len() as u64) < many.min(points) {
        at.insert(rng.u64(1..=points));
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_is_read_as_it_is_written() {
        for text in ["rate=64", "few=3", "pct=3"] {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
        for bad in ["", "rate", "rate=0", "few=9000", "few=x", "pct=0", "pct=65"] {
            assert!(bad.parse::<Strategy>().unwrap_err().starts_with("expected few=N"), "{bad}");
        }
    }

    #[test]
    fn few_turns_are_drawn_from_all_points_by_the_seed() {
        let orders = Strategy::Few(5).orders(1, 1000, 3);
        assert_eq!(orders.listed.len(), 5);
        assert_eq!(orders.rate, 0);
        assert!(orders.listed.iter().all(|turn| (1..=1000).contains(&turn.nth)));
        assert!(orders.listed.iter().all(|turn| (1..=MAX_HOLD).contains(&turn.hold)));
        assert_eq!(orders, Strategy::Few(5).orders(1, 1000, 3));
        assert_ne!(orders.listed, Strategy::Few(5).orders(2, 1000, 3).listed);
        assert_eq!(Strategy::Few(5).orders(1, 2, 3).listed.len(), 2);
    }
    #[test]
    fn priorities_are_drawn_for_each_cpu_and_changed_less_often_than_the_depth() {
        let orders = Strategy::Pct(3).orders(1, 1000, 3);
        let mut sorted = orders.priorities.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [LOWEST, LOWEST + 1, LOWEST + 2]);
        assert_eq!(orders.listed.len(), 2);
        let first = |seed| Strategy::Pct(1).orders(seed, 1000, 3).priorities;
        assert!((0..20).any(|seed| first(seed) != first(0)));
        assert!(Strategy::Pct(1).orders(1, 1000, 3).listed.is_empty());
    }
}

//! Interleaved measuring. Each round measures every cell under every variant, so that a disturbance
//! of the machine affects all of them.

use pageout_record::schema::Record;
use std::time::{Duration, Instant};

/// A measurement under several variants.
pub trait Cell {
    /// Times every variant once; each round begins with another variant.
    fn sample(&mut self, round: usize);
    /// Returns the measurements, and the counts from separate runs, as one record a variant.
    fn records(&mut self) -> Vec<Record>;
}

/// Returns the order in which a round measures `n` variants. Each pair of rounds begins with
/// another variant; the second of a pair goes backwards. So no variant always follows the same
/// other one.
pub fn turns(n: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |turn| {
        let turn = if round.is_multiple_of(2) { turn } else { n - 1 - turn };
        (turn + round / 2) % n
    })
}

/// The number of rounds to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounds {
    /// Exactly this many rounds.
    Exactly(usize),
    /// As many rounds as begin within the time, between the two bounds.
    Within {
        /// The time after which no round begins.
        budget: Duration,
        /// At least this many rounds, however long they take.
        at_least: usize,
        /// At most this many rounds, however fast they are.
        at_most: usize,
    },
}

impl Rounds {
    /// A run that a person waits for: enough rounds for an exact test, in well under a minute.
    pub const DEFAULT: Self =
        Self::Within { budget: Duration::from_secs(30), at_least: 9, at_most: 15 };

    /// A run of the main table that a person waits for: about a minute, and still enough rounds for
    /// an exact test of every row.
    pub const MAIN_TABLE: Self =
        Self::Within { budget: Duration::from_secs(30), at_least: 7, at_most: 15 };

    /// Runs all rounds; `round` gets the round's number.
    pub fn run(self, mut round: impl FnMut(usize)) {
        let since = Instant::now();
        let mut done = 0;
        while self.goes_on(done, since) {
            round(done);
            done += 1;
        }
    }

    fn goes_on(self, done: usize, since: Instant) -> bool {
        match self {
            Self::Exactly(rounds) => done < rounds,
            Self::Within { budget, at_least, at_most } => {
                done < at_least || (done < at_most && since.elapsed() < budget)
            }
        }
    }

    /// Returns the largest possible number of rounds.
    pub const fn most(self) -> usize {
        match self {
            Self::Exactly(rounds) => rounds,
            Self::Within { at_most, .. } => at_most,
        }
    }
}

/// Measures the cells round by round, then returns their records. `progress` gets the number of
/// steps done and the largest possible number.
pub fn measure(
    cells: &mut [Box<dyn Cell + '_>],
    rounds: Rounds,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<Record> {
    let most = rounds.most() * cells.len();
    let mut done = 0;
    rounds.run(|round| {
        for cell in &mut *cells {
            cell.sample(round);
            done += 1;
            progress(done, most);
        }
    });
    cells.iter_mut().flat_map(|cell| cell.records()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_every_turn_and_follows_every_other() {
        let orders: Vec<Vec<_>> = (0..6).map(|round| turns(3, round).collect()).collect();
        for place in 0..3 {
            let mut there: Vec<_> = orders.iter().map(|order| order[place]).collect();
            there.sort_unstable();
            assert_eq!(there, [0, 0, 1, 1, 2, 2], "place {place}");
        }
        for (a, b) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            assert!(orders.iter().any(|order| order.windows(2).any(|pair| pair == [a, b])));
        }
    }
}

//! Interleaved measuring: every cell under every variant once a round, so that what disturbs the
//! machine disturbs all of them.

use pageout_record::schema::Record;
use std::time::{Duration, Instant};

/// Something measured under several variants.
pub trait Cell {
    /// Times every variant once, beginning with another one each round.
    fn sample(&mut self, round: usize);
    /// What was measured and, from runs of their own, counted: a record a variant.
    fn records(&mut self) -> Vec<Record>;
}

/// The order in which a round measures `n` variants: another one first each time, forwards and
/// backwards by turns, so that none always follows the same other one.
pub fn turns(n: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |turn| {
        let turn = if round.is_multiple_of(2) { turn } else { n - 1 - turn };
        (turn + round / 2) % n
    })
}

/// How many rounds to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounds {
    /// As many.
    Exactly(usize),
    /// As many as begin within the time, within the bounds.
    Within {
        /// When to begin no more.
        budget: Duration,
        /// At least as many, however long they take.
        at_least: usize,
        /// At most as many, however fast they are.
        at_most: usize,
    },
}

impl Rounds {
    /// What a person waits for: enough for an exact test, well under a minute.
    pub const DEFAULT: Self =
        Self::Within { budget: Duration::from_secs(30), at_least: 9, at_most: 15 };

    /// What a person waits for who asks for the main table: about a minute, and still enough for
    /// an exact test of every row.
    pub const MAIN_TABLE: Self =
        Self::Within { budget: Duration::from_secs(30), at_least: 7, at_most: 15 };

    /// Runs `round` as often as it says, with the round's number.
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

    /// The most rounds there can be.
    pub const fn most(self) -> usize {
        match self {
            Self::Exactly(rounds) => rounds,
            Self::Within { at_most, .. } => at_most,
        }
    }
}

/// Measures the cells round by round, telling `progress` the steps done and the most there can be;
/// then returns their records.
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

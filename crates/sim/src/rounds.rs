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

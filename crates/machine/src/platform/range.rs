//! The range of a lever's duration on a platform.

use super::{Draw, Lever, Platform};
use crate::time::Time;

/// The number of draws from which the range of a sum of prices is computed.
const DRAWS: u64 = 1000;

impl Platform {
    /// Returns the 5th and the 95th percentile of a lever's duration. A single price has them from
    /// its file; for a sum of prices they come from draws.
    pub fn range_of(&self, lever: Lever, cores: u16) -> [Time; 2] {
        let mut moved = self.prices.iter().filter(|price| lever.moves(price.name));
        if let (Some(price), None) = (moved.next(), moved.next()) {
            return [price.low, price.high].map(Time::from_ps);
        }
        let drawn = |seed| lever.time(&self.prices(Draw::Seeded(seed)), cores);
        let mut drawn: Vec<Time> = (0..DRAWS).map(drawn).collect();
        drawn.sort_unstable();
        [5, 95].map(|percent| drawn[(DRAWS as usize - 1) * percent / 100])
    }
}

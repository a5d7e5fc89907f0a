//! Statistics without assumptions on the distribution: run times have long tails.

mod holm;
mod mann_whitney;
mod median;

pub use holm::holm;
pub use mann_whitney::{EXACT_LIMIT, MannWhitney, mann_whitney, smallest_p};
pub use median::{Interval, median, median_interval};

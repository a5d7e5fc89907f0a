//! Statistics, if possible without assumptions on the distribution, because run times have long
//! tails.

mod holm;
mod interval;
mod mann_whitney;
mod mean;
mod median;
mod parametric;
mod signed_rank;
mod trend;

pub use holm::holm;
pub use interval::{Interval, Kind};
pub use mann_whitney::{EXACT_LIMIT, MannWhitney, mann_whitney, smallest_p};
pub use mean::Mean;
pub use median::{median, median_interval, quantile};
pub use parametric::{VarianceRatio, Welch, f_test, variation, welch};
pub use signed_rank::{SignedRank, shift, shift_interval, signed_rank, smallest_signed_rank_p};
pub use trend::{rise, trend_p};

//! Measurements of the machine that need no privilege: prices for a platform file, and the accesses
//! that stale translations hide from young bits.
#![forbid(unsafe_code)]

mod area;
mod calibration;
mod cpus;
mod effort;
mod figure;
mod file;
mod kernel;
mod lines;
mod loads;
mod observe;
mod prices;
mod proc_files;
mod rounds;
mod shootdown;
mod target;
mod work;

pub use calibration::{CalibrateError, Calibration, calibrate};
pub use cpus::cores;
pub use effort::Effort;
pub use figure::Figure;
pub use file::{Like, LikeError, architecture, file};
pub use observe::{Between, Flush, Observation, ObserveError, PAGES, observe};
pub use prices::{Priced, Seen};
pub use work::{Loop, WorkPrices, count};

//! `/sys/kernel/debug/lru_gen` and `lru_gen_full`, and the files of `/sys/kernel/mm/lru_gen`.

mod command;
mod generation;
mod line;
mod sysfs;

pub use command::{Command, Operation, write};
pub use generation::{Detail, Generation, NR_TIERS, Pages, Tier, Walk, show};
pub use line::Line;
pub use sysfs::{Enabled, min_ttl_ms};

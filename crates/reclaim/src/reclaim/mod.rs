//! Reclaim: how much to scan, which folios go, and their way out (Linux 7.3.4, vmscan.c).

mod balance;
mod charge;
mod decision;
mod memory_reclaim;
mod mglru;
mod referenced;
mod scan;
mod shrink;
mod stats;
mod try_to_free;

pub use charge::ChargeError;
pub use decision::{FolioRef, folio_check_references, lru_gen_check_references};
pub use referenced::{Referenced, Refs};
pub use scan::Agent;
pub(crate) use scan::ScanControl;
pub(crate) use shrink::ReclaimStat;
pub use try_to_free::ReclaimOptions;

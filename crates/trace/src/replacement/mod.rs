//! Page replacement as in studies: a policy sees every access of a reference string and keeps a
//! fixed number of pages, and its faults are counted.
//!
//! These are the algorithms of their papers with the parameters given there, for pages of one
//! size. With 20 frames and more they make the decisions of libCacheSim's defaults
//! (`samples/compare-libcachesim.py`).

mod arc;
mod list;
mod lru;
mod policy;
mod s3_fifo;
mod sieve;
#[cfg(test)]
mod tests;

use crate::demand_min::DemandFaults;
use crate::reference_string::ReferenceString;
use crate::room::NoRoom;
use policy::Replacement;
use std::num::NonZeroUsize;

/// The maximum number of bytes of memory that a policy takes for each different page.
pub const BYTES_A_PAGE: u64 = 10;

/// A policy that works page by page on demand, without knowing the future.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplacementPolicy {
    /// Least recently used.
    Lru,
    /// Adaptive replacement cache.
    Arc,
    /// A small, a main and a ghost queue.
    S3Fifo,
    /// A queue and a hand.
    Sieve,
}

impl ReplacementPolicy {
    /// Returns the faults with `frames` frames. Takes up to [`BYTES_A_PAGE`] for each different
    /// page, and a small number of steps for each access.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub fn faults(
        self,
        string: &ReferenceString,
        frames: NonZeroUsize,
    ) -> Result<DemandFaults, NoRoom> {
        match self {
            Self::Lru => faults::<lru::Lru>(string, frames),
            Self::Arc => faults::<arc::Arc>(string, frames),
            Self::S3Fifo => faults::<s3_fifo::S3Fifo>(string, frames),
            Self::Sieve => faults::<sieve::Sieve>(string, frames),
        }
    }
}

fn faults<R: Replacement>(
    string: &ReferenceString,
    frames: NonZeroUsize,
) -> Result<DemandFaults, NoRoom> {
    let mut policy = R::new(string.nr_pages(), frames.get())?;
    let hits = string.pages().iter().filter(|page| policy.access(**page)).count();
    Ok(DemandFaults::of(string, string.pages().len() - hits))
}

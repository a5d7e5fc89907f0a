//! What one reclaim is after, and how much of each list it scans for that.

use crate::memcg::MemcgId;
use crate::tuning::Tuning;
use crate::vmstat::Counter;

/// Who reclaims.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Agent {
    /// In the background, when free memory falls below its watermark.
    Kswapd,
    /// Whoever allocates or is charged, and found no room.
    Direct,
    /// User space asked.
    Proactive,
}

impl Agent {
    /// The counter of pages it examined.
    pub const fn pgscan(self) -> Counter {
        match self {
            Self::Kswapd => Counter::PgscanKswapd,
            Self::Direct => Counter::PgscanDirect,
            Self::Proactive => Counter::PgscanProactive,
        }
    }

    /// The counter of pages it reclaimed.
    pub const fn pgsteal(self) -> Counter {
        match self {
            Self::Kswapd => Counter::PgstealKswapd,
            Self::Direct => Counter::PgstealDirect,
            Self::Proactive => Counter::PgstealProactive,
        }
    }
}

/// What one reclaim is after and how far it got (the kernel's `struct scan_control`).
#[derive(Clone, Debug)]
pub struct ScanControl {
    /// Whose subtree is reclaimed for its own sake: cgroup reclaim. `None` is the whole machine.
    pub target: Option<MemcgId>,
    /// Pages wanted.
    pub nr_to_reclaim: u64,
    /// A list of n pages is scanned for n ≫ priority: from 12 down to 0.
    pub priority: u8,
    /// Instead of the cgroups' own swappiness: 0 to 200, or 201 for anonymous memory alone.
    pub swappiness: Option<u8>,
    /// Mapped folios may be unmapped.
    pub may_unmap: bool,
    /// Anonymous folios may be swapped out.
    pub may_swap: bool,
    /// Folios may be written out.
    pub may_writepage: bool,
    /// Who reclaims.
    pub agent: Agent,
    /// The variant.
    pub tuning: Tuning,
    /// Pages examined since it was last set to 0.
    pub nr_scanned: u64,
    /// Pages reclaimed.
    pub nr_reclaimed: u64,
}

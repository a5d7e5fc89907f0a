//! What one reclaim is after, and how far it got.

use crate::id::MemcgId;
use crate::mglru::MAX_NR_ZONES;
use crate::vmstat::Counter;

/// Pages reclaimed and scanned at a time (`SWAP_CLUSTER_MAX`).
pub(crate) const SWAP_CLUSTER_MAX: u64 = 32;
/// Where priority starts (`DEF_PRIORITY`).
pub(crate) const DEF_PRIORITY: u8 = 12;
/// The largest swappiness of a cgroup.
pub(crate) const MAX_SWAPPINESS: u8 = 200;
/// A request for anonymous memory alone (`SWAPPINESS_ANON_ONLY`).
pub(crate) const SWAPPINESS_ANON_ONLY: u8 = 201;

/// Anonymous memory, in what is kept of each type.
pub(crate) const ANON: usize = 0;
/// Pages of files, in what is kept of each type.
pub(crate) const FILE: usize = 1;

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
    /// The highest zone whose folios are of use, 0 to 2.
    pub reclaim_idx: usize,
    /// Instead of the cgroups' own swappiness: 0 to 200, or 201 for anonymous memory alone.
    pub swappiness: Option<u8>,
    /// Mapped folios may be unmapped.
    pub may_unmap: bool,
    /// Anonymous folios may be swapped out.
    pub may_swap: bool,
    /// Folios may be written out.
    pub may_writepage: bool,
    /// No one is asked whether folios were used.
    pub ignore_references: bool,
    /// Who reclaims.
    pub agent: Agent,
    /// The variant.
    /// Pages examined since it was last set to 0.
    pub nr_scanned: u64,
    /// Pages reclaimed.
    pub nr_reclaimed: u64,
    /// What was found out on the way.
    pub(crate) state: ScanState,
}

/// What a reclaim finds out on its way, and what it is driven to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScanState {
    /// What reclaiming each type cost the target lately.
    pub(crate) cost: [u64; 2],
    /// Whether the active list of each type may be shrunk.
    pub(crate) may_deactivate: [bool; 2],
    /// Driven: shrink active lists whatever their size.
    pub(crate) force_deactivate: bool,
    /// An active list was spared.
    pub(crate) skipped_deactivate: bool,
    /// Driven: take from what `memory.low` protects.
    pub(crate) memcg_low_reclaim: bool,
    /// Something was spared that `memory.low` protects.
    pub(crate) memcg_low_skipped: bool,
    /// Driven: visit every cgroup, even past the goal.
    pub(crate) memcg_full_walk: bool,
    /// There are many inactive pages of files that do not come back: take those alone.
    pub(crate) cache_trim_mode: bool,
    /// Doing so got nothing.
    pub(crate) cache_trim_mode_failed: bool,
    /// Driven: never take those alone.
    pub(crate) no_cache_trim_mode: bool,
    /// What files hold would not lift the machine above its watermarks: take anonymous memory.
    pub(crate) file_is_tiny: bool,
}

impl ScanControl {
    /// A reclaim of `nr_to_reclaim` pages that may do anything and found out nothing yet.
    pub fn new(target: Option<MemcgId>, nr_to_reclaim: u64, agent: Agent) -> Self {
        Self {
            target,
            nr_to_reclaim,
            priority: DEF_PRIORITY,
            reclaim_idx: MAX_NR_ZONES - 1,
            swappiness: None,
            may_unmap: true,
            may_swap: true,
            may_writepage: true,
            ignore_references: false,
            agent,
            nr_scanned: 0,
            nr_reclaimed: 0,
            state: ScanState::default(),
        }
    }

    /// Whether a cgroup is reclaimed for its own sake.
    pub fn cgroup_reclaim(&self) -> bool {
        self.target.is_some()
    }

    /// Whether the root's subtree is reclaimed: the whole machine, for whatever reason.
    pub(crate) fn root_reclaim(&self) -> bool {
        self.top() == MemcgId::ROOT
    }

    /// The top of the subtree that is reclaimed.
    pub(crate) fn top(&self) -> MemcgId {
        self.target.unwrap_or(MemcgId::ROOT)
    }
}

//! The goal and the state of one reclaim.

use crate::folio::MAX_NR_ZONES;
use crate::id::{LruvecNr, MemcgNr, NodeId};
use crate::vmstat::Counter;

/// The priority at which a reclaim starts (`DEF_PRIORITY`).
pub(super) const DEF_PRIORITY: u8 = 12;

/// The agent that reclaims.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Agent {
    /// Background reclaim, when free memory falls below its watermark.
    Kswapd,
    /// The task that allocates or is charged, and found no room.
    Direct,
    /// User space, by a request.
    Proactive,
}

impl Agent {
    /// Returns the counter of pages it examined.
    pub const fn pgscan(self) -> Counter {
        match self {
            Self::Kswapd => Counter::PgscanKswapd,
            Self::Direct => Counter::PgscanDirect,
            Self::Proactive => Counter::PgscanProactive,
        }
    }

    /// Returns the counter of pages it reclaimed.
    pub const fn pgsteal(self) -> Counter {
        match self {
            Self::Kswapd => Counter::PgstealKswapd,
            Self::Direct => Counter::PgstealDirect,
            Self::Proactive => Counter::PgstealProactive,
        }
    }
}

/// The goal and the state of one reclaim (the kernel's `struct scan_control`).
#[derive(Clone, Debug)]
pub(crate) struct ScanControl {
    /// The cgroup whose subtree is reclaimed for its own sake (cgroup reclaim). `None` is the whole
    /// machine.
    pub(crate) target: Option<MemcgNr>,
    /// The number of pages wanted.
    pub(in crate::reclaim) nr_to_reclaim: u64,
    /// The urgency, from 12 down to 0: n >> priority pages are scanned of a list of n.
    pub(in crate::reclaim) priority: u8,
    /// The node from which this pass takes.
    pub(crate) node: NodeId,
    /// The highest usable zone, 0 to 2.
    pub(crate) reclaim_idx: usize,
    /// The swappiness to use instead of the cgroups' own: 0 to 200, or 201 for only anonymous
    /// memory.
    pub(crate) swappiness: Option<u8>,
    /// True if mapped folios may be unmapped.
    pub(in crate::reclaim) may_unmap: bool,
    /// True if anonymous folios may be swapped out.
    pub(in crate::reclaim) may_swap: bool,
    /// True if folios may be written out.
    pub(in crate::reclaim) may_writepage: bool,
    /// True if folios are reclaimed without a check of their use.
    pub(crate) ignore_references: bool,
    /// The agent that reclaims.
    pub(in crate::reclaim) agent: Agent,
    /// The number of pages examined since it was last set to 0.
    pub(in crate::reclaim) nr_scanned: u64,
    /// The number of pages reclaimed.
    pub(in crate::reclaim) nr_reclaimed: u64,
    /// The findings so far.
    pub(crate) state: ScanState,
}

/// The state of one reclaim: the costs that it found so far, and the means that they make it use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScanState {
    /// The recent cost of reclaiming each type from the target.
    pub(super) cost: [u64; 2],
    /// True for each type whose active list may be shrunk.
    pub(super) may_deactivate: [bool; 2],
    /// True to shrink active lists whatever their size.
    pub(super) force_deactivate: bool,
    /// True if an active list was spared.
    pub(super) skipped_deactivate: bool,
    /// True to reclaim memory that `memory.low` protects.
    pub(super) memcg_low_reclaim: bool,
    /// True if memory that `memory.low` protects was spared.
    pub(super) memcg_low_skipped: bool,
    /// True to visit every cgroup, even past the goal.
    pub(super) memcg_full_walk: bool,
    /// True if there are many inactive pages of files that do not refault. Only those are taken.
    pub(super) cache_trim_mode: bool,
    /// True if taking only those reclaimed nothing.
    pub(super) cache_trim_mode_failed: bool,
    /// True to take other pages too in every case.
    pub(super) no_cache_trim_mode: bool,
    /// True if all pages of files would not lift the machine above its watermarks. Anonymous memory
    /// is taken.
    pub(super) file_is_tiny: bool,
}

impl ScanControl {
    /// Makes the state of a new reclaim of `nr_to_reclaim` pages, to which everything is permitted.
    pub(crate) fn new(target: Option<MemcgNr>, nr_to_reclaim: u64, agent: Agent) -> Self {
        Self {
            target,
            nr_to_reclaim,
            priority: DEF_PRIORITY,
            node: NodeId(0),
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

    /// Returns true if a cgroup is reclaimed for its own sake.
    pub(in crate::reclaim) fn cgroup_reclaim(&self) -> bool {
        self.target.is_some()
    }

    /// Returns true if the root's subtree is reclaimed: the whole machine, for whatever reason.
    pub(super) fn root_reclaim(&self) -> bool {
        self.top() == MemcgNr::ROOT
    }

    /// Returns the top of the subtree that is reclaimed.
    pub(super) fn top(&self) -> MemcgNr {
        self.target.unwrap_or(MemcgNr::ROOT)
    }

    /// Returns the lists of a cgroup on the node of this pass.
    #[inline]
    pub(super) fn lruvec(&self, memcg: MemcgNr) -> LruvecNr {
        LruvecNr { memcg, node: self.node }
    }
}

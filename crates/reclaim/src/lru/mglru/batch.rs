//! The state of page-table walks by one CPU's reclaim (the kernel's `lru_gen_mm_walk`).

use super::PerGeneration;
use crate::id::LruvecNr;
use pageout_paging::VirtAddr;

/// The counts of a walk, in entries (the kernel's `MM_…`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MmStats {
    /// The leaf entries seen (`MM_LEAF_TOTAL`).
    pub leaf_total: u64,
    /// The young leaf entries found (`MM_LEAF_YOUNG`).
    pub leaf_young: u64,
    /// The PTE tables entered: named by the filter, or forced (`MM_NONLEAF_FOUND`).
    pub nonleaf_found: u64,
    /// The PTE tables worth entering next time (`MM_NONLEAF_ADDED`).
    pub nonleaf_added: u64,
}

/// The changes of generations' sizes that walks on this CPU made and have not handed in, and the
/// position of the walk. One exists while reclaim runs on the CPU.
#[derive(Clone, Debug)]
pub(crate) struct MmWalk {
    /// The lruvec whose generations it changes.
    pub(crate) lruvec: LruvecNr,
    /// The youngest generation when the walk began.
    pub(crate) seq: u64,
    /// The swappiness, which decides the types that are aged.
    pub(crate) swappiness: u8,
    /// True if the walk also enters tables that no filter names, and address spaces that did not
    /// run.
    pub(crate) force_scan: bool,
    /// The address at which the walk of an address space continues.
    pub(crate) next_addr: VirtAddr,
    pub(crate) stats: MmStats,
    /// The number of pages by which each generation grew.
    pub(super) nr_pages: PerGeneration<i64>,
    /// The number of folios whose generation changed.
    pub(crate) batched: u64,
}

impl Default for MmWalk {
    fn default() -> Self {
        Self {
            lruvec: LruvecNr::ROOT,
            seq: 0,
            swappiness: 0,
            force_scan: false,
            next_addr: VirtAddr::new(0),
            stats: MmStats::default(),
            nr_pages: PerGeneration::default(),
            batched: 0,
        }
    }
}

impl MmWalk {
    /// Starts a walk for a lruvec.
    pub(crate) fn begin(&mut self, lruvec: LruvecNr, seq: u64, swappiness: u8, force_scan: bool) {
        assert!(self.serves(lruvec), "what is batched of one lruvec is handed in before another's");
        (self.seq, self.swappiness, self.force_scan) = (seq, swappiness, force_scan);
    }

    /// Returns true if changes of folios of `lruvec` may be batched: the batch has none of another.
    pub(crate) fn serves(&mut self, lruvec: LruvecNr) -> bool {
        if self.batched == 0 {
            self.lruvec = lruvec;
        }
        self.lruvec == lruvec
    }

    /// Adds a folio's change of generation to the batch (`update_batch_size`).
    pub(crate) fn moved(&mut self, kind: usize, zone: usize, nr: i64, from: usize, to: usize) {
        self.nr_pages[from][kind][zone] -= nr;
        self.nr_pages[to][kind][zone] += nr;
        self.batched += 1;
    }
}

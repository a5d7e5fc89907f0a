//! Event and state counters, with the kernel's names.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $counter:ident = $name:literal,)*) => {
        /// A counter of a cgroup, in pages unless stated otherwise. Hierarchical figures are summed
        /// over the subtree when they are read.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Counter {
            $($(#[$doc])* $counter,)*
        }

        impl Counter {
            /// Every counter, in the kernel's order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$counter),*];

            /// Returns the kernel's name in `/proc/vmstat` or `memory.stat`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$counter => $name,)*
                }
            }
        }
    };
}

counters! {
    /// Anonymous pages faulted in again that left a shadow.
    WorkingsetRefaultAnon = "workingset_refault_anon",
    /// File pages faulted in again that left a shadow.
    WorkingsetRefaultFile = "workingset_refault_file",
    /// Anonymous refaults near enough to be activated at once.
    WorkingsetActivateAnon = "workingset_activate_anon",
    /// File refaults near enough to be activated at once.
    WorkingsetActivateFile = "workingset_activate_file",
    /// Anonymous refaults of pages that had been in a working set.
    WorkingsetRestoreAnon = "workingset_restore_anon",
    /// File refaults of pages that had been in a working set.
    WorkingsetRestoreFile = "workingset_restore_file",
    /// Pages charged now that hold anonymous memory.
    NrAnonPages = "nr_anon_pages",
    /// Pages charged now that hold a file's, or are in the index of shared memory.
    NrFilePages = "nr_file_pages",
    /// Pages charged now that are in the index of shared memory.
    NrShmem = "nr_shmem",
    /// Pages that reclaim began to write out.
    NrVmscanWrite = "nr_vmscan_write",
    /// Dirty pages of files that reclaim found and marked for reclaim at the end of write-out.
    NrVmscanImmediateReclaim = "nr_vmscan_immediate_reclaim",
    /// Pages reclaimed by background reclaim.
    PgstealKswapd = "pgsteal_kswapd",
    /// Pages reclaimed by direct reclaim.
    PgstealDirect = "pgsteal_direct",
    /// Pages reclaimed at user space's request.
    PgstealProactive = "pgsteal_proactive",
    /// Anonymous pages reclaimed.
    PgstealAnon = "pgsteal_anon",
    /// File pages reclaimed.
    PgstealFile = "pgsteal_file",
    /// Pages examined by background reclaim.
    PgscanKswapd = "pgscan_kswapd",
    /// Pages examined by direct reclaim.
    PgscanDirect = "pgscan_direct",
    /// Pages examined at user space's request.
    PgscanProactive = "pgscan_proactive",
    /// Anonymous pages examined.
    PgscanAnon = "pgscan_anon",
    /// File pages examined.
    PgscanFile = "pgscan_file",
    /// Anonymous pages that reclaim examined in vain.
    PgrotateAnon = "pgrotate_anon",
    /// File pages that reclaim examined in vain.
    PgrotateFile = "pgrotate_file",
    /// Active pages examined.
    Pgrefill = "pgrefill",
    /// Pages read from swap.
    Pswpin = "pswpin",
    /// Pages written to swap.
    Pswpout = "pswpout",
    /// Direct reclaims (calls) of the whole machine.
    Allocstall = "allocstall_normal",
    /// Pages activated.
    Pgactivate = "pgactivate",
    /// Pages deactivated.
    Pgdeactivate = "pgdeactivate",
    /// Anonymous pages that their process made lazyfree.
    Pglazyfree = "pglazyfree",
    /// Faults, whatever their outcome.
    Pgfault = "pgfault",
    /// Faults that waited for a read.
    Pgmajfault = "pgmajfault",
    /// Lazyfree pages that were freed unwritten.
    Pglazyfreed = "pglazyfreed",
    /// Background reclaims (calls).
    Pageoutrun = "pageoutrun",
    /// Pages moved to the tail of their list when their write-out ended.
    Pgrotated = "pgrotated",
    /// Pages moved to other frames.
    PgmigrateSuccess = "pgmigrate_success",
    /// Pages that were to move and could not.
    PgmigrateFail = "pgmigrate_fail",
    /// Frames that compaction scanned for folios to move.
    CompactMigrateScanned = "compact_migrate_scanned",
    /// Frames, or free blocks, that compaction scanned for room to move to.
    CompactFreeScanned = "compact_free_scanned",
    /// Pages that compaction isolated, and free pages that it took.
    CompactIsolated = "compact_isolated",
    /// Compactions (calls) for tasks that found no large run.
    CompactStall = "compact_stall",
    /// Such compactions (calls) after which there was still none.
    CompactFail = "compact_fail",
    /// Such compactions (calls) after which there was one.
    CompactSuccess = "compact_success",
    /// First accesses (calls) that got a folio as large as the range of a page table.
    ThpFaultAlloc = "thp_fault_alloc",
    /// First accesses (calls) that asked for such a folio and got a smaller one.
    ThpFaultFallback = "thp_fault_fallback",
    /// Folios of that size that were split into single pages.
    ThpSplitPage = "thp_split_page",
    /// Folios of that size that could not be split.
    ThpSplitPageFailed = "thp_split_page_failed",
    /// PMD leaves split into entries, or taken out so that faults map entries instead.
    ThpSplitPmd = "thp_split_pmd",
    /// Folios of that size that were split since they found no slots in a row.
    ThpSwpoutFallback = "thp_swpout_fallback",
    /// Reclaims (calls) below the low protection, because nothing else was left.
    EventLow = "low",
    /// Charges (calls) that met the limit.
    EventMax = "max",
    /// Charges (calls) that failed.
    EventOom = "oom",
}

/// The counters of one cgroup.
#[derive(Debug)]
pub struct VmStat {
    counters: [AtomicU64; Counter::ALL.len()],
}

impl Default for VmStat {
    fn default() -> Self {
        Self { counters: [const { AtomicU64::new(0) }; Counter::ALL.len()] }
    }
}

impl VmStat {
    /// Adds to a counter.
    #[inline]
    pub(crate) fn add(&self, counter: Counter, nr: u64) {
        if nr != 0 {
            self.counters[counter as usize].fetch_add(nr, Relaxed);
        }
    }

    /// Subtracts from a counter of a state.
    #[inline]
    pub(crate) fn sub(&self, counter: Counter, nr: u64) {
        self.counters[counter as usize].fetch_sub(nr, Relaxed);
    }

    /// Returns a counter.
    #[inline]
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize].load(Relaxed)
    }

    /// Adds the counts of another, which is removed.
    pub(crate) fn absorb(&self, other: &Self) {
        for counter in Counter::ALL {
            self.add(counter, other.get(counter));
        }
    }

    pub(crate) fn clear(&self) {
        self.counters.iter().for_each(|counter| counter.store(0, Relaxed));
    }
}

//! Counters, under the kernel's names.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $counter:ident = $name:literal,)*) => {
        /// What is counted of a cgroup, in pages unless named otherwise. Hierarchical figures are
        /// sums over the subtree, taken when they are read.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Counter {
            $($(#[$doc])* $counter,)*
        }

        impl Counter {
            /// Every counter, in the kernel's order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$counter),*];

            /// The kernel's name in `/proc/vmstat` or `memory.stat`.
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
    /// Anonymous refaults near enough to be made active at once.
    WorkingsetActivateAnon = "workingset_activate_anon",
    /// File refaults near enough to be made active at once.
    WorkingsetActivateFile = "workingset_activate_file",
    /// Anonymous refaults of what had been a working set.
    WorkingsetRestoreAnon = "workingset_restore_anon",
    /// File refaults of what had been a working set.
    WorkingsetRestoreFile = "workingset_restore_file",
    /// Pages charged now that hold anonymous memory.
    NrAnonPages = "nr_anon_pages",
    /// Pages charged now that hold a file's, or are in the index of shared memory.
    NrFilePages = "nr_file_pages",
    /// Those of them that are in the index of shared memory.
    NrShmem = "nr_shmem",
    /// Pages that reclaim began to write out.
    NrVmscanWrite = "nr_vmscan_write",
    /// Dirty pages of files that reclaim met and marked for reclaim at the end of write-out.
    NrVmscanImmediateReclaim = "nr_vmscan_immediate_reclaim",
    /// Pages reclaimed by background reclaim.
    PgstealKswapd = "pgsteal_kswapd",
    /// Pages reclaimed by direct reclaim.
    PgstealDirect = "pgsteal_direct",
    /// Pages reclaimed because user space asked.
    PgstealProactive = "pgsteal_proactive",
    /// Anonymous pages reclaimed.
    PgstealAnon = "pgsteal_anon",
    /// File pages reclaimed.
    PgstealFile = "pgsteal_file",
    /// Pages examined by background reclaim.
    PgscanKswapd = "pgscan_kswapd",
    /// Pages examined by direct reclaim.
    PgscanDirect = "pgscan_direct",
    /// Pages examined because user space asked.
    PgscanProactive = "pgscan_proactive",
    /// Anonymous pages examined.
    PgscanAnon = "pgscan_anon",
    /// File pages examined.
    PgscanFile = "pgscan_file",
    /// Anonymous pages that reclaim looked at in vain.
    PgrotateAnon = "pgrotate_anon",
    /// File pages that reclaim looked at in vain.
    PgrotateFile = "pgrotate_file",
    /// Active pages examined.
    Pgrefill = "pgrefill",
    /// Pages read from swap.
    Pswpin = "pswpin",
    /// Pages written to swap.
    Pswpout = "pswpout",
    /// Direct reclaims (calls) of the whole machine.
    Allocstall = "allocstall_normal",
    /// Pages made active.
    Pgactivate = "pgactivate",
    /// Pages made inactive.
    Pgdeactivate = "pgdeactivate",
    /// Anonymous pages that their process gave up lazily.
    Pglazyfree = "pglazyfree",
    /// Faults, whatever came of them.
    Pgfault = "pgfault",
    /// Faults that waited for a read.
    Pgmajfault = "pgmajfault",
    /// Pages given up lazily that were freed unwritten.
    Pglazyfreed = "pglazyfreed",
    /// Background reclaims (calls).
    Pageoutrun = "pageoutrun",
    /// Pages moved to the tail of their list when their write-out ended.
    Pgrotated = "pgrotated",
    /// Pages moved to other frames.
    PgmigrateSuccess = "pgmigrate_success",
    /// Pages that were to move and could not.
    PgmigrateFail = "pgmigrate_fail",
    /// Frames that compaction looked at for folios to move.
    CompactMigrateScanned = "compact_migrate_scanned",
    /// Frames, or free blocks, that compaction looked at for room to move to.
    CompactFreeScanned = "compact_free_scanned",
    /// Pages that compaction took off lists, and free pages that it took.
    CompactIsolated = "compact_isolated",
    /// Compactions (calls) for whoever found no large run.
    CompactStall = "compact_stall",
    /// Those after which there was none either.
    CompactFail = "compact_fail",
    /// Those after which there was one.
    CompactSuccess = "compact_success",
    /// First accesses (calls) that got a folio as large as a page table maps.
    ThpFaultAlloc = "thp_fault_alloc",
    /// Those that were to get one and got a smaller.
    ThpFaultFallback = "thp_fault_fallback",
    /// Folios as large as a page table maps that were split into single pages.
    ThpSplitPage = "thp_split_page",
    /// Those that were to be and could not.
    ThpSplitPageFailed = "thp_split_page_failed",
    /// PMD leaves split into entries, or taken out to be mapped by them.
    ThpSplitPmd = "thp_split_pmd",
    /// Folios as large as a page table maps that were split since they found no slots in a row.
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

    /// Takes from a counter that tells a state.
    #[inline]
    pub(crate) fn sub(&self, counter: Counter, nr: u64) {
        self.counters[counter as usize].fetch_sub(nr, Relaxed);
    }

    /// A counter.
    #[inline]
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize].load(Relaxed)
    }

    /// Adds what another counted, which is no more.
    pub(crate) fn absorb(&self, other: &Self) {
        for counter in Counter::ALL {
            self.add(counter, other.get(counter));
        }
    }

    pub(crate) fn clear(&self) {
        self.counters.iter().for_each(|counter| counter.store(0, Relaxed));
    }
}

//! The decisions of a variant, passed down from the entry points to every place that needs them.

use pageout_paging::contig::Getter;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::young::YoungAlgorithm;

/// The way to check young bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aging {
    /// The algorithm of checks.
    pub algorithm: YoungAlgorithm,
    /// The flush that follows a young bit found.
    pub flush: FlushPolicy,
}

/// The number of entries that are taken out at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnmapGranularity {
    /// An entry at a time, as kernels did before file folios were unmapped in batches.
    PerEntry,
    /// A run of one folio's entries at a time, where that is sound (Linux 7.3.4,
    /// folio_unmap_pte_batch).
    Batched,
}

/// The time at which other CPUs flush entries that were taken out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlushTiming {
    /// At once, and the task waits for it.
    Immediate,
    /// Deferred until something relies on it (the kernel's TTU_BATCH_FLUSH).
    Deferred,
    /// Deferred on machines of at least `cpus` CPUs, at once on others. Drafts of arm64's deferral
    /// had such a limit (4, later 8), since little is saved on small machines.
    DeferredFrom {
        /// The minimum number of CPUs.
        cpus: u16,
    },
}

impl FlushTiming {
    /// Returns true if the flush is deferred on a machine of `cpus` CPUs.
    pub const fn defers(self, cpus: u16) -> bool {
        match self {
            Self::Immediate => false,
            Self::Deferred => true,
            Self::DeferredFrom { cpus: fewest } => cpus >= fewest,
        }
    }
}

/// The way to take out entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unmapping {
    /// The number of entries taken out at once.
    pub by: UnmapGranularity,
    /// The way to read the entries of a run after its first: gathered, as kernels do, or raw, which
    /// is enough. The young check's algorithm has the same choice
    /// ([`YoungAlgorithm::getter`](pageout_paging::young::YoungAlgorithm::getter)).
    pub read: Getter,
    /// The time at which other CPUs flush.
    pub shootdown: FlushTiming,
}

/// The choice if a first access to anonymous memory asks for a folio as large as the range of a
/// page table (the kernel's `transparent_hugepage/enabled`). [`PmdLeaves`] decides how it is
/// mapped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Thp {
    /// Faults do not ask for one.
    Never,
    /// Faults ask for one, and compact and reclaim for it (`defrag` as for memory that is
    /// madvised).
    Always,
}

/// The choice if faults map by one PMD leaf, as kernels do. It is made if there is no page table
/// yet, for folios as large as the range of one that lie wholly in their VMA.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PmdLeaves {
    /// Faults map them by entries.
    Never,
    /// Faults map files' folios of that size by a leaf, and the folios of [`Thp::Always`].
    WhereTheyFit,
}

/// All decisions of a variant. An embedder takes [`Tuning::recommended`]. The other choices are
/// what kernels do or did, for comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// The way to check young bits.
    pub aging: Aging,
    /// The way to take out entries.
    pub unmapping: Unmapping,
    /// The choice of large folios for faults on anonymous memory.
    pub thp: Thp,
    /// The choice of PMD leaves for the largest folios.
    pub pmd_leaves: PmdLeaves,
}

impl Tuning {
    /// Returns the cheapest choices: young bits a cache line at a time, one deferred flush for each
    /// batch, and no huge pages. Entries are unmapped in batches that are read raw. `flush` is the
    /// architecture's.
    pub const fn recommended(flush: FlushPolicy) -> Self {
        Self {
            aging: Aging { algorithm: YoungAlgorithm::Line, flush },
            unmapping: Unmapping {
                by: UnmapGranularity::Batched,
                read: Getter::Raw,
                shootdown: FlushTiming::Deferred,
            },
            thp: Thp::Never,
            pmd_leaves: PmdLeaves::Never,
        }
    }
}

//! What a variant says: passed down from the entry points to every place where it matters.

use pageout_paging::contig::Getter;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::young::Family;

/// How young bits are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aging {
    /// The family of checks.
    pub family: Family,
    /// What follows a young bit found.
    pub flush: FlushPolicy,
}

/// How many entries are taken out at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnmapBy {
    /// One at a time, as kernels did before file folios were unmapped in batches.
    PerEntry,
    /// A run of one folio's entries at a time, where that is sound (Linux 7.3.4,
    /// folio_unmap_pte_batch).
    Batched,
}

/// When other CPUs are told of entries taken out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShootdownWhen {
    /// At once, and waited for.
    Immediate,
    /// Before anything relies on it (the kernel's TTU_BATCH_FLUSH).
    Deferred,
    /// Deferred on machines of four CPUs or more, else at once: a gate that drafts of arm64's
    /// deferral had, since little is saved on small machines.
    DeferredFrom4,
    /// Deferred on machines of eight CPUs or more, as later drafts had it.
    DeferredFrom8,
}

impl ShootdownWhen {
    /// Whether CPUs are told later, on a machine of so many.
    pub const fn defers(self, cpus: u16) -> bool {
        match self {
            Self::Immediate => false,
            Self::Deferred => true,
            Self::DeferredFrom4 => cpus >= 4,
            Self::DeferredFrom8 => cpus >= 8,
        }
    }
}

/// How entries are taken out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unmapping {
    /// How many at once.
    pub by: UnmapBy,
    /// How the entries of a run are read after its first: gathered, as kernels do, or as they
    /// stand, which is enough. The young check's family has the same choice
    /// ([`Family::getter`](pageout_paging::young::Family::getter)).
    pub read: Getter,
    /// When other CPUs are told.
    pub shootdown: ShootdownWhen,
}

/// Whether a first access to anonymous memory asks for a folio as large as a page table maps (the
/// kernel's `transparent_hugepage/enabled`). By what it is mapped is [`PmdLeaves`]' to say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Thp {
    /// No.
    Never,
    /// Yes, and compacts and reclaims for it (`defrag` as for memory that is madvised).
    Always,
}

/// Whether faults map what is as large as a page table maps, and lies in its VMA as a whole, by one
/// PMD leaf where there is no page table yet, as kernels do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PmdLeaves {
    /// No: by entries.
    Never,
    /// Yes: files' folios of that size, and the folios of [`Thp::Always`].
    WhereTheyFit,
}

/// All that a variant decides. An embedder takes [`Tuning::cheapest`]; the other choices are what
/// kernels do and did, to compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// How young bits are checked.
    pub aging: Aging,
    /// How entries are taken out.
    pub unmapping: Unmapping,
    /// How large the folios are that faults make for anonymous memory.
    pub thp: Thp,
    /// By what faults map the largest.
    pub pmd_leaves: PmdLeaves,
}

impl Tuning {
    /// Young bits a cache line at a time, entries unmapped in batches that are read as they stand,
    /// other CPUs told once a batch, no huge pages. `flush` is the architecture's.
    pub const fn cheapest(flush: FlushPolicy) -> Self {
        Self {
            aging: Aging { family: Family::Line, flush },
            unmapping: Unmapping {
                by: UnmapBy::Batched,
                read: Getter::Raw,
                shootdown: ShootdownWhen::Deferred,
            },
            thp: Thp::Never,
            pmd_leaves: PmdLeaves::Never,
        }
    }
}

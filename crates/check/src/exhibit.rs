//! The bugs that `check` must find, each with the search that finds it.

use super::property::Property;
use pageout_exhibits::Bug;

/// The origin of a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// From a commit or a thread.
    Known,
    /// A kernel does this by its source; it was not seen to fail there.
    BySource,
    /// A constructed bug, from a question or from the reason for some code.
    Constructed,
}

impl Origin {
    /// Returns the origin's name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::BySource => "by source",
            Self::Constructed => "constructed",
        }
    }
}

/// The search that finds an injected bug.
#[derive(Clone, Copy, Debug)]
pub enum Finding {
    /// A search of the scenario of this name.
    Schedule(&'static str),
    /// Every case of a small format, for this property.
    Cases(Property),
}

/// A known bug that `check` must find.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// The bug's name.
    pub name: &'static str,
    /// The origin of the bug.
    pub origin: Origin,
    /// A line that describes it.
    pub what: &'static str,
    /// The bug that the engine has.
    pub bug: Bug,
    /// The search that finds it.
    pub finding: Finding,
    /// The formats in which the bug is found, and the maximum number of steps of the
    /// counterexample.
    pub formats: &'static [(&'static str, usize)],
}

/// Every injected bug.
pub static EXHIBITS: &[Exhibit] = &[
    Exhibit {
        name: "write-out-before-flush",
        origin: Origin::Constructed,
        what: "a dirty folio is written out while a CPU may still write to it",
        bug: Bug::WriteOutBeforeFlush,
        finding: Finding::Schedule("reclaim-dirty"),
        formats: &[("arm64-small-4", 5), ("x86-small", 4)],
    },
    Exhibit {
        name: "free-before-flush",
        origin: Origin::Constructed,
        what: "frames are freed while the invalidation of their entries is still owed",
        bug: Bug::FreeBeforeFlush,
        finding: Finding::Schedule("reclaim-clean"),
        formats: &[("arm64-small-4", 4), ("x86-small", 3)],
    },
    Exhibit {
        name: "copy-before-flush",
        origin: Origin::Constructed,
        what: "a page is copied to another frame while a CPU may still write to the old one",
        bug: Bug::CopyBeforeFlush,
        finding: Finding::Schedule("migrate-anon"),
        formats: &[("arm64-small-4", 11), ("x86-small", 9)],
    },
    Exhibit {
        name: "pending-flush-missed",
        origin: Origin::Known,
        what: "mprotect relies on entries whose invalidation reclaim still owes",
        bug: Bug::PendingFlushMissed,
        finding: Finding::Schedule("mprotect-reclaim"),
        formats: &[("arm64-small-4", 5), ("x86-small", 4)],
    },
    Exhibit {
        name: "remove-before-flush",
        origin: Origin::BySource,
        what: "the index lets go of a folio while the invalidation of its entries is owed",
        bug: Bug::RemoveBeforeFlush,
        finding: Finding::Schedule("reclaim-threads"),
        formats: &[("arm64-small-4", 8), ("x86-small", 7)],
    },
    Exhibit {
        name: "unlock-before-flush",
        origin: Origin::BySource,
        what: "a folio found dirty is unlocked while the invalidation of its entry is owed",
        bug: Bug::UnlockBeforeFlush,
        finding: Finding::Schedule("reclaim-flusher"),
        formats: &[("arm64-small-4", 4), ("x86-small", 3)],
    },
    Exhibit {
        name: "zeros-before-flush",
        origin: Origin::BySource,
        what: "zeros are mapped while the invalidation of a page given up lazily is owed",
        bug: Bug::ZerosBeforeFlush,
        finding: Finding::Schedule("reclaim-lazyfree"),
        formats: &[("arm64-small-4", 7), ("x86-small", 6)],
    },
    Exhibit {
        name: "restore-before-flush",
        origin: Origin::BySource,
        what: "entries are put back as a block while their own invalidation is owed",
        bug: Bug::RestoreBeforeFlush,
        finding: Finding::Schedule("reclaim-lazyfree-split"),
        formats: &[("arm64-small-2", 4), ("arm64-small-4", 5)],
    },
    Exhibit {
        name: "copy-while-unmapped",
        origin: Origin::Constructed,
        what: "a fault copies a folio that reclaim has unmapped and not yet flushed",
        bug: Bug::FaultWithoutLock,
        finding: Finding::Schedule("reclaim-private"),
        formats: &[("arm64-small-4", 8), ("x86-small", 7)],
    },
    Exhibit {
        name: "fault-while-unmapped",
        origin: Origin::Constructed,
        what: "fault-around maps a folio that reclaim has unmapped and not yet flushed",
        bug: Bug::FaultWithoutLock,
        finding: Finding::Schedule("reclaim-fault-around"),
        formats: &[("arm64-small-2", 6), ("arm64-small-4", 4)],
    },
    Exhibit {
        name: "make-before-break",
        origin: Origin::Constructed,
        what: "a contiguous block is split, and TLBs are not made to forget it first",
        bug: Bug::MakeBeforeBreak,
        finding: Finding::Schedule("munmap-part"),
        formats: &[("arm64-small-2", 5), ("arm64-small-4", 5)],
    },
    Exhibit {
        name: "folded-edges",
        origin: Origin::Constructed,
        what: "part of a contiguous block is taken out, and the rest stays marked contiguous",
        bug: Bug::FoldedEdges,
        finding: Finding::Schedule("munmap-part"),
        formats: &[("arm64-small-4", 6)],
    },
    Exhibit {
        name: "split-before-flush",
        origin: Origin::Constructed,
        what: "a PMD leaf is split, and TLBs keep it beside the entries in its place",
        bug: Bug::SplitBeforeFlush,
        finding: Finding::Schedule("leaf-munmap-part"),
        formats: &[("arm64-small-2", 5), ("arm64-small-4", 5)],
    },
    Exhibit {
        name: "split-loses-dirty",
        origin: Origin::Constructed,
        what: "a dirty PMD leaf is split into clean entries",
        bug: Bug::SplitLosesDirty,
        finding: Finding::Schedule("leaf-reclaim-lazyfree"),
        formats: &[("arm64-small-4", 12), ("x86-small", 10)],
    },
    Exhibit {
        name: "mapcount-once",
        origin: Origin::Constructed,
        what: "a batch of entries is taken out, and the mapcount falls by one",
        bug: Bug::MapcountOnce,
        finding: Finding::Schedule("reclaim-clean"),
        formats: &[("arm64-small-4", 7)],
    },
    Exhibit {
        name: "local-invalidation",
        origin: Origin::Constructed,
        what: "invalidations reach only the CPU that issues them",
        bug: Bug::LocalInvalidation,
        finding: Finding::Schedule("reclaim-clean"),
        formats: &[("arm64-small-4", 4)],
    },
    Exhibit {
        name: "uffd-wp-batched",
        origin: Origin::Known,
        what: "several entries that userfaultfd write-protects are unmapped, and one is marked",
        bug: Bug::UffdWpBatched,
        finding: Finding::Cases(Property::Batch),
        formats: &[("x86-small", 3), ("arm64-small-4", 4)],
    },
    Exhibit {
        name: "first-entry-alone",
        origin: Origin::Constructed,
        what: "the first entry alone decides whether a run is contiguous",
        bug: Bug::FirstEntryAlone,
        finding: Finding::Cases(Property::Young),
        formats: &[("arm64-small-4", 3)],
    },
    Exhibit {
        name: "byte-length",
        origin: Origin::Known,
        what: "a byte length is passed where a number of entries was meant",
        bug: Bug::ByteLength,
        finding: Finding::Cases(Property::Young),
        formats: &[("arm64-small-4", 3)],
    },
    Exhibit {
        name: "load-and-store",
        origin: Origin::Constructed,
        what: "bits are cleared by a load and a store",
        bug: Bug::LoadAndStore,
        finding: Finding::Cases(Property::Young),
        formats: &[("x86-small", 4)],
    },
    Exhibit {
        name: "batch-past-folio",
        origin: Origin::Constructed,
        what: "an aging walk's batch of young entries goes on into the folio behind",
        bug: Bug::BatchPastFolio,
        finding: Finding::Cases(Property::Aging),
        formats: &[("x86-small", 2), ("arm64-small-2", 2)],
    },
    Exhibit {
        name: "batch-past-end",
        origin: Origin::Constructed,
        what: "an aging walk's batch of young entries goes on past the end of its VMA",
        bug: Bug::BatchPastEnd,
        finding: Finding::Cases(Property::Aging),
        formats: &[("x86-small", 1), ("arm64-small-2", 2)],
    },
    Exhibit {
        name: "last-block-cut",
        origin: Origin::Constructed,
        what: "an aging walk leaves the part of a contiguous block that lies past its VMA's end",
        bug: Bug::LastBlockCut,
        finding: Finding::Cases(Property::Aging),
        formats: &[("arm64-small-2", 0), ("arm64-small-4", 0)],
    },
    Exhibit {
        name: "filter-noted-here",
        origin: Origin::Constructed,
        what: "an aging walk notes tables in the filter that it asks, not in the next walk's",
        bug: Bug::FilterNotedHere,
        finding: Finding::Cases(Property::Aging),
        formats: &[("x86-small", 1)],
    },
    Exhibit {
        name: "look-around-one",
        origin: Origin::Known,
        what: "a look-around counts one entry of the folio asked for, not its run",
        bug: Bug::LookAroundOne,
        finding: Finding::Cases(Property::Aging),
        formats: &[("x86-64", 1)],
    },
];

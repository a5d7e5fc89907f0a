//! The catalog of bugs put into the engine, each with the search of [`pageout_check`] that must
//! find it.
//!
//! It is a crate of its own, since each bug compiles the engine again, and finding it takes few
//! steps. So release builds can leave it without optimisation, and keep `check` fast.
#![forbid(unsafe_code)]

use pageout_check::aging::{aging, looking_around};
use pageout_check::batches::unmapping;
use pageout_check::exhibit::{Exhibit, Finding, Origin};
use pageout_check::property::Property;
use pageout_check::stage::Stage;
use pageout_check::young::young;
use pageout_exhibits::{
    BatchPastEnd, BatchPastFolio, ByteLength, CopyBeforeFlush, FaultWithoutLock, FilterNotedHere,
    FirstEntryAlone, FoldedEdges, FreeBeforeFlush, LastBlockCut, LoadAndStore, LocalInvalidation,
    LookAroundOne, MakeBeforeBreak, MapcountOnce, PendingFlushMissed, RemoveBeforeFlush,
    RestoreBeforeFlush, SplitBeforeFlush, SplitLosesDirty, UffdWpBatched, UnlockBeforeFlush,
    WriteOutBeforeFlush, ZerosBeforeFlush,
};
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallX86, X86_64};

/// Every exhibit.
pub static EXHIBITS: &[Exhibit] = &[
    Exhibit {
        name: "write-out-before-flush",
        origin: Origin::Constructed,
        what: "a dirty folio is written out while a CPU may still write to it",
        finding: Finding::Schedule(
            "reclaim-dirty",
            &[
                Stage::of::<WriteOutBeforeFlush, SmallArm4>(),
                Stage::of::<WriteOutBeforeFlush, SmallX86>(),
            ],
        ),
    },
    Exhibit {
        name: "free-before-flush",
        origin: Origin::Constructed,
        what: "frames are freed while the invalidation of their entries is still owed",
        finding: Finding::Schedule(
            "reclaim-clean",
            &[Stage::of::<FreeBeforeFlush, SmallArm4>(), Stage::of::<FreeBeforeFlush, SmallX86>()],
        ),
    },
    Exhibit {
        name: "copy-before-flush",
        origin: Origin::Constructed,
        what: "a page is copied to another frame while a CPU may still write to the old one",
        finding: Finding::Schedule(
            "migrate-anon",
            &[Stage::of::<CopyBeforeFlush, SmallArm4>(), Stage::of::<CopyBeforeFlush, SmallX86>()],
        ),
    },
    Exhibit {
        name: "pending-flush-missed",
        origin: Origin::Known,
        what: "mprotect relies on entries whose invalidation reclaim still owes",
        finding: Finding::Schedule(
            "mprotect-reclaim",
            &[
                Stage::of::<PendingFlushMissed, SmallArm4>(),
                Stage::of::<PendingFlushMissed, SmallX86>(),
            ],
        ),
    },
    Exhibit {
        name: "remove-before-flush",
        origin: Origin::BySource,
        what: "the index lets go of a folio while the invalidation of its entries is owed",
        finding: Finding::Schedule(
            "reclaim-threads",
            &[
                Stage::of::<RemoveBeforeFlush, SmallArm4>(),
                Stage::of::<RemoveBeforeFlush, SmallX86>(),
            ],
        ),
    },
    Exhibit {
        name: "unlock-before-flush",
        origin: Origin::BySource,
        what: "a folio found dirty is unlocked while the invalidation of its entry is owed",
        finding: Finding::Schedule(
            "reclaim-flusher",
            &[
                Stage::of::<UnlockBeforeFlush, SmallArm4>(),
                Stage::of::<UnlockBeforeFlush, SmallX86>(),
            ],
        ),
    },
    Exhibit {
        name: "zeros-before-flush",
        origin: Origin::BySource,
        what: "zeros are mapped while the invalidation of a page given up lazily is owed",
        finding: Finding::Schedule(
            "reclaim-lazyfree",
            &[
                Stage::of::<ZerosBeforeFlush, SmallArm4>(),
                Stage::of::<ZerosBeforeFlush, SmallX86>(),
            ],
        ),
    },
    Exhibit {
        name: "restore-before-flush",
        origin: Origin::BySource,
        what: "entries are put back as a block while their own invalidation is owed",
        finding: Finding::Schedule(
            "reclaim-lazyfree-split",
            &[
                Stage::of::<RestoreBeforeFlush, SmallArm2>(),
                Stage::of::<RestoreBeforeFlush, SmallArm4>(),
            ],
        ),
    },
    Exhibit {
        name: "copy-while-unmapped",
        origin: Origin::Constructed,
        what: "a fault copies a folio that reclaim has unmapped and not yet flushed",
        finding: Finding::Schedule(
            "reclaim-private",
            &[
                Stage::of::<FaultWithoutLock, SmallArm4>(),
                Stage::of::<FaultWithoutLock, SmallX86>(),
            ],
        ),
    },
    Exhibit {
        name: "fault-while-unmapped",
        origin: Origin::Constructed,
        what: "fault-around maps a folio that reclaim has unmapped and not yet flushed",
        finding: Finding::Schedule(
            "reclaim-fault-around",
            &[
                Stage::of::<FaultWithoutLock, SmallArm2>(),
                Stage::of::<FaultWithoutLock, SmallArm4>(),
            ],
        ),
    },
    Exhibit {
        name: "make-before-break",
        origin: Origin::Constructed,
        what: "a contiguous block is split, and TLBs are not made to forget it first",
        finding: Finding::Schedule(
            "munmap-part",
            &[Stage::of::<MakeBeforeBreak, SmallArm2>(), Stage::of::<MakeBeforeBreak, SmallArm4>()],
        ),
    },
    Exhibit {
        name: "folded-edges",
        origin: Origin::Constructed,
        what: "part of a contiguous block is taken out, and the rest stays marked contiguous",
        finding: Finding::Schedule("munmap-part", &[Stage::of::<FoldedEdges, SmallArm4>()]),
    },
    Exhibit {
        name: "split-before-flush",
        origin: Origin::Constructed,
        what: "a PMD leaf is split, and TLBs keep it beside the entries in its place",
        finding: Finding::Schedule(
            "leaf-munmap-part",
            &[
                Stage::of::<SplitBeforeFlush, SmallArm2>(),
                Stage::of::<SplitBeforeFlush, SmallArm4>(),
            ],
        ),
    },
    Exhibit {
        name: "split-loses-dirty",
        origin: Origin::Constructed,
        what: "a dirty PMD leaf is split into clean entries",
        finding: Finding::Schedule(
            "leaf-reclaim-lazyfree",
            &[Stage::of::<SplitLosesDirty, SmallArm4>(), Stage::of::<SplitLosesDirty, SmallX86>()],
        ),
    },
    Exhibit {
        name: "mapcount-once",
        origin: Origin::Constructed,
        what: "a batch of entries is taken out, and the mapcount falls by one",
        finding: Finding::Schedule("reclaim-clean", &[Stage::of::<MapcountOnce, SmallArm4>()]),
    },
    Exhibit {
        name: "local-invalidation",
        origin: Origin::Constructed,
        what: "invalidations reach only the CPU that issues them",
        finding: Finding::Schedule("reclaim-clean", &[Stage::of::<LocalInvalidation, SmallArm4>()]),
    },
    Exhibit {
        name: "uffd-wp-batched",
        origin: Origin::Known,
        what: "several entries that userfaultfd write-protects are unmapped, and one is marked",
        finding: Finding::Cases(
            Property::Batch,
            &[
                ("x86-small", unmapping::<UffdWpBatched, SmallX86>),
                ("arm64-small-4", unmapping::<UffdWpBatched, SmallArm4>),
            ],
        ),
    },
    Exhibit {
        name: "first-entry-alone",
        origin: Origin::Constructed,
        what: "the first entry alone decides whether a run is contiguous",
        finding: Finding::Cases(
            Property::Young,
            &[("arm64-small-4", young::<FirstEntryAlone, SmallArm4>)],
        ),
    },
    Exhibit {
        name: "byte-length",
        origin: Origin::Known,
        what: "a byte length is passed where a number of entries was meant",
        finding: Finding::Cases(
            Property::Young,
            &[("arm64-small-4", young::<ByteLength, SmallArm4>)],
        ),
    },
    Exhibit {
        name: "load-and-store",
        origin: Origin::Constructed,
        what: "bits are cleared by a load and a store",
        finding: Finding::Cases(Property::Young, &[("x86-small", young::<LoadAndStore, SmallX86>)]),
    },
    Exhibit {
        name: "batch-past-folio",
        origin: Origin::Constructed,
        what: "an aging walk's batch of young entries goes on into the folio behind",
        finding: Finding::Cases(
            Property::Aging,
            &[
                ("x86-small", aging::<BatchPastFolio, SmallX86>),
                ("arm64-small-2", aging::<BatchPastFolio, SmallArm2>),
            ],
        ),
    },
    Exhibit {
        name: "batch-past-end",
        origin: Origin::Constructed,
        what: "an aging walk's batch of young entries goes on past the end of its VMA",
        finding: Finding::Cases(
            Property::Aging,
            &[
                ("x86-small", aging::<BatchPastEnd, SmallX86>),
                ("arm64-small-2", aging::<BatchPastEnd, SmallArm2>),
            ],
        ),
    },
    Exhibit {
        name: "last-block-cut",
        origin: Origin::Constructed,
        what: "an aging walk leaves the part of a contiguous block that lies past its VMA's end",
        finding: Finding::Cases(
            Property::Aging,
            &[
                ("arm64-small-2", aging::<LastBlockCut, SmallArm2>),
                ("arm64-small-4", aging::<LastBlockCut, SmallArm4>),
            ],
        ),
    },
    Exhibit {
        name: "filter-noted-here",
        origin: Origin::Constructed,
        what: "an aging walk notes tables in the filter that it asks, not in the next walk's",
        finding: Finding::Cases(
            Property::Aging,
            &[("x86-small", aging::<FilterNotedHere, SmallX86>)],
        ),
    },
    Exhibit {
        name: "look-around-one",
        origin: Origin::Known,
        what: "a look-around counts one entry of the folio asked for, not its run",
        finding: Finding::Cases(
            Property::Aging,
            &[("x86-64", looking_around::<LookAroundOne, X86_64>)],
        ),
    },
];

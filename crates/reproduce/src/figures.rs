//! The threads' figures as data, each with the methods that answer it. Sources: the threads
//! themselves and replies to them on linux-mm and linux-arm-kernel.

mod theirs;
mod xavier;

use super::figure::{Certainty, Figure, Side, Theirs, Thread, figure};
use super::method::Method::{
    Computed, Counted, CountedShare, Host, HostShare, Modelled, ModelledAfter, NeededInSlots, Not,
    NotIdentified, Shootdowns,
};
use super::method::{Arithmetic, Method, SharedQuantity, State, Steps};
use super::platforms::{ARM, KUNPENG, SNAPDRAGON, X86};
use Certainty::Claimed;
use Side::{Better, Worse};
use Thread::{Lists, S0, S1, S2, S4};
use pageout_experiment::metrics::NS_PER_PAGE;
use theirs::{costs, faster, saved, saved_or_more, seconds, slower, throughput, value};

/// 4K pages of the 8 GiB that S0's and S1's benchmark reclaims.
const PAGES: f64 = 2_097_152.0;
/// 4K pages of the 256 MB that are paged out as anonymous folios.
const ANON_PAGES: f64 = 65_536.0;
/// 4K pages that S4's program pages out: 1 MiB, 10,000 times.
const SHARED_PAGES: f64 = 2_560_000.0;

const OF_TIME: &str = "% of time";
const OF_CPU: &str = "% of CPU";

const ARM_32: (&str, Option<&str>) = ("arm64, 32 cores", Some(ARM));
const ANY_X86: (&str, Option<&str>) = ("x86", Some(X86));
const PHONE: (&str, Option<&str>) = ("Snapdragon 888, 8 cores", Some(SNAPDRAGON));
const KUNPENG_920: (&str, Option<&str>) = ("Kunpeng 920, about 100 cores", Some(KUNPENG));
const THP_MACHINE: (&str, Option<&str>) = ("arm64", Some(ARM));

const CLASSIC_YOUNG: &[Method] =
    &[Modelled(Steps::ClassicYoung), Counted(Steps::ClassicYoung), Host(Steps::ClassicYoung)];
const CLASSIC_UNMAP: &[Method] =
    &[Modelled(Steps::ClassicUnmap), Counted(Steps::ClassicUnmap), Host(Steps::ClassicUnmap)];
const MGLRU_YOUNG: &[Method] =
    &[Modelled(Steps::MglruYoung), Counted(Steps::MglruYoung), Host(Steps::MglruYoung)];
const FLUSH_SHARE: &[Method] = &[Shootdowns(SharedQuantity::Share)];
const BARRIER_ALONE: &[Method] = &[Not(
    "a barrier completes what its own CPU issued, which may not be the CPU that deferred: unsafe, \
     and no variant here",
)];
const NO_ANON: &[Method] = &[Not(
    "folios that leave swap entries are unmapped entry by entry here, as in Linux 7.3.4, which \
     lacks the series",
)];
const NO_MREMAP: &[Method] =
    &[Not("mremap has no variants here, and no cost of its own is counted")];

/// Returns every figure, thread by thread.
pub(super) fn all() -> impl Iterator<Item = &'static Figure> {
    [RECLAIM, THP, xavier::MEANS, xavier::VARIATION_OF_TESTS, SHOOTDOWN, LISTS]
        .into_iter()
        .flatten()
}

const RECLAIM: &[Figure] = &[
    figure(
        (S0, "s0-young-arm64"),
        ARM_32,
        "8 of 10 GiB reclaimed, young batched: 1.518 to 1.018 s",
        seconds(1.518, 1.018, PAGES),
        Claimed,
        CLASSIC_YOUNG,
    ),
    figure(
        (S0, "s0-young-x86"),
        ANY_X86,
        "the same on x86: 10 % or more",
        saved_or_more(10.0),
        Claimed,
        CLASSIC_YOUNG,
    ),
    figure(
        (S0, "s0-share-before"),
        ARM_32,
        "share of folio_check_references before, about",
        value(35.0, OF_TIME),
        Claimed,
        &[CountedShare(Steps::ClassicYoung), HostShare(Steps::ClassicYoung, State::Before)],
    ),
    figure(
        (S0, "s0-share-after"),
        ARM_32,
        "its share after, about",
        value(5.0, OF_TIME),
        Claimed,
        &[HostShare(Steps::ClassicYoung, State::After)],
    ),
    figure(
        (S0, "s0-unmap-arm64"),
        ARM_32,
        "file folios unmapped in batches too: 1.018 to 0.249 s",
        seconds(1.018, 0.249, PAGES),
        Claimed,
        CLASSIC_UNMAP,
    ),
    figure(
        (S0, "s0-unmap-x86"),
        ANY_X86,
        "the same on x86: 50 % or more",
        saved_or_more(50.0),
        Claimed,
        CLASSIC_UNMAP,
    ),
    figure(
        (S1, "s1-mglru-arm64"),
        ARM_32,
        "8 of 10 GiB reclaimed, MGLRU batched: 0.470 to 0.180 s",
        seconds(0.470, 0.180, PAGES),
        Claimed,
        MGLRU_YOUNG,
    ),
    figure(
        (S1, "s1-mglru-arm64-sys"),
        ARM_32,
        "its system time after: 0.179 s",
        value(0.179e9 / PAGES, NS_PER_PAGE),
        Claimed,
        &[ModelledAfter(Steps::MglruYoung)],
    ),
    figure(
        (S1, "s1-mglru-x86"),
        ANY_X86,
        "the same on x86: about 15 %",
        saved(15.0, 15.0),
        Claimed,
        MGLRU_YOUNG,
    ),
];

const THP: &[Figure] = &[
    figure(
        (S2, "s2-thpscale-1"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 1",
        costs(1093.19, 1084.57, "us"),
        Claimed,
        &[NotIdentified],
    ),
    figure(
        (S2, "s2-thpscale-3"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 3",
        costs(2566.22, 2228.45, "us"),
        Claimed,
        &[NotIdentified],
    ),
    figure(
        (S2, "s2-thpscale-5"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 5",
        costs(3591.22, 3146.73, "us"),
        Claimed,
        &[NotIdentified],
    ),
    figure(
        (S2, "s2-thpscale-7"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 7",
        costs(4157.26, 4113.67, "us"),
        Claimed,
        &[NotIdentified],
    ),
    figure(
        (S2, "s2-thpscale-12"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 12",
        costs(6184.79, 5218.7, "us"),
        Claimed,
        &[NeededInSlots(12)],
    ),
    figure(
        (S2, "s2-thpscale-18"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 18",
        costs(9103.7, 7739.71, "us"),
        Claimed,
        &[NeededInSlots(18)],
    ),
    figure(
        (S2, "s2-thpscale-24"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 24",
        costs(12341.73, 10684.23, "us"),
        Claimed,
        &[NeededInSlots(24)],
    ),
    figure(
        (S2, "s2-thpscale-30"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 30",
        costs(15519.0, 13695.14, "us"),
        Claimed,
        &[NeededInSlots(30)],
    ),
    figure(
        (S2, "s2-thpscale-32"),
        THP_MACHINE,
        "thpscale, mean of fault-both, threads: 32",
        costs(16189.15, 14365.73, "us"),
        Claimed,
        &[NeededInSlots(32)],
    ),
    figure(
        (S2, "s2-thpscale-user"),
        THP_MACHINE,
        "thpscale, duration: user",
        costs(167.78, 161.03, "s"),
        Claimed,
        &[Computed(Arithmetic::BusyCpus)],
    ),
    figure(
        (S2, "s2-thpscale-system"),
        THP_MACHINE,
        "thpscale, duration: system",
        costs(1836.66, 1673.01, "s"),
        Claimed,
        &[Computed(Arithmetic::BusyCpus)],
    ),
    figure(
        (S2, "s2-thpscale-elapsed"),
        THP_MACHINE,
        "thpscale, duration: elapsed",
        costs(2074.58, 2059.75, "s"),
        Claimed,
        &[Computed(Arithmetic::BusyCpus)],
    ),
];

const SHOOTDOWN: &[Figure] = &[
    figure(
        (S4, "s4-flush-share-phone"),
        PHONE,
        "pages mapped once paged out: share of ptep_clear_flush",
        value(5.36, OF_CPU),
        Claimed,
        FLUSH_SHARE,
    ),
    figure(
        (S4, "s4-flush-share-gone"),
        PHONE,
        "the same after: overhead gone",
        Theirs::Side(Better),
        Claimed,
        &[Shootdowns(SharedQuantity::Gone)],
    ),
    figure(
        (S4, "s4-micro-phone"),
        PHONE,
        "1 MiB shared, read and MADV_PAGEOUT in turn: 5 % faster",
        faster(5.0),
        Claimed,
        &[Shootdowns(SharedQuantity::Time)],
    ),
    figure(
        (S4, "s4-flush-share-kunpeng"),
        KUNPENG_920,
        "pages mapped once paged out: share of ptep_clear_flush",
        value(16.99, OF_CPU),
        Claimed,
        FLUSH_SHARE,
    ),
    figure(
        (S4, "s4-time-phone"),
        PHONE,
        "the program's time in commit 43b3dfdd0455: 14.69 to 13.80 s",
        seconds(14.69, 13.80, SHARED_PAGES),
        Claimed,
        &[Shootdowns(SharedQuantity::Time)],
    ),
    figure(
        (S4, "s4-time-kunpeng"),
        KUNPENG_920,
        "the program's time in commit 43b3dfdd0455: 13.460 to 11.771 s",
        seconds(13.460, 11.771, SHARED_PAGES),
        Claimed,
        &[Shootdowns(SharedQuantity::Time)],
    ),
    figure(
        (S4, "s4-shell1"),
        ("96 CPUs", Some(KUNPENG)),
        "UnixBench shell1 regresses with the series",
        Theirs::Side(Worse),
        Claimed,
        &[NotIdentified],
    ),
    figure(
        (S4, "s4-shell1-barrier"),
        ("96 CPUs", Some(KUNPENG)),
        "shell1: waiting by a barrier alone wins it back",
        Theirs::Side(Better),
        Claimed,
        BARRIER_ALONE,
    ),
];

const LISTS: &[Figure] = &[
    figure(
        (Lists, "lists-mglru-loop"),
        ("YCSB on MongoDB", None),
        "MGLRU reclaim loop reworked (Kairui Song): up to about 30 % more",
        throughput(0.0, 30.0),
        Claimed,
        &[Not(
            "YCSB on MongoDB does not run here; the loop itself is the engine's, as Linux 7.3 has \
             it",
        )],
    ),
    figure(
        (Lists, "lists-anon-unmap-m3"),
        ("Apple M3, VM", None),
        "256 MB of 64K anonymous folios, MADV_PAGEOUT (Dev Jain): 37.40 to 17.42 ms",
        seconds(0.037_40, 0.017_42, ANON_PAGES),
        Claimed,
        NO_ANON,
    ),
    figure(
        (Lists, "lists-anon-unmap-x86"),
        ("x86", Some(X86)),
        "the same on x86: 54.99 to 51.93 ms",
        seconds(0.054_99, 0.051_93, ANON_PAGES),
        Claimed,
        NO_ANON,
    ),
    figure(
        (Lists, "lists-mremap-large"),
        ("an arm64 machine", None),
        "mremap batched: 37 % gained",
        faster(37.0),
        Claimed,
        NO_MREMAP,
    ),
    figure(
        (Lists, "lists-mremap-small"),
        ("another machine", None),
        "mremap batched, small folios: as much lost by looking up folios",
        slower(37.0),
        Claimed,
        NO_MREMAP,
    ),
    figure(
        (Lists, "lists-thp-split"),
        THP_MACHINE,
        "thpscale, flushes batched where THPs are split: 16 to 28 % against 6.5",
        saved(16.0, 28.0),
        Claimed,
        &[Not("what splits a huge page mapped by entries, and its flushes, is not modelled")],
    ),
];

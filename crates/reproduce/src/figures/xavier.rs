//! The measurements on Xavier of three ways to follow a young bit: the TLBI and a wait for it
//! (`sync`), the TLBI alone (`nosync`), and neither (`none`). 31 runs each; significant means
//! p < 0.01.

use super::theirs::{faster, throughput, value};
use crate::figure::{Figure, Said, Side, Theirs, Thread, figure};
use crate::method::Arithmetic;
use crate::method::Ask::{Means, Variation, Variations, Worst, Writes};
use crate::method::Method::{Computed, Patterns};
use crate::method::Policy::{None, Nosync, Sync};
use crate::method::Test::{
    HalfHotRead, HotRead, HotWrite, RandomRead, RandomWrite, SeqRead, SeqWrite,
};
use crate::platforms::CARMEL;
use Said::{Claimed, No, Tested};
use Side::{Better, Neither, Worse};

const XAVIER: (&str, Option<&str>) = ("Xavier, 8 Carmel cores", Some(CARMEL));
const VARIATION: &str = "% of the mean";
const TIMES: &str = "times";
const PERCENT: &str = "%";

pub(super) const MEANS: &[Figure] = &[
    figure(
        (Thread::S3, "s3-nvme-read"),
        XAVIER,
        "NVMe reads, none against sync: 10 to 15 % more",
        throughput(10.0, 15.0),
        Claimed,
        &[Patterns(Means(SeqRead, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-nvme-write"),
        XAVIER,
        "NVMe writes, none against sync: 20 to 40 % more",
        throughput(20.0, 40.0),
        Claimed,
        &[Patterns(Means(SeqWrite, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-seq-read-none-sync"),
        XAVIER,
        "sequential read, mean: none 8 % faster than sync",
        faster(8.0),
        Tested,
        &[Patterns(Means(SeqRead, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-seq-read-nosync"),
        XAVIER,
        "sequential read, mean: nosync cannot be told from either",
        Theirs::Side(Neither),
        No,
        &[Patterns(Means(SeqRead, Sync, Nosync)), Patterns(Means(SeqRead, None, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-rand-read-nosync-sync"),
        XAVIER,
        "random read, mean: nosync 8 % faster than sync",
        faster(8.0),
        Tested,
        &[Patterns(Means(RandomRead, Sync, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-rand-read-nosync-none"),
        XAVIER,
        "random read, mean: nosync 8 % faster than none",
        faster(8.0),
        Tested,
        &[Patterns(Means(RandomRead, None, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-rand-read-none-sync"),
        XAVIER,
        "random read, mean: sync and none alike",
        Theirs::Side(Neither),
        No,
        &[Patterns(Means(RandomRead, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-hot-read-nosync-sync"),
        XAVIER,
        "hot and random read, mean: nosync 12 % faster than sync",
        faster(12.0),
        Tested,
        &[Patterns(Means(HotRead, Sync, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-hot-read-nosync-none"),
        XAVIER,
        "hot and random read, mean: nosync 9 % faster than none",
        faster(9.0),
        Tested,
        &[Patterns(Means(HotRead, None, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-hot-read-none-sync"),
        XAVIER,
        "hot and random read, mean: none 4 % faster than sync",
        faster(4.0),
        Tested,
        &[Patterns(Means(HotRead, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-seq-write-sync"),
        XAVIER,
        "sequential write, mean: sync 8 % faster, p = 0.014",
        faster(8.0),
        No,
        &[Patterns(Means(SeqWrite, None, Sync))],
    ),
    figure(
        (Thread::S3, "s3-rand-write-none-sync"),
        XAVIER,
        "random write, mean: none 51 % faster than sync",
        faster(51.0),
        Tested,
        &[Patterns(Means(RandomWrite, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-rand-write-none-nosync"),
        XAVIER,
        "random write, mean: none 38 % faster than nosync",
        faster(38.0),
        Tested,
        &[Patterns(Means(RandomWrite, Nosync, None))],
    ),
    figure(
        (Thread::S3, "s3-hot-write-none-sync"),
        XAVIER,
        "hot and random write, mean: none 46 % faster than sync",
        faster(46.0),
        Tested,
        &[Patterns(Means(HotWrite, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-hot-write-none-nosync"),
        XAVIER,
        "hot and random write, mean: none 45 % faster than nosync",
        faster(45.0),
        Tested,
        &[Patterns(Means(HotWrite, Nosync, None))],
    ),
    figure(
        (Thread::S3, "s3-half-hot-nosync-sync"),
        XAVIER,
        "half hot, reads: nosync about 10 % better than sync",
        faster(10.0),
        Claimed,
        &[Patterns(Means(HalfHotRead, Sync, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-half-hot-nosync-none"),
        XAVIER,
        "half hot, reads: nosync about 10 % better than none",
        faster(10.0),
        Claimed,
        &[Patterns(Means(HalfHotRead, None, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-false-positive"),
        ("arithmetic", Option::None),
        "chance of a false positive in 36 comparisons at p = 1/36",
        value(50.0, "%"),
        Claimed,
        &[Computed(Arithmetic::FalsePositive)],
    ),
    figure(
        (Thread::S3, "s3-reach"),
        XAVIER,
        "harm is bounded by the reach of a TLB of 1024 entries",
        value(4.0, "MiB"),
        Claimed,
        &[Computed(Arithmetic::Reach)],
    ),
];

pub(super) const VARIATION_OF_TESTS: &[Figure] = &[
    figure(
        (Thread::S3, "s3-seq-read-var-nosync-sync"),
        XAVIER,
        "sequential read, variation: nosync against sync",
        Theirs::Value { value: 3.5, unit: TIMES, side: Worse },
        Tested,
        &[Patterns(Variations(SeqRead, Sync, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-seq-read-var-nosync-none"),
        XAVIER,
        "sequential read, variation: nosync against none",
        Theirs::Value { value: 12.3, unit: TIMES, side: Worse },
        Tested,
        &[Patterns(Variations(SeqRead, None, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-seq-read-var-none-sync"),
        XAVIER,
        "sequential read, variation: none that much less than sync",
        Theirs::Value { value: 3.5, unit: TIMES, side: Better },
        Tested,
        &[Patterns(Variations(SeqRead, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-seq-read-var-nosync"),
        XAVIER,
        "sequential read, variation of nosync",
        Theirs::Value { value: 38.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Variation(SeqRead, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-seq-read-var-sync"),
        XAVIER,
        "sequential read, variation of sync, about",
        Theirs::Value { value: 12.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Variation(SeqRead, Sync))],
    ),
    figure(
        (Thread::S3, "s3-seq-read-var-none"),
        XAVIER,
        "sequential read, variation of none, about",
        Theirs::Value { value: 4.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Variation(SeqRead, None))],
    ),
    figure(
        (Thread::S3, "s3-rand-read-var-nosync"),
        XAVIER,
        "random read, variation: nosync less than both, about",
        Theirs::Value { value: 3.0, unit: TIMES, side: Better },
        Tested,
        &[
            Patterns(Variations(RandomRead, Sync, Nosync)),
            Patterns(Variations(RandomRead, None, Nosync)),
        ],
    ),
    figure(
        (Thread::S3, "s3-rand-read-var-nosync-own"),
        XAVIER,
        "random read, variation of nosync",
        Theirs::Value { value: 1.5, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Variation(RandomRead, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-hot-read-var-sync"),
        XAVIER,
        "hot and random read, variation of sync, the lowest",
        Theirs::Value { value: 1.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Variation(HotRead, Sync))],
    ),
    figure(
        (Thread::S3, "s3-hot-read-var-sync-nosync"),
        XAVIER,
        "hot and random read, variation: sync of nosync",
        Theirs::Value { value: 64.0, unit: PERCENT, side: Worse },
        Tested,
        &[Patterns(Variations(HotRead, Sync, Nosync))],
    ),
    figure(
        (Thread::S3, "s3-hot-read-var-sync-none"),
        XAVIER,
        "hot and random read, variation: sync of none",
        Theirs::Value { value: 22.0, unit: PERCENT, side: Worse },
        Tested,
        &[Patterns(Variations(HotRead, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-hot-read-var-none"),
        XAVIER,
        "hot and random read, variation of none",
        Theirs::Value { value: 5.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Variation(HotRead, None))],
    ),
    figure(
        (Thread::S3, "s3-write-var"),
        XAVIER,
        "writes, variation, about",
        Theirs::Value { value: 10.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Writes)],
    ),
    figure(
        (Thread::S3, "s3-rand-write-var"),
        XAVIER,
        "random write, variation: no difference",
        Theirs::Side(Neither),
        No,
        &[
            Patterns(Variations(RandomWrite, Sync, Nosync)),
            Patterns(Variations(RandomWrite, Sync, None)),
        ],
    ),
    figure(
        (Thread::S3, "s3-hot-write-var"),
        XAVIER,
        "hot and random write, variation: no difference",
        Theirs::Side(Neither),
        No,
        &[Patterns(Variations(HotWrite, Sync, Nosync)), Patterns(Variations(HotWrite, Sync, None))],
    ),
    figure(
        (Thread::S3, "s3-worst-var-none"),
        XAVIER,
        "largest variation of any test, none",
        Theirs::Value { value: 5.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Worst(None))],
    ),
    figure(
        (Thread::S3, "s3-worst-var-nosync"),
        XAVIER,
        "largest variation of any test, nosync",
        Theirs::Value { value: 38.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Worst(Nosync))],
    ),
    figure(
        (Thread::S3, "s3-worst-var-sync"),
        XAVIER,
        "largest variation of any test, sync",
        Theirs::Value { value: 12.0, unit: VARIATION, side: Neither },
        No,
        &[Patterns(Worst(Sync))],
    ),
];

//! The counts of each algorithm for the same accesses, worked out by hand, and beside real kernels.

use super::cell::count;
use super::process::{Process, Tally};
use crate::counting::Counter;
use crate::scenario::HostScenario;
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::scenarios::{AgingRounds, Pattern};
use pageout_experiment::variant::{Lru, Variant};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::mglru::MmStats;

/// A scenario that fits in memory: 4 MiB on either side of a table's edge, in 5 tables.
const SMALL: AgingRounds =
    AgingRounds { bytes: 8 << 20, limit_percent: 100, ..AgingRounds::DEFAULT };
const GIB: AgingRounds = AgingRounds { bytes: 1 << 30, ..SMALL };
const ALL: Pattern = Pattern::OneIn(1);

fn arm64(pattern: Pattern, of: AgingRounds) -> AgingRounds {
    AgingRounds { format: FormatName::Arm64_4K, pattern, ..of }
}

fn x86_64(pattern: Pattern, order: u8, of: AgingRounds) -> AgingRounds {
    AgingRounds { format: FormatName::X86_64, pattern, order: OrderName::Number(order), ..of }
}

fn variant(algorithm: YoungAlgorithm) -> Variant {
    Variant::of(algorithm).on(Lru::Mglru)
}

/// Returns the counts of a forced walk after the pattern was used, while all other entries are old.
fn walked(scenario: &AgingRounds, algorithm: YoungAlgorithm) -> MmStats {
    with_format!(scenario.format, F => {
        let (counter, mut arena) = (Counter::of::<F>(), scenario.arena());
        let mut process = Process::<F>::new(&mut arena, &counter, scenario, variant(algorithm));
        process.age_by_force();
        process.use_pattern();
        process.age_by_force()
    })
}

/// Returns the young entries and the tables added to the filter, per entry and in batches. All
/// entries and tables are seen in every case.
fn young_and_added(scenario: &AgingRounds) -> [(u64, u64); 2] {
    let (entries, tables) = (scenario.bytes >> 12, (scenario.bytes >> 21) + 1);
    let [per_entry, batched, line] = YoungAlgorithm::ALL.map(|algorithm| {
        let stats = walked(scenario, algorithm);
        assert_eq!((stats.leaf_total, stats.nonleaf_found), (entries, tables), "{algorithm:?}");
        (stats.leaf_young, stats.nonleaf_added)
    });
    assert_eq!(batched, line, "ours counts as the merged change does");
    [per_entry, batched]
}

#[test]
fn contiguous_tables_all_young_enter_the_filter_in_batches_alone() {
    // 2048 pages in 128 blocks. A block counts once where only its first young entry is met.
    assert_eq!(young_and_added(&arm64(ALL, SMALL)), [(128, 0), (2048, 5)]);
    let beside = AgingRounds { aligned: false, ..SMALL };
    assert_eq!(young_and_added(&arm64(ALL, beside)), [(2048, 5); 2], "no block is contiguous");
    assert_eq!(young_and_added(&x86_64(ALL, 4, SMALL)), [(2048, 5); 2]);
}

#[test]
fn batches_make_tables_of_few_used_folios_look_young() {
    // In a table of 512 entries 64 have to be young: 4 folios of 16 used in one page each.
    let cases = [
        (4, 16, [(128, 0), (2048, 5)]),
        (4, 128, [(16, 0), (256, 5)]),
        (4, 256, [(8, 0), (128, 0)]),
        (5, 256, [(8, 0), (256, 5)]),
        (0, 16, [(128, 0), (128, 0)]),
        (0, 8, [(256, 5), (256, 5)]),
    ];
    for (order, one_in, expected) in cases {
        let scenario = x86_64(Pattern::OneIn(one_in), order, SMALL);
        assert_eq!(young_and_added(&scenario), expected, "order {order}, 1/{one_in}");
    }
    for one_in in [16, 128, 256] {
        let pattern = Pattern::OneIn(one_in);
        let contiguous = young_and_added(&arm64(pattern, SMALL));
        assert_eq!(contiguous, young_and_added(&x86_64(pattern, 4, SMALL)), "one entry a block");
    }
}

/// Linux 6.12 under QEMU: 262144 entries, of which 16399 are young and no table is added before,
/// 262144 and 513 after. That is fifteen more than blocks, as if one block had been mapped entry by
/// entry.
#[test]
fn a_contiguous_gibibyte_all_young_counts_as_on_a_real_kernel() {
    assert_eq!(young_and_added(&arm64(ALL, GIB)), [(16384, 0), (262_144, 513)]);
}

/// Linux 6.12 under QEMU: 1024 young and no table added before, 261460 and 512 after; its first
/// folios were smaller.
#[test]
fn a_sparse_gibibyte_counts_as_on_a_real_kernel() {
    let scenario = x86_64(Pattern::OneIn(256), 8, GIB);
    assert_eq!(young_and_added(&scenario), [(1024, 0), (262_144, 513)]);
}

fn tally(scenario: &AgingRounds, algorithm: YoungAlgorithm) -> Tally {
    count(scenario, &mut scenario.arena(), variant(algorithm))
}

/// Returns the counts without the operations on tables, in which algorithms differ by design.
fn decisions(scenario: &AgingRounds, algorithm: YoungAlgorithm) -> Tally {
    Tally { tables: Default::default(), ..tally(scenario, algorithm) }
}

const ROUNDS: AgingRounds = AgingRounds { bytes: 16 << 20, rounds: 4, ..AgingRounds::DEFAULT };

#[test]
fn runs_repeat_and_ours_decides_as_the_merged_change_does() {
    for pattern in [ALL, Pattern::OneIn(16), Pattern::First(10)] {
        for scenario in [arm64(pattern, ROUNDS), x86_64(pattern, 4, ROUNDS)] {
            let batched = tally(&scenario, YoungAlgorithm::Batched);
            assert_eq!(batched, tally(&scenario, YoungAlgorithm::Batched), "{scenario:?}");
            let [merged, ours] = [YoungAlgorithm::Batched, YoungAlgorithm::Line]
                .map(|algorithm| decisions(&scenario, algorithm));
            assert_eq!(merged, ours, "{scenario:?}");
            assert!(merged.reclaimed > 0 && merged.generations > 0, "{scenario:?}: {merged:?}");
        }
    }
}

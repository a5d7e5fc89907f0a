//! Variants do the same work, and the scenario is what its fields say.

use super::setup::{Setup, young};
use crate::counting::{Counter, CountingEnv, Counts};
use crate::layout::MAP_START;
use crate::scenario::HostScenario;
use pageout_experiment::declare::{Checked, Declared};
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::scenarios::{Align, Chosen, ListOrder, Mapped, Orders, ReclaimFile};
use pageout_experiment::variant::{Lru, Variant};
use pageout_paging::Pfn;
use pageout_paging::contig::Getter;
use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{Counter as VmCounter, FlushTiming, MapAs, Tuning, Unmapping};

const SEED: u64 = 7;

/// Returns every step, and ours with immediate shootdowns.
fn variants() -> Vec<Variant> {
    let immediate = Variant { shootdown: FlushTiming::Immediate, ..Variant::STEPS[2] };
    [Variant::BEFORE].into_iter().chain(Variant::STEPS).chain([immediate]).collect()
}

/// Returns the frames that one reclaim freed, by order and in order, and its counts.
fn run<F: Arch>(scenario: &ReclaimFile, variant: Variant) -> (Vec<Vec<Pfn>>, Counts) {
    run_tuned::<F>(scenario, variant.lru, variant.tuning(F::FLUSH))
}

fn run_tuned<F: Arch>(scenario: &ReclaimFile, lru: Lru, tuning: Tuning) -> (Vec<Vec<Pfn>>, Counts) {
    let mut arena = scenario.arena();
    let setup = Setup::<F>::build(&mut arena, scenario, lru, SEED);
    let counter = Counter::of::<F>();
    let env = CountingEnv::new(setup.ground.env, &counter);
    let bytes = scenario.reclaim_bytes();
    let reclaimed = setup.reclaim(&env, bytes, tuning);
    let pages = reclaimed.expect("clean pages can be reclaimed") << (F::PAGE_SHIFT - 12);
    assert!(pages >= scenario.reclaim_bytes() >> 12, "{scenario:?}: as much as was asked for");
    assert_eq!(setup.ground.maps.dropped_tlb_batches(), 0, "every TLB batch was finished");
    (setup.ground.supply.freed(), counter.counts())
}

fn assert_variants_agree(scenario: &ReclaimFile) {
    with_format!(scenario.format, F => {
        let (first, _) = run::<F>(scenario, Variant::BEFORE);
        assert!(first.iter().any(|freed| !freed.is_empty()), "{scenario:?}");
        for variant in variants() {
            assert!(run::<F>(scenario, variant).0 == first, "{scenario:?}, {variant}");
        }
    });
}

fn small(format: FormatName, orders: Orders) -> ReclaimFile {
    // Several tables of every format, and not a multiple of a batch.
    ReclaimFile { format, orders, bytes: 32 << 20, ..ReclaimFile::DEFAULT }
}

const ORDER_4: Orders = Orders::All(OrderName::Number(4));

#[test]
fn variants_reclaim_the_same_folios_in_the_same_order() {
    for format in FormatName::ALL {
        for orders in [Orders::All(OrderName::Number(0)), ORDER_4, Orders::Mixed] {
            for young_percent in [0, 30, 100] {
                assert_variants_agree(&ReclaimFile { young_percent, ..small(format, orders) });
            }
        }
    }
}

#[test]
fn also_where_the_mapping_is_an_awkward_one() {
    for format in FormatName::ALL {
        let plain = ReclaimFile { young_percent: 30, ..small(format, ORDER_4) };
        for awkward in [
            ReclaimFile { align: Align::Misaligned, ..plain },
            ReclaimFile { align: Align::HalfTable, ..plain },
            ReclaimFile { align: Align::HalfTable, orders: Orders::Mixed, ..plain },
            ReclaimFile { mapped: Mapped::Half, ..plain },
            ReclaimFile { list: ListOrder::Shuffled, ..plain },
            ReclaimFile { uffd_wp: true, ..plain },
            ReclaimFile { processes: 3, ..plain },
            ReclaimFile { chosen: Chosen::Folios, ..plain },
            ReclaimFile { anon_percent: 25, processes: 2, list: ListOrder::Shuffled, ..plain },
            ReclaimFile { anon_percent: 50, orders: Orders::Mixed, uffd_wp: true, ..plain },
            ReclaimFile { anon_percent: 99, reclaim_percent: 50, ..plain },
        ] {
            assert_variants_agree(&awkward);
        }
    }
    for format in FormatName::MAIN {
        let leaf =
            ReclaimFile { map: MapAs::PmdLeaf, ..small(format, Orders::All(OrderName::Pmd)) };
        assert_variants_agree(&leaf);
    }
}

/// Generations reclaim the same folios whether entries are checked by batches or by lines; entry by
/// entry, other folios are found used on the way.
#[test]
fn generations_give_up_the_same_by_lines_as_by_batches() {
    let [batched, line] = Variant::MGLRU_STEPS;
    for format in FormatName::ALL {
        let plain = ReclaimFile { young_percent: 30, ..small(format, ORDER_4) };
        for scenario in [
            plain,
            ReclaimFile { young_percent: 100, ..plain },
            ReclaimFile { chosen: Chosen::Folios, processes: 2, ..plain },
            ReclaimFile { align: Align::Misaligned, list: ListOrder::Shuffled, ..plain },
            ReclaimFile { align: Align::HalfTable, ..plain },
            ReclaimFile { mapped: Mapped::Half, ..plain },
            ReclaimFile { orders: Orders::Mixed, anon_percent: 25, ..plain },
        ] {
            with_format!(format, F => {
                let of = |variant| run::<F>(&scenario, variant).0;
                assert!(of(batched) == of(line), "{scenario:?}, {batched}");
                of(Variant { young: YoungAlgorithm::PerEntry, ..batched });
            });
        }
    }
}

/// Reclaims all memory in use: the file's and each process's own. The content of the latter is then
/// in swap.
#[test]
fn anonymous_memory_is_swapped_out_and_counted() {
    for format in FormatName::ALL {
        let one = ReclaimFile {
            anon_percent: 25,
            processes: 3,
            young_percent: 0,
            ..small(format, ORDER_4)
        };
        assert_eq!(one.reclaim_bytes(), ((24 + 3 * 8) << 20) * 80 / 100, "{format:?}");
        let counts @ [file, anon, out] = with_format!(format, F => reclaimed::<F>(&one));
        assert!(file > 0 && anon > 0, "{format:?}: {counts:?}");
        assert!(file + anon >= one.reclaim_bytes() >> format.page_shift(), "{format:?}");
        assert_eq!(anon, out, "{format:?}: what was stored to is written");
    }
}

/// Returns the pages reclaimed of the file and of anonymous memory, and the pages swapped out.
fn reclaimed<F: Arch>(scenario: &ReclaimFile) -> [u64; 3] {
    let mut arena = scenario.arena();
    let setup = Setup::<F>::build(&mut arena, scenario, Lru::Classic, SEED);
    let bytes = scenario.reclaim_bytes();
    let done = setup.reclaim(&setup.ground.env, bytes, Variant::BEFORE.tuning(F::FLUSH));
    done.expect("all of it can be reclaimed");
    let counters = [VmCounter::PgstealFile, VmCounter::PgstealAnon, VmCounter::Pswpout];
    counters.map(|counter| setup.vmstat().get(counter))
}

/// The requested share of entries is young, by whole folios if they are chosen so.
#[test]
fn young_entries_are_chosen_by_themselves_or_by_folios() {
    for chosen in [Chosen::Entries, Chosen::Folios] {
        let one = ReclaimFile { chosen, young_percent: 50, ..small(FormatName::X86_64, ORDER_4) };
        let orders = vec![4; 512];
        let mut young = young::<X86_64>(&one, MAP_START, &orders, SEED);
        let pages: Vec<_> = (0..8192).map(|k| young(MAP_START.add(k << 12))).collect();
        let folios = pages.chunks(16).map(|folio| folio.iter().filter(|young| **young).count());
        let folios: Vec<_> = folios.collect();
        let whole = folios.iter().all(|young| [0, 16].contains(young));
        assert_eq!(whole, chosen == Chosen::Folios);
        let all: usize = folios.iter().sum();
        assert!((3500..4700).contains(&all), "about half of 8192: {all}");
    }
}

/// Only the differences in facts.md exist: fewer atomics and invalidations with batches, and
/// barriers where the flush waits.
#[test]
fn batches_save_what_they_are_said_to() {
    let old = ReclaimFile { young_percent: 0, ..small(FormatName::Arm64_4K, ORDER_4) };
    let pages = |(freed, _): &(Vec<Vec<Pfn>>, Counts)| freed[4].len() as u64 * 16;
    let of = |variant| run::<Arm64_4K>(&old, variant);
    let before = of(Variant::BEFORE);
    let [young, merged, ours] = Variant::STEPS.map(of);
    let pages = pages(&before);
    // 16 visits a page of a block of 16 each; then a block is unfolded and cleared one by one.
    assert_eq!(before.1.atomics, (16 + 2) * pages);
    assert_eq!(young.1.atomics, (1 + 2) * pages);
    assert_eq!(merged.1.atomics, (1 + 1) * pages);
    assert_eq!(ours.1.atomics, pages);
    assert_eq!(young.1.invalidations, before.1.invalidations);
    assert_eq!(merged.1.invalidations, pages / 16, "one a folio");
    assert_eq!(ours.1.invalidations, merged.1.invalidations);
    assert!(merged.1.barriers < pages / 16, "one a batch of folios: {:?}", merged.1);
    let at_once = of(variants()[4]);
    assert_eq!(at_once.1.barriers, pages / 16, "one a folio");
}

/// With more than one contiguous block in a folio, ours reads one entry of each block to find the
/// entries that are unmapped at once, and kernels gather the block.
#[test]
fn ours_unmaps_by_one_read_of_a_block() {
    let [.., line] = Variant::STEPS;
    let tuning = line.tuning(Arm64_4K::FLUSH);
    let unmapping = Unmapping { read: Getter::Contpte, ..tuning.unmapping };
    let as_kernels = Tuning { unmapping, ..tuning };
    for (order, blocks_after_the_first) in
        [(OrderName::Number(0), 0), (OrderName::Number(4), 0), (OrderName::Pmd, 31)]
    {
        let one = small(FormatName::Arm64_4K, Orders::All(order));
        let of = |tuning| run_tuned::<Arm64_4K>(&one, line.lru, tuning);
        let ((freed, ours), (same, gathered)) = (of(tuning), of(as_kernels));
        assert!(freed == same, "order {order:?}");
        let folios: usize = freed.iter().map(Vec::len).sum();
        let saved = 16 * blocks_after_the_first * folios as u64;
        let entries_visited = ours.entries_visited + saved;
        assert_eq!(gathered, Counts { entries_visited, ..ours }, "order {order:?}");
    }
}

#[test]
fn fields_parse_and_are_what_records_say() {
    let arguments = [
        "format=riscv64",
        "order=mixed",
        "size=64MiB",
        "reclaim=50%",
        "processes=2",
        "anon=0%",
        "young=3%",
        "chosen=folios",
        "align=misaligned",
        "mapped=whole",
        "list=shuffled",
        "uffd-wp=yes",
        "map=ptes",
    ];
    let parsed = ReclaimFile::parse(&arguments.map(str::to_owned)).unwrap();
    let [one] = parsed[..] else { panic!("one scenario: {parsed:?}") };
    let labels = one.labels();
    for argument in arguments {
        let (field, value) = argument.split_once('=').unwrap();
        assert_eq!(labels[field], value, "{field}");
    }
    assert_eq!(one.reclaim_bytes(), 32 << 20);
    assert_eq!(ReclaimFile::parse(&[]).unwrap().len(), 2 * 3, "formats and orders");
}

#[test]
fn bad_fields_name_what_is_accepted() {
    let message = |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|one| (*one).to_owned()).collect();
        ReclaimFile::parse(&arguments).unwrap_err().to_string()
    };
    assert!(message(&["order=ten"]).contains("or mixed"));
    assert!(message(&["reclaim=0%"]).contains("from 1% to 100%"));
    assert!(message(&["list=sorted"]).contains("file or shuffled"));
    assert!(message(&["mapped=half", "order=0"]).contains("two pages or more"));
    assert!(message(&["map=pmd-leaf", "order=4"]).contains("order=pmd"));
    assert!(message(&["map=pmd-leaf", "order=pmd", "align=misaligned"]).contains("align=aligned"));
    assert!(message(&["size=1MiB", "order=pmd"]).contains("2MiB"));
    assert!(message(&["chosen=pages"]).contains("entries or folios"));
    assert!(message(&["anon=101%"]).contains("from 0% to 99%"));
    assert!(message(&["anon=5%", "mapped=half", "order=4"]).contains("mapped=whole"));
    assert!(message(&["colour=red"]).contains("pageout scenarios reclaim-file"));
}

#[test]
fn the_engine_keeps_to_its_budget() {
    for order in ["0", "4", "pmd", "mixed"] {
        let one = ReclaimFile::parse(&[format!("order={order}")]).expect("a scenario");
        let footprint = one[0].footprint();
        assert!(
            footprint.per_folio() <= pageout_experiment::footprint::PER_FOLIO as f64,
            "order {order}"
        );
        assert!(
            footprint.per_page() <= pageout_experiment::footprint::PER_PAGE as f64,
            "order {order}"
        );
    }
}

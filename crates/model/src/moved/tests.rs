//! Tests of break-even prices: the search agrees with counts and with a finer search.

use super::*;
use crate::scenarios::reclaim_file::ReclaimFile;
use pageout_experiment::scenarios::Compared;
use pageout_experiment::scenarios::metrics::machine::INSTRUCTION_TIME;
use pageout_experiment::this_machine::this_run;
use pageout_experiment::variant::Axes;
use pageout_machine::platform::Platform;
use pageout_record::compare::{BreakEven, Declarations, Pays, compare};
use pageout_record::schema::RecordSet;
use std::num::NonZeroUsize;

fn model(platform: &str, cores: u16) -> Model {
    let platform = Platform::named(platform);
    assert!(platform.is_some(), "a platform that comes with the program");
    let threads = NonZeroUsize::MIN;
    Model { platform, cores: Some(cores), draws: 0, runs: 1, seed: 1, threads }
}

fn scenarios(fields: &str, model: &Model) -> Vec<ReclaimFile> {
    let fields: Vec<_> = fields.split(' ').map(str::to_owned).collect();
    ReclaimFile::parse(&fields, model).expect("fields of the scenario")
}

/// Returns records with the whole along each price.
fn records(all: &[ReclaimFile], variants: &[Variant], model: &Model) -> Vec<Record> {
    let mut records = ReclaimFile::records(all, variants, model, &mut |_, _| {});
    add(all, variants, model, 0.0, &mut records, &mut |_, _| {});
    records
}

/// Returns the decision on the second variant along each price.
fn break_even(records: Vec<Record>, base: Variant) -> Vec<BreakEven> {
    let mut declared = Declarations::default();
    pageout_experiment::scenarios::declare(&mut declared);
    let set = RecordSet::new(this_run(), records);
    let compared =
        compare(&set, &base.labels(Axes::Reclaim), &declared).expect("two variants").asking(0.0);
    let whole = compared.rows.iter().find(|row| !row.decisions.is_empty()).expect("a whole");
    whole.decisions[0].clone().expect("prices were moved").prices
}

fn value(record: &Record, name: &str) -> f64 {
    let metric = record.metric(name);
    metric.unwrap_or_else(|| panic!("{name} is told")).values[0]
}

fn along<'r>(record: &'r Record, price: &MetricSpec) -> &'r Series {
    let series = record.metrics.iter().filter_map(|metric| metric.series.as_deref());
    let mut along = series.filter(|series| series.x.name == price.name);
    along.next().expect("the price was moved")
}

/// The whole is linear in the mean price of an instruction if no task waits. The slope of the curve
/// is the number of instructions. The atomics among them keep their price.
#[test]
fn the_whole_along_an_instruction_s_price_is_what_counts_say() {
    let model = model("x86-server-class", 4);
    let all = scenarios("order=4 size=4MiB", &model);
    let variants = [Variant::BEFORE, Variant::STEPS[1]];
    let records = records(&all, &variants, &model);
    for (record, variant) in records.iter().zip(variants) {
        let (whole, time) = (value(record, "whole reclaim"), value(record, INSTRUCTION_TIME.name));
        let platform = all[0].platform();
        let mean = |draw| all[0].instruction(variant, &platform.prices(draw)).ns();
        let nominal = value(record, INSTRUCTION_PRICE.name);
        let curve = along(record, &INSTRUCTION_PRICE);
        assert!(curve.at[0] == 0.0 && curve.at.len() >= 3, "{:?}", curve.at);
        assert!(mean(Draw::Moved(Lever::Instruction, 0)) > 0.0, "atomics keep their price");
        for (at, seen) in curve.at.iter().zip(&curve.lines[0].values) {
            let moved = Draw::Moved(Lever::Instruction, (at / nominal * 1e6).round() as u64);
            let counted = whole + (mean(moved) / mean(Draw::Nominal) - 1.0) * time;
            assert!((seen.unwrap() / counted - 1.0).abs() < 1e-6, "{seen:?} at {at}: {counted}");
        }
    }
}

/// Batches of young checks save instructions, batches of unmapping save TLBIs. Prices decide which
/// of the two saves more; at the break-even price both save the same.
#[test]
fn at_a_break_even_price_variants_cost_the_same() {
    let model = model("arm64-server-32-class", 32);
    let all = scenarios("order=4 size=4MiB", &model);
    let variants = ["young=batched,unmap=per-entry", "young=per-entry,unmap=batched"]
        .map(|text| Variant::parse_on(None, text).expect("a variant"));
    let found = break_even(records(&all, &variants, &model), variants[0]);
    let at_moved = |lever, price: &BreakEven, at: f64| {
        let run = ModelRun { draw: Draw::Moved(lever, (at / price.nominal * 1e6) as u64), seed: 1 };
        variants.map(|variant| ReclaimFile::whole(&all[0].run(&model, variant, run)))
    };
    for (lever, name) in
        [(Lever::Flush, FLUSH_ARM64.name), (Lever::Instruction, INSTRUCTION_PRICE.name)]
    {
        let price = found.iter().find(|price| price.price == name).expect("it was moved");
        let (at, above) = match (lever, &price.pays) {
            (Lever::Flush, Pays::From(at)) => (*at, true),
            (Lever::Instruction, Pays::UpTo(at)) => (*at, false),
            _ => panic!("waits make unmapping dear, instructions checks: {price:?}"),
        };
        let [one, other] = at_moved(lever, price, at);
        assert!((one / other - 1.0).abs() < 0.005, "{name}, {at} ns: {one} and {other}");
        let [one, other] = at_moved(lever, price, at * 1.2);
        assert_eq!(one > other, above, "{name}, above {at} ns: {one} and {other}");
    }
}

/// The search looks at the ends and the machine's price first. Between these, sides change at most
/// once.
#[test]
fn a_variant_that_pays_at_the_ends_pays_between_them() {
    for platform in ["x86-server-class", "arm64-server-32-class"] {
        let model = model(platform, 4);
        let one = &scenarios("order=4 size=2MiB", &model)[0];
        for lever in Lever::ALL {
            let sides = (0..=20).map(|step| {
                // From zero to 100 times the price: finer where prices are low.
                let at = step * step * step * 100 * Draw::ONE / 8000;
                let run = ModelRun { draw: Draw::Moved(lever, at), seed: 1 };
                let [base, new] = [Variant::BEFORE, Variant::STEPS[1]]
                    .map(|variant| ReclaimFile::whole(&one.run(&model, variant, run)));
                base > new * (1.0 - 1e-3)
            });
            assert!(sides.into_iter().all(|pays| pays), "{platform}, {lever:?}");
        }
    }
}

/// Records with moved prices are the same bytes on any number of threads.
#[test]
fn searches_do_not_depend_on_threads() {
    let json = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let model = Model { threads, ..model("x86-server-class", 2) };
        let all = scenarios("order=0 size=1MiB process=running", &model);
        serde_json::to_string(&records(&all, &Compared::SHOOTDOWN, &model)).expect("JSON")
    };
    assert_eq!(json(1), json(3));
}

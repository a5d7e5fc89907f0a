//! Tests of the scenario on modelled machines.

use super::{Done, FLUSHING, INTERRUPTS, NOTIFYING, ReclaimFile, Run, STOLEN, Setup, WHOLE};
use crate::{Kernel, Model, ModelRun, Scenario as _, Swap};
use pageout_experiment::variant::{Lru, Variant};
use pageout_host::scenarios::reclaim_file;
use pageout_machine::Machine;
use pageout_machine::platform::{Draw, Platform};
use pageout_paging::pte::Arm64_4K;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Env, Format, Level, Pte, Table, VirtAddr};
use pageout_reclaim::FlushTiming;
use pageout_record::schema::{Record, RecordSet};
use std::num::NonZeroUsize;

fn model(platform: &str, cores: u16) -> Model {
    let platform = Platform::named(platform);
    assert!(platform.is_some(), "a platform that comes with the program");
    let threads = NonZeroUsize::MIN;
    Model { platform, cores: Some(cores), draws: 0, runs: 1, seed: 1, threads }
}

fn records(fields: &str, variants: &[Variant], model: &Model) -> Vec<Record> {
    let fields: Vec<_> = fields.split(' ').map(str::to_owned).collect();
    let all = ReclaimFile::parse(&fields, model).expect("fields of the scenario");
    ReclaimFile::records(&all, variants, model, &mut |_, _| {})
}

fn value(record: &Record, name: &str) -> f64 {
    let metric = record.metric(name);
    metric.unwrap_or_else(|| panic!("{name} is told")).values[0]
}

const STEPS: [Variant; 4] = [
    Variant::BEFORE,
    Variant::STEPS[0],
    Variant::STEPS[1],
    Variant { shootdown: FlushTiming::Immediate, ..Variant::STEPS[1] },
];

#[test]
fn records_are_the_same_bytes_on_any_number_of_host_threads() {
    let mut machine = model("x86-server-class", 4);
    (machine.draws, machine.runs) = (3, 2);
    let fields = "order=0,4 size=4MiB process=asleep,running";
    let json = |threads: usize, model: &Model| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let records = records(fields, &STEPS, &Model { threads, ..model.clone() });
        serde_json::to_string(&records).expect("records are JSON")
    };
    let one = json(1, &machine);
    assert!(json(2, &machine) == one, "two threads");
    assert!(json(5, &machine) == one, "five threads");
    let guests = "order=0 size=4MiB secondary=guest process=running";
    let of = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let records = records(guests, &STEPS[..2], &Model { threads, ..machine.clone() });
        serde_json::to_string(&records).expect("records are JSON")
    };
    assert!(of(1) == of(2), "with guests");
    let parsed: Vec<Record> = serde_json::from_str(&one).unwrap();
    RecordSet::new(pageout_experiment::this_machine::this_run(), parsed)
        .validate()
        .expect("valid records");
}

/// The time differs by less than 8 %, because a larger file's entries are further from caches. For
/// folios of the PMD's size it differs by 13 % here; they are few, and the cause is unknown.
#[test]
fn time_a_page_hardly_depends_on_the_size() {
    for (platform, fields) in [
        ("arm64-server-32-class", "order=0,4 format=arm64-4k process=asleep"),
        ("x86-server-class", "order=4 process=asleep,running"),
    ] {
        let model = model(platform, 4);
        let of = |size: &str| records(&format!("{fields} size={size}"), &STEPS[..3], &model);
        for (small, large) in of("64MiB").iter().zip(&of("256MiB")) {
            let (small, large) = (value(small, WHOLE.name), value(large, WHOLE.name));
            assert!((small / large - 1.0).abs() < 0.08, "{small} and {large} ns a page");
        }
    }
}

#[test]
fn cores_that_run_the_process_are_interrupted_and_sleepers_are_not() {
    let model = model("x86-server-class", 8);
    let of = |process: &str| {
        let fields = format!("order=0 size=8MiB process={process}");
        records(&fields, &STEPS, &model)
    };
    for record in of("asleep") {
        assert_eq!(value(&record, "interrupts"), 0.0, "its core is lazy");
        assert_eq!(value(&record, STOLEN.name), 0.0);
    }
    let running = of("running");
    let [.., deferred, immediate] = &running[..] else { panic!("a record a variant") };
    assert!(value(deferred, "cores interrupted") > 6.0, "seven threads use the file");
    for name in [INTERRUPTS.name, FLUSHING.name, STOLEN.name, WHOLE.name] {
        let (deferred, immediate) = (value(deferred, name), value(immediate, name));
        assert!(deferred < immediate, "{name}: {deferred} and {immediate}");
    }
}

#[test]
fn a_process_that_runs_asks_for_its_page_back() {
    let model = model("arm64-server-32-class", 4);
    let fields = "order=0 format=arm64-4k size=4MiB reclaim=100% process=running";
    let record = &records(fields, &STEPS[2..3], &model)[0];
    assert!(value(record, "refaults") > 0.0, "all of the file was to be reclaimed");
    assert!(value(record, "accesses") > 0.0);
}

#[test]
fn without_flushes_after_young_checks_accesses_are_hidden() {
    let model = model("arm64-server-32-class", 4);
    let fields = "order=0 format=arm64-4k size=4MiB process=running";
    let flush = |flush: &str| format!("young=batched,flush={flush}").parse().expect("a variant");
    let hidden = |name| value(&records(fields, &[flush(name)], &model)[0], "hidden accesses");
    assert_eq!(hidden("sync"), 0.0, "the barrier ends each entry before anyone goes on");
    assert!(hidden("none") > 0.0);
}

/// Returns how many pages are mapped after the request: of those that were young before, and of
/// all.
fn kept(secondary: &str, asks: bool) -> [usize; 2] {
    let model = model("arm64-server-32-class", 4);
    let fields =
        format!("order=0 format=arm64-4k size=4MiB young=50% reclaim=10% secondary={secondary}");
    let fields: Vec<_> = fields.split(' ').map(str::to_owned).collect();
    let one = &ReclaimFile::parse(&fields, &model).expect("fields of the scenario")[0];
    let (variant, seed) = (STEPS[2], 1);
    let mut arena = one.arena::<Arm64_4K>(4);
    let caps = one.platform.shape().caps::<Arm64_4K>();
    let setup = Setup::<Arm64_4K>::build_for(&mut arena, &one.scenario, variant.lru, seed, caps);
    let of_machine = model.setup(&one.platform, ModelRun { draw: Draw::Nominal, seed });
    let machine = Machine::new(of_machine, setup.ground.env.tables());
    let (env, root) = (&setup.ground.env, setup.spaces[0].1);
    let entry = |at: VirtAddr| match descend(env, root, at) {
        Descent::PteTable(frame, _) => env.table(frame).load(Arm64_4K::index(Level::Pte, at)),
        _ => Pte::NONE,
    };
    let pages =
        (0..1024).map(|k| reclaim_file::range::<Arm64_4K>(&one.scenario).start.add(k << 12));
    let young: Vec<_> = pages.clone().filter(|at| Arm64_4K::is_young(entry(*at))).collect();
    let mut vms = one.vms(&setup);
    if !asks {
        vms.clear();
    }
    let kernel = Kernel::new::<Arm64_4K>(setup.ground.supply, Swap::Device).with_vms(vms);
    let run = Run { of: one, seed, setup: &setup, kernel: &kernel, variant };
    let done = Done::default();
    machine.run(vec![run.reclaiming(&done)]);
    let mapped = |at: &VirtAddr| Arm64_4K::is_valid(entry(*at));
    [young.into_iter().filter(mapped).count(), pages.filter(mapped).count()]
}

#[test]
fn what_guests_use_is_kept_as_if_their_process_had_used_it() {
    let kept_of = kept("guest", true);
    let unasked = kept("guest", false);
    assert_eq!(kept_of, kept("none", true), "{unasked:?}");
    assert!(unasked[0] < kept_of[0], "without the notifier: {unasked:?}, not {kept_of:?}");
}

#[test]
fn guests_are_asked_and_flushed_as_their_architecture_does() {
    let of = |platform, format: &str, lru| {
        let model = model(platform, 4);
        let fields = format!("order=0 format={format} size=4MiB secondary=guest process=running");
        records(&fields, &[STEPS[2].on(lru)], &model).remove(0)
    };
    let arm64 = ("arm64-server-32-class", "arm64-4k");
    let x86 = ("x86-server-class", "x86-64");
    for (platform, format) in [arm64, x86] {
        for lru in [Lru::Classic, Lru::Mglru] {
            let record = of(platform, format, lru);
            let value = |name| value(&record, name);
            let classic = lru == Lru::Classic;
            assert_eq!(value("calls of clear_flush_young") > 0.0, classic, "{format} {lru}");
            assert_eq!(value("calls of clear_young") > 0.0, !classic, "{format} {lru}");
            assert!(value("secondary entries made old") > 0.5, "{format} {lru}");
            assert!(value("secondary entries read") >= value("secondary entries made old"));
            let taken = value("secondary entries taken out");
            assert!((taken - 1.0).abs() < 0.01, "each page reclaimed is: {taken}");
            let young_flushes = value("flushes of a VM") > value("calls of invalidate");
            assert_eq!(young_flushes, classic && format == arm64.1, "{format} {lru}");
            assert!(value(NOTIFYING.name) > 0.0 && value(NOTIFYING.name) < value(WHOLE.name));
        }
    }
}

#[test]
fn the_fabric_s_load_adds_up_to_what_is_counted() {
    for (platform, names) in [
        ("arm64-server-32-class", ["invalidations", "barriers"]),
        ("x86-server-class", ["interrupts", "interrupt rounds"]),
    ] {
        let machine = model(platform, 4);
        let platform = machine.platform.clone().expect("a platform");
        let fields = ["order=0", "size=4MiB", "process=running"].map(str::to_owned);
        let [scenario] = &ReclaimFile::parse(&fields, &machine).expect("fields")[..] else {
            panic!("one scenario of {}", platform.name())
        };
        let done = scenario.run(&machine, Variant::BEFORE, machine.all_runs()[0]);
        let report = ReclaimFile::report(&done);
        let record = records("order=0 size=4MiB process=running", &[Variant::BEFORE], &machine);
        let load = record[0].metric("fabric load");
        let load = load.and_then(|metric| metric.series.as_deref()).expect("a series");

        let counts = &report.counts;
        let counted =
            [counts.broadcasts.max(counts.interrupts), counts.barriers.max(counts.rounds)];
        assert!(counted.iter().all(|count| *count > 50), "{counted:?}");
        let widths: Vec<f64> = load
            .at
            .iter()
            .scan(0.0, |before, at| Some(at - std::mem::replace(before, *at)))
            .collect();
        for ((line, name), counted) in load.lines.iter().zip(names).zip(counted) {
            assert_eq!(line.name, name);
            let rates = line.values.iter().map(|rate| rate.expect("a rate"));
            let sum: f64 = rates.zip(&widths).map(|(rate, width)| rate * width).sum();
            assert!((sum - counted as f64).abs() < 1e-3, "{name}: {sum} of {counted}");
        }
    }
}

//! Tests of the scenario: its counts, its time, and the locks that its tasks meet at.

use super::{Faults, Outcome};
use crate::{Model, Scenario as _};
use pageout_experiment::fields::FieldError;
use pageout_experiment::scenarios::Compared;
use pageout_machine::Time;
use pageout_machine::platform::Draw;
use pageout_record::schema::{Record, RecordSet};
use std::num::NonZeroUsize;

const MODEL: Model =
    Model { platform: None, cores: None, draws: 0, runs: 1, seed: 1, threads: NonZeroUsize::MIN };

fn parse(fields: &str, model: &Model) -> Result<Vec<Faults>, FieldError> {
    let fields: Vec<_> = fields.split_whitespace().map(str::to_owned).collect();
    Faults::parse(&fields, model)
}

/// Returns the outcomes of all combinations of fields, with deferred shootdowns.
fn outcomes(fields: &str) -> Vec<Outcome> {
    let all = parse(fields, &MODEL).expect("fields of the scenario");
    let run = |one: &Faults| one.run(&MODEL, Compared::SHOOTDOWN[1], MODEL.all_runs()[0]);
    all.iter().map(run).collect()
}

fn outcome(fields: &str) -> Outcome {
    outcomes(fields).pop().expect("a combination")
}

#[test]
fn every_page_faults_once() {
    for fields in ["space=shared,own memory=anon,file", "memory=anon,file reclaim=yes"] {
        let fields = format!("{fields} size=64KiB tasks=1,2,5");
        for (one, of) in outcomes(&fields).iter().zip(parse(&fields, &MODEL).expect("as above")) {
            assert_eq!(one.faults, u64::from(of.tasks) * 16, "{of:?}");
            assert_eq!(one.between.count("faults"), one.faults, "{of:?}");
            assert_eq!(one.between.after.read, 0, "the file is cached: {of:?}");
        }
    }
}

#[test]
fn sixty_four_cores_end_in_every_format() {
    for format in ["x86-64", "arm64-4k", "arm64-16k", "arm64-64k", "riscv64"] {
        // A page of the largest size.
        let fields = format!("size=64KiB tasks=64 reclaim=yes format={format}");
        let Ok(all) = parse(&fields, &MODEL) else {
            assert_eq!(format, "riscv64", "it has no platform");
            continue;
        };
        let one = all[0].run(&MODEL, Compared::SHOOTDOWN[0], MODEL.all_runs()[0]);
        assert!(one.faults >= 64 && one.reclaimed.0 > 0, "{format}: {one:?}");
    }
}

/// A single task meets no other: it tries each lock once, and waits for none.
#[test]
fn a_task_alone_waits_for_no_lock() {
    for one in outcomes("size=256KiB tasks=1 memory=anon,file") {
        for tally in one.locks {
            assert_eq!((tally.waited, tally.moved), (Time::ZERO, 0), "{tally:?}");
            assert_eq!(tally.tried, tally.taken, "{tally:?}");
        }
    }
}

/// Each further task that shares the locks adds to the time of a fault, and to the waits for those
/// locks that all take.
#[test]
fn more_tasks_wait_longer() {
    for (memory, met) in [("anon", 4), ("file", 0)] {
        let all = outcomes(&format!("size=128KiB format=x86-64 memory={memory} tasks=2,16,64"));
        assert!(all.is_sorted_by(|few, many| few.fault() < many.fault()), "{memory}");
        assert!(all[2].throughput() < 64.0 * all[0].throughput() / 2.0, "{memory}");
        let waited = all.iter().map(|one| one.locks[met].waited.ns() / one.faults as f64);
        assert!(waited.is_sorted_by(|few, many| few < many), "{memory}");
    }
}

/// Threads share an mmap lock, and processes do not.
#[test]
fn processes_do_not_meet_at_an_mmap_lock() {
    let [threads, processes] = ["shared", "own"]
        .map(|space| outcome(&format!("size=128KiB format=x86-64 tasks=8 space={space}")).locks[0]);
    assert_eq!((processes.moved, processes.waited), (0, Time::ZERO));
    assert!(threads.moved > 0 && threads.taken == processes.taken);
}

/// The index has a lock for each bucket, and a look-up takes no other.
#[test]
fn processes_that_fault_on_cached_pages_meet_at_no_lock() {
    let all = outcomes("size=128KiB format=x86-64 memory=file space=own tasks=1,16");
    for tally in all[1].locks {
        assert_eq!((tally.moved, tally.waited), (0, Time::ZERO), "{tally:?}");
    }
    let [alone, many] = [0, 1].map(|k| all[k].fault());
    assert!((many / alone - 1.0).abs() < 0.01, "{alone} ns, and {many} ns of 16 tasks");
}

/// A fault lasts at least as long as its locks, and lines that move take their price.
#[test]
fn locks_are_part_of_the_time() {
    for one in outcomes("size=128KiB format=x86-64,arm64-4k tasks=8 reclaim=yes") {
        let locks = one.locks.iter().map(|tally| tally.access.ns() + tally.waited.ns());
        assert!(locks.sum::<f64>() < one.fault() * one.faults as f64);
    }
    let [alone, two] = [1, 2].map(|tasks| {
        outcome(&format!("size=1MiB format=x86-64 memory=anon space=own tasks={tasks}"))
    });
    let of = &parse("format=x86-64", &MODEL).expect("a format")[0];
    let transfer = of.platform.prices(Draw::Nominal).line_transfer.ns();
    let more = two.fault() - alone.fault();
    let lines = more / transfer;
    assert!((lines - 2.0).abs() < 0.2, "two lines a fault, of two kinds of lists: {more} ns");
}

/// Reclaim interrupts the cores that map its pages, and takes locks of those who fault.
#[test]
fn reclaim_beside_slows_faults() {
    let [without, with] = ["no", "yes"]
        .map(|reclaim| outcome(&format!("size=256KiB format=x86-64 tasks=2 reclaim={reclaim}")));
    assert_eq!((without.reclaimed.0, without.between.count("interrupts")), (0, 0));
    assert!(with.reclaimed.0 > 0 && with.between.count("interrupts") > 0);
    assert!(with.fault() > without.fault());
}

#[test]
fn records_are_the_same_bytes_on_any_number_of_host_threads() {
    let json = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let model = Model { draws: 2, runs: 2, threads, ..MODEL };
        let all = parse("size=64KiB tasks=1,9 reclaim=yes format=x86-64", &model).expect("fields");
        let records = Faults::records(&all, &Compared::SHOOTDOWN, &model, &mut |_, _| {});
        serde_json::to_string(&records).expect("records are JSON")
    };
    let one = json(1);
    assert!(json(3) == one);
    let parsed: Vec<Record> = serde_json::from_str(&one).unwrap();
    RecordSet::new(pageout_experiment::this_machine::this_run(), parsed)
        .validate()
        .expect("valid records");
}

#[test]
fn a_machine_has_a_core_for_each_task() {
    let cores = |fields: &str, cores| {
        let model = Model { cores, ..MODEL };
        parse(fields, &model).map(|all| all[0].labels(&model)["cores"].clone())
    };
    assert_eq!(cores("tasks=2", None).as_deref(), Ok("32"));
    assert_eq!(cores("tasks=64 reclaim=yes", None).as_deref(), Ok("65"));
    assert_eq!(cores("tasks=2", Some(2)).as_deref(), Ok("2"));
    let refused = cores("tasks=2 reclaim=yes", Some(2)).unwrap_err().to_string();
    assert!(refused.contains("need 3 cores, and the machine has 2"), "{refused}");
    assert!(parse("size=5000", &MODEL).unwrap_err().to_string().contains("multiple of the page"));
}

//! Shards that are stopped and resumed, with cells that take no time.
#![forbid(unsafe_code)]

use pageout_experiment::this_machine::this_run;
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record, Run};
use pageout_sweep::{Cell, Directory, Plan, RunError, Runner, Shard, Spec, run};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tempfile::tempdir;

const SPEC: &str = "scenario = \"trace\"\n[grid]\nlimit = \"1%..50%\"";
const JOBS: NonZeroUsize = NonZeroUsize::new(3).unwrap();

fn plan(spec: &str) -> Plan {
    let cells = Spec::read(spec).and_then(|spec| spec.cells()).expect("a specification");
    Plan::new(&this_run(), BTreeMap::new(), cells).expect("they differ")
}

/// A runner that counts the cells it runs, and can be made to fail.
#[derive(Default)]
struct Counting {
    ran: AtomicUsize,
    /// The function that decides which cells fail, and with which error.
    fails: Option<fn(&Cell) -> Option<&'static str>>,
}

impl Runner for Counting {
    fn this_run(&self) -> Run {
        this_run()
    }

    fn is_timed(&self, _: &Cell) -> bool {
        false
    }

    fn fits(&self, cell: &Cell, _: NonZeroUsize) -> bool {
        !cell.fields["limit"].ends_with("7%")
    }

    fn run(&self, cell: &Cell, _: NonZeroUsize) -> Result<Vec<Record>, String> {
        self.ran.fetch_add(1, SeqCst);
        if let Some(error) = self.fails.and_then(|fails| fails(cell)) {
            assert_ne!(error, "panic", "a bug");
            return Err(error.to_owned());
        }
        let metric = |name, basis| {
            let value = cell.fields["limit"].len() as f64;
            Metric::new(name, "", basis, Better::Lower, vec![value])
        };
        Ok(vec![Record {
            scenario: cell.scenario.clone(),
            ground: Ground::Host,
            seed: cell.seed,
            fields: cell.fields.clone().into_iter().collect(),
            variant: Labels::new(),
            metrics: vec![metric("count", Basis::Counted), metric("time", Basis::Measured)],
        }])
    }
}

fn merged(plan: &Plan, directory: &Directory) -> String {
    let file = directory.merged(plan).expect("results");
    file.to_json().expect("they are valid")
}

fn whole(plan: &Plan, directory: &Directory) {
    let done = run(plan, directory, Shard::WHOLE, JOBS, &Counting::default(), &mut |_, _| {});
    assert_eq!(done.expect("it runs").failed, []);
}

/// The result of an uninterrupted sweep.
static UNINTERRUPTED: LazyLock<String> = LazyLock::new(|| {
    let (plan, place) = (plan(SPEC), tempdir().expect("a directory"));
    let directory = Directory::new(place.path());
    directory.plan(&plan).expect("it is empty");
    whole(&plan, &directory);
    merged(&plan, &directory)
});

#[test]
fn what_is_measured_is_left_out_of_cells_that_run_anywhere() {
    let text = &*UNINTERRUPTED;
    assert_eq!(text.matches("\"count\"").count(), 50);
    assert_eq!(text.matches("\"time\"").count(), 0);
}

#[test]
fn failed_cells_lose_nothing_and_are_tried_again() {
    let (plan, place) = (plan(SPEC), tempdir().expect("a directory"));
    let directory = Directory::new(place.path());
    directory.plan(&plan).expect("it is empty");
    let fails: fn(&Cell) -> _ = |cell| match &*cell.fields["limit"] {
        "3%" => Some("no room"),
        "5%" => Some("panic"),
        _ => None,
    };
    let runner = Counting { fails: Some(fails), ..Counting::default() };
    let done = run(&plan, &directory, Shard::WHOLE, JOBS, &runner, &mut |_, _| {});
    let done = done.expect("cells that fail end no run");
    let [room, bug] = &done.failed[..] else { panic!("two fail: {:?}", done.failed) };
    assert_eq!((&*room.cell, &*room.error), ("trace limit=3% seed=1", "no room"));
    assert!(bug.error.starts_with("it panicked, which is a bug: "), "{}", bug.error);
    let status = directory.status(&plan).expect("a status");
    assert_eq!((status.cells, status.done, status.left()), (50, 48, 0));
    assert_eq!(status.failed, done.failed);
    whole(&plan, &directory);
    let status = directory.status(&plan).expect("a status");
    assert_eq!((status.done, status.failed.len()), (50, 0));
    assert_eq!(merged(&plan, &directory), *UNINTERRUPTED);
}

#[test]
fn a_damaged_result_is_told_of_left_out_and_done_again() {
    let (plan, place) = (plan(SPEC), tempdir().expect("a directory"));
    let directory = Directory::new(place.path());
    directory.plan(&plan).expect("it is empty");
    whole(&plan, &directory);
    let damaged = &plan.cells()[3];
    let path = place.path().join("results").join(format!("{}.json", damaged.id));
    let sets = |directory: &Directory| directory.merged(&plan).expect("results").sets.len();
    for content in ["", "{", "[]", "{}"] {
        fs::write(&path, content).expect("a file");
        let status = directory.status(&plan).expect("a status");
        assert_eq!((status.done, status.left(), status.failed.len()), (49, 0, 1), "{content}");
        assert_eq!(status.failed[0].id, damaged.id);
        assert!(status.failed[0].error.contains("damaged"), "{}", status.failed[0].error);
        assert_eq!(sets(&directory), 49);
        let runner = Counting::default();
        let done = run(&plan, &directory, Shard::WHOLE, JOBS, &runner, &mut |_, _| {});
        assert_eq!(done.expect("it runs").before, 49);
        assert_eq!(runner.ran.into_inner(), 1);
        assert_eq!(merged(&plan, &directory), *UNINTERRUPTED);
    }
}

#[test]
fn results_are_kept_where_no_link_leads() {
    let (plan, place) = (plan(SPEC), tempdir().expect("a directory"));
    let elsewhere = tempdir().expect("another directory");
    let directory = Directory::new(place.path());
    directory.plan(&plan).expect("it is empty");
    for name in ["results", "errors"] {
        let path = place.path().join(name);
        fs::remove_dir(&path).expect("it is empty");
        std::os::unix::fs::symlink(elsewhere.path(), &path).expect("a link");
        for error in
            [directory.planned().expect_err("a link"), directory.plan(&plan).expect_err("a link")]
        {
            assert!(error.to_string().contains("is a symbolic link"), "{error}");
        }
        fs::remove_file(&path).expect("a link");
        fs::create_dir(&path).expect("a directory");
    }
    directory.planned().expect("a plan");
}

#[test]
fn a_plan_is_taken_again_and_another_is_not() {
    let place = tempdir().expect("a directory");
    let directory = Directory::new(place.path());
    let first = plan(SPEC);
    directory.plan(&first).expect("it is empty");
    directory.plan(&first).expect("it is the same");
    assert_eq!(directory.planned().expect("a plan"), first);
    let other = plan("scenario = \"trace\"\n[grid]\nlimit = \"3%\"");
    let error = directory.plan(&other).expect_err("another").to_string();
    assert!(error.contains("plan of another sweep"), "{error}");
    let none = Directory::new(&place.path().join("none")).planned().expect_err("none is there");
    assert!(none.to_string().contains("is not a sweep's directory"), "{none}");
}

#[test]
fn a_plan_that_was_changed_by_hand_is_refused() {
    let text = plan(SPEC).to_json();
    let read = |text: &str| Plan::from_json(text).expect_err("changed").to_string();
    let changed = text.replacen("\"limit\": \"3%\"", "\"limit\": \"2%\"", 1);
    assert!(read(&changed).contains("`trace limit=2% seed=1` is not what its id says"));
    assert!(read(&text.replace("pageout-sweep", "other")).contains("not a plan"));
    assert!(read("{").contains("not a plan"));
    assert_eq!(Plan::from_json(&text).expect("as it was written"), plan(SPEC));
}

#[test]
fn an_id_follows_from_all_that_figures_follow_from() {
    let run = this_run();
    let cell = |trace: &str| {
        let text = format!("trace = \"{trace}\"\n{SPEC}");
        let mut cells = Spec::read(&text).and_then(|spec| spec.cells()).expect("cells");
        vec![cells.swap_remove(0)]
    };
    let id = |run: &Run, checksum: &str, cell: Vec<Cell>| {
        let inputs = BTreeMap::from([("trace a".to_owned(), checksum.to_owned())]);
        Plan::new(run, inputs, cell).expect("one cell").cells()[0].id.clone()
    };
    let first = id(&run, "1", cell("a"));
    assert_eq!(first, id(&this_run(), "1", cell("a")), "the id of the run is no part of it");
    let committed = Run { commit: Some("c0ffee".to_owned()), ..run.clone() };
    let mut seeded = cell("a");
    seeded[0].seed = 2;
    let others = [id(&committed, "1", cell("a")), id(&run, "2", cell("a")), id(&run, "1", seeded)];
    assert!(!others.contains(&first));
    let plan = Plan::new(&run, BTreeMap::new(), cell("a")).expect("one cell");
    let error = plan.check(&committed, &BTreeMap::new()).expect_err("another build").to_string();
    assert!(error.contains("c0ffee") && error.contains("planned by"), "{error}");
    let changed = BTreeMap::from([("trace a".to_owned(), "2".to_owned())]);
    let error = plan.check(&run, &changed).expect_err("another trace").to_string();
    assert!(error.contains("trace a has changed"), "{error}");
    let twice = Plan::new(&run, BTreeMap::new(), [cell("a"), cell("a")].concat());
    assert!(twice.expect_err("one cell").to_string().contains("is there twice"));
}

#[test]
fn what_cannot_be_written_ends_the_run() {
    let (plan, place) = (plan(SPEC), tempdir().expect("a directory"));
    let directory = Directory::new(place.path());
    directory.plan(&plan).expect("it is empty");
    fs::remove_dir(place.path().join("results")).expect("it is empty");
    fs::write(place.path().join("results"), "").expect("a file");
    let runner = Counting::default();
    let done = run(&plan, &directory, Shard::WHOLE, JOBS, &runner, &mut |_, _| {});
    let Err(RunError::Directory(error)) = done else { panic!("nothing can be kept: {done:?}") };
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    assert!(runner.ran.into_inner() <= JOBS.get(), "the rest is not run");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Any shards, in any order and twice, with results lost in between: no cell that is done runs
    /// again, and the merged bytes are the same.
    #[test]
    fn merged_bytes_are_the_same_however_it_ran(
        of in 1..8_usize, order in any::<u64>(), lost in prop::collection::vec(0..50_usize, 0..10),
    ) {
        let (plan, place) = (plan(SPEC), tempdir().expect("a directory"));
        let directory = Directory::new(place.path());
        directory.plan(&plan).expect("it is empty");
        let runner = Counting::default();
        for turn in 0..2 {
            for k in 0..of {
                let nr = (k + order as usize % of) % of + 1;
                let shard: Shard = format!("{nr}/{of}").parse().expect("a shard");
                let before = runner.ran.load(SeqCst);
                let done = run(&plan, &directory, shard, JOBS, &runner, &mut |_, _| {});
                let done = done.expect("it runs");
                prop_assert_eq!(runner.ran.load(SeqCst) - before, done.cells - done.before);
            }
            if turn == 0 {
                for place_in_plan in &lost {
                    let id = &plan.cells()[*place_in_plan].id;
                    let result = place.path().join(format!("results/{id}.json"));
                    // The result may be lost twice.
                    let _ = fs::remove_file(result);
                }
            }
        }
        prop_assert_eq!(&merged(&plan, &directory), &*UNINTERRUPTED);
    }
}

//! `sweep`: cells that are planned, run, killed, run on and merged.

use crate::common::{
    assert_refused, command, entries, read_file, refused, run, sample_path, stderr, stdout,
};
use pageout_record::schema::Record;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// Cells that are run in no time.
const QUICK: &str = "\
scenario = \"reclaim-file\"
ground = \"model\"
variants = [\"young=batched\", \"young=line\"]

[fields]
format = \"x86-64\"
order = 0
size = \"64KiB\"

[grid]
";

/// A sweep's directory beside its file.
struct Sweep {
    place: TempDir,
}

impl Sweep {
    fn of(spec: &str) -> Self {
        let place = tempdir().expect("a directory");
        fs::write(place.path().join("spec.toml"), spec).expect("a file");
        Self { place }
    }

    fn planned(spec: &str) -> Self {
        let sweep = Self::of(spec);
        stdout(&sweep.plan());
        sweep
    }

    fn plan(&self) -> String {
        let spec = self.place.path().join("spec.toml");
        format!("sweep plan {} --dir {}", spec.display(), self.dir().display())
    }

    fn dir(&self) -> PathBuf {
        self.place.path().join("d")
    }

    fn words(&self, command: &str, rest: &str) -> String {
        format!("sweep {command} --dir {} {rest}", self.dir().display())
    }

    fn run(&self, rest: &str) -> String {
        stdout(&self.words("run", rest))
    }

    fn merged(&self) -> String {
        stdout(&self.words("merge", ""))
    }

    /// Cells that are done.
    fn done(&self) -> usize {
        let names = entries(&self.dir().join("results"));
        names.iter().filter(|name| !name.starts_with('.')).count()
    }
}

fn seeds(nr: usize) -> String {
    let seeds: Vec<_> = (1..=nr).map(|seed| seed.to_string()).collect();
    format!("{QUICK}seed = [{}]\n", seeds.join(", "))
}

#[test]
fn a_sweep_that_is_killed_goes_on_to_the_same_bytes() {
    let spec = seeds(200);
    let whole = Sweep::planned(&spec);
    assert!(whole.run("").starts_with("shard 1/1: 200 cells, 0 done before, 200 done now, 0 fail"));
    let expected = whole.merged();
    assert_eq!(read_file(&expected).sets.len(), 200);

    let killed = Sweep::planned(&spec);
    let mut kills = 0;
    while killed.done() < 120 {
        let mut run = command(&killed.words("run", "")).stdout(Stdio::null()).spawn().expect("it");
        let before = killed.done();
        while killed.done() < before + 25 && run.try_wait().expect("it is ours").is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        // SIGKILL.
        run.kill().expect("it is ours");
        run.wait().expect("it ends");
        kills += 1;
    }
    assert!(killed.done() < 200, "it was killed in the middle, {kills} times");
    let unfinished = run(&killed.words("merge", ""));
    assert_eq!(unfinished.status.code(), Some(1));
    assert!(stderr(&unfinished).contains("of 200 cells"), "{}", stderr(&unfinished));
    killed.run("");
    assert!(killed.merged() == expected, "the bytes are the same");

    let shards = Sweep::planned(&spec);
    for shard in ["3/4", "1/4", "4/4", "2/4"] {
        let told = shards.run(&format!("--shard {shard} --jobs 1"));
        assert!(told.starts_with(&format!("shard {shard}: 50 cells, 0 done before, 50 done")));
    }
    assert!(shards.merged() == expected, "the bytes are the same");
    assert!(shards.run("").contains("200 cells, 200 done before, 0 done now"));
}

#[test]
fn a_cell_that_fails_is_told_in_the_end_and_loses_nothing() {
    let spec =
        QUICK.replace("order = 0\n", "") + "order = [0, 4, 9]\nmap = [\"ptes\", \"pmd-leaf\"]";
    let sweep = Sweep::of(&spec);
    let planned = run(&sweep.plan());
    assert!(planned.status.success());
    assert!(
        stderr(&planned).contains("order=4 size=64KiB seed=1` will fail: "),
        "{}",
        stderr(&planned)
    );
    let done = run(&sweep.words("run", ""));
    let (told, said) = (String::from_utf8_lossy(&done.stdout), stderr(&done));
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(told.contains("6 cells, 0 done before, 2 done now, 4 failed"), "{told}");
    assert_eq!(said.matches("error: cell ").count(), 4, "{said}");
    assert!(said.contains("order=0 size=64KiB seed=1: scenario reclaim-file: map=pmd-leaf"));
    let status = stdout(&sweep.words("status", ""));
    assert!(status.starts_with("6 cells: 2 done, 4 failed, 0 left\nfailed: "), "{status}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&sweep.words("status", "--json"))).expect("JSON");
    assert_eq!((&json["done"], json["failed"].as_array().map(Vec::len)), (&2.into(), Some(4)));
    let merge = run(&sweep.words("merge", ""));
    assert_eq!(merge.status.code(), Some(1));
    assert!(stderr(&merge).contains("0 are left and 4 have failed"), "{}", stderr(&merge));
    assert_eq!(read_file(&stdout(&sweep.words("merge", "--partial"))).sets.len(), 2);
    let csv = stdout(&sweep.words("merge", "--partial --csv"));
    assert!(csv.starts_with("run,scenario,ground,seed,"), "{csv}");
}

#[test]
fn any_scenario_and_ground() {
    for spec in [
        "scenario = \"trace\"\ntrace = \"python-table\"\nvariants = [\"lru=mglru\"]\n\
         [fields]\nformat = \"x86-64\"\n[grid]\nlimit = [\"60%\"]",
        "scenario = \"age-file\"\ntimes = false\n[[list]]\norder = 4\nsize = \"1MiB\"\n\
         format = \"arm64-4k\"",
        "scenario = \"pageout-shared\"\nground = \"model\"\n[random]\ncells = 1\n[random.from]\n\
         cores = [2, 4]\nplatform = [\"kunpeng-920-class\", \"x86-server-class\"]",
    ] {
        let sweep = Sweep::planned(spec);
        assert!(sweep.run("").contains("1 cells, 0 done before, 1 done now"), "{spec}");
        let file = read_file(&sweep.merged());
        assert!(file.records().count() > 0, "{spec}");
    }
}

#[test]
fn merged_records_compare() {
    let sweep = Sweep::planned(&seeds(3));
    sweep.run("");
    let merged = sweep.place.path().join("merged.json");
    stdout(&sweep.words("merge", &format!("--output {}", merged.display())));
    let table = stdout(&format!("compare {} --full", merged.display()));
    assert!(table.contains("compared  young") && table.contains("batched"), "{table}");
    assert!(table.contains("\nseed=3\n"), "a heading a seed: {table}");
}

#[test]
fn the_cells_are_listed_where_no_directory_is_given() {
    let sweep = Sweep::of(&seeds(2));
    let spec = sweep.place.path().join("spec.toml");
    let listed = stdout(&format!("sweep plan {}", spec.display()));
    let ends: Vec<_> = listed.lines().filter_map(|line| line.split_once("  ")).collect();
    let said = "reclaim-file format=x86-64 order=0 size=64KiB seed=";
    assert_eq!(
        ends.iter().map(|end| end.1).collect::<Vec<_>>(),
        [1, 2].map(|n| format!("{said}{n}"))
    );
    assert!(ends.iter().all(|(id, _)| id.len() == 32), "{listed}");
}

#[test]
fn a_plan_says_how_long_its_cells_take_and_from_which() {
    let sweep = Sweep::of(&seeds(9));
    let planned = run(&sweep.plan());
    let said = stderr(&planned);
    assert!(said.starts_with("time: about ") && said.contains("on the "), "{said}");
    assert!(said.contains("like `reclaim-file format=x86-64 order=0 size=64KiB seed=5`"), "{said}");
    assert_eq!(sweep.done(), 0, "what it ran is not kept");
    let again = run(&sweep.plan());
    assert_eq!(stderr(&again), "", "the same plan is not timed again");
}

#[test]
fn what_no_cell_can_replay_is_refused_when_it_is_planned() {
    let place = tempdir().expect("a directory");
    let path = place.path().join("cut.pgt");
    let sample = fs::read(sample_path("cc1plus-list")).expect("a sample");
    fs::write(&path, &sample[..sample.len() - 1]).expect("a file");
    let spec = |trace: &Path| {
        let trace = trace.display();
        format!("scenario = \"trace\"\ntrace = \"{trace}\"\n[grid]\nlimit = \"50%\"\n")
    };
    refused(&Sweep::of(&spec(&path)).plan(), &["cut.pgt: truncated"]);
    let named = place.path().join("a\u{7}.pgt");
    fs::write(&named, &sample).expect("a file");
    let sweep =
        Sweep::of(&spec(Path::new(&named.display().to_string().replace('\u{7}', "\\u0007"))));
    refused(&sweep.plan(), &[r"a\u{7}.pgt: the file's name has characters that act on a display"]);
}

#[test]
fn bad_files_are_one_message() {
    let refuse = |spec: &str, parts: &[&str]| {
        let sweep = Sweep::of(spec);
        refused(&sweep.plan(), &[&["spec.toml: "], parts].concat());
        assert!(!sweep.dir().exists(), "nothing is made");
    };
    refuse(&format!("ordre = 4\n{QUICK}"), &["line 1", "unknown key `ordre`", "variants"]);
    refuse(&format!("{QUICK}colour = 4"), &["`grid.colour`", "unknown parameter `colour`"]);
    refuse(QUICK, &["`grid`", "it is empty"]);
    refuse(&format!("{QUICK}seed = []"), &["`grid.seed`", "it is empty"]);
    refused("sweep plan none.toml --dir d", &["cannot read none.toml"]);
    let sweep = Sweep::of("scenario = \"trace\"\ntrace = \"none.pgt\"\n[grid]\nlimit = \"50%\"");
    refused(&sweep.plan(), &["cannot read trace file none.pgt"]);
    let none =
        Sweep::of(&format!("{QUICK}order = 9").replace("order = 0\n", "map = \"pmd-leaf\"\n"));
    refused(&none.plan(), &["largest folio's size"]);
    let host = Sweep::of("scenario = \"age-file\"\ndraws = 4\n[grid]\norder = 4");
    refused(&host.plan(), &["--draws is for a modelled machine"]);
}

#[test]
fn bad_directories_are_one_message() {
    let place = tempdir().expect("a directory");
    let dir = place.path().display();
    for command in ["run", "status", "merge"] {
        refused(&format!("sweep {command} --dir {dir}"), &["is not a sweep's directory"]);
        refused(&format!("sweep {command}"), &["--dir"]);
    }
    for shard in ["0/4", "5/4", "x"] {
        refused(&format!("sweep run --dir {dir} --shard {shard}"), &["--shard", "K from 1 to N"]);
    }
    refused(&format!("sweep run --dir {dir} --jobs 0"), &["--jobs"]);

    let sweep = Sweep::planned(&seeds(3));
    let spec = sweep.place.path().join("spec.toml");
    fs::write(&spec, seeds(4)).expect("a file");
    refused(&sweep.plan(), &["has the plan of another sweep", "--dir"]);
    sweep.run("--shard 1/3");
    let result = sweep.dir().join("results").join(&entries(&sweep.dir().join("results"))[0]);
    fs::write(&result, "{").expect("a file");
    let status = stdout(&sweep.words("status", ""));
    assert!(status.starts_with("3 cells: 0 done, 1 failed, 2 left"), "{status}");
    assert!(status.contains("its result is damaged") && status.contains("line 1"), "{status}");
    let merge = run(&sweep.words("merge", "--partial"));
    assert_eq!(merge.status.code(), Some(1));
    assert!(sweep.run("").contains("3 cells, 0 done before, 3 done now"));
}

#[test]
fn a_trace_that_changes_is_noticed() {
    let place = tempdir().expect("a directory");
    let trace = |sample: &str| {
        let from = sample_path(sample);
        fs::copy(from, place.path().join("mine.pgt")).expect("a copy");
    };
    trace("python-table");
    let mine = place.path().join("mine.pgt").display().to_string();
    let spec = format!("scenario = \"trace\"\ntrace = \"{mine}\"\n[grid]\nlimit = \"50%\"\n");
    let sweep = Sweep::planned(&spec);
    trace("cc1plus-list");
    refused(&sweep.words("run", ""), &["mine.pgt has changed since the sweep was planned"]);
}

/// Returns a command that cannot write files: a limit on their sizes, whose signal is ignored.
fn limited(words: &str) -> Command {
    let mut shell = Command::new("sh");
    let limit = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    shell.args(["-c", limit, env!("CARGO_BIN_EXE_pageout")]).args(words.split_whitespace());
    shell.env("COLUMNS", "500");
    shell
}

#[test]
fn a_disk_that_takes_no_more_is_one_message_and_loses_nothing() {
    let sweep = Sweep::planned(&seeds(6));
    sweep.run("--shard 1/2");
    let output = limited(&sweep.words("run", "")).output().expect("it runs");
    assert_refused(&output, &["cannot write ", "results/", "File too large"]);
    let left = entries(&sweep.dir().join("results"));
    assert_eq!(left.len(), 3, "nothing half written is left: {left:?}");
    sweep.run("");
    assert_eq!(sweep.done(), 6);
}

/// All CPUs busy: a machine that others use.
#[test]
fn times_are_not_taken_where_others_compute() {
    let spec = "scenario = \"age-file\"\nruns = 1\n[fields]\nformat = \"x86-64\"\nsize = \"1MiB\"\n\
        [grid]\norder = [0, 4]";
    let sweep = Sweep::planned(spec);
    let busy = Busy::new();
    let output = run(&sweep.words("run", ""));
    drop(busy);
    assert_refused(&output, &["need a machine of their own", "times = false"]);
    assert_eq!(sweep.done(), 0, "none is run");
    let anywhere = Sweep::planned(&format!("times = false\n{spec}"));
    let busy = Busy::new();
    anywhere.run("");
    drop(busy);
    let file = read_file(&anywhere.merged());
    let basis = |record: &Record| {
        record.metrics.iter().map(|metric| metric.basis.name()).collect::<Vec<_>>()
    };
    assert!(file.records().flat_map(basis).all(|basis| basis == "counted"));
}

/// Threads that keep every CPU busy until they are dropped.
struct Busy {
    stop: Arc<AtomicBool>,
}

impl Busy {
    fn new() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let stop = stop.clone();
            thread::spawn(move || while !stop.load(Relaxed) {});
        }
        Self { stop }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

#[test]
fn questions_go_on_as_they_were() {
    let words = "sweep flush --platform kunpeng-920-class --cores 1,2 --processes 1 --size 64KiB";
    assert!(stdout(words).contains("kunpeng-920-class"));
    refused("sweep flush --cores 0", &["--cores"]);
    refused("sweep flood", &["`flood`", "pageout sweep --help"]);
}

/// The directory is all that a machine needs.
#[test]
fn a_directory_that_is_moved_goes_on() {
    let sweep = Sweep::planned(&seeds(4));
    sweep.run("--shard 1/2");
    let moved = sweep.place.path().join("elsewhere");
    fs::rename(sweep.dir(), &moved).expect("it is ours");
    let words = |command: &str, dir: &Path| format!("sweep {command} --dir {}", dir.display());
    assert!(stdout(&words("run", &moved)).contains("4 cells, 2 done before, 2 done now"));
}

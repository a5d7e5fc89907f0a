//! Bad input: exit status 2 and one message that says what, where, and what is accepted.

use crate::common::{SAMPLE, assert_refused, command, entries, refused, run_with_input};
use std::path::Path;
use tempfile::tempdir;

#[test]
fn commands_and_options() {
    refused("frobnicate", &["'frobnicate'", "--help"]);
    refused("compare --frobnicate", &["'--frobnicate'", "--help"]);
    refused("run --json", &["<SCENARIO>"]);
    refused("bench --json", &["<WHAT>"]);
    refused("bench old", &["'old'", "young"]);
    refused("completions csh", &["'csh'", "bash", "zsh"]);
    refused("trace record --output x.pgt", &["<CMD>"]);
    refused("trace record -- ls", &["--output"]);
    refused("compare age-file --json --csv", &["'--json'", "'--csv'"]);
    refused("compare age-file --csv --json", &["'--json'", "'--csv'"]);
    for runs in ["0", "-1", "1001", "many"] {
        refused(&format!("compare age-file --runs={runs}"), &["--runs", runs]);
    }
    for seed in ["-1", "x", "18446744073709551616"] {
        refused(&format!("compare age-file --seed={seed}"), &["--seed", seed]);
    }
    for epoch in ["0", "-1", "1099511627777"] {
        refused(&format!("trace import --epoch={epoch} --output x -"), &["--epoch", epoch]);
    }
}

#[test]
fn checks() {
    refused("check everything", &["`everything`", "lost-write", "reclaim-dirty"]);
    refused("check --exhibit ghost", &["`ghost`", "free-before-flush"]);
    refused("check --format vax", &["`vax`", "arm64-small-4"]);
    refused("check --exhibit folded-edges --format x86-small", &["format", "arm64-small-4"]);
    refused("check --replay 3:1", &["--format"]);
    refused("check --format x86-small --replay 3:1", &["one scenario", "found"]);
    refused("check young --format x86-small --replay 3:1", &["one scenario", "found 0"]);
    refused("check reclaim-dirty --format x86-small --replay 3,1", &["`3,1`", "STEP:OPTION"]);
    refused("check --bound=-1", &["--bound"]);
    refused("check lost-write --exhibit folded-edges", &["--exhibit"]);
    refused("check --list --bound 1", &["--list"]);
}

#[test]
fn grounds() {
    refused("compare age-file --ground guest", &["guest", "not implemented yet", "host"]);
    refused("run age-file --ground linux", &["linux", "pageout lab --help"]);
    refused("run age-file --ground moon", &["'moon'", "expected host or model"]);
    refused("run age-file --ground=", &["ground", "expected host"]);
}

#[test]
fn modelled_machines() {
    for scenario in ["age-file", "aging-rounds"] {
        let words = format!("compare {scenario} --ground model");
        refused(&words, &[scenario, "is for --ground host", "model has reclaim-file"]);
    }
    refused("compare --ground model", &["main table", "model has reclaim-file"]);
    refused("compare age-pipe --ground model", &["`age-pipe`"]);
    refused("compare order=4 --ground model", &["`order=4`", "without a scenario"]);
    let model = |words: &str| format!("run reclaim-file {words} --ground model");
    let none = model("--platform abacus");
    refused(&none, &["abacus", "no platform has that name", "kunpeng-920-class"]);
    let x86 = model("format=arm64-4k --platform x86-server-class");
    refused(&x86, &["format", "arm64-4k", "x86-server-class"]);
    refused(&model("format=riscv64"), &["riscv64", "--platform FILE"]);
    let tight = model("process=running size=1MiB order=0 --cores 256");
    refused(&tight, &["size", "1MiB", "256 cores"]);
    refused(&model("process=dancing"), &["process", "dancing", "asleep or running"]);
    refused(&model("process=running --cores 1"), &["process", "one core"]);
    refused(&model("secondary=twice"), &["secondary", "twice", "none or guest"]);
    let leaf = "order=pmd map=pmd-leaf secondary=guest";
    refused(&model(leaf), &["secondary", "guest", "map=pmd-leaf"]);
    refused("run reclaim-file secondary=guest", &["secondary"]);
    refused(&model("--cores 0"), &["--cores", "1..=256"]);
    refused(&model("--cores 257"), &["--cores", "1..=256"]);
    refused(&model("--draws 0"), &["--draws"]);
    refused(&model("--sizes"), &["--sizes", "--ground host"]);
    refused(&model("--folded stacks.txt"), &["one run", "found 6"]);
    for scenario in ["pageout-shared", "fork-heavy"] {
        refused(&format!("compare {scenario}"), &[scenario, "is for --ground model"]);
        let words = format!("run {scenario} order=4 --ground model");
        refused(&words, &[scenario, "`order`", "it has format"]);
    }
    refused("run pageout-shared processes=2 --ground model", &["out=memory.reclaim"]);
    refused("run reclaim-file process=asleep", &["process"]);
    for option in ["--platform x86-server-class", "--cores 4", "--draws 9"] {
        let name = option.split(' ').next().unwrap();
        refused(&format!("compare reclaim-file {option}"), &[name, "--ground model"]);
    }
    refused("run reclaim-file --folded x", &["--folded", "--ground model"]);
}

#[test]
fn scenarios() {
    refused("compare age-pipe", &["`age-pipe`", "aging-rounds, trace"]);
    refused("run age-pipe", &["`age-pipe`", "aging-rounds, trace"]);
    refused("compare order=4", &["`order=4`", "without a scenario", "reclaim-file"]);
    refused("run order=4", &["`order=4`", "without a scenario", "reclaim-file"]);
    refused("compare age-file --trace x.pgt", &["--trace", "age-file"]);
    refused("run age-file --trace x.pgt", &["--trace", "age-file"]);
}

#[test]
fn fields() {
    refused("run age-file oder=4", &["age-file", "`oder`", "did you mean `order`"]);
    refused("run age-fil", &["`age-fil`", "did you mean `age-file`"]);
    refused("run age-file colour=red", &["age-file", "`colour`", "format, order, size"]);
    refused("run trace size=4MiB", &["trace", "`size`", "format, order"]);
    refused("run age-file order", &["`order`", "FIELD=VALUE"]);
    refused("run age-file =4", &["`=4`", "FIELD=VALUE"]);
    refused("run age-file order=4 order=4", &["`order`", "twice"]);
    for scenario in ["age-file", "trace"] {
        for order in ["10", "-1", "abc", "", "4,,9", "256", "4.0"] {
            refused(&format!("run {scenario} order={order}"), &["`order`", "0 to 9, or pmd"]);
        }
        refused(&format!("run {scenario} order=4,0,4"), &["`order`", "`4,0,4`", "once"]);
        refused(&format!("run {scenario} format=alpha"), &["`alpha`", "arm64-64k or riscv64"]);
    }
    for every in ["0", "-1", "x", "4294967296"] {
        refused(&format!("run trace every={every}"), &["`every`", every, "from 1"]);
    }
    for limit in ["0%", "101%", "-1%", "x%", "%", "0", "4095", "64XiB", "1.5MiB"] {
        let accepted = ["from 4KiB", "64MiB", "1% to 100%"];
        refused(
            &format!("run trace limit={limit}"),
            &[&["`limit`", limit], &accepted[..]].concat(),
        );
    }
    refused("run trace limit=50% every=2", &["trace", "every", "limit"]);
    refused("run trace limit=4KiB format=x86-64", &["limit of 1 pages", "cannot be reclaimed"]);
    for processes in ["0", "-1", "1025", "1000000", "x"] {
        let words = format!("run age-file processes={processes}");
        refused(&words, &["`processes`", processes, "1 to 1024"]);
    }
    for young in ["101%", "-1%", "x", "50%%"] {
        refused(&format!("run age-file young={young}"), &["`young`", young, "0% to 100%"]);
    }
    refused("run age-file young=5,5%", &["`young`", "`5,5%`", "once"]);
    refused("run age-file map=pud-leaf", &["`pud-leaf`", "ptes or pmd-leaf"]);
    refused("run age-file map=pmd-leaf order=4", &["pmd-leaf", "order=pmd"]);
}

#[test]
fn sizes() {
    for size in ["-1", "99999999999999999999", "x", "", "1.5GiB", "4QiB", "99999999T"] {
        refused(&format!("run age-file size={size}"), &["`size`", size, "such as 64MiB"]);
    }
    refused("run age-file size=3 order=0", &["`size`", "`3B`", "multiple", "4KiB"]);
    refused("run age-file size=0", &["`size`", "`0B`", "multiple"]);
    refused("run age-file size=60KiB order=4", &["`60KiB`", "multiple", "64KiB"]);
    refused("run age-file size=100TiB", &["`100TiB`", "up to 1TiB"]);
    let processes = "run age-file order=0 size=8GiB processes=1024";
    refused(processes, &["1024 processes", "8GiB", "16384 MiB", "4096 MiB"]);
    let scenarios = "run age-file order=0,1,2,3,4,5,6,7,8,9 size=1TiB processes=2";
    refused(scenarios, &["age-file", "MiB are available", "a smaller size"]);
    let modelled = "compare reclaim-file size=1TiB order=0 anon=99% --ground model --draws 100";
    refused(modelled, &["reclaim-file", "MiB are available", "a smaller size"]);
}

#[test]
fn scenarios_of_reclaim() {
    refused("run reclaim-file reclaim=0%", &["`reclaim`", "`0%`", "from 1% to 100%"]);
    refused("run reclaim-file list=random", &["`list`", "file or shuffled"]);
    refused("run reclaim-file mapped=half order=0", &["mapped=half", "two pages or more"]);
    refused("run reclaim-file map=pmd-leaf order=4", &["order=pmd", "align=aligned"]);
    refused("run reclaim-file size=2TiB", &["`2TiB`", "up to 1TiB"]);
    refused("run reclaim-file colour=red", &["`colour`", "uffd-wp"]);
    refused("compare reclaim-file --trace x.pgt", &["--trace", "reclaim-file"]);
    refused("run trace --sizes", &["--sizes", "scenarios of files"]);
}

#[test]
fn variants() {
    for option in ["compare age-file --base", "compare age-file --new", "run age-file --variant"] {
        refused(&format!("{option} colour=red"), &["`colour`", "shootdown, flush or lru"]);
        refused(&format!("{option} young=fast"), &["`fast`", "per-entry, batched or line"]);
        refused(&format!("{option} flush=maybe"), &["`maybe`", "sync, nosync or none"]);
        refused(&format!("{option} young"), &["`young`", "AXIS=CHOICE"]);
        refused(&format!("{option} young=line,young=line"), &["`young`", "twice"]);
        refused(&format!("{option} unmap=line"), &["`line`", "per-entry or batched"]);
        refused(
            &format!("{option} shootdown=late"),
            &["`late`", "immediate, deferred, deferred-4cpus"],
        );
        refused(&format!("{option} lru=2q"), &["lru", "`2q`", "classic or mglru"]);
    }
    let twice = ["young=line,", "flush=architecture", "compared with itself"];
    refused("compare age-file --base young=line --new young=line", &twice);
    refused("compare age-file --new young=line --new flush=architecture,young=line", &twice);
    let same = "compare reclaim-file --base young=line --new unmap=batched";
    refused(same, &["compared with itself"]);
    refused("run reclaim-file lru=2q", &["lru", "`2q`", "classic or mglru"]);
    let other = ["`lru`", "found `classic`, but the scenario is on mglru"];
    refused("run reclaim-file lru=mglru --variant lru=classic", &other);
    refused("compare reclaim-file lru=mglru --new young=line,lru=classic", &other);
    refused("compare age-file lru=mglru", &["no field `lru`"]);
    refused("compare trace lru=mglru", &["no field `lru`"]);
    let unmaps = "compare age-file --base young=line --new young=line,unmap=per-entry";
    refused(unmaps, &["compared with itself"]);
}

/// Every command that reads a trace refuses the file at `path`, and says which and why.
fn refused_trace(path: &Path, parts: &[&str]) {
    for words in ["trace info", "run trace --trace", "compare trace --trace", "compare --trace"] {
        let output = command(words).arg(path).output().expect("it runs");
        assert_refused(&output, parts);
        assert_refused(&output, &[&path.display().to_string()]);
    }
}

#[test]
fn traces_that_are_none() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("bad.pgt");
    refused_trace(&path, &["No such file", "no sample", "sqlite-orders"]);
    refused_trace(directory.path(), &["not a regular file"]);
    for content in ["", "I  1000,4\n", "{\"schema\": \"pageout-record\"}"] {
        std::fs::write(&path, content).expect("a file");
        refused_trace(&path, &["not a page trace"]);
    }
    refused_trace(Path::new("/dev/zero"), &["not a regular file"]);
}

#[test]
fn traces_cut_short_or_damaged_at_any_place() {
    let directory = tempdir().expect("a directory");
    let sample = std::fs::read(SAMPLE).expect("the sample");
    let path = directory.path().join("bad.pgt");
    let end = sample.len();
    for cut in [1, 8, 9, 10, 11, 40, 1000, end / 2, end - 5, end - 4, end - 1] {
        std::fs::write(&path, &sample[..cut]).expect("a file");
        let output = command("run trace --trace").arg(&path).output().expect("it runs");
        assert_refused(&output, &["bad.pgt"]);
    }
    for damaged in [9, 12, 100, end / 3, end - 1] {
        let mut bytes = sample.clone();
        bytes[damaged] ^= 0x10;
        std::fs::write(&path, &bytes).expect("a file");
        let output = command("run trace --trace").arg(&path).output().expect("it runs");
        assert_refused(&output, &["bad.pgt"]);
    }
    let longer = [&sample[..], b"more"].concat();
    std::fs::write(&path, longer).expect("a file");
    refused_trace(&path, &["end"]);
}

#[test]
fn logs_that_are_none() {
    let directory = tempdir().expect("a directory");
    let output = directory.path().join("x.pgt");
    let import = format!("trace import --from lackey - --output {}", output.display());
    let imported = |log: &str| run_with_input(&import, log);
    assert_refused(&imported(""), &["standard input", "no reference", "--tool=lackey"]);
    assert_refused(&imported("==1== Lackey\n"), &["standard input", "no reference"]);
    let good = "I  1000,4\n".repeat(6);
    let bad = format!("{good} X 2000,4\n{good}");
    assert_refused(&imported(&bad), &["standard input", "line 7", "` X 2000,4`", "` L ADDRESS"]);
    assert_refused(&imported("\u{1b}[31m garbage"), &["line 1", "garbage"]);
    for (input, part) in [("missing", "No such file"), (".", "directory")] {
        let input = directory.path().join(input).display().to_string();
        let words = format!("trace import {input} --output {}", output.display());
        refused(&words, &[&input, part]);
    }
    assert_eq!(entries(directory.path()), Vec::<String>::new());
}

#[test]
fn outputs_that_cannot_be_written() {
    let directory = tempdir().expect("a directory");
    let here = directory.path().display().to_string();
    let file = directory.path().join("file");
    std::fs::write(&file, "kept").expect("a file");
    for (path, part) in [
        (here.clone(), "not a regular file"),
        (format!("{here}/missing/x"), "No such file"),
        (format!("{here}/file/x"), "Not a directory"),
        ("/dev/null".to_owned(), "not a regular file"),
    ] {
        for words in [
            "run age-file size=4MiB --runs 1 --json",
            "compare --runs 1",
            "bench young --runs 1",
            "trace record -- ls --epoch 1",
        ] {
            let (words, rest) = words.split_once(" -- ").unwrap_or((words, ""));
            let mut command = command(words);
            command.arg("--output").arg(&path);
            if !rest.is_empty() {
                command.arg("--").args(rest.split(' '));
            }
            let output = command.output().expect("it runs");
            assert_refused(&output, &[&path, part]);
        }
        let words = format!("trace import - --output {path}");
        assert_refused(&run_with_input(&words, "I  1000,4\n"), &[&path, part]);
    }
    assert_eq!(entries(directory.path()), ["file"]);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "kept");
}

//! Every command does its work and reports it.

use crate::common::{
    QUICK_TRACE, SAMPLES, assert_refused, command, counted, entries, records, refused, run,
    run_with_input, sample_path, stderr, stdout,
};
use std::io::Read;
use std::process::Stdio;
use tempfile::tempdir;

/// Checks that the text has every part, in this order.
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no `{part}` in order in:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn compare_age_file_prints_a_table() {
    let table = stdout("compare age-file size=4MiB order=4 format=arm64-4k --runs 2 --full");
    let above = ["tool", "machine", "size=4MiB"];
    let figures = ["folio_referenced", "helper alone", "atomics", "folios referenced"];
    let below = ["n = 2", "against before"];
    assert_in_order(&table, &above);
    assert_in_order(&table, &["before: young=per-entry", "batched: ", "line: "]);
    assert_in_order(&table, &[&figures[..], &below[..]].concat());
}

#[test]
fn rows_that_are_the_same_are_left_out_unless_asked_for() {
    let words = "compare age-file size=4MiB order=4 format=arm64-4k --runs 1";
    let folded = stdout(words);
    assert!(!folded.contains("folios referenced"), "{folded}");
    assert_in_order(&folded, &["--full: fields", "the same under every"]);
    let full = stdout(&format!("{words} --full"));
    assert!(full.contains("folios referenced") && !full.contains("--full: "), "{full}");
}

#[test]
fn compare_reclaim_file_prints_the_steps() {
    let table = stdout("compare reclaim-file size=16MiB order=4 format=arm64-4k --runs 2 --full");
    let before = "before: young=per-entry unmap=per-entry";
    let steps = [before, "batched young", "+ batched unmap", "line"];
    assert_in_order(&table, &["reclaim=80%", "size=16MiB", "shootdown=deferred"]);
    assert_in_order(&table, &steps);
    let figures = ["whole reclaim", "atomics", "invalidations", "barriers", "pages reclaimed"];
    assert_in_order(&table, &figures);
}

#[test]
fn compare_reclaim_file_on_generations_compares_young_alone() {
    let words = "compare reclaim-file lru=mglru size=16MiB order=4 --runs 2 --full";
    let table = stdout(words);
    assert_in_order(&table, &["lru=mglru", "unmap=batched"]);
    assert_in_order(&table, &["compared  young", "before", "batched", "line"]);
    assert_in_order(&table, &["arm64-4k", "whole reclaim", "atomics", "pages examined"]);
    let swaps =
        stdout("compare reclaim-file lru=mglru anon=25% size=16MiB order=4 --runs 1 --full");
    assert_in_order(&swaps, &["compared  young", "before", "pages swapped out"]);
}

#[test]
fn a_program_under_a_limit_runs_on_either_lists() {
    let sample = "--trace cc1plus-list --base lru=classic --new lru=mglru --runs 1";
    let table = stdout(&format!("compare trace limit=25% format=x86-64 {sample} --full"));
    assert_in_order(&table, &["compared  lru", "classic", "mglru"]);
    assert_in_order(&table, &["refaults", "bound: demand MIN", "refaults / demand MIN's"]);
}

#[test]
fn run_reclaim_file_takes_every_field_and_format() {
    for fields in [
        "format=arm64-16k,arm64-64k,riscv64 order=2",
        "format=arm64-4k order=mixed list=shuffled",
        "format=arm64-4k order=4 mapped=half young=30%",
        "format=x86-64 order=4 align=misaligned processes=2",
        "format=x86-64 order=4 uffd-wp=yes",
        "format=x86-64 order=pmd map=pmd-leaf reclaim=25%",
        "format=x86-64,arm64-64k order=4 anon=25% chosen=folios young=50%",
    ] {
        let words = format!("run reclaim-file size=16MiB {fields} --runs 1");
        let mut set = records(&format!("{words} --variant young=batched,shootdown=immediate"));
        let generations = format!("{words} lru=mglru --variant young=batched");
        set.records.extend(records(&generations).records);
        for record in &set.records {
            assert_eq!(record.variant["unmap"], "batched", "defaults are written out");
            let asked = if fields.contains("25%") { 1024.0 } else { 3276.0 };
            assert!(counted(record, "pages reclaimed") >= asked, "{fields}");
        }
    }
}

#[test]
fn sizes_say_what_a_scenario_takes_and_run_nothing() {
    let text = stdout("run reclaim-file size=1TiB order=pmd format=x86-64 --sizes");
    assert_in_order(&text, &["size=1TiB", "folios", "524288", "64", "page tables", "all"]);
    assert_in_order(&text, &["bytes a folio", "<= 64", "5.00 bytes a page", "<= 6"]);
    assert_in_order(&stdout("run age-file size=1GiB --sizes"), &["262144", "bytes a page"]);
}

#[test]
fn compare_trace_prints_a_table() {
    let table = stdout(&format!("compare {QUICK_TRACE} --runs 2 --full"));
    let figures = ["folio_referenced", "atomics", "folios referenced"];
    assert_in_order(&table, &["trace=python-table.pgt", "before", "batched", "line"]);
    assert_in_order(&table, &figures);
}

/// The main table, once: all of its parts, each with figures.
#[test]
fn the_main_table_has_all_of_its_parts() {
    let text = stdout("compare --runs 1 --full");
    let steps = ["before: ", "batched young: ", "+ batched unmap: ", "line: "];
    assert_in_order(&text, &["A clean mapped file", "young,unmap"]);
    assert_in_order(&text, &steps);
    assert_in_order(&text, &["10GiB", "whole reclaim", "arm64-4k", "pmd"]);
    assert_in_order(&text, &["on generations", "before", "batched", "line"]);
    assert_in_order(&text, &["A real program", "trace=python-table.pgt", "ns/4K page"]);
    assert_in_order(&text, &["saved of whole reclaim", "line saves, ns", "38 / "]);
    assert_in_order(&text, &["724", "485", "724", "119", "2952", "instructions/4K page"]);
    let generations = ["224", "86", "1463", "544", "723", "463", "2136.8", "1243.1"];
    assert_in_order(&text, &generations);
    assert_in_order(
        &text,
        &["floors", "ns/entry", "figures of real kernels", "[1]", "nanoseconds"],
    );
}

#[test]
fn variants_are_chosen_by_their_axes() {
    let table = stdout(
        "compare age-file size=4MiB order=4 format=x86-64 --runs 2 --base young=batched \
         --new young=line --new young=line,flush=sync --full",
    );
    assert_in_order(
        &table,
        &["compared  young,flush", "batched,architecture", "line,architecture", "line,sync"],
    );
    assert!(!table.contains("per-entry"), "only what is asked for:\n{table}");
}

#[test]
fn run_age_file_prints_every_metric() {
    let variant = "--variant young=batched";
    let text = stdout(&format!("run age-file size=4MiB order=4 format=x86-64 --runs 6 {variant}"));
    assert_in_order(&text, &["age-file", "size=4MiB", "young=batched"]);
    assert_in_order(&text, &["metric", "value", "unit", "95% interval"]);
    assert_in_order(&text, &["folio_referenced", "ns/4K page", " to ", "atomics", "per 4K page"]);
    assert_in_order(&text, &["folios referenced", "measured: median of n = 6; counted: exact"]);
    let full = stdout("run age-file size=4MiB order=4 format=x86-64 --runs 6 --full");
    assert_in_order(&full, &["basis", "n\n", "folio_referenced", "measured", "6", "counted", "1"]);
}

#[test]
fn run_trace_prints_every_metric() {
    let text = stdout(&format!("run {QUICK_TRACE} --runs 2"));
    let metrics = ["folio_referenced", "pages aged", "4K pages", "folios referenced"];
    assert_in_order(&text, &["trace=python-table.pgt", "young=line"]);
    assert_in_order(&text, &metrics);
}

#[test]
fn bench_young_sets_every_goal_beside_what_was_measured() {
    let text = stdout("bench young --runs 1");
    assert_in_order(&text, &["per-entry", "batched", "line", "single call", "ns/entry"]);
    assert_in_order(&text, &["floors", "MiB of tables", "ns/entry", "locked read-modify-write"]);
    assert_in_order(&text, &["held", "verdict", "line / wide read", "goals met"]);
}

#[test]
fn bench_reclaim_sets_every_goal_beside_what_was_measured() {
    let text = stdout("bench reclaim --runs 1");
    assert_in_order(&text, &["before", "+ batched unmap", "ns/4K page", "whole reclaim"]);
    // One run may have no stages, and then there is no table of them.
    if let Some((_, table)) = text.split_once("ratio without fixed\n") {
        assert!(table.lines().nth(1).is_some_and(|row| !row.is_empty()), "{text}");
    }
    assert_in_order(&text, &["saved by line against per-entry", ">= 18", "ns/4K page"]);
    assert_in_order(&text, &["arm64-4k, order 0, throughput", ">= 0.97", "goals met"]);
}

#[test]
fn bench_aging_counts_what_walks_skip() {
    let text = stdout("bench aging --runs 1");
    assert_in_order(&text, &["one aging walk", "walk", "tables entered"]);
    assert_in_order(&text, &["256MiB", "forced", "per-entry", "1TiB", "non-leaf young, filter"]);
    assert_in_order(&text, &["power of mapped space", "power of populated entries", "forced"]);
    assert_in_order(&text, &["all old, no filter: with non-leaf young / without", "<= 0.02"]);
}

#[test]
fn bench_machine_tells_where_translations_are_found() {
    let text = stdout("bench machine --runs 1");
    assert_in_order(&text, &["one access on one modelled core", "by a task", "by tables alone"]);
    assert_in_order(&text, &["contiguous blocks", "half of l2", "x86-server-class"]);
    assert_in_order(&text, &["half of l1, pages: accesses", ">= 50", "million/s", "goals met"]);
}

#[test]
fn trace_record_then_info_tells_of_the_program() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("echo.pgt");
    let mut recording = command("trace record --epoch 5000 --output");
    let done = recording.arg(&trace).args(["--", "/bin/echo", "hello"]).output().expect("it runs");
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "hello\n", "the program keeps its output");
    assert_in_order(&stderr(&done), &["echo.pgt", "references", "epochs", "pages"]);
    assert_eq!(entries(directory.path()), ["echo.pgt"]);

    let info = stdout(&format!("trace info {}", trace.display()));
    assert_in_order(&info, &["/bin/echo hello", "exit status 0", "5,000 references", "stack"]);
}

#[test]
fn trace_record_tells_of_each_child() {
    let directory = tempdir().expect("a directory");
    let mut recording = command("trace record --children --output");
    recording.arg(directory.path().join("run.pgt"));
    let done =
        recording.args(["--", "sh", "-c", "seq 3 | tail -1; (:)"]).output().expect("it runs");
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "3\n", "the children keep their output");
    let mut files = entries(directory.path());
    files.sort();
    assert_eq!(files, ["run.1.pgt", "run.2.pgt", "run.pgt"]);
    let told = stderr(&done);
    assert_in_order(&told, &["run.pgt: references", "executed no program, not traced: 1"]);
    assert_in_order(&told, &["run.1.pgt: references", "pages", "the child process", "exited"]);
    assert!(told.contains("/seq)") && told.contains("/tail)"), "{told}");
    let info = stdout(&format!("trace info {}", directory.path().join("run.2.pgt").display()));
    assert_in_order(&info, &["command", "exit status 0"]);
}

#[test]
fn trace_import_reads_standard_input_and_files() {
    let directory = tempdir().expect("a directory");
    let log = "==1== Command: made up\nI  1000,4\n S 2000,8\n L 1000,8\n";
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("log"), log).expect("the log is written");
    let from_file = run(&format!("trace import {} --output {}", path("log"), path("a.pgt")));
    let from_pipe = run_with_input(&format!("trace import - --output {}", path("b.pgt")), log);
    for done in [from_file, from_pipe] {
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        assert_in_order(&stderr(&done), &["references 3", "epochs 1", "pages 2", "no mappings"]);
    }
    let bytes = |name| std::fs::read(path(name)).expect("a trace");
    assert_eq!(bytes("a.pgt"), bytes("b.pgt"));
    assert_in_order(&stdout(&format!("trace info {}", path("a.pgt"))), &["made up", "no mappings"]);
}

#[test]
fn trace_info_lists_the_samples_and_shows_each() {
    let list = stdout("trace info");
    for name in SAMPLES {
        assert_in_order(&list, &["sample", "4K pages", "program", name]);
        let shown = stdout(&format!("trace info {name}"));
        assert_eq!(shown, stdout(&format!("trace info {}", sample_path(name))));
        let line = list.lines().find(|line| line.starts_with(name)).expect("its line");
        let command = shown.lines().find_map(|line| line.strip_prefix("command"));
        let path = command.expect("its command").split_whitespace().next().expect("a program");
        assert!(line.ends_with(path.rsplit('/').next().expect("a name")), "{line} {path}");
    }
}

#[test]
fn trace_info_tells_programs_the_same_as_people() {
    let told = stdout("trace info cc1plus-list --json");
    let info: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let shown = stdout("trace info cc1plus-list").replace(',', "");
    let number = |path: &str| info.pointer(path).expect(path).as_u64().expect(path);
    assert_in_order(
        &shown,
        &[
            info.pointer("/header/command/0").and_then(|word| word.as_str()).expect("a word"),
            &number("/totals/references").to_string(),
            &number("/totals/distinct_pages").to_string(),
            &number("/totals/accesses").to_string(),
            &number("/used_pages/max").to_string(),
        ],
    );
    refused("trace info --json", &["<TRACE>"]);
}

#[test]
fn samples_are_traces_without_a_path() {
    for name in SAMPLES {
        let counts = |trace: &str| {
            let records = records(&format!("run {QUICK_TRACE} --runs 1 --trace {trace}")).records;
            let [record] = &records[..] else { panic!("one record: {records:?}") };
            let counted = ["pages aged", "folios referenced"].map(|name| counted(record, name));
            (record.fields.clone(), counted)
        };
        assert_eq!(counts(name), counts(&sample_path(name)));
    }
}

#[test]
fn a_sample_and_a_file_of_one_name_are_told_apart_by_the_path() {
    let directory = tempdir().expect("a directory");
    std::fs::copy(sample_path("cc1plus-list"), directory.path().join("python-table"))
        .expect("a copy");
    let here = |words: &str| {
        let done = command(words).current_dir(directory.path()).output();
        done.expect("the binary runs")
    };
    for words in ["trace info", "run trace --trace", "compare trace --trace"] {
        let done = here(&format!("{words} python-table"));
        assert_refused(&done, &["`python-table`", "a sample and a file", "./python-table"]);
    }
    let file = String::from_utf8(here("trace info ./python-table").stdout).expect("UTF-8");
    assert_eq!(file, stdout("trace info cc1plus-list"));
}

/// Returns the completions of the last of these words that a shell gets.
fn completed(shell: &str, words: &[&str]) -> Vec<String> {
    let mut asked = command("--");
    asked.arg("pageout").args(words).env("COMPLETE", shell);
    asked.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).env("_CLAP_IFS", "\n");
    let done = asked.output().expect("the binary runs");
    assert!(done.status.success(), "{words:?}");
    let told = String::from_utf8(done.stdout).expect("UTF-8");
    // fish gets a description of the candidate after a tab.
    told.lines().map(|line| line.split('\t').next().unwrap_or(line).to_owned()).collect()
}

#[test]
fn shells_are_offered_commands_options_scenarios_fields_and_values() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(&format!("completions {shell}"));
        assert!(script.contains("COMPLETE") && script.contains("pageout"), "{shell}: {script}");
    }
    for shell in ["bash", "fish"] {
        for (words, offered) in [
            (&["comp"][..], &["compare", "completions"][..]),
            (&["compare", "--fail"], &["--fail-on"]),
            (&["run", "recl"], &["reclaim-file", "reclaim-shmem"]),
            (&["scenarios", "aging"], &["aging-rounds"]),
            (&["run", "reclaim-shmem", "rec"], &["reclaim="]),
            (&["compare", "age-file", "format=x86"], &["format=x86-64"]),
            (&["compare", "age-file", "order=0,p"], &["order=0,pmd"]),
            (&["run", "reclaim-file", "order=0,m"], &["order=0,mixed"]),
            (&["run", "reclaim-file", "order=4", "secondary=g"], &["secondary=guest"]),
            (&["run", "pageout-shared", "out="], &["out=madvise", "out=memory.reclaim"]),
            // bash takes the equals sign away.
            (&["run", "pageout-shared", "out", ""], &["madvise", "memory.reclaim"]),
            (&["run", "pageout-shared", "out", "=", "mad"], &["madvise"]),
            (&["lab", "compare", "stock", "swap"], &["swap-anon"]),
            (&["lab", "run", "stock", "swap-anon", "con"], &["content="]),
            (&["lab", "run", "swap-anon", "content=zero,t"], &["content=zero,text"]),
            (&["lab", "run", "swap-anon", "to", "=", "z"], &["zram"]),
            (&["lab", "series", "a..b", "reclaim-file", "lru=mglru-"], &["lru=mglru-no-walks"]),
            (&["run", "no-such-scenario", "o"], &[]),
            (&["run", "age-file", "no-such-field="], &[]),
        ] {
            let mut told = completed(shell, words);
            // Options may follow at any place.
            told.retain(|word| {
                words.last().is_some_and(|last| !last.is_empty()) || !word.starts_with('-')
            });
            assert_eq!(told, offered, "{shell}: {words:?}");
        }
    }
    let orders = completed("bash", &["run", "age-file", "order=pmd,"]);
    assert!(orders.contains(&"order=pmd,9".to_owned()), "{orders:?}");
    assert!(!orders.contains(&"order=pmd,pmd".to_owned()), "a value is offered once: {orders:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for words in [
        "compare age-file size=4MiB order=4 --runs 2",
        "run age-file size=4MiB order=4 --runs 2 --json",
        "trace info",
        "completions bash",
        "--help",
        "--version",
    ] {
        let mut command = command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        drop(child.stdout.take());
        let mut message = String::new();
        let mut stderr = child.stderr.take().expect("standard error is a pipe");
        stderr.read_to_string(&mut message).expect("messages are UTF-8");
        let status = child.wait().expect("it ends");
        assert_eq!((message.as_str(), status.code()), ("", Some(0)), "{words}");
    }
}

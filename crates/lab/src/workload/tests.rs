//! Workloads that run on this machine: what they print, and how they fail.

use super::*;
use pageout_record::schema::Record;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

const MANIFEST: &str = r#"/* workload.toml
name = "sums"
about = "Sums of numbers."
whole = "sum"
[[field]]
name = "size"
size = ["4KiB", "1GiB"]
default = "1536KiB"
[[field]]
name = "times"
number = [1, 9]
default = 2
[[field]]
name = "how"
choices = ["up", "down"]
default = "up"
[[metric]]
name = "sum"
per = "4K page"
[[metric]]
name = "sums done"
unit = "sums"
better = "higher"
*/
#include "pageout_lab.h"
"#;

/// Compiles and runs the program of a workload with this text.
fn run(text: &str, arguments: &str) -> Output {
    run_with(MANIFEST, text, arguments)
}

fn run_with(manifest: &str, text: &str, arguments: &str) -> Output {
    let directory = tempdir().unwrap();
    let file = directory.path().join("sums.c");
    fs::write(&file, format!("{manifest}{text}")).unwrap();
    let workload = Workload::read(&file).unwrap();
    workload.compile("gcc", &workload.sources(), &[], directory.path()).unwrap();
    let arguments = arguments.split_whitespace();
    let mut program = Command::new(directory.path().join(PROGRAM));
    program.arg("sums").args(arguments).args(["kernel=s1", "clock=instructions"]);
    program.output().unwrap()
}

const GOOD: &str = r#"
void workload(void)
{
    while (lab_sample()) {
        for (uint64_t time = 0; time < lab_number("times"); time++) {
            lab_begin("sum");
            lab_end("sum", lab_size("size") / 4096);
            lab_count("sums done", lab_text("how")[0] == 'u' ? 1 : 10);
        }
    }
}
"#;

#[test]
fn a_record_has_every_field_and_metric_of_the_manifest() {
    let record = record(&run(GOOD, "times=3 runs=2"));
    assert_eq!(record.scenario, "sums");
    let fields: Vec<_> = record.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(fields, [("how", "up"), ("size", "1536KiB"), ("times", "3")]);
    let metrics = record.metrics.iter();
    let metrics: Vec<_> = metrics.map(|of| (&*of.name, &*of.unit, of.better)).collect();
    let expected = [
        ("sum", "instructions/4K page", Better::Lower),
        ("sum: units", "4K page", Better::Neither),
        ("sums done", "sums", Better::Higher),
    ];
    assert_eq!(metrics, expected);
    assert_eq!(record.metrics[1].values, [3.0 * 384.0; 2]);
    assert_eq!(record.metrics[2].values, [3.0; 2]);
}

#[test]
fn what_a_workload_does_wrong_is_told() {
    let of = |text: &str| format!("void workload(void)\n{{\n{text}\n}}\n");
    for (text, said) in [
        ("", "it took no sample: workload() did not call lab_sample()"),
        ("lab_sample();", "it ended 0 of 3 samples: call lab_sample() until it is false"),
        ("while (lab_sample()) ;", "metric sum has no value in sample 1"),
        ("lab_begin(\"sum\");", "sum before the first sample: call lab_sample()"),
        ("lab_sample(); lab_begin(\"smu\");", "the manifest has no region smu"),
        ("lab_sample(); lab_count(\"sum\", 1);", "the manifest has no counter sum"),
        ("lab_sample(); lab_begin(\"sum\"); lab_begin(\"sum\");", "region sum begins twice"),
        ("lab_sample(); lab_end(\"sum\", 1);", "region sum ends before it begins"),
        ("while (lab_sample()) lab_begin(\"sum\");", "region sum does not end in sample 1"),
        (
            "while (lab_sample()) { lab_begin(\"sum\"); lab_end(\"sum\", 0); }",
            "region sum got through nothing in sample 1",
        ),
        ("lab_sample(); lab_units(\"sum\", 1);", "region sum gets units before it ends"),
        ("lab_require(0, \"no %d\", 7);", "no 7"),
        ("lab_anon(4096, 1);", "order 1: the kernel makes no such folios of anonymous memory"),
        ("lab_swap(\"disk\");", "swap is to zram or to ram-disk, not to disk"),
        ("lab_vmstat(\"pgnothing\");", "/proc/vmstat has no pgnothing"),
        ("lab_number(\"tiems\");", "the manifest has no field tiems"),
        ("lab_number(\"how\");", "field how is no number: up"),
        ("lab_size(\"how\");", "field how is no size: up"),
    ] {
        let output = run(&of(text), "");
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(printed, format!("bench: error: {said}\n"), "{text}");
        assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()), "{text}");
    }
    let output = run(&of("lab_check(1, \"no\"); lab_check(0, \"%d is not 3\", 2);"), "");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!((&*printed, output.status.code()), ("bench: wrong: 2 is not 3\n", Some(1)));
}

/// Returns the one record that a program printed.
fn record(output: &Output) -> Record {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let json = text.trim().strip_prefix("record ");
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_str(json.unwrap_or_else(|| panic!("{text}{}", said()))).unwrap()
}

#[test]
fn a_sample_that_warms_up_is_not_counted() {
    let manifest = MANIFEST.replacen("whole", "warm-up = true\nwhole", 1);
    let text = "void workload(void) { for (int i = 1; lab_sample(); i++) {\n\
        lab_begin(\"sum\"); lab_end(\"sum\", 0); lab_units(\"sum\", 10 * i);\n\
        lab_count(\"sums done\", i); } }\n";
    for (manifest, of) in [(MANIFEST, [1.0, 2.0]), (&manifest, [2.0, 3.0])] {
        let record = record(&run_with(manifest, text, "runs=2"));
        assert_eq!(record.metrics[1].values, of.map(|n| 10.0 * n));
        assert_eq!(record.metrics[2].values, of);
    }
}

#[test]
fn memory_holds_what_it_is_filled_with_and_no_other() {
    let text = r#"
#include <string.h>
void workload(void)
{
    static const char *const contents[] = { "zero", "same", "text", "random" };
    static char at[8 * 4096] __attribute__((aligned(4096)));

    for (int i = 0; i < 4; i++) {
        lab_fill(at, sizeof(at), contents[i]);
        for (int j = 0; j < 4; j++)
            lab_check(lab_holds(at, sizeof(at), contents[j]) == (i == j), "%d, %d", i, j);
        lab_check(i < 2 || memcmp(at, at + 4096, 4096), "two pages are the same");
    }
    lab_check(lab_pages(at, sizeof(at)).present == 8, "not there");
    while (lab_sample()) {
        lab_begin("sum");
        lab_end("sum", 1);
        lab_count("sums done", 1);
    }
}
"#;
    assert_eq!(record(&run(text, "")).metrics.len(), 3);
}

#[test]
fn the_workloads_of_the_lab_compile_without_a_warning() {
    for workload in Workload::ours().iter().filter(|of| of.is_program()) {
        let directory = tempdir().unwrap();
        let sources = workload.sources();
        let files: Vec<_> = sources.iter().map(|(name, text)| (&**name, &**text)).collect();
        let options = ["-I".as_ref(), OWN.as_ref()];
        compile("gcc", PROGRAM, &files, &options, directory.path()).unwrap();
        assert!(!workload.about.is_empty() && workload.warm_up, "{}", workload.name);
    }
}

#[test]
fn the_benchmark_has_the_defaults_and_the_choices_of_its_manifests() {
    let source = |name: &str| {
        let files = assets::BENCH.iter();
        files.filter(|(file, _)| *file == name).map(|(_, text)| *text).collect::<String>()
    };
    let scenarios = Workload::ours().iter().filter(|of| !of.is_program());
    for scenario in scenarios.clone() {
        let own = source(&format!("{}.c", scenario.name.replace('-', "_")));
        let text = own + &source("options.c");
        for DeclaredField { field, default } in &scenario.fields {
            let mut asked = format!("(\"{}\", \"{default}\"", field.name);
            if let Kind::Choice(names) = &field.kind {
                asked += &format!(", \"{}\"", names.join("|"));
            }
            assert!(text.contains(&asked), "{}: no {asked}", scenario.name);
        }
    }
    assert_eq!(scenarios.count(), 7);
}

/// A manifest of a directory, whose program is a shell script.
const OF_SCRIPT: &str = r#"
name = "sums"
about = "Sums of numbers."
program = "run.sh"
[[field]]
name = "of-size"
size = ["4KiB", "1GiB"]
default = "8KiB"
[[metric]]
name = "a sum"
per = "4K page"
[[metric]]
name = "sums done"
unit = "sums"
"#;

/// The program of a manifest whose script is yet to be written.
struct Scripted(TempDir);

impl Scripted {
    fn new(manifest: &str) -> Self {
        let scripted = Self(tempdir().unwrap());
        scripted.write("workload.toml", manifest);
        scripted.write("run.sh", "#!/bin/sh\n");
        let workload = Workload::read(scripted.0.path()).unwrap();
        write_root(&workload.carried(), scripted.0.path()).unwrap();
        workload.compile("gcc", &workload.sources(), &[], &scripted.root()).unwrap();
        scripted
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn root(&self) -> PathBuf {
        self.0.path().join(ROOT)
    }

    /// Runs a script as the test machine does.
    fn run(&self, script: &str) -> Output {
        let path = format!("{ROOT}/{BESIDE}/run.sh");
        self.write(&path, &format!("#!/bin/sh\n. ./lab.sh\n{script}"));
        let mut program = Command::new(self.root().join(PROGRAM));
        program.args(["sums", "kernel=s1", "clock=instructions", "runs=2"]).output().unwrap()
    }
}

#[test]
fn a_script_says_where_its_regions_begin_and_end() {
    let script = "while lab_sample; do
        lab_begin 'a sum'
        lab_end 'a sum' $((LAB_OF_SIZE / 4096))
        lab_units 'a sum' 1
        lab_count 'sums done' 2
        lab_count 'sums done' 3
    done";
    let record = record(&Scripted::new(OF_SCRIPT).run(script));
    let values: Vec<_> = record.metrics.iter().map(|of| (&*of.name, &of.values[..])).collect();
    assert_eq!(values[1], ("a sum: units", &[3.0, 3.0][..]));
    assert_eq!(values[2], ("sums done", &[5.0, 5.0][..]));
    assert!(values[0].1.iter().all(|time| *time > 0.0));
}

#[test]
fn a_whole_run_of_a_program_can_be_its_region() {
    let manifest = OF_SCRIPT.replacen("program", "run = \"a sum\"\nprogram", 1);
    let record = record(&Scripted::new(&manifest).run("lab_count 'sums done' 7"));
    assert_eq!(record.metrics[1].values, [1.0, 1.0]);
    assert_eq!(record.metrics[2].values, [7.0, 7.0]);
    assert!(record.metrics[0].values.iter().all(|time| *time > 100_000.0), "{record:?}");
}

#[test]
fn what_a_script_does_wrong_is_told() {
    let scripted = Scripted::new(OF_SCRIPT);
    for (script, said) in [
        ("exit 3", "error: run.sh ended with status 3"),
        ("kill -9 $$", "error: run.sh was ended by signal 9"),
        ("lab_begin 'a sum'", "error: a sum before the first sample: call lab_sample()"),
        ("lab_sample; lab_begin 'no sum'", "error: the manifest has no region no sum"),
        (
            "lab_sample; lab_count 'sums done' many",
            "error: run.sh said `count many sums done`: the second word is no number",
        ),
        ("lab_say hello", "error: run.sh said `hello`, which is no message of a workload"),
        ("lab_wrong 2 is not 3", "wrong: 2 is not 3"),
        ("lab_fail no such file", "error: no such file"),
    ] {
        let output = scripted.run(script);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(printed, format!("bench: {said}\n"), "{script}");
        assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()), "{script}");
    }
    let manifest = OF_SCRIPT.replacen("program", "run = \"a sum\"\nprogram", 1);
    let output = Scripted::new(&manifest).run("lab_sample");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(printed, "bench: error: run.sh asks for a sample: each run of it is one\n");
}

#[test]
fn a_program_is_refused_before_anything_is_built() {
    let refused = |manifest: &str, files: &[(&str, &[u8])]| {
        let directory = tempdir().unwrap();
        fs::write(directory.path().join("workload.toml"), manifest).unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        Workload::read(directory.path()).unwrap_err().to_string()
    };
    let library = fs::read(std::env::current_exe().unwrap()).unwrap();
    let for_arches = OF_SCRIPT.replacen("run.sh", "run-{arch}", 1);
    for (manifest, files, said) in [
        (OF_SCRIPT, vec![], ":4: program `run.sh`: no such file in "),
        (
            OF_SCRIPT,
            vec![("run.sh", &b"echo"[..])],
            "run.sh is not a program for arm64: expected a ",
        ),
        (
            OF_SCRIPT,
            vec![("run.sh", b"#!/usr/bin/python3\n")],
            "a script for `/usr/bin/python3`: expected /bin/sh or /bin/busybox sh",
        ),
        (&for_arches, vec![("run-x86-64", &library)], "takes shared libraries, which the test"),
        (&for_arches, vec![("run-arm64", &library)], "run-arm64 is not a program for arm64"),
        (
            &OF_SCRIPT.replacen("program", "run = \"no sum\"\nprogram", 1),
            vec![("run.sh", b"#!/bin/sh\n")],
            ":4: unknown region `no sum`",
        ),
        (
            &OF_SCRIPT.replacen("run.sh", "../run.sh", 1),
            vec![("run.sh", b"#!/bin/sh\n")],
            ":4: file \"../run.sh\": expected letters, digits",
        ),
        (
            &OF_SCRIPT.replacen("program", "packages = [\"-y\"]\nprogram", 1),
            vec![("run.sh", b"#!/bin/sh\n")],
            ":4: package \"-y\": expected letters, digits",
        ),
        (
            &OF_SCRIPT.replacen("program", "nodes = 5\nprogram", 1),
            vec![("run.sh", b"#!/bin/sh\n")],
            ":4: nodes: ",
        ),
    ] {
        let message = refused(manifest, &files);
        assert!(message.contains(said), "{message}\nhas no {said}");
    }
    let directory = tempdir().unwrap();
    let file = directory.path().join("sums.c");
    fs::write(&file, MANIFEST.replacen("whole", "program = \"x\"\nwhole", 1)).unwrap();
    let message = Workload::read(&file).unwrap_err().to_string();
    assert!(message.contains("`program` is of a directory's workload.toml"), "{message}");
}

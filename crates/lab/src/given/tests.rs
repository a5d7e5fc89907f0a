//! Workloads that run on this machine: what they print, and how they fail.

use super::*;
use pageout_record::schema::Record;
use std::fs;
use std::process::{Command, Output};
use tempfile::tempdir;

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
    let given = Given::read(&file).unwrap();
    given.compile("gcc", &given.sources(), directory.path()).unwrap();
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
        ("lab_vmstat(\"nr_nothing\");", "/proc/vmstat has no nr_nothing"),
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
    for given in Given::shipped() {
        let directory = tempdir().unwrap();
        let sources = given.sources();
        let files: Vec<_> = sources.iter().map(|(name, text)| (&**name, &**text)).collect();
        let options = ["-I".as_ref(), OWN.as_ref()];
        compile("gcc", PROGRAM, &files, &options, directory.path()).unwrap();
        assert!(!given.about.is_empty() && given.warm_up, "{}", given.name);
    }
}

//! `trace import` of what other tools recorded, and what sampled traces are good for.

use crate::common::{assert_refused, command, refused, run_with_input, stderr, stdout};
use tempfile::tempdir;

const SAMPLES: &str = "\
10710 cpu/mem-loads,ldlat=30/P: 559fdf9825c0
10710 cpu/mem-stores/P: 7ffff4d98289
10710 cpu/mem-loads,ldlat=30/P: 559fdf982000
";
const DAMON: &str = "\
kdamond.0 4 [027] 7.84: damon:damon_aggregated: target_id=0 nr_regions=2 65536-77824: 4 10
kdamond.0 4 [027] 7.84: damon:damon_aggregated: target_id=0 nr_regions=2 77824-81920: 0 10
";
const VIEW: &str = "\
 1 1: 5 ifetch  5 byte(s) @ 0x0000000000404a7e non-branch
 2 1: 5 write   8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0000000000404a7e
";

/// Every format, through the binary: references or samples, epochs, pages.
#[test]
fn each_format_is_imported() {
    let directory = tempdir().expect("a directory");
    let instruction: Vec<u8> = [0x40_1000_u64, 1, 0, 0x6000, 0x5000, 0, 0, 0]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let champsim = directory.path().join("champsimtrace");
    std::fs::write(&champsim, instruction).expect("a file");
    let champsim = champsim.display().to_string();
    for (from, input, file, told) in [
        ("lackey", "I  1000,4\n S 2000,8\n", "-", "references 2, epochs 1, pages 2"),
        ("perf-script", SAMPLES, "-", "samples 3, epochs 1, pages 2"),
        ("damon", DAMON, "-", "samples 3, epochs 1, pages 3"),
        ("drmemtrace", VIEW, "-", "references 2, epochs 1, pages 2"),
        ("champsim", "", &champsim, "references 3, epochs 1, pages 3"),
    ] {
        let trace = directory.path().join(format!("{from}.pgt"));
        let words = format!("trace import --from {from} --output {} {file}", trace.display());
        let done = run_with_input(&words, input);
        assert!(done.status.success(), "{from}: {}", stderr(&done));
        assert!(stderr(&done).contains(told), "{from}: {}", stderr(&done));
        let info = stdout(&format!("trace info {}", trace.display()));
        let by = info.lines().find(|line| line.starts_with("recorded")).expect("a tool");
        assert!(by.contains(", from "), "{by}");
    }
}

/// Whatever needs all accesses says that they are not there.
#[test]
fn samples_are_no_accesses_to_replay() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("sampled.pgt");
    let trace = trace.display();
    let made = run_with_input(&format!("trace import --from damon --output {trace} -"), DAMON);
    assert!(made.status.success(), "{}", stderr(&made));
    let info = stdout(&format!("trace info {trace}"));
    assert!(info.contains("3 samples") && info.contains("3 pages"), "{info}");
    let out = directory.path().join("out");
    for words in [
        format!("trace curve {trace}"),
        format!("trace export {trace} --output {}", out.display()),
        format!("run trace --trace {trace}"),
        format!("run trace limit=50% --trace {trace}"),
        format!("compare trace --trace {trace}"),
        format!("run trace --ground model --trace {trace}"),
    ] {
        refused(&words, &["sampled.pgt", "a sampled trace", "from DAMON", "trace info"]);
    }
    assert!(!out.exists());
}

#[test]
fn options_without_a_meaning_are_refused() {
    for (from, option) in [
        ("perf-script", "--filter 16x4,32"),
        ("damon", "--filter 16x4,32"),
        ("oracle-general", "--filter 16x4,32"),
        ("damon", "--epoch 100"),
        ("lackey", "--pid 7"),
    ] {
        let words = format!("trace import --from {from} {option} --output /dev/full -");
        let name = option.split(' ').next().expect("a name");
        refused(&words, &[name, from]);
    }
}

/// Without `--from`, the format is recognized and reported, and so are the lines that are not in
/// the trace.
#[test]
fn a_format_is_recognized_and_what_is_passed_over_is_counted() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("a.pgt");
    let input = SAMPLES.replace("559fdf9825c0", "ffffffff81000000");
    let import = format!("trace import --output {} -", trace.display());
    let done = run_with_input(&import, &input);
    assert!(done.status.success(), "{}", stderr(&done));
    let told = stderr(&done);
    let mut lines = told.lines();
    let first = lines.next().expect("a line");
    assert!(first.ends_with("samples 2, epochs 1, pages 2; no mappings, all pages anonymous"));
    let rest: Vec<_> = lines.collect();
    let expected =
        ["recognized as --from perf-script", "passed over: accesses to kernel addresses 1"];
    assert_eq!(rest, expected);
    assert_refused(&run_with_input(&import, "hello\n"), &["cannot be recognized", "--from"]);
    assert_refused(&run_with_input(&import, ""), &["the input is empty", "`2>`"]);
    assert_refused(&run_with_input(&import, "PERFILE2"), &["perf's own file", "perf script"]);
}

/// Every text that may have lines without a reference says how many there are, by their causes.
#[test]
fn each_text_says_how_many_lines_it_passes_over_and_why() {
    let directory = tempdir().expect("a directory");
    let import = format!("trace import --output {} -", directory.path().join("a.pgt").display());
    let damon = format!("kdamond.0 4 [027] 7.83: damon:damos_before_apply: ctx_idx=0\n{DAMON}");
    let view = format!("{VIEW} 3 1: 5 <marker: core 3>\n 4 1: 5 <entry type 46>\n");
    let chain = format!("{SAMPLES}\tffffffff8175336a elf_load ([kernel])\n");
    for (input, expected) in [
        (&*chain, &["lines of call chains 1"][..]),
        (&damon, &["lines of other events 1"]),
        ("==1== Lackey\n==1== \nSB 1000\nI  1000,4\n", &["markers 1", "remarks of the tool 2"]),
        (&view, &["markers 1", "entries of an unknown type 1"]),
    ] {
        let done = run_with_input(&import, input);
        assert!(done.status.success(), "{}", stderr(&done));
        let told = stderr(&done);
        let passed: Vec<_> = told.lines().filter_map(|l| l.strip_prefix("passed over: ")).collect();
        assert_eq!(passed, expected, "{input}");
    }
}

/// No input names a size that anything is reserved for, and none is read without end.
#[test]
fn hostile_inputs_are_refused() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("a.pgt");
    let claim = DAMON.replace("nr_regions=2", "nr_regions=1152921504606846976");
    let space = DAMON.replace("77824: 4", "1152921504606846976: 4");
    for (from, input, parts) in [
        ("damon", claim.as_str(), ["1152921504606846976 regions", "after 2"]),
        ("damon", &space, ["line 1", "accepted are"]),
        ("perf-script", "1 a: 10000\n2 a: 10000\n", ["process 2", "process 1"]),
        ("drmemtrace", "hello\n", ["line 1: found `hello`", "drrun -t drmemtrace"]),
        ("champsim", "hello", ["byte 0: the input ends within", "64 bytes"]),
    ] {
        let words = format!("trace import --from {from} --output {} -", trace.display());
        assert_refused(&run_with_input(&words, input), &parts);
    }
    for from in ["lackey", "perf-script", "damon", "drmemtrace", "champsim"] {
        let mut import = command(&format!("trace import --from {from} --output"));
        let done = import.arg(&trace).arg("/dev/zero").output().expect("it runs");
        assert_refused(&done, &["/dev/zero"]);
    }
    assert!(!trace.exists());
}

//! The help of every command, word for word. INSTA_UPDATE=always takes a change over.

use crate::common::stdout;

#[test]
fn help_of_every_command() {
    for (name, words) in [
        ("pageout", "--help"),
        ("compare", "compare --help"),
        ("run", "run --help"),
        ("bench", "bench --help"),
        ("reproduce", "reproduce --help"),
        ("report", "report --help"),
        ("trace", "trace --help"),
        ("trace_record", "trace record --help"),
        ("trace_import", "trace import --help"),
        ("trace_curve", "trace curve --help"),
        ("trace_export", "trace export --help"),
        ("trace_info", "trace info --help"),
        ("lab", "lab --help"),
        ("lab_build", "lab build --help"),
        ("lab_run", "lab run --help"),
        ("lab_compare", "lab compare --help"),
        ("lab_series", "lab series --help"),
        ("lab_profile", "lab profile --help"),
        ("lab_lru_gen", "lab lru-gen --help"),
        ("lab_source", "lab source --help"),
        ("lab_script", "lab script --help"),
        ("sweep", "sweep --help"),
        ("sweep_plan", "sweep plan --help"),
        ("sweep_run", "sweep run --help"),
        ("sweep_status", "sweep status --help"),
        ("sweep_merge", "sweep merge --help"),
        ("sweep_flush", "sweep flush --help"),
        ("records", "records --help"),
        ("records_convert", "records convert --help"),
        ("calibrate", "calibrate --help"),
        ("observe", "observe --help"),
        ("check", "check --help"),
        ("completions", "completions --help"),
        ("man", "man --help"),
    ] {
        let help = stdout(words);
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{name}: {widest:?} columns");
        insta::assert_snapshot!(name, help);
    }
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(stdout("--version"), concat!("pageout ", env!("CARGO_PKG_VERSION"), "\n"));
}

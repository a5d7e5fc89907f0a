//! Output of each tool in the variants that people have, with the expected result.

mod champsim;
mod damon;
mod drmemtrace;
mod lackey;
mod oracle_general;
mod packed;
mod perf_script;

use pageout_trace::{Cause, Format, ImportError, ImportOptions, Imported, import};

/// An input, and its expected result.
struct Case {
    /// The name of the input, for a message.
    name: &'static str,
    input: Vec<u8>,
    expected: Expected,
}

enum Expected {
    /// References (of samplers, samples) and pages of the trace, and the causes of what it lacks.
    Read(u64, u64, &'static [(Cause, u64)]),
    /// A part of the message.
    Refused(&'static str),
}

use Expected::{Read, Refused};

fn case(name: &'static str, input: impl Into<Vec<u8>>, expected: Expected) -> Case {
    Case { name, input: input.into(), expected }
}

fn imported(options: &ImportOptions, input: &[u8]) -> Result<Imported, ImportError> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.pgt");
    let done = import(input, &path, options, &mut |_| {});
    assert_eq!(path.exists(), done.is_ok(), "there is a file where there is a trace");
    done
}

/// Checks each case with the requested format; an accepted input is also recognized without it.
fn check(options: &ImportOptions, cases: Vec<Case>) {
    let format = options.format.expect("a format");
    for Case { name, input, expected } in cases {
        let done = imported(options, &input);
        match expected {
            Read(references, pages, passed) => {
                let done = done.unwrap_or_else(|error| panic!("{name}: {error}"));
                check_read(name, &done, format, (references, pages), passed);
                let recognized = ImportOptions { format: None, ..options.clone() };
                let again = imported(&recognized, &input);
                assert_eq!(again.unwrap_or_else(|error| panic!("{name}: {error}")), done, "{name}");
            }
            Refused(part) => {
                let error = done.map(|done| panic!("{name}: {done:?}")).map_err(|e| e.to_string());
                let error: String = error.expect_err("it is refused");
                assert!(error.contains(part), "{name}: no `{part}` in {error}");
            }
        }
    }
}

fn check_read(
    name: &str,
    done: &Imported,
    format: Format,
    counts: (u64, u64),
    passed: &[(Cause, u64)],
) {
    let totals = &done.totals;
    let references = if format.is_sampled() { totals.accesses } else { totals.references };
    assert_eq!((references, totals.distinct_pages), counts, "{name}");
    assert_eq!(done.passed_over.counts().collect::<Vec<_>>(), passed, "{name}");
    assert_eq!(done.format, format, "{name}");
}

fn of(format: Format) -> ImportOptions {
    ImportOptions { format: Some(format), ..ImportOptions::default() }
}

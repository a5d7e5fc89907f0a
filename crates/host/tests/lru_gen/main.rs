//! Sessions of `lru_gen` on the engine, beside the answers of Linux 7.3 in the lab: the numbers are
//! the same, except for differences that are named here.

mod answers;
mod differences;
mod since;

use pageout_experiment::formats::FormatName;
use pageout_experiment::lru_gen::{SHIPPED, Session};
use pageout_experiment::variant::Variant;
use pageout_host::lru_gen::run;
use std::path::{Path, PathBuf};

/// The environment variable with which kept lists are stored again, and not compared.
const BLESS: &str = "PAGEOUT_BLESS";

/// The lab's kernels, and the engine's variant for each: without batches, and unchanged.
const KERNELS: [(&str, Variant); 2] = [("no-batch", Variant::BEFORE), ("stock", BATCHED)];
const BATCHED: Variant = Variant::STEPS[1];

fn session(name: &str, text: &str) -> Session {
    Session::parse(name, text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the answer of a kernel of the lab to a session.
fn capture(name: &str, kernel: &str, format: FormatName) -> String {
    let format = format.name();
    let path = format!("../lab/files/lru_gen/captures/{name}-{kernel}-{format}-swap.txt");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the answer of Linux 7.3.
fn capture_7_3(name: &str, kernel: &str, format: FormatName) -> String {
    capture(name, &format!("7.3-{kernel}"), format)
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lru_gen/kept").join(name)
}

fn compare_with_kept(name: &str, text: &str) {
    let path = kept(name);
    if std::env::var_os(BLESS).is_some() {
        return std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = || text.lines().zip(kept.lines()).position(|(new, old)| new != old);
    assert!(
        text == kept,
        "{name} differs from line {} on; with {BLESS}=1 it is made anew",
        differs().unwrap_or(kept.lines().count().min(text.lines().count())) + 1
    );
}

#[test]
fn our_own_algorithm_answers_as_batches_do() {
    for (name, text) in SHIPPED {
        let session = session(name, text);
        for format in FormatName::MAIN {
            let [batched, line] = [BATCHED, Variant::STEPS[2]];
            assert_eq!(run(&session, format, line), run(&session, format, batched), "{name}");
        }
    }
}

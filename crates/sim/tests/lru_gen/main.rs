//! Sessions of `lru_gen` on the engine: what it answers is kept, and beside what Linux 6.12
//! answered in the lab, where every difference is one that is named here.

mod answers;
mod differences;

use pageout_sim::formats::FormatName;
use pageout_sim::lru_gen::{SHIPPED, Session, run};
use pageout_sim::variant::Variant;
use std::path::{Path, PathBuf};

/// Kept answers of the engine that are made anew, not compared, with this in the environment.
const BLESS: &str = "PAGEOUT_BLESS";

/// The engine as the lab's kernels are: before the series, and with it.
const KERNELS: [(&str, Variant); 2] = [("stock", Variant::UNBATCHED_AGING), ("s3", BATCHED)];
const BATCHED: Variant = Variant::STEPS[1];

fn session(name: &str, text: &str) -> Session {
    Session::parse(name, text).unwrap_or_else(|error| panic!("{error}"))
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
fn answers_are_those_that_were_kept() {
    for (name, text) in SHIPPED {
        let session = session(name, text);
        for format in FormatName::MAIN {
            for (kernel, variant) in KERNELS {
                let text = run(&session, format, variant);
                compare_with_kept(&format!("{name}-{kernel}-{}.txt", format.name()), &text);
            }
        }
    }
}

#[test]
fn our_own_family_answers_as_batches_do() {
    for (name, text) in SHIPPED {
        let session = session(name, text);
        for format in FormatName::MAIN {
            let [batched, line] = [BATCHED, Variant::STEPS[2]];
            assert_eq!(run(&session, format, line), run(&session, format, batched), "{name}");
        }
    }
}

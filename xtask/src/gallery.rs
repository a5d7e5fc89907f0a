//! `cargo xtask gallery`: pages of real runs, one of each kind, which the book shows.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cmd;

/// The page of the book that lists them.
pub(crate) const LISTED: &str = "docs/report.md";
/// The folder beside that page.
pub(crate) const FOLDER: &str = "gallery";

/// A page: its name, the question that it answers, and the arguments that make it.
struct Shown(&'static str, &'static str, &'static str);

const PAGES: [Shown; 6] = [
    Shown(
        "stages",
        "Which stages do batches make cheaper on this CPU?",
        "compare reclaim-file size=64MiB order=4 format=arm64-4k",
    ),
    Shown("hidden-loads", "Which loads does this machine's TLB hide?", "observe"),
    Shown(
        "free-before-flush",
        "What goes wrong if a frame is freed before the flush?",
        "check --exhibit free-before-flush",
    ),
    Shown(
        "miss-ratios",
        "Which policy suits a program's accesses, and how far is the best?",
        "trace curve python-table --limit 10%..90%:10%",
    ),
    Shown(
        "access-map",
        "Which pages of SQLite come back in half of its memory, under either LRU?",
        "compare trace --trace sqlite-orders limit=50% format=x86-64 --runs 1 --base lru=classic \
         --new lru=mglru",
    ),
    Shown(
        "kernels",
        "What does each batch save in a real kernel?",
        "report crates/lab/files/records/linux-7.3.json",
    ),
];

/// Makes the pages, and says where they are.
pub(crate) fn run() -> Result<()> {
    let place = cmd::target().join(FOLDER);
    make(&place)?;
    println!("{} pages: {}", PAGES.len(), place.display());
    Ok(())
}

/// Makes the pages in a folder.
pub(crate) fn make(place: &Path) -> Result<()> {
    let program = cmd::program_of_tests()?;
    fs::create_dir_all(place)?;
    // The page shows its command: without the place of this tree.
    let place = place.strip_prefix(cmd::root()).unwrap_or(place);
    for Shown(name, _, words) in PAGES {
        let option = if words.starts_with("report ") { "--output" } else { "--html" };
        let page = place.join(format!("{name}.html"));
        let mut pageout = cmd::program(&program);
        let pageout = pageout.args(words.split(' ')).arg(option).arg(page);
        cmd::output(pageout).with_context(|| format!("the page {name} is made"))?;
    }
    Ok(())
}

/// Returns the list of the pages, for the page of the book beside their folder.
pub(crate) fn list() -> String {
    let mut text = "\n## Six pages of real runs\n".to_owned();
    for Shown(name, question, words) in PAGES {
        let _ = writeln!(text, "- [{question}]({FOLDER}/{name}.html) `pageout {words}`");
    }
    text
}

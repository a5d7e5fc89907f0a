//! `cargo xtask tidy`: the house style as numbers and walls.
//!
//! A size may be exceeded, or a word used, if a comment at that place gives the reason in one line:
//! `// tidy: long function: REASON`, and likewise `long file`, `long line` and `word` (with `#` in
//! place of `//` where the language wants it). A comment that excuses nothing is reported.

mod cfg;
mod cycles;
mod engine;
mod finding;
mod links;
mod places;
mod prose;
mod rooms;
mod shape;
mod source;
mod text;
mod tokens;
mod unsafety;
mod walls;
mod words;

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::{cmd, pictures};
use finding::Finding;
pub(crate) use links::resolve;
use source::Source;
pub(crate) use walls::Workspace;

/// Checks the whole tree; the error says how many findings were printed.
pub(crate) fn run() -> Result<()> {
    let paths = source::paths()?;
    let sources = source::read(&paths)?;
    let workspace = Workspace::read()?;
    let test_files = shape::test_files(&sources);
    let mut findings = Vec::new();
    for source in &sources {
        let is_test = test_files.contains(&source.path);
        findings.extend(source.excuse(check(source, is_test)));
    }
    findings.extend(walls::check(&workspace));
    findings.extend(cycles::check(&workspace, &sources, &test_files));
    findings.extend(rooms::check(&sources, &test_files));
    findings.extend(unsafety::crate_roots(&workspace, &sources));
    findings.extend(text::crates_are_on_the_map(&workspace, &sources));
    findings.extend(links::check(&sources, &paths));
    findings.extend(map_of_crates(&workspace));
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy found {} thing(s) to mend in {}", findings.len(), cmd::root().display());
    }
    let words: usize = pages(&sources).into_iter().map(prose::count_words).sum();
    println!("tidy: {} files; the pages have {words} words outside of code", sources.len());
    Ok(())
}

/// Beginnings of paths of texts that are no pages: the history, the page that the program prints,
/// and what goes with patches.
const NO_PAGES: [&str; 3] = ["CHANGELOG.md", "docs/scenarios.md", "crates/lab/files/"];

/// Returns the texts of the pages that are written by hand, each once.
fn pages(sources: &[Source]) -> BTreeSet<&str> {
    let is_page = |source: &&Source| {
        source.path.ends_with(".md") && !NO_PAGES.iter().any(|path| source.path.starts_with(path))
    };
    sources.iter().filter(is_page).map(|source| source.text.as_str()).collect()
}

/// Checks that the map of the crates shows what they import.
fn map_of_crates(workspace: &Workspace) -> Option<Finding> {
    let drawn = pictures::map_of_crates(workspace);
    let stored = std::fs::read_to_string(cmd::root().join(pictures::MAP_OF_CRATES));
    let is_stale = stored.ok() != Some(drawn);
    let stale = "shows other imports than the manifests have: run `cargo xtask pictures`";
    is_stale.then(|| Finding::new(pictures::MAP_OF_CRATES, 0, stale))
}

/// Runs the checks that need only one file.
fn check(source: &Source, is_test: bool) -> Vec<Finding> {
    let mut findings = words::check(source);
    findings.extend(prose::check(source));
    let mut quoted = BTreeSet::new();
    if source.is_rust() {
        match tokens::flatten(&source.text) {
            Ok(tokens) => {
                quoted = tokens::quoted_lines(&tokens);
                findings.extend(unsafety::check(source, &tokens));
                findings.extend(cfg::check(source, &tokens));
                findings.extend(places::check(source, &tokens));
            }
            Err(error) => findings.push(Finding::new(&source.path, 0, error.to_string())),
        }
        match source.rust() {
            Ok(file) => {
                findings.extend(shape::check(source, file, is_test));
                findings.extend(engine::check(source, file));
            }
            Err(error) => findings.push(Finding::new(&source.path, 0, error.to_string())),
        }
    }
    findings.extend(text::check(source, &quoted));
    findings.extend(words::heads(source, &quoted));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use clap::error::ErrorKind;

    #[test]
    fn a_page_that_is_linked_or_printed_is_not_counted_again() {
        let source = |path: &str, text: &str| Source::new(path.to_owned(), text.to_owned());
        let sources = [
            source("docs/contract.md", "a"),
            source("crates/reclaim/contract.md", "a"),
            source("docs/scenarios.md", "b"),
            source("crates/lab/files/queue-7.3/README.md", "c"),
            source("a.rs", "d"),
        ];
        assert_eq!(pages(&sources).into_iter().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn every_task_that_a_page_names_is_one() {
        let sources = source::read(&source::paths().unwrap()).unwrap();
        let mut named = 0;
        for page in sources.iter().filter(|source| source.path.ends_with(".md")) {
            let text = page.text.split_whitespace().collect::<Vec<_>>().join(" ");
            for task in text.split("cargo xtask ").skip(1) {
                let task = task.split(['`', '#', ';']).next().unwrap_or_default();
                let words = ["cargo xtask"].into_iter().chain(task.split_whitespace());
                let error = crate::Args::try_parse_from(words).err();
                let error = error.filter(|error| error.kind() != ErrorKind::DisplayHelp);
                assert!(error.is_none(), "{}: cargo xtask {task}: {error:?}", page.path);
                named += 1;
            }
        }
        assert!(named > 0, "no page names a task");
    }
}

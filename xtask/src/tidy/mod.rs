//! `cargo xtask tidy`: the house style as numbers and walls.
//!
//! A size may be exceeded, or a word used, where a comment on the spot gives the reason in one
//! line: `// tidy: long function: REASON`, and likewise `long file`, `long line` and `word` (with
//! `#` in place of `//` where the language wants it). A comment that excuses nothing is reported.

mod cfg;
mod cycles;
mod engine;
mod finding;
mod places;
mod shape;
mod source;
mod text;
mod tokens;
mod unsafety;
mod walls;
mod words;

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::cmd;
use finding::Finding;
use source::Source;

/// Checks the whole tree; the error says how many findings were printed.
pub(crate) fn run() -> Result<()> {
    let sources = source::all()?;
    let workspace = walls::Workspace::read()?;
    let test_files = shape::test_files(&sources);
    let mut findings = Vec::new();
    for source in &sources {
        let is_test = test_files.contains(&source.path);
        findings.extend(source.excuse(check(source, is_test)));
    }
    findings.extend(walls::check(&workspace));
    findings.extend(cycles::check(&workspace, &sources, &test_files));
    findings.extend(unsafety::crate_roots(&workspace, &sources));
    findings.extend(text::crates_are_on_the_map(&workspace, &sources));
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy found {} thing(s) to mend in {}", findings.len(), cmd::root().display());
    }
    println!("tidy: {} files", sources.len());
    Ok(())
}

/// The checks that look at one file alone.
fn check(source: &Source, is_test: bool) -> Vec<Finding> {
    let mut findings = words::check(source);
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
        match syn::parse_file(&source.text) {
            Ok(file) => {
                findings.extend(shape::check(source, &file, is_test));
                findings.extend(engine::check(source, &file));
            }
            Err(error) => findings.push(Finding::new(&source.path, 0, error.to_string())),
        }
    }
    findings.extend(text::check(source, &quoted));
    findings
}

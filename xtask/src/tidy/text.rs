//! Lines: columns, tabs, trailing blanks; and the map of the crates.

use std::collections::BTreeSet;

use super::finding::{Finding, Rule};
use super::source::Source;
use super::walls::Workspace;

/// The widest line of programs and prose.
const COLUMNS: usize = 100;

/// The page that names every crate.
const MAP: &str = "ARCHITECTURE.md";

/// The maximum number of words of the map without its drawing: people read it in one go.
const MAP_WORDS: usize = 900;

/// Checks the lines of programs and of prose, but those that end inside a string (`quoted`). Data
/// may have long lines. In prose, rows of tables and fenced blocks may be long too.
pub(super) fn check(source: &Source, quoted: &BTreeSet<usize>) -> Vec<Finding> {
    let path = &source.path;
    let prose = path.ends_with(".md");
    if !prose && !is_program(path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in source.text.lines().enumerate() {
        let number = index + 1;
        if quoted.contains(&number) {
            continue;
        }
        fenced ^= prose && line.trim_start().starts_with("```");
        let may_be_long = fenced || (prose && line.starts_with('|'));
        let columns = line.chars().count();
        if columns > COLUMNS && !may_be_long {
            let what = format!("{columns} columns, more than {COLUMNS}");
            let lines = index.max(1)..=number;
            findings.push(Finding::new(path, number, what).excusable(Rule::LongLine, lines));
        }
        if line.contains('\t') {
            findings.push(Finding::new(path, number, "a tab"));
        }
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(Finding::new(path, number, "blanks at the end of the line"));
        }
    }
    if !source.text.is_empty() && (!source.text.ends_with('\n') || source.text.ends_with("\n\n")) {
        findings.push(Finding::new(path, 0, "does not end with one line feed"));
    }
    findings
}

/// Returns true if the file holds code or configuration that people edit.
fn is_program(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["rs", "toml", "sh", "py", "pyi", "yml", "yaml"].contains(&extension) || path == ".ci/run"
}

/// Checks that the map names every crate of the workspace and stays short.
pub(super) fn crates_are_on_the_map(workspace: &Workspace, sources: &[Source]) -> Vec<Finding> {
    let Some(map) = sources.iter().find(|source| source.path == MAP) else {
        return vec![Finding::new(MAP, 0, "missing")];
    };
    let written = map.text.split("```").step_by(2).flat_map(str::split_whitespace).count();
    let long = (written > MAP_WORDS)
        .then(|| Finding::new(MAP, 0, format!("{written} words, more than {MAP_WORDS}")));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words: Vec<&str> = map.text.split(|c| !is_part(c)).collect();
    // The map calls a crate by its directory or by its full name.
    let named =
        |folder: &str, name: &str| words.iter().any(|word| *word == folder || *word == name);
    let packages = workspace.packages.iter();
    packages
        .filter(|package| !named(package.folder().rsplit('/').next().unwrap_or(""), &package.name))
        .map(|package| Finding::new(MAP, 0, format!("does not name {}", package.folder())))
        .chain(long)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path.to_owned(), text.to_owned());
        check(&source, &BTreeSet::from([9])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn long_lines_are_found_in_programs_and_prose() {
        let line = format!("{}\n", "é".repeat(COLUMNS));
        assert_eq!(found("a.rs", &line), [""; 0]);
        assert_eq!(found("a.md", &line), [""; 0]);
        let line = format!("é{line}");
        assert_eq!(found("a.rs", &line), ["a.rs:1: 101 columns, more than 100"]);
        assert_eq!(found("a.md", &line), ["a.md:1: 101 columns, more than 100"]);
        assert_eq!(found("a.snap", &line), [""; 0]);
    }

    #[test]
    fn rows_and_fenced_blocks_of_prose_may_be_long() {
        let long = "x".repeat(COLUMNS + 1);
        let text = format!("| {long} |\n\n  ```sh\n  {long}\n  ```\n");
        assert_eq!(found("a.md", &text), [""; 0]);
        assert_eq!(found("a.rs", &text).len(), 2);
        let text = format!("```sh\nls\n```\n- {long}\n");
        assert_eq!(found("a.md", &text), ["a.md:4: 103 columns, more than 100"]);
    }

    #[test]
    fn tabs_and_trailing_blanks_are_found() {
        assert_eq!(found("a.md", "a\tb\n"), ["a.md:1: a tab"]);
        assert_eq!(found("a.toml", "a\nb \n"), ["a.toml:2: blanks at the end of the line"]);
        assert_eq!(found("a.snap", "b \n"), [""; 0]);
        let quoted = format!("{}b \n", "a\n".repeat(8));
        assert_eq!(found("a.rs", &quoted), [""; 0]);
    }

    #[test]
    fn a_file_ends_with_one_line_feed() {
        assert_eq!(found("a.rs", "a"), ["a.rs: does not end with one line feed"]);
        assert_eq!(found("a.rs", "a\n\n"), ["a.rs: does not end with one line feed"]);
    }

    #[test]
    fn the_map_names_every_crate() {
        let workspace = Workspace::with(&[("pageout-lab", "crates/lab"), ("xtask", "xtask")]);
        let map = |text: &str| Source::new(MAP.to_owned(), text.to_owned());
        assert_eq!(crates_are_on_the_map(&workspace, &[]), [Finding::new(MAP, 0, "missing")]);
        let full = crates_are_on_the_map(&workspace, &[map("`lab`: kernels. `xtask`: tasks.\n")]);
        assert_eq!(full, []);
        let partial = crates_are_on_the_map(&workspace, &[map("simple xtask\n")]);
        assert_eq!(partial, [Finding::new(MAP, 0, "does not name crates/lab")]);
    }

    #[test]
    fn the_map_stays_short() {
        let workspace = Workspace::with(&[]);
        let map = |words: usize| {
            Source::new(
                MAP.to_owned(),
                format!("{}\n```\nof a drawing\n```\n", "word ".repeat(words)),
            )
        };
        assert_eq!(crates_are_on_the_map(&workspace, &[map(MAP_WORDS)]), []);
        let long = crates_are_on_the_map(&workspace, &[map(MAP_WORDS + 1)]);
        assert_eq!(long, [Finding::new(MAP, 0, "901 words, more than 900")]);
    }
}

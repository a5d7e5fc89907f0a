//! The files of the tree, and the exceptions they carry.

use std::cell::OnceCell;
use std::fs;

use anyhow::{Context, Result};

use super::finding::{Finding, Rule};
use crate::cmd;

/// A text file of the tree.
pub(super) struct Source {
    /// The path from the workspace root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// The text as Rust, once a check asked for it.
    rust: OnceCell<syn::Result<syn::File>>,
}

/// An exception comment.
struct Exception {
    line: usize,
    rule: Rule,
}

/// Returns the path of every file that git tracks or would track, from the workspace root.
pub(super) fn paths() -> Result<Vec<String>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let list = cmd::output(cmd::program("git").args(list)).context("git lists the tree's files")?;
    // A tracked file may be deleted.
    let is_there = |path: &&str| fs::symlink_metadata(cmd::root().join(path)).is_ok();
    Ok(list.split_terminator('\0').filter(is_there).map(str::to_owned).collect())
}

/// Reads those of the files that are text.
pub(super) fn read(paths: &[String]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        let full = cmd::root().join(path);
        // A link or a submodule is no file of ours.
        if !fs::symlink_metadata(&full).is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push(Source::new(path.clone(), text));
        }
    }
    Ok(sources)
}

impl Source {
    pub(super) const fn new(path: String, text: String) -> Self {
        Self { path, text, rust: OnceCell::new() }
    }

    /// Returns the text as Rust.
    pub(super) fn rust(&self) -> &syn::Result<syn::File> {
        self.rust.get_or_init(|| syn::parse_file(&self.text))
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Removes the findings that an exception excuses, and adds one for each exception that excuses
    /// nothing.
    pub(super) fn excuse(&self, findings: Vec<Finding>) -> Vec<Finding> {
        let (exceptions, mut left) = self.exceptions();
        let mut used = vec![false; exceptions.len()];
        for finding in findings {
            let excused = finding.excuse.as_ref().and_then(|(rule, lines)| {
                exceptions.iter().position(|e| e.rule == *rule && lines.contains(&e.line))
            });
            match excused {
                Some(index) => used[index] = true,
                None => left.push(finding),
            }
        }
        for (exception, _) in exceptions.iter().zip(used).filter(|(_, used)| !used) {
            let what = format!("this excuses no {}: delete it", exception.rule.name());
            left.push(Finding::new(&self.path, exception.line, what));
        }
        left
    }

    /// Returns the exceptions, and a finding for each malformed one.
    fn exceptions(&self) -> (Vec<Exception>, Vec<Finding>) {
        let mut exceptions = Vec::new();
        let mut findings = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            let line = line.trim_start();
            let comment = line.strip_prefix("// tidy: ").or_else(|| line.strip_prefix("# tidy: "));
            let Some(comment) = comment else { continue };
            let rule = Rule::ALL.into_iter().find(|rule| {
                let reason = comment.strip_prefix(rule.name()).and_then(|r| r.strip_prefix(": "));
                reason.is_some_and(|reason| !reason.trim().is_empty())
            });
            match rule {
                Some(rule) => exceptions.push(Exception { line: index + 1, rule }),
                None => {
                    let names = Rule::ALL.map(Rule::name).join(", ");
                    let what = format!("an exception names one of {names}, a colon and a reason");
                    findings.push(Finding::new(&self.path, index + 1, what));
                }
            }
        }
        (exceptions, findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("a.rs".to_owned(), text.to_owned())
    }

    #[test]
    fn a_reason_on_the_spot_excuses() {
        let source = source("// tidy: long line: a table\nx\n");
        let finding = || Finding::new("a.rs", 2, "long").excusable(Rule::LongLine, 1..=2);
        assert!(source.excuse(vec![finding(), finding()]).is_empty());
    }

    #[test]
    fn an_exception_elsewhere_or_of_another_rule_does_not_excuse() {
        let source = source("// tidy: long file: a table\n\nx\n");
        let other_rule = Finding::new("a.rs", 2, "long").excusable(Rule::LongLine, 1..=2);
        let elsewhere = Finding::new("a.rs", 3, "long").excusable(Rule::LongFile, 2..=3);
        assert_eq!(source.excuse(vec![other_rule]).len(), 2, "and the comment is idle");
        assert_eq!(source.excuse(vec![elsewhere]).len(), 2);
    }

    #[test]
    fn an_exception_needs_a_known_rule_and_a_reason() {
        for comment in ["// tidy: long line", "# tidy: long line: ", "// tidy: big: because"] {
            let findings = source(comment).excuse(Vec::new());
            assert!(findings[0].what.starts_with("an exception names one of"), "{comment}");
        }
    }
}

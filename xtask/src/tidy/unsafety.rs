//! Unsafe code is in four places, and each block of it has a comment that says why it is sound.

use super::finding::Finding;
use super::source::Source;
use super::tokens::Token;
use super::walls::{CAPI, PAGING, Workspace};

/// The program that counts instructions, whose board has registers.
const COUNTS: &str = "pageout-counts";

/// Returns true if this file may have unsafe code.
pub(super) fn is_address(path: &str) -> bool {
    let folders = ["crates/paging/src/table/", "crates/paging/tests/others/", "crates/capi/"];
    let files = ["crates/paging/src/table.rs", "xtask/counts/src/board.rs"];
    files.contains(&path) || folders.iter().any(|folder| path.starts_with(folder))
}

/// Checks that unsafe code is only in its places, each block with its reason.
pub(super) fn check(source: &Source, tokens: &[Token]) -> Vec<Finding> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut findings = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.text != "unsafe" {
            continue;
        }
        if !is_address(&source.path) {
            let what = "unsafe code stands in crates/paging/src/table, crates/paging/tests/others, \
                        crates/capi and xtask/counts/src/board.rs alone";
            findings.push(Finding::new(&source.path, token.line, what));
        }
        // An unsafe function or trait asks something of its callers: its documentation says what.
        let next = tokens.get(index + 1).map_or("", |next| next.text.as_str());
        if ["{", "impl"].contains(&next) && !has_reason(&lines, token.line) {
            let what = "unsafe without a SAFETY comment";
            findings.push(Finding::new(&source.path, token.line, what));
        }
    }
    findings
}

/// Returns true if a SAFETY comment stands on the line or above the statement it belongs to.
fn has_reason(lines: &[&str], line: usize) -> bool {
    if lines[line - 1].contains("SAFETY: ") {
        return true;
    }
    for above in lines[..line - 1].iter().rev() {
        let above = above.trim();
        if above.starts_with("//") {
            if above.contains("SAFETY: ") {
                return true;
            }
        } else if above.is_empty() || above.ends_with([';', '{', '}', ',']) {
            return false;
        }
    }
    false
}

/// Checks that each crate forbids unsafe code in its root; the crates that have some deny it there.
pub(super) fn crate_roots(workspace: &Workspace, sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let has_some = [PAGING, CAPI, COUNTS].contains(&package.name.as_str());
        let lint = if has_some { "deny" } else { "forbid" };
        let attribute = format!("#![{lint}(unsafe_code)]");
        for root in package.roots() {
            let text = sources.iter().find(|source| source.path == root).map(|source| &source.text);
            if text.is_some_and(|text| !text.lines().any(|line| line.trim() == attribute)) {
                findings.push(Finding::new(&root, 0, format!("without {attribute}")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tokens::flatten;
    use super::*;

    const TABLE: &str = "crates/paging/src/table/host.rs";

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path.to_owned(), text.to_owned());
        let tokens = flatten(text).unwrap();
        check(&source, &tokens).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn unsafe_code_has_two_addresses() {
        let text = "// SAFETY: none needed.\nunsafe impl Send for A {}\n";
        assert_eq!(found(TABLE, text), [""; 0]);
        assert_eq!(found("crates/paging/src/table.rs", text), [""; 0]);
        assert_eq!(found("crates/capi/src/ground.rs", text), [""; 0]);
        for path in ["crates/paging/src/tables.rs", "crates/host/src/table/a.rs", "xtask/src/a.rs"]
        {
            assert_eq!(found(path, text).len(), 1, "{path}");
        }
    }

    #[test]
    fn a_block_says_why_it_is_sound() {
        let bare = "fn f() {\n    // Why not.\n    let a = unsafe { g() };\n}\n";
        assert_eq!(found(TABLE, bare), ["unsafe without a SAFETY comment"]);
        let split = "fn f() {\n    // SAFETY: g asks\n    // nothing.\n    let a =\n        \
                     unsafe { g() };\n}\n";
        assert_eq!(found(TABLE, split), [""; 0]);
        let of_another = "fn f() {\n    // SAFETY: fine.\n    a();\n    unsafe { g() }\n}\n";
        assert_eq!(found(TABLE, of_another), ["unsafe without a SAFETY comment"]);
        assert_eq!(found(TABLE, "/// # Safety\nunsafe fn f() {}\n"), [""; 0]);
    }

    #[test]
    fn crate_roots_forbid_unsafe_code() {
        let workspace = Workspace::with(&[(PAGING, "crates/paging"), ("pageout", "crates/cli")]);
        let root = |path: &str, text: &str| Source::new(path.into(), text.into());
        let sources = [
            root("crates/paging/src/lib.rs", "//! Tables.\n\n#![deny(unsafe_code)]\n"),
            root("crates/cli/src/lib.rs", "#![deny(unsafe_code)]\n"),
        ];
        let what = "without #![forbid(unsafe_code)]";
        let expected = [Finding::new("crates/cli/src/lib.rs", 0, what)];
        assert_eq!(crate_roots(&workspace, &sources), expected);
    }
}

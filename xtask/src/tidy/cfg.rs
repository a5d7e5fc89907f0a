//! The engine is the same code on every ground: only a few predicates may configure it.

use super::finding::Finding;
use super::source::Source;
use super::tokens::{Token, inside};
use super::unsafety;

/// Words that combine predicates.
const COMBINATORS: [&str; 3] = ["all", "any", "not"];
/// Predicates that change what is checked, and not what the engine does.
const ANYWHERE: [&str; 3] = ["test", "debug_assertions", "miri"];

/// Finds conditional compilation of the engine by anything but its tests.
pub(super) fn check(source: &Source, tokens: &[Token]) -> Vec<Finding> {
    let engine = ["crates/paging/src/", "crates/reclaim/src/"];
    if !engine.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.text != "cfg" && token.text != "cfg_attr" {
            continue;
        }
        let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
        let open = index + 1 + usize::from(is(index + 1, "!"));
        if !is(open, "(") {
            continue;
        }
        let mut predicate = inside(tokens, open);
        if token.text == "cfg_attr" {
            predicate = &predicate[..first_comma(predicate)];
        }
        let allowed = |word: &str| {
            COMBINATORS.contains(&word)
                || ANYWHERE.contains(&word)
                || (word == "target_arch" && unsafety::is_address(&source.path))
        };
        for word in predicate.iter().filter(|word| is_word(&word.text) && !allowed(&word.text)) {
            let what = format!("the engine has no cfg({})", word.text);
            findings.push(Finding::new(&source.path, word.line, what));
        }
    }
    findings
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the index of the comma that ends the predicate of a `cfg_attr`.
fn first_comma(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            "," if depth == 0 => return index,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::super::tokens::flatten;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path.to_owned(), text.to_owned());
        let tokens = flatten(text).unwrap();
        check(&source, &tokens).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_engine_knows_no_feature_and_no_ground() {
        let path = "crates/reclaim/src/lib.rs";
        let feature = "#[cfg(feature = \"guest\")]\nfn f() {}\n";
        assert_eq!(found(path, feature), ["the engine has no cfg(feature)"]);
        let ground = "fn f() { if cfg!(any(test, target_os = \"none\")) {} }\n";
        assert_eq!(found(path, ground), ["the engine has no cfg(target_os)"]);
        let hidden = "#![cfg_attr(all(not(test), host), no_std)]\n";
        assert_eq!(found(path, hidden), ["the engine has no cfg(host)"]);
        assert_eq!(found("crates/lab/src/lib.rs", feature), [""; 0]);
    }

    #[test]
    fn tests_and_assertions_may_differ() {
        let text = "#![cfg_attr(not(test), no_std)]\n#[cfg(all(test, not(miri)))]\nmod tests;\n\
                    fn f() { if cfg!(debug_assertions) {} }\n";
        assert_eq!(found("crates/paging/src/lib.rs", text), [""; 0]);
    }

    #[test]
    fn only_the_table_knows_the_processor() {
        let text = "#[cfg(target_arch = \"x86_64\")]\nfn f() {}\n";
        assert_eq!(found("crates/paging/src/table/prefetch.rs", text), [""; 0]);
        let elsewhere = found("crates/paging/src/young/line.rs", text);
        assert_eq!(elsewhere, ["the engine has no cfg(target_arch)"]);
    }
}

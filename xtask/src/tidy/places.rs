//! Macros that mark unfinished work or debugging.

use super::finding::Finding;
use super::source::Source;
use super::tokens::Token;

/// Names of such macros.
const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Finds calls of such macros.
pub(super) fn check(source: &Source, tokens: &[Token]) -> Vec<Finding> {
    tokens
        .windows(2)
        .filter(|pair| MACROS.contains(&pair[0].text.as_str()) && pair[1].text == "!")
        .map(|pair| Finding::new(&source.path, pair[0].line, format!("{}!", pair[0].text)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tokens::flatten;
    use super::*;

    #[test]
    fn unfinished_work_is_found() {
        let text = "fn f() {\n    todo!()\n}\nfn g() {\n    h(dbg!(1)); // todo!\n}\n";
        let source = Source::new("a.rs".to_owned(), text.to_owned());
        let findings = check(&source, &flatten(text).unwrap());
        let expected = [Finding::new("a.rs", 2, "todo!"), Finding::new("a.rs", 5, "dbg!")];
        assert_eq!(findings, expected);
    }
}

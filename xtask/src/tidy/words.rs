//! Words that comments do not have: those that tell of the place a change was made in, and first
//! words of doc comments that name nothing.

use std::collections::BTreeSet;

use super::finding::{Finding, Rule};
use super::source::Source;

/// Such words in lower case, each in two parts so that this list does not match itself.
const WORDS: [(&str, &str); 16] = [
    ("/wo", "rk/"),
    ("/ro", "ot/"),
    ("/ho", "me/"),
    ("/us", "ers/"),
    ("sub", "agent"),
    ("sub-", "agent"),
    ("helper ", "agent"),
    ("coding ", "agent"),
    ("language ", "model"),
    ("as an ", "ai"),
    ("cla", "ude"),
    ("chat", "gpt"),
    ("copi", "lot"),
    ("this ", "session"),
    ("work", "place"),
    ("as the issue ", "asks"),
];

/// Such words that count only before a number.
const NUMBERED: [(&str, &str); 2] = [("iss", "ue "), ("iss", "ue #")];

/// First words of a doc comment that name nothing: the reader has to decode the sentence.
const HEADS: [&str; 19] = [
    "What", "Whether", "How", "Who", "Whose", "Where", "When", "Why", "Which", "It", "Its", "One",
    "They", "This", "That", "These", "Those", "If", "Nothing",
];

/// Two words that name nothing either.
const TWO_WORD_HEAD: &str = "By what ";

/// Folders of the crates whose doc comments begin with none of them.
const PLAIN: &[&str] = &[
    "crates/calibrate/",
    "crates/capi/",
    "crates/check/",
    "crates/cli/",
    "crates/exhibits/",
    "crates/experiment/",
    "crates/host/",
    "crates/lab/",
    "crates/machine/",
    "crates/model/",
    "crates/paging/",
    "crates/reclaim/",
    "crates/record/",
    "crates/refusal/",
    "crates/report/",
    "crates/reproduce/",
    "crates/sim/",
    "crates/steps/",
    "crates/sweep/",
    "crates/trace/",
    "xtask/",
];

/// Finds words of the first kind in any text file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let lower = line.to_lowercase();
        let plain = WORDS.iter().map(|(a, b)| format!("{a}{b}")).filter(|word| has(&lower, word));
        let numbered = NUMBERED
            .iter()
            .map(|(a, b)| format!("{a}{b}"))
            .filter(|word| has_number_after(&lower, word));
        for word in plain.chain(numbered) {
            let what = format!("speaks of where it was made: \"{}\"", word.trim());
            let lines = index.max(1)..=index + 1;
            findings.push(Finding::new(&source.path, index + 1, what).excusable(Rule::Word, lines));
        }
    }
    findings
}

/// Finds doc comments of the crates in `PLAIN` that begin with a word of `HEADS`. A line that ends
/// inside a string (`quoted`), and the line after it, belong to the string.
pub(super) fn heads(source: &Source, quoted: &BTreeSet<usize>) -> Vec<Finding> {
    if !source.is_rust() || !PLAIN.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut continues = false;
    for (index, line) in source.text.lines().enumerate() {
        let is_code = !quoted.contains(&index) && !quoted.contains(&(index + 1));
        let doc = if is_code { doc_text(line) } else { None };
        if let Some(head) = doc.filter(|_| !continues).and_then(bad_head) {
            let what = format!("a doc comment begins with \"{head}\": begin with what the item is");
            findings.push(Finding::new(&source.path, index + 1, what));
        }
        continues = doc.is_some();
    }
    findings
}

/// Returns the text of a line that is a doc comment.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
    (!text.starts_with('/')).then(|| text.trim_start())
}

/// Returns the head that the text begins with, if it is one that names nothing.
fn bad_head(text: &str) -> Option<&'static str> {
    if text.starts_with(TWO_WORD_HEAD) {
        return Some(TWO_WORD_HEAD.trim_end());
    }
    let word = text.split_whitespace().next()?;
    let word = word.trim_end_matches([',', '.', ':', ';', '?', '!']);
    let word = word.strip_suffix("'s").unwrap_or(word);
    HEADS.into_iter().find(|head| *head == word)
}

/// Returns true if the line has the word, not as the end of a longer one.
fn has(line: &str, word: &str) -> bool {
    occurrences(line, word).next().is_some()
}

fn has_number_after(line: &str, word: &str) -> bool {
    occurrences(line, word)
        .any(|at| line[at + word.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

fn occurrences<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let starts_a_word =
        |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~$}".contains(c));
    line.match_indices(word).map(|(at, _)| at).filter(move |at| starts_a_word(*at))
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{flatten, quoted_lines};
    use super::*;

    fn count(text: &str) -> usize {
        check(&Source::new("a.md".to_owned(), text.to_owned())).len()
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_eq!(count(concat!("see /wo", "rk/main\n")), 1);
        assert_eq!(count(concat!("see `/ho", "me/me/a`\n")), 1);
        assert_eq!(count("target/work/a, docs/home/index, $HOME/work/\n"), 0);
    }

    #[test]
    fn talk_of_how_it_was_made_is_found() {
        assert_eq!(count(concat!("Sub", "agents wrote it, for iss", "ue 12\n")), 2);
        assert_eq!(count(concat!("iss", "ue #3\n")), 1);
    }

    #[test]
    fn the_subject_s_own_words_are_not() {
        assert_eq!(count("an agent of the explorer; issue and flush; tissue 2; issue a TLBI\n"), 0);
    }

    fn heads_of(path: &str, text: &str) -> Vec<usize> {
        let source = Source::new(path.to_owned(), text.to_owned());
        let quoted = quoted_lines(&flatten(text).unwrap());
        heads(&source, &quoted).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_doc_comment_that_begins_with_a_head_is_found() {
        for head in HEADS.into_iter().chain([TWO_WORD_HEAD, "What,", "It's"]) {
            let text = format!("/// {head} is meant.\nstruct A;\n");
            assert_eq!(heads_of("crates/refusal/src/a.rs", &text), [1], "{head}");
        }
        let text = "//! It reads.\n\nstruct A {\n    /// Which.\n    b: u8,\n}\n";
        assert_eq!(heads_of("crates/refusal/src/a.rs", text), [1, 4]);
    }

    #[test]
    fn only_the_first_line_of_a_doc_comment_is_its_head() {
        let text =
            "/// The name of the page.\n/// It is unique.\n///\n/// If not, none.\nstruct A;\n";
        assert_eq!(heads_of("crates/refusal/src/a.rs", text), [0; 0]);
    }

    #[test]
    fn other_comments_names_and_strings_are_no_heads() {
        for text in [
            "// It is so.\nstruct A;\n",
            "//// It is so.\nstruct A;\n",
            "/// `It` is a name.\nstruct A;\n",
            "/// One-way.\nstruct A;\n",
            "/// Iterates.\nstruct A;\n",
            "const A: &str = \"\n/// It is text.\n\";\n",
        ] {
            assert_eq!(heads_of("crates/refusal/src/a.rs", text), [0; 0], "{text}");
        }
    }

    #[test]
    fn heads_are_looked_for_only_in_the_listed_crates() {
        assert_eq!(heads_of("crates/refusals/src/a.rs", "/// It is so.\nstruct A;\n"), [0; 0]);
    }
}

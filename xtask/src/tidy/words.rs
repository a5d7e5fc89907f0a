//! Words that tell of the place a change was made in, not of the project.

use super::finding::{Finding, Rule};
use super::source::Source;

/// Such words in lower case, each in two parts so that this list does not find itself.
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

/// Words that tell so where a number follows.
const NUMBERED: [(&str, &str); 2] = [("iss", "ue "), ("iss", "ue #")];

/// Finds such words in any text file.
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

/// Whether the line has the word, not as the end of a longer one.
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
    use super::*;

    fn count(text: &str) -> usize {
        check(&Source { path: "a.md".to_owned(), text: text.to_owned() }).len()
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
}

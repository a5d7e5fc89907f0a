//! Prose of Markdown pages: sentences that readers have to decode.
//!
//! Tables, headings, code and questions are left out. No kept linter could be installed from a
//! registry: Vale's packages download their program from elsewhere
//! (`docs/decisions/0043-lint-prose-in-tidy.md`).

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::finding::Finding;
use super::source::Source;

/// The maximum number of words between two of `.`, `:`, `;`, `?` and `!`.
const WORDS: usize = 35;

/// First words of a sentence that name no subject.
const HEADS: [&str; 5] = ["Who", "Whoever", "Nobody", "What", "Whether"];

/// First words of a paragraph or item whose subject stands in another one.
const PRONOUNS: [&str; 8] = ["It", "Its", "They", "Their", "This", "That", "These", "Those"];

/// Words in lower case, each with the way to say it.
const PHRASES: [(&str, &str); 10] = [
    ("whoever", "name the actor: the caller, reclaim, another thread"),
    ("nobody", "name the actor: no caller, no CPU"),
    ("told of", "call, notify, report to"),
    ("is told", "is notified, learns"),
    ("are told", "are notified, learn"),
    ("'s to say", "decides"),
    ("by turns", "in turn"),
    ("there is none", "say what is missing, and where"),
    ("that there is not", "unknown, missing"),
    ("for want of", "without, because no"),
];

/// Pages that stay as they are, with the reason.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "crates/lab/files/queue-7.3/predictions.md",
    "was written before the measurement, and nothing in it may change since",
)];

/// The text of a paragraph or item, and its first line.
#[derive(Default)]
struct Passage {
    text: String,
    line: usize,
    /// Begins with a link or a label in bold type: a name, and no sentence.
    is_labelled: bool,
}

/// Finds what readers of a page have to decode.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let is_exception = EXCEPTIONS.iter().any(|(path, _)| *path == source.path);
    if !source.path.ends_with(".md") || is_exception {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for passage in passages(&source.text) {
        let report = |what: String| Finding::new(&source.path, passage.line, what);
        findings.extend(faults(&passage).into_iter().map(report));
    }
    findings
}

/// Returns the number of words of a page, tables and names included, code blocks not.
pub(super) fn count_words(page: &str) -> usize {
    let (mut words, mut in_code) = (0, false);
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) | Event::Code(text) if !in_code => {
                words += text.split_whitespace().filter(is_word).count();
            }
            _ => {}
        }
    }
    words
}

fn passages(page: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut current = Passage::default();
    let mut left_out = 0;
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    for (event, range) in Parser::new_ext(page, options).into_offset_iter() {
        let ends_passage = matches!(
            event,
            Event::Start(Tag::Paragraph | Tag::Item | Tag::List(_) | Tag::CodeBlock(_))
                | Event::End(TagEnd::Paragraph | TagEnd::Item)
        );
        if ends_passage && !current.text.is_empty() {
            passages.push(std::mem::take(&mut current));
        }
        match event {
            Event::Start(Tag::Table(_) | Tag::Heading { .. } | Tag::CodeBlock(_)) => left_out += 1,
            Event::End(TagEnd::Table | TagEnd::Heading(_) | TagEnd::CodeBlock) => left_out -= 1,
            _ if left_out > 0 => {}
            Event::Start(Tag::Strong | Tag::Link { .. }) if current.text.is_empty() => {
                current.is_labelled = true;
            }
            Event::Text(words) => {
                if current.text.is_empty() {
                    current.line = page[..range.start].matches('\n').count() + 1;
                }
                current.text.push_str(&words);
            }
            // Code is a name, and counts as no word.
            Event::Code(_) => current.text.push('`'),
            Event::SoftBreak | Event::HardBreak => current.text.push(' '),
            _ => {}
        }
    }
    passages.extend((!current.text.is_empty()).then_some(current));
    passages
}

fn faults(passage: &Passage) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, (sentence, end)) in sentences(&passage.text).into_iter().enumerate() {
        let label = index == 0 && passage.is_labelled;
        let head = first_word(sentence);
        let longest = sentence
            .split_inclusive([':', ';'])
            .map(|part| {
                part.split_whitespace().filter(|w| w.contains(char::is_alphanumeric)).count()
            })
            .max()
            .unwrap_or(0);
        if longest > WORDS {
            let start: Vec<&str> = sentence.split_whitespace().take(5).collect();
            let start = start.join(" ");
            faults.push(format!("{longest} words without a stop, more than {WORDS}: {start} …"));
        }
        if !label && end != '?' && HEADS.contains(&head) {
            faults.push(format!("a sentence begins with \"{head}\": name its subject"));
        }
        if !label && index == 0 && PRONOUNS.contains(&head) && is_bare(sentence) {
            faults.push(format!("a paragraph begins with \"{head}\": name its subject"));
        }
    }
    let lower = passage.text.to_lowercase();
    let found = PHRASES.iter().filter(|(phrase, _)| lower.contains(phrase));
    faults.extend(found.map(|(phrase, cure)| format!("\"{phrase}\": {cure}")));
    faults
}

/// Splits text into sentences, each with the mark that ends it.
fn sentences(text: &str) -> Vec<(&str, char)> {
    let mut sentences = Vec::new();
    let mut rest = text;
    while let Some(at) = end_of_sentence(rest) {
        let end = rest[at..].chars().next().unwrap_or('.');
        sentences.push((rest[..at].trim(), end));
        rest = rest[at + end.len_utf8()..].trim_start();
    }
    if !rest.is_empty() {
        sentences.push((rest, '.'));
    }
    sentences
}

/// Returns the place of a mark before the end, or before a blank and a capital letter, a digit or
/// code.
fn end_of_sentence(text: &str) -> Option<usize> {
    text.match_indices(['.', '?', '!']).map(|(at, _)| at).find(|at| {
        let mut after = text[at + 1..].trim_start_matches([')', '"', '*']).chars();
        match (after.next(), after.next()) {
            (None, _) => true,
            (Some(' '), next) => next.is_none_or(|c| c.is_uppercase() || "`0123456789".contains(c)),
            _ => false,
        }
    })
}

fn first_word(sentence: &str) -> &str {
    let word = sentence.split_whitespace().next().unwrap_or_default();
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Returns true unless a noun follows the pronoun, as in "This page" and "These are".
fn is_bare(sentence: &str) -> bool {
    let head = first_word(sentence);
    let second = sentence.split_whitespace().nth(1).unwrap_or_default();
    let verbs = ["is", "are", "was", "were", "has", "have", "does", "do", "needs", "may", "will"];
    !["This", "That", "These", "Those"].contains(&head) || verbs.contains(&second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path.to_owned(), text.to_owned());
        check(&source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_of_code_blocks_do_not_count() {
        assert_eq!(count_words("# A\n\nB `c`: d.\n\n| e |\n|---|\n| f |\n\n```\ng\n```\n"), 6);
    }

    #[test]
    fn a_long_stretch_is_found_between_stops() {
        let words = |count: usize| "word ".repeat(count).trim().to_owned();
        assert_eq!(found("a.md", &format!("{}; {}.\n", words(WORDS), words(WORDS))), [""; 0]);
        let long = found("a.md", &format!("Short. A {}.\n", words(WORDS)));
        assert_eq!(long.len(), 1);
        assert!(long[0].starts_with("a.md:1: 36 words without a stop, more than 35"));
        assert_eq!(found("a.md", &format!("`{}`\n", words(99))), [""; 0]);
    }

    #[test]
    fn a_sentence_without_a_subject_is_found() {
        for head in HEADS {
            let text = format!("A page.\n\n- It ends. {head} reads goes on.\n");
            let expected = [
                format!("a.md:3: a sentence begins with \"{head}\": name its subject"),
                "a.md:3: a paragraph begins with \"It\": name its subject".to_owned(),
            ];
            let mut found = found("a.md", &text);
            found.retain(|finding| !finding.contains("name the actor"));
            found.sort();
            let mut expected = expected.to_vec();
            expected.sort();
            assert_eq!(found, expected, "{head}");
        }
    }

    #[test]
    fn questions_labels_links_and_tables_are_no_sentences() {
        for text in [
            "What does it take?\n",
            "- **What it takes.** Time.\n",
            "- [What to ask](a.md): commands.\n",
            "| What |\n|---|\n| It |\n",
            "## What comes\n",
            "```\nWhoever\n```\n",
            "This page is short. These figures are old.\n",
            "`What` is a name.\n",
        ] {
            assert_eq!(found("a.md", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_phrase_is_found_with_its_cure() {
        for (phrase, cure) in PHRASES {
            let expected = format!("a.md:3: \"{phrase}\": {cure}");
            assert!(found("a.md", &format!("A.\n\nB {phrase} C.\n")).contains(&expected));
        }
    }

    #[test]
    fn other_files_and_exceptions_are_not_read() {
        assert_eq!(found("a.rs", "Whoever.\n"), [""; 0]);
        for (path, _) in EXCEPTIONS {
            assert_eq!(found(path, "Whoever.\n"), [""; 0]);
        }
    }
}

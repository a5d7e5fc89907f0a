//! Prose within a width.

use std::mem;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

/// Breaks each line of the text that is longer than `columns` at blanks. It continues indented by
/// two, or below the text behind a name if it begins with a name and two blanks or more. A word
/// that is longer than a line, such as a path, stays whole, and so does text between two backticks.
pub fn wrapped(text: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        if line.width() <= columns {
            lines.push(line.to_owned());
            continue;
        }
        let after = " ".repeat(hang(line, columns));
        let options = Options::new(columns)
            .subsequent_indent(&after)
            .break_words(false)
            .word_separator(WordSeparator::Custom(words))
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        let broken = textwrap::wrap(line, options);
        lines.extend(broken.iter().map(|line| line.trim_end().to_owned()));
    }
    lines.join("\n")
}

/// Returns the indentation of a line's continuation.
fn hang(line: &str, columns: usize) -> usize {
    let first = indent(line);
    let name = line[first..].find("  ").map(|end| first + end);
    let value = name.map(|end| end + indent(&line[end..]));
    value.filter(|at| *at <= columns / 3).map_or(first + 2, |at| line[..at].width())
}

/// Returns the number of blanks that a text begins with.
fn indent(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// Returns the words of a line: they are separated by blanks, except blanks between two backticks.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let last_quote = line.rfind('`').unwrap_or(0);
    let (mut is_quoted, mut from) = (false, 0);
    let mut ends = Vec::new();
    for (at, c) in line.char_indices() {
        is_quoted ^= c == '`';
        let next = &line[at + c.len_utf8()..];
        let is_end = c == ' ' && !next.is_empty() && !next.starts_with(' ');
        if is_end && (!is_quoted || at >= last_quote) {
            ends.push(at + 1);
        }
    }
    ends.push(line.len());
    Box::new(ends.into_iter().map(move |to| Word::from(&line[mem::replace(&mut from, to)..to])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_fits_is_as_it_was() {
        let text = "one  two\n\n   three \n";
        assert_eq!(wrapped(text, 80), text);
    }

    #[test]
    fn a_line_goes_on_indented() {
        let text = "error: a file is missing\n  and so on and on and on";
        let hanging = "error: a file\n  is missing\n  and so on and\n    on and on";
        assert_eq!(wrapped(text, 15), hanging);
    }

    #[test]
    fn what_stands_behind_a_name_goes_on_below_itself() {
        assert_eq!(wrapped("ran     one two three", 15), "ran     one two\n  three");
        assert_eq!(wrapped("ran  one two three", 15), "ran  one two\n     three");
    }

    #[test]
    fn paths_and_quoted_commands_are_whole() {
        let text = "see /a/very/long/path/to/a/file or `pageout run trace` for 漢字 it";
        let whole =
            "see\n  /a/very/long/path/to/a/file\n  or\n  `pageout run trace`\n  for 漢字\n  it";
        assert_eq!(wrapped(text, 10), whole);
    }

    #[test]
    fn a_backtick_without_another_quotes_nothing() {
        assert_eq!(wrapped("one ` two three", 9), "one ` two\n  three");
    }
}

//! Layout of help in lines of the terminal's width.

use super::text::{Help, Section};
use clap::builder::{StyledStr, Styles};
use std::fmt::Write;
use textwrap::WordSplitter;

/// A blank at which the library does not wrap lines; [`printed`] takes it out.
const GLUE: char = '\u{a0}';
/// The number of examples that `-h` shows.
const BRIEF_EXAMPLES: usize = 3;
/// The widest term that has its explanation beside it.
const MAX_TERM: usize = 16;
/// Blanks before terms, lines and examples.
const INDENT: &str = "  ";

/// Replaces the glue of a text by the blanks that are printed.
pub(crate) fn printed(text: &str) -> String {
    text.replace(GLUE, " ")
}

/// Returns the text below the options of `-h`.
pub(super) fn brief(help: &Help, width: usize) -> StyledStr {
    let some = &help.examples[..help.examples.len().min(BRIEF_EXAMPLES)];
    glued(&help.brief, some, width)
}

/// Returns the text below the options of `--help`.
pub(super) fn full(help: &Help, width: usize) -> StyledStr {
    glued(&help.notes, help.examples, width)
}

/// Lays out sections and examples in lines that the library does not wrap again.
fn glued(sections: &[Section], examples: &[&str], width: usize) -> StyledStr {
    let examples = headed("Examples", width) + &indented(&aligned(examples));
    let all = match sections {
        [] => examples,
        some => laid_out(some, width) + "\n" + &examples,
    };
    all.trim_end().replace(' ', &GLUE.to_string()).into()
}

/// Lays out sections in lines of `width`, with an empty line between two of them.
pub(crate) fn laid_out(sections: &[Section], width: usize) -> String {
    let laid_out = |section: &Section| match section {
        Section::Prose(text) => wrapped(text, "", width),
        Section::Terms { heading, terms } => headed(heading, width) + &explained(terms, width),
        Section::Lines { heading, lines } => headed(heading, width) + &indented(lines),
    };
    sections.iter().map(laid_out).collect::<Vec<_>>().join("\n")
}

/// Writes a heading in the library's own form.
fn headed(heading: &str, width: usize) -> String {
    let styles = Styles::default();
    let style = styles.get_header();
    let text = wrapped(&format!("{heading}:"), "", width);
    format!("{style}{}{style:#}\n", text.trim_end())
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("{INDENT}{line}").trim_end().to_owned() + "\n").collect()
}

/// Terms beside their explanations, or above them where they are wide.
fn explained(terms: &[(String, String)], width: usize) -> String {
    let narrow = terms.iter().map(|(term, _)| term.len()).filter(|length| *length <= MAX_TERM);
    let column = narrow.max().unwrap_or(INDENT.len());
    let indent = " ".repeat(INDENT.len() + column + 2);
    let mut all = String::new();
    for (term, text) in terms {
        let text: String = text.lines().map(|line| wrapped(line, &indent, width)).collect();
        let _ = match term.len() <= column {
            true => write!(all, "{INDENT}{term:column$}  {}", text.trim_start()),
            false => write!(all, "{INDENT}{term}\n{text}"),
        };
    }
    all
}

/// Examples with their comments in one column.
pub(crate) fn aligned(examples: &[&str]) -> String {
    let parts = examples.iter().map(|example| example.split_once(" # ").unwrap_or((example, "")));
    let commented = parts.clone().filter(|(_, comment)| !comment.is_empty());
    let column = commented.map(|(command, _)| command.len()).max().unwrap_or(0);
    let line = |(command, comment): (&str, &str)| match comment {
        "" => format!("{command}\n"),
        _ => format!("{command:column$}  # {comment}\n"),
    };
    parts.map(line).collect()
}

/// Text in lines of `width`, each indented.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let options = textwrap::Options::new(width).initial_indent(indent).subsequent_indent(indent);
    // Names with hyphens stay whole.
    let options = options.break_words(false).word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options) + "\n"
}

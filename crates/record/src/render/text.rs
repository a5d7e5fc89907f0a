//! Text of a width.

use textwrap::{Options, WordSplitter, WrapAlgorithm, wrap};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Returns the text in at most `most` columns; `…` replaces an end that is left out.
pub(super) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut room = most.saturating_sub(1);
    let fits = |c: &char| {
        let fits = c.width().unwrap_or(0) <= room;
        room = room.saturating_sub(c.width().unwrap_or(0));
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// Pads or cuts the text to exactly `columns` columns.
pub(super) fn left(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let blank = " ".repeat(columns.saturating_sub(width(&text)));
    text + &blank
}

/// Returns the text in lines of at most `columns` columns, of which the later ones are indented.
pub(super) fn lines(text: &str, columns: usize) -> Vec<String> {
    text.lines().flat_map(|line| broken(line, columns, ["", "  "])).collect()
}

/// Returns a line in lines of at most `columns` columns behind these indents: of the first, and of
/// the others. A word that is longer than a line is cut.
pub(super) fn broken(line: &str, columns: usize, [first, others]: [&str; 2]) -> Vec<String> {
    let options = Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(others)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    wrap(line, options).into_iter().map(|line| line.trim_end().to_owned()).collect()
}

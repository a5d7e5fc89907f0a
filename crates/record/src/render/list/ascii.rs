//! Text that every mailing list accepts: ASCII, in lines of a width.

use super::super::text::broken;

/// Returns a text in ASCII. Common characters of units and names have their usual spelling. Others
/// become their code points, so that no two names become equal.
pub(super) fn ascii(text: &str) -> String {
    let spelled = |c: char| match c {
        'µ' | 'μ' => "u".to_owned(),
        '×' => "x".to_owned(),
        '–' | '−' => "-".to_owned(),
        '→' => "->".to_owned(),
        '…' => "...".to_owned(),
        '≤' => "<=".to_owned(),
        '≥' => ">=".to_owned(),
        '²' => "^2".to_owned(),
        ' '..='~' => c.to_string(),
        _ => c.escape_unicode().to_string(),
    };
    text.chars().map(spelled).collect()
}

/// Returns [`broken`] of the text in ASCII.
pub(super) fn lines(text: &str, width: usize, indents: [&str; 2]) -> Vec<String> {
    broken(&ascii(text), width, indents)
}

/// Returns the words of a command in lines that a shell reads as one command.
pub(super) fn command(words: &[String], width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.iter().map(|word| ascii(word)) {
        let line = lines.last_mut().expect("there is a first line");
        // There is room for the space before and for the ` \` behind.
        if line.is_empty() {
            line.push_str(&word);
        } else if line.len() + word.len() + 3 <= width {
            *line += " ";
            *line += &word;
        } else {
            *line += " \\";
            lines.push(format!("    {word}"));
        }
    }
    lines.iter().flat_map(|line| joined(line, width)).collect()
}

/// Returns a line as it is, or in pieces that a shell joins to one word again.
fn joined(line: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while rest.len() > width {
        let (piece, more) = rest.split_at(width - 1);
        pieces.push(format!("{piece}\\"));
        rest = more;
    }
    pieces.push(rest.to_owned());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_still_do() {
        assert_eq!(ascii("µs → 4×2"), "us -> 4x2");
        assert_eq!(ascii("é\u{1b}"), r"\u{e9}\u{1b}");
    }

    #[test]
    fn a_shell_takes_the_lines_as_the_command() {
        let words = ["pageout", "compare", "reclaim-file", "order=4", "--base", "young=per-entry"];
        let words = words.map(str::to_owned);
        assert_eq!(
            command(&words, 30),
            ["pageout compare reclaim-file \\", "    order=4 --base \\", "    young=per-entry"]
        );
        let long = ["cat".to_owned(), "x".repeat(40)];
        let lines = command(&long, 30);
        assert!(lines.iter().all(|line| line.len() <= 30), "{lines:?}");
        let taken = lines.join("\n").replace("\\\n", "");
        assert_eq!(taken.split_whitespace().collect::<Vec<_>>(), long);
    }
}

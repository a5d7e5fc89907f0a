//! Blocks of shell, cut into commands.

/// Returns the commands of a block. A block with a loop or a here-document is one command: what its
/// lines say depends on each other.
pub(crate) fn commands(block: &str) -> Vec<String> {
    let is_one =
        block.contains("<<") || block.lines().any(|line| line.trim_start().starts_with("for "));
    if is_one {
        return vec![block.to_owned()];
    }
    let whole = block.replace("\\\n", "");
    let commands = whole.lines().map(|line| without_comment(line).trim().to_owned());
    commands.filter(|command| !command.is_empty()).collect()
}

/// Returns a line up to the `#` that begins a comment: one outside of quotes, at the start of a
/// word.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before == ' ' => return &line[..at],
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

#[test]
fn a_block_is_cut_at_line_feeds_and_comments() {
    let block = "a 'b # c'   # d\n  # e\nf \\\n    g#h \"it's # i\"\n";
    assert_eq!(commands(block), ["a 'b # c'", "f     g#h \"it's # i\""]);
}

#[test]
fn a_block_with_a_loop_or_a_here_document_is_one_command() {
    for block in ["set --\nfor a in 1 2; do\n  b\ndone\n", "cat > a <<'END'\nb\nEND\n"] {
        assert_eq!(commands(block), [block]);
    }
}

//! A file's tokens in one row, so that macros and strings cannot hide or fake a word.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A token, with its line.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    /// A word, a punctuation mark, a bracket; a literal keeps its quotes.
    pub(super) text: String,
    pub(super) line: usize,
    /// The line that the token ends on: a later one for a string of several lines.
    pub(super) last: usize,
}

/// Returns the tokens of a Rust file, with groups opened and without comments.
pub(super) fn flatten(text: &str) -> Result<Vec<Token>> {
    let stream: TokenStream =
        text.parse().map_err(|error| anyhow::anyhow!("{error}")).context("not Rust")?;
    let mut tokens = Vec::new();
    append(stream, &mut tokens);
    Ok(tokens)
}

/// Returns the paths in a macro's tokens, as words; a single word is a path too.
pub(super) fn paths(stream: TokenStream) -> Vec<Vec<String>> {
    let mut tokens = Vec::new();
    append(stream, &mut tokens);
    let mut paths: Vec<Vec<String>> = Vec::new();
    let mut colons = 0;
    for Token { text, .. } in tokens {
        let is_word = text.starts_with(|first: char| first.is_alphabetic() || first == '_');
        match paths.last_mut() {
            Some(path) if is_word && colons == 2 => path.push(text),
            _ if is_word => paths.push(vec![text]),
            _ if text == ":" => {
                colons += 1;
                continue;
            }
            _ => {}
        }
        colons = 0;
    }
    paths
}

fn append(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(token(open.to_owned(), group.span_open()));
                append(group.stream(), tokens);
                tokens.push(token(close.to_owned(), group.span_close()));
            }
            tree => tokens.push(token(tree.to_string(), tree.span())),
        }
    }
}

fn token(text: String, span: Span) -> Token {
    Token { text, line: span.start().line, last: span.end().line }
}

/// Returns the lines that end inside a string: they are another program's text, not our layout.
pub(super) fn quoted_lines(tokens: &[Token]) -> BTreeSet<usize> {
    tokens.iter().flat_map(|token| token.line..token.last).collect()
}

/// Returns the tokens between the bracket at `open` and its partner.
pub(super) fn inside(tokens: &[Token], open: usize) -> &[Token] {
    let mut depth = 0;
    for (offset, token) in tokens[open..].iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &tokens[(open + 1).min(open + offset)..open + offset];
        }
    }
    &tokens[open..open]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_strings_and_comments_are_no_tokens() {
        let tokens = flatten("// unsafe\nfn f() { g(\"unsafe\") }\n").unwrap();
        let words: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(words, ["fn", "f", "(", ")", "{", "g", "(", "\"unsafe\"", ")", "}"]);
        assert!(tokens.iter().all(|token| token.line == 2));
    }

    #[test]
    fn words_in_macros_are_tokens() {
        let tokens = flatten("macro_rules! m { () => { unsafe { f() } } }").unwrap();
        assert!(tokens.iter().any(|token| token.text == "unsafe"));
    }

    #[test]
    fn a_group_is_found_from_its_bracket() {
        let tokens = flatten("a (b [c] d) e").unwrap();
        let words: Vec<_> = inside(&tokens, 1).iter().map(|token| token.text.as_str()).collect();
        assert_eq!(words, ["b", "[", "c", "]", "d"]);
        assert!(inside(&tokens, 0).is_empty());
    }

    #[test]
    fn paths_in_macros_are_whole() {
        let stream = "f!(a::B, x: c::d::e(), \"g::h\")".parse().unwrap();
        let paths = paths(stream).iter().map(|path| path.join("::")).collect::<Vec<_>>();
        assert_eq!(paths, ["f", "a::B", "x", "c::d::e"]);
    }

    #[test]
    fn the_lines_of_a_string_are_known() {
        let tokens = flatten("let a = \"one\ntwo \nthree\";\nlet b = 1;\n").unwrap();
        assert_eq!(quoted_lines(&tokens), BTreeSet::from([1, 2]));
    }
}

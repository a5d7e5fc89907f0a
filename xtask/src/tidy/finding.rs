//! A fault that a check finds, and the rule that an exception may excuse it from.

use std::fmt;
use std::ops::RangeInclusive;

/// A rule that an exception comment can excuse a line from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    LongFunction,
    LongFile,
    LongLine,
    Word,
}

impl Rule {
    pub(super) const ALL: [Rule; 4] =
        [Rule::LongFunction, Rule::LongFile, Rule::LongLine, Rule::Word];

    /// Returns the rule's name in an exception comment.
    pub(super) fn name(self) -> &'static str {
        match self {
            Rule::LongFunction => "long function",
            Rule::LongFile => "long file",
            Rule::LongLine => "long line",
            Rule::Word => "word",
        }
    }
}

/// A fault that a check found.
#[derive(PartialEq, Debug)]
pub(super) struct Finding {
    pub(super) path: String,
    /// The line, counted from 1; 0 if the finding concerns the whole file.
    pub(super) line: usize,
    pub(super) what: String,
    /// The rule that an exception may excuse it from, and the lines where such a comment may stand.
    pub(super) excuse: Option<(Rule, RangeInclusive<usize>)>,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Finding { path: path.to_owned(), line, what: what.into(), excuse: None }
    }

    pub(super) fn excusable(mut self, rule: Rule, lines: RangeInclusive<usize>) -> Self {
        self.excuse = Some((rule, lines));
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

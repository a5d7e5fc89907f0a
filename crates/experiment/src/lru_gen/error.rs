//! The errors of sessions that are refused.

use pageout_refusal::UnknownName;

/// The line that was refused, and the reason.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{origin}:{line}: {problem}")]
pub struct SessionError {
    /// The text's name.
    pub origin: String,
    /// The line, from 1.
    pub line: usize,
    /// The problem of the line.
    pub problem: Problem,
}

/// The problem of a line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// The first word is no directive, or no line above gave the name to a thing of this kind.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The line has too few or too many words.
    #[error("found `{found}`, expected `{form}`")]
    Form {
        /// The line.
        found: String,
        /// The form that the directive has.
        form: &'static str,
    },
    /// A text that cannot be a name.
    #[error("name `{0}`: expected a letter and up to 30 more letters, digits, `-` or `_`")]
    Name(String),
    /// A name that a line above took.
    #[error("name `{0}` is taken by a line above: expected another")]
    Taken(String),
    /// A value out of its range.
    #[error("{what} `{found}`: expected {accepted}")]
    Value {
        /// The quantity that the value is of, such as a size.
        what: &'static str,
        /// The value.
        found: String,
        /// The accepted values, in words.
        accepted: String,
    },
    /// A second `fill` of one file, or a use before the first.
    #[error("file `{file}` {state}: expected one `fill` of it, before it is mapped or read")]
    Fill {
        /// The file.
        file: String,
        /// The file's state that makes the line wrong.
        state: &'static str,
    },
    /// Too many of something: names in a session, or characters in a command.
    #[error("{what}: expected at most {most}")]
    TooMany {
        /// The quantity that exceeds its limit.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// A `\` before anything other than `n`.
    #[error("`\\` in a command: expected `\\n`, a new line")]
    Escape,
    /// The session has no `write` and no `show`, so it would show nothing.
    #[error("the session ends without `write` or `show`: expected one at least")]
    Silent,
}

//! Why a session was refused.

use pageout_refusal::UnknownName;

/// The line that was refused, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{origin}:{line}: {problem}")]
pub struct SessionError {
    /// The text's name.
    pub origin: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// The first word is no directive, or a name is none that a line above gave to such a thing.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// Its words are too few or too many.
    #[error("found `{found}`, expected `{form}`")]
    Form {
        /// The line.
        found: String,
        /// What it should look like.
        form: &'static str,
    },
    /// A name that is none.
    #[error("name `{0}`: expected a letter and up to 30 more letters, digits, `-` or `_`")]
    Name(String),
    /// A name that a line above has given away.
    #[error("name `{0}` is taken by a line above: expected another")]
    Taken(String),
    /// A value out of its range.
    #[error("{what} `{found}`: expected {accepted}")]
    Value {
        /// What it is of.
        what: &'static str,
        /// The value.
        found: String,
        /// What is accepted.
        accepted: String,
    },
    /// A second `fill` of one file, or a use before the first.
    #[error("file `{file}` {state}: expected one `fill` of it, before it is mapped or read")]
    Fill {
        /// The file.
        file: String,
        /// What is wrong.
        state: &'static str,
    },
    /// A text that is too long, or that a command cannot have.
    #[error("{what}: expected at most {most}")]
    TooMany {
        /// What is too much.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// `\` that is followed by something else.
    #[error("`\\` in a command: expected `\\n`, a new line")]
    Escape,
    /// Nothing to show for it.
    #[error("the session ends without `write` or `show`: expected one at least")]
    Silent,
}

//! The reasons why a question has no answer, and their messages.

use pageout_experiment::fields::FieldError;
use pageout_experiment::scenarios::Scenario;
use pageout_experiment::variant::VariantError;
use pageout_host::generations::Refused;
use pageout_host::residency::ReplayError;
use pageout_machine::platform::PlatformError;
use pageout_record::schema::{Ground, shown};
use pageout_refusal::UnknownName;
use pageout_trace::TraceError;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// A name that does not exist.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A scenario that this ground does not run.
    #[error(
        "{what} runs on ground {other}, not on {ground}: {hint} --ground {other}. Ground {ground} \
         has {}",
        Scenario::names_on(*ground).join(", "), other = other(*ground), hint = add(*ground)
    )]
    NotOnGround {
        /// The name of what was asked for.
        what: String,
        /// The ground that was asked for.
        ground: Ground,
    },
    /// A trace for a scenario that takes none.
    #[error("--trace is for scenario trace, not for {0}: expected `trace` as the scenario")]
    TraceNotUsed(String),
    /// A setting that only a modelled machine has.
    #[error("{0} is for a modelled machine: add --ground model")]
    ModelAlone(&'static str),
    /// The same variant twice.
    #[error(
        "variant {variant} is compared with itself: give --base or --new another choice on some \
         axis"
    )]
    SameVariant {
        /// The variant's choices.
        variant: String,
    },
    /// A field or its value.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A variant's text.
    #[error(transparent)]
    Variant(#[from] VariantError),
    /// A refused command of `lru_gen`.
    #[error(transparent)]
    LruGen(#[from] Refused),
    /// A trace that cannot be replayed.
    #[error("trace {name}")]
    Replay {
        /// The trace's name.
        name: String,
        /// The reason.
        source: ReplayError,
    },
    /// A trace that cannot be read.
    #[error("trace {name}")]
    Trace {
        /// The trace's name.
        name: String,
        /// The reason.
        source: TraceError,
    },
    /// A word that names a sample and a file.
    #[error(
        "`{0}` is a sample and a file here: expected ./{0} for the file, or, for the sample, \
         another working directory"
    )]
    SampleOrFile(String),
    /// A file that cannot be read, where a name would do.
    #[error(
        "cannot read {kind} file {}: {}; accepted: a file, or {names}",
        path.display(), without_number(&error.to_string())
    )]
    NotRead {
        /// The kind of the file.
        kind: &'static str,
        /// The file.
        path: PathBuf,
        /// The accepted names.
        names: String,
        /// The reason.
        error: io::Error,
    },
    /// A platform file's fault.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// A platform whose name records cannot have.
    #[error(
        "{file}: `name`: found characters that act on a display, and records have no such names"
    )]
    PlatformName {
        /// The file.
        file: String,
    },
}

/// Returns the verb that asks for another ground: "add" if this one is the default.
const fn add(ground: Ground) -> &'static str {
    match ground {
        Ground::Host => "add",
        _ => "say",
    }
}

/// Returns the ground that has the things which this one lacks.
const fn other(ground: Ground) -> Ground {
    match ground {
        Ground::Model => Ground::Host,
        _ => Ground::Model,
    }
}

/// Checks that options of modelled machines are not given on another ground.
///
/// # Errors
/// [`QuestionError::ModelAlone`] names the first that is given.
pub fn modelled_alone(platform: bool, cores: bool, draws: bool) -> Result<(), QuestionError> {
    let given = [(platform, "--platform"), (cores, "--cores"), (draws, "--draws")];
    let found = given.into_iter().find(|(given, _)| *given);
    found.map_or(Ok(()), |(_, option)| Err(QuestionError::ModelAlone(option)))
}

/// Returns the error of an argument that is one of `names` of this `kind`, or else a file, and
/// cannot be read. A word without a slash or a dot is taken for a name.
pub fn unread<'n>(
    kind: &'static str,
    path: &Path,
    error: io::Error,
    names: impl Iterator<Item = &'n str> + Clone,
) -> QuestionError {
    let listed = || names.clone().collect::<Vec<_>>().join(", ");
    match path.to_str().filter(|name| !name.contains(['/', '.'])) {
        Some(name) if error.kind() == io::ErrorKind::NotFound => {
            UnknownName::new(kind, name, names.clone())
                .accepting(format!("{}, or a file", listed()))
                .into()
        }
        _ => QuestionError::NotRead { kind, path: path.to_owned(), names: listed(), error },
    }
}

/// Returns the text of a system error without its number.
pub fn without_number(text: &str) -> &str {
    text.split(" (os error ").next().unwrap_or(text)
}

/// Returns the message of an error with its causes. `part` makes the text of each fit to be
/// printed.
pub fn message(error: &dyn Error, part: impl Fn(&str) -> String) -> String {
    let mut message = part(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = part(without_number(&error.to_string()));
        // Some messages contain that of their cause.
        if !message.ends_with(&text) {
            message += &format!(": {text}");
        }
        cause = error.source();
    }
    message
}

impl QuestionError {
    /// Returns the message with its causes, in one line.
    pub fn message(&self) -> String {
        message(self, |text| shown(text).into_owned())
    }
}

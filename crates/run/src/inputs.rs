//! Traces and platforms by their names, or from files.

use crate::error::{QuestionError, unread};
use pageout_experiment::{input, named, shown};
use pageout_host::residency::ReplayError;
use pageout_machine::platform::Platform;
use pageout_trace::TraceError;
use pageout_trace::source::TraceSource;
use std::borrow::Cow;
use std::path::Path;

/// A trace, with its name in messages.
#[derive(Clone, Debug)]
pub struct Trace {
    name: String,
    /// The trace.
    pub source: TraceSource,
}

impl Trace {
    /// Returns the sample or the file of that name, or the default sample. A word that names both
    /// is refused: records should not depend on where a command was run.
    ///
    /// # Errors
    /// [`QuestionError`] for a trace that cannot be read.
    pub fn of(path: Option<&Path>) -> Result<Self, QuestionError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let name = named(path);
        if let Some(source) = path.to_str().and_then(TraceSource::sample) {
            return match path.exists() {
                true => Err(QuestionError::SampleOrFile(name)),
                false => Ok(Self { name, source }),
            };
        }
        match TraceSource::read(path) {
            Ok(source) => Ok(Self { name, source }),
            Err(TraceError::Open { path, source }) => {
                Err(unread("trace", &path, source, TraceSource::sample_names().into_iter()))
            }
            Err(source) => Err(QuestionError::Trace { name, source }),
        }
    }

    /// Returns its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the error of this trace, which could not be read.
    pub fn unreadable(&self, source: TraceError) -> QuestionError {
        QuestionError::Trace { name: self.name.clone(), source }
    }

    /// Returns the error of this trace, which could not be replayed.
    pub fn failed(&self, error: ReplayError) -> QuestionError {
        match error {
            ReplayError::LruGen(refused) => refused.into(),
            source => QuestionError::Replay { name: self.name.clone(), source },
        }
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self { name: "the sample python-table".to_owned(), source: TraceSource::default() }
    }
}

/// Returns a platform by its name, or else from a file.
///
/// # Errors
/// [`QuestionError`] for a platform that cannot be read.
pub fn platform_of(platform: &str) -> Result<Platform, QuestionError> {
    Ok(platform_with_text(platform)?.0)
}

/// Returns a platform by its name, or else from a file, with the text that it was read from.
///
/// # Errors
/// As [`platform_of`].
pub fn platform_with_text(platform: &str) -> Result<(Platform, Cow<'static, str>), QuestionError> {
    if let Some((named, text)) = Platform::named(platform).zip(Platform::file(platform)) {
        return Ok((named, text.into()));
    }
    let path = Path::new(platform);
    let text = input::read_text(path, input::MAX_TEXT)
        .map_err(|error| unread("platform", path, error, Platform::names()))?;
    let parsed = Platform::parse(platform, &text)?;
    if shown(parsed.name()) != parsed.name() {
        return Err(QuestionError::PlatformName { file: platform.to_owned() });
    }
    Ok((parsed, text.into()))
}

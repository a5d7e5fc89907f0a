//! Reading JSON, with one clear error.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::problem::InvalidRecord;
use super::types::{RecordFile, RecordSet, SCHEMA, VERSION};

/// The reason why a text is not a record file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is not JSON, or has no schema name and version.
    #[error(
        "not a record file but {0}; accepted: what a command writes with --json, an object with \
         schema \"{SCHEMA}\" and version {VERSION}"
    )]
    NotRecords(String),
    /// The text ends within the set.
    #[error(
        "it ends at line {line}, column {column}, within the records; a whole file is accepted"
    )]
    CutShort {
        /// The number of lines in the text.
        line: usize,
        /// The number of characters of the last line.
        column: usize,
    },
    /// Another schema.
    #[error("schema is {found:?}; \"{SCHEMA}\" is accepted")]
    Schema {
        /// The name in the text.
        found: String,
    },
    /// A version this crate does not read.
    #[error("version is {found}; {VERSION} is accepted")]
    Version {
        /// The version in the text.
        found: u32,
    },
    /// A field that is missing, unknown or of a wrong type. The cause says what is accepted.
    #[error("{}", misshapen(place, cause))]
    Shape {
        /// The place, such as `records[3].metrics[0].basis (metric "age")`.
        place: String,
        /// The text that was found, and what is accepted.
        cause: serde_json::Error,
    },
    /// The right shape, but a rule is broken.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    /// Several runs where one is asked for.
    #[error("it holds {0} runs; one is accepted")]
    Several(usize),
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Header {
    schema: String,
    version: u32,
}

/// A file of this version.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RecordFile")]
pub(super) struct Whole {
    #[serde(rename = "schema")]
    #[schemars(extend("const" = SCHEMA))]
    _schema: String,
    #[serde(rename = "version")]
    #[schemars(extend("const" = VERSION))]
    _version: u32,
    #[schemars(length(min = 1))]
    sets: Vec<RecordSet>,
}

/// The names of a broken file, for the place in the error.
#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    sets: Vec<SetNames>,
}

#[derive(Deserialize)]
struct SetNames {
    #[serde(default)]
    records: Vec<RecordNames>,
}

#[derive(Deserialize)]
struct RecordNames {
    #[serde(default)]
    scenario: Option<String>,
    #[serde(default)]
    metrics: Vec<MetricName>,
}

#[derive(Deserialize)]
struct MetricName {
    #[serde(default)]
    name: Option<String>,
}

impl RecordFile {
    /// Reads and validates a record file.
    ///
    /// # Errors
    /// [`ReadError`], which names the record and metric, what was found and what is accepted.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        // The header first: another version may have another shape.
        match version(text)? {
            VERSION => {}
            found => return Err(ReadError::Version { found }),
        }
        let Whole { sets, .. } = shaped(text)?;
        let file = Self { sets };
        file.validate()?;
        Ok(file)
    }
}

impl RecordSet {
    /// Reads and validates a file of one run.
    ///
    /// # Errors
    /// [`ReadError`], as of [`RecordFile::from_json`], or for several runs.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let mut sets = RecordFile::from_json(text)?.sets;
        match (sets.pop(), sets.len()) {
            (Some(set), 0) => Ok(set),
            (_, others) => Err(ReadError::Several(others + 1)),
        }
    }
}

/// Returns the version of a record file, whatever its shape.
fn version(text: &str) -> Result<u32, ReadError> {
    let header: Header = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() && !text.trim().is_empty() {
            ReadError::CutShort { line: error.line(), column: error.column() }
        } else {
            ReadError::NotRecords(seems(text, &error))
        }
    })?;
    if header.schema != SCHEMA {
        return Err(ReadError::Schema { found: header.schema });
    }
    Ok(header.version)
}

/// Describes a text that has no header of records.
fn seems(text: &str, error: &serde_json::Error) -> String {
    let text = text.trim_start();
    let first = text.lines().next().unwrap_or_default().to_lowercase();
    if text.is_empty() {
        "empty".to_owned()
    } else if error.is_data() {
        format!("other JSON ({})", without_place(error))
    } else if first.starts_with("<!doctype html") || first.starts_with("<html") {
        "an HTML page".to_owned()
    } else if first.starts_with(['{', '[']) {
        format!("broken JSON ({error})")
    } else if first.starts_with("run,scenario,ground,") {
        "CSV, as --csv writes it".to_owned()
    } else {
        "text that is not JSON".to_owned()
    }
}

/// Returns an error without its line and column.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Reads the text as a value of a type, or returns the place at which it is none.
fn shaped<T: DeserializeOwned>(text: &str) -> Result<T, ReadError> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = place(text, &error.path().to_string());
        ReadError::Shape { place, cause: error.into_inner() }
    })
}

/// Describes an error of a place; the path of the whole file is a dot.
fn misshapen(place: &str, cause: &serde_json::Error) -> String {
    match place {
        "." => format!("{cause}; accepted: what a command writes with --json"),
        place => format!("{place}: {cause}"),
    }
}

/// Returns the path with the names of the scenario and metric to which it leads, as far as they can
/// be read.
fn place(text: &str, path: &str) -> String {
    let Ok(names) = serde_json::from_str::<Names>(text) else {
        return path.to_owned();
    };
    let set = index(path, "sets[").and_then(|i| names.sets.get(i));
    let Some(record) = set.and_then(|set| set.records.get(index(path, "records[")?)) else {
        return path.to_owned();
    };
    let metric = index(path, "metrics[").and_then(|i| record.metrics.get(i)?.name.as_ref());
    match (metric, &record.scenario) {
        (Some(metric), _) => format!("{path} (metric {metric:?})"),
        (None, Some(scenario)) => format!("{path} (scenario {scenario:?})"),
        (None, None) => path.to_owned(),
    }
}

fn index(path: &str, after: &str) -> Option<usize> {
    let (_, rest) = path.split_once(after)?;
    rest.split_once(']')?.0.parse().ok()
}

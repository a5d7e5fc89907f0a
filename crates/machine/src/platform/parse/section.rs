//! A table of a platform file. It gives access to values by key, and to the line of each problem.

use std::fmt::Display;
use std::ops::RangeInclusive;

use pageout_refusal::{UnknownName, one_of};
use toml_edit::{Item, TableLike, Value};

use crate::platform::error::{PlatformError, Problem};

/// The file that is read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// Returns the error for a problem at byte `offset`.
    pub(super) fn refusal(&self, offset: usize, problem: Problem) -> PlatformError {
        let before = &self.text.as_bytes()[..offset];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        PlatformError { file: self.file.to_owned(), line, problem }
    }

    /// Returns the offset of the last line, for a missing key whose section has no header.
    pub(super) fn last_line(&self) -> usize {
        self.text.trim_end().len()
    }
}

/// A table of the file whose keys are all known.
pub(super) struct Section<'a> {
    source: Source<'a>,
    /// The prefix of the section's keys in errors: empty, or for example `prices.access.`.
    path: String,
    table: &'a dyn TableLike,
    /// The offset of the section's header, or of the table itself.
    offset: usize,
}

impl<'a> Section<'a> {
    /// Returns the table at the root of the file.
    pub(super) fn root(
        source: Source<'a>,
        table: &'a dyn TableLike,
        keys: &[&str],
    ) -> Result<Self, PlatformError> {
        let offset = source.last_line();
        Self { source, path: String::new(), table, offset }.with_keys(keys)
    }

    /// Returns the table under `key`, which is required.
    pub(super) fn section(&self, key: &str, keys: &[&str]) -> Result<Self, PlatformError> {
        let accepted = format!("a section with {}", one_of(keys));
        let item = self.item(key, &accepted)?;
        let offset = item.span().map_or(self.offset, |span| span.start);
        let Some(table) = item.as_table_like() else {
            return Err(self.refused(key, found(item, self.source), accepted));
        };
        let path = format!("{}{key}.", self.path);
        Self { source: self.source, path, table, offset }.with_keys(keys)
    }

    /// Refuses keys other than `keys`.
    fn with_keys(self, keys: &[&str]) -> Result<Self, PlatformError> {
        for (key, _) in self.table.iter() {
            if !keys.contains(&key) {
                let unknown = UnknownName::new("key", key, keys.iter().copied());
                let unknown = match self.path.strip_suffix('.') {
                    Some(section) => unknown.of(format!("section [{section}]")),
                    None => unknown,
                };
                return Err(self.refusal(key, Problem::Unknown(unknown)));
            }
        }
        Ok(self)
    }

    /// Returns a non-empty string.
    pub(super) fn text(&self, key: &str, accepted: impl Display) -> Result<&'a str, PlatformError> {
        let item = self.item(key, &accepted)?;
        match item.as_str() {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.refused(key, found(item, self.source), accepted)),
        }
    }

    /// Reads one of `names`, and returns the value that it stands for.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        names: &[(&str, T)],
    ) -> Result<T, PlatformError> {
        let accepted = || one_of(&names.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let text = self.text(key, accepted())?;
        let found = names.iter().find(|(name, _)| *name == text).map(|(_, what)| *what);
        found.ok_or_else(|| self.refused(key, format!("\"{text}\""), accepted()))
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&self, key: &str) -> Result<bool, PlatformError> {
        const ACCEPTED: &str = "true or false";
        let item = self.item(key, &ACCEPTED)?;
        item.as_bool().ok_or_else(|| self.refused(key, found(item, self.source), ACCEPTED))
    }

    /// Reads a whole number within bounds.
    pub(super) fn count<N>(&self, key: &str, bounds: RangeInclusive<N>) -> Result<N, PlatformError>
    where
        N: Copy + PartialOrd + Display + TryFrom<i64>,
    {
        let accepted = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        let item = self.item(key, &accepted)?;
        let number = item.as_integer().and_then(|number| N::try_from(number).ok());
        let number = number.filter(|number| bounds.contains(number));
        number.ok_or_else(|| self.refused(key, found(item, self.source), accepted))
    }

    /// Reads a number that is finite and not negative.
    pub(super) fn number(&self, key: &str) -> Result<f64, PlatformError> {
        const ACCEPTED: &str = "a number that is not negative";
        let item = self.item(key, &ACCEPTED)?;
        let number = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.refused(key, found(item, self.source), ACCEPTED))
    }

    /// Returns the error for the value of `key`, or for its presence.
    pub(super) fn refused(
        &self,
        key: &str,
        found: impl Display,
        accepted: impl Display,
    ) -> PlatformError {
        let (found, accepted) = (found.to_string(), accepted.to_string());
        self.refusal(key, Problem::Refused { key: self.name(key), found, accepted })
    }

    /// Returns the error for a problem at `key`.
    pub(super) fn refusal(&self, key: &str, problem: Problem) -> PlatformError {
        self.source.refusal(self.offset_of(key), problem)
    }

    /// Returns true if the section has `key`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns the key's value as the file writes it.
    pub(super) fn written(&self, key: &str) -> String {
        self.table.get(key).map_or_else(String::new, |item| found(item, self.source))
    }

    fn item(&self, key: &str, accepted: &impl Display) -> Result<&'a Item, PlatformError> {
        let missing = || Problem::Missing { key: self.name(key), accepted: accepted.to_string() };
        self.table.get(key).ok_or_else(|| self.source.refusal(self.offset, missing()))
    }

    /// Returns a key with the sections it is in.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }

    fn offset_of(&self, key: &str) -> usize {
        let entry = self.table.get_key_value(key);
        let span = entry.and_then(|(key, item)| key.span().or_else(|| item.span()));
        span.map_or(self.offset, |span| span.start)
    }
}

/// Returns the first line of a value as the file writes it.
fn found(item: &Item, source: Source<'_>) -> String {
    match item {
        Item::Value(Value::String(text)) if text.value().is_empty() => "an empty string".to_owned(),
        Item::Value(value) => {
            let text = value.span().map_or("a value", |span| &source.text[span]);
            let line = text.lines().next().unwrap_or_default();
            line.to_owned()
        }
        _ => "a section".to_owned(),
    }
}

//! Complete files that wait for others, until all get their names.

use std::fs::File;
use std::io::{self, Read, Seek};

use super::error::WriteError;
use super::output::{OutputFile, Place};

/// Keeps files one after the other in one that has no name: they take one descriptor, however many
/// they are, and go with the process.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    content: Option<File>,
    /// Where each belongs, and its bytes.
    files: Vec<(Place, u64)>,
}

impl Spool {
    /// Takes a complete file.
    pub(crate) fn add(&mut self, output: OutputFile) -> Result<(), WriteError> {
        let (mut file, place) = output.into_parts()?;
        if self.content.is_none() {
            self.content = Some(tempfile::tempfile_in(&place.directory)?);
        }
        let content = self.content.as_mut().expect("there is one now");
        let length = io::copy(&mut file, content)?;
        self.files.push((place, length));
        Ok(())
    }

    /// Gives all files their names, `last` after the others, once each is whole beside its place.
    pub(crate) fn commit(self, last: OutputFile) -> Result<(), WriteError> {
        let mut staged = Vec::new();
        if let Some(mut content) = self.content {
            content.rewind()?;
            for (place, length) in &self.files {
                staged.push(place.stage(&mut Read::by_ref(&mut content).take(*length))?);
            }
        }
        staged.push(last.stage()?);
        staged.into_iter().try_for_each(super::output::Staged::persist)
    }
}

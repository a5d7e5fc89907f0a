//! Complete files that wait for others, until all get their names.

use std::fs::File;
use std::io::{self, Read, Seek};

use super::error::WriteError;
use super::output::{OutputFile, Place};

/// Complete files, stored in one file that has no name. Any number of files takes one descriptor,
/// and they are removed if the process ends.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    content: Option<File>,
    /// The place for each file, and its bytes.
    files: Vec<(Place, u64)>,
}

impl Spool {
    /// Adds a complete file.
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

    /// Gives all files their names, `last` after the others, once each is complete beside its
    /// place.
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

//! The directory of a sweep: its plan, and a file for each cell that is done or failed. Every file
//! gets its name when it is complete, so a killed process leaves no partial file that others would
//! read.

use crate::plan::{CellId, Plan, PlanError, Planned};
use pageout_experiment::{input, named};
use pageout_record::schema::{MergeError, Pooling, ReadError, RecordFile, RecordSet};
use serde::Serialize;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PLAN: &str = "sweep.json";
const RESULTS: &str = "results";
const ERRORS: &str = "errors";

/// The directory of a sweep.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

/// A cell that failed, and its error.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failed {
    /// The cell's id.
    pub id: CellId,
    /// The text that distinguishes it from others.
    pub cell: String,
    /// The error.
    pub error: String,
}

/// The progress of a sweep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Status {
    /// The number of all cells.
    pub cells: usize,
    /// The number of cells with results.
    pub done: usize,
    /// Cells that failed when they last ran or whose results are damaged, in the order of
    /// the plan.
    pub failed: Vec<Failed>,
}

/// An error in reading or writing a directory.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The file cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}", named(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory has no plan.
    #[error("{} is not a sweep's directory: expected one made by `pageout sweep plan`", named(.0))]
    NotPlanned(PathBuf),
    /// The plan is not accepted.
    #[error("{}", named(path))]
    Plan {
        /// The file.
        path: PathBuf,
        /// The error of the plan.
        source: PlanError,
    },
    /// The directory has another sweep's plan.
    #[error("{} has the plan of another sweep: give another --dir", named(.0))]
    Taken(PathBuf),
    /// Results would be stored elsewhere.
    #[error("{} is a symbolic link: a sweep keeps its results in its own directory", named(.0))]
    Link(PathBuf),
    /// The results cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
}

impl Directory {
    /// Returns a directory, which need not exist yet.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Writes a plan. The directory may already have the same plan.
    ///
    /// # Errors
    /// [`DirectoryError::Taken`] if it has another one; [`DirectoryError::Write`].
    pub fn plan(&self, plan: &Plan) -> Result<(), DirectoryError> {
        match self.planned() {
            Err(DirectoryError::NotPlanned(_)) => {}
            Ok(there) if there == *plan => return Ok(()),
            Ok(_) | Err(DirectoryError::Plan { .. }) => {
                return Err(DirectoryError::Taken(self.root.clone()));
            }
            Err(error) => return Err(error),
        }
        self.check_links()?;
        for directory in [RESULTS, ERRORS] {
            let path = self.root.join(directory);
            fs::create_dir_all(&path).map_err(|source| DirectoryError::Write { path, source })?;
        }
        write(&self.root, PLAN, &plan.to_json())
    }

    /// Returns an error if results would be stored through a symbolic link.
    fn check_links(&self) -> Result<(), DirectoryError> {
        let links = [RESULTS, ERRORS].map(|name| self.root.join(name));
        match links.into_iter().find(|path| path.is_symlink()) {
            Some(link) => Err(DirectoryError::Link(link)),
            None => Ok(()),
        }
    }

    /// Reads the plan.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn planned(&self) -> Result<Plan, DirectoryError> {
        self.check_links()?;
        let path = self.root.join(PLAN);
        let text = match input::read_text(&path, input::MAX_RECORDS) {
            Err(error) if is_missing(&error) => {
                return Err(DirectoryError::NotPlanned(self.root.clone()));
            }
            read => read.map_err(|source| DirectoryError::Read { path: path.clone(), source })?,
        };
        Plan::from_json(&text).map_err(|source| DirectoryError::Plan { path, source })
    }

    /// Returns the result of a cell, if it is done.
    ///
    /// # Errors
    /// [`ReadError`] of a result that is damaged; [`DirectoryError::Read`].
    pub fn result(
        &self,
        id: &CellId,
    ) -> Result<Option<Result<RecordSet, ReadError>>, DirectoryError> {
        let path = self.result_path(id);
        match input::read_text(&path, input::MAX_RECORDS) {
            Ok(text) => Ok(Some(RecordSet::from_json(&text))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(source) => Err(DirectoryError::Read { path, source }),
        }
    }

    /// Returns true for a cell that is done, and whose result is not damaged.
    ///
    /// # Errors
    /// [`DirectoryError::Read`].
    pub fn has(&self, id: &CellId) -> Result<bool, DirectoryError> {
        Ok(matches!(self.result(id)?, Some(Ok(_))))
    }

    /// Stores the result of a cell.
    ///
    /// # Errors
    /// [`DirectoryError::Write`].
    pub fn keep(&self, id: &CellId, json: &str) -> Result<(), DirectoryError> {
        write(&self.root.join(RESULTS), &format!("{id}.json"), json)?;
        // The cell may have failed before.
        match fs::remove_file(self.error(id)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(DirectoryError::Write { path: self.error(id), source })
            }
            _ => Ok(()),
        }
    }

    /// Stores the error of a cell.
    ///
    /// # Errors
    /// [`DirectoryError::Write`].
    pub fn fail(&self, id: &CellId, error: &str) -> Result<(), DirectoryError> {
        write(&self.root.join(ERRORS), &format!("{id}.txt"), error)
    }

    /// Returns the progress of the sweep.
    ///
    /// # Errors
    /// [`DirectoryError::Read`].
    pub fn status(&self, plan: &Plan) -> Result<Status, DirectoryError> {
        let (mut done, mut failed) = (0, Vec::new());
        for Planned { id, cell } in plan.cells() {
            let error = match self.result(id)? {
                Some(Ok(_)) => {
                    done += 1;
                    continue;
                }
                Some(Err(error)) => Some(format!(
                    "its result is damaged, and `sweep run` does it again: {}: {error}",
                    named(&self.result_path(id))
                )),
                None => self.why_failed(id)?,
            };
            if let Some(error) = error {
                failed.push(Failed { id: id.clone(), cell: cell.to_string(), error });
            }
        }
        Ok(Status { cells: plan.cells().len(), done, failed })
    }

    /// Returns the error of a cell that failed when it last ran.
    fn why_failed(&self, id: &CellId) -> Result<Option<String>, DirectoryError> {
        let path = self.error(id);
        match input::read_text(&path, input::MAX_TEXT) {
            Ok(error) => Ok(Some(error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DirectoryError::Read { path, source }),
        }
    }

    /// Returns the results of all cells that are done, in the order of the plan.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn merged(&self, plan: &Plan) -> Result<RecordFile, DirectoryError> {
        let mut files = Vec::new();
        for Planned { id, .. } in plan.cells() {
            if let Some(Ok(set)) = self.result(id)? {
                files.push((self.result_path(id).display().to_string(), set.into()));
            }
        }
        Ok(RecordFile::merge(files, Pooling::Any)?)
    }

    fn result_path(&self, id: &CellId) -> PathBuf {
        self.root.join(RESULTS).join(format!("{id}.json"))
    }

    fn error(&self, id: &CellId) -> PathBuf {
        self.root.join(ERRORS).join(format!("{id}.txt"))
    }
}

impl Status {
    /// Returns the number of cells that are neither done nor failed.
    pub const fn left(&self) -> usize {
        self.cells - self.done - self.failed.len()
    }

    /// Returns the status as indented JSON.
    ///
    /// # Panics
    /// Never: texts and numbers can be written.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written") + "\n"
    }
}

/// Returns true if the file does not exist.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Writes a file that gets its name only when it is complete.
fn write(directory: &Path, name: &str, text: &str) -> Result<(), DirectoryError> {
    let path = directory.join(name);
    let written = || {
        let mut partial = tempfile::Builder::new()
            .prefix(".")
            .suffix(".partial")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
        partial.write_all(text.as_bytes())?;
        partial.as_file().sync_data()?;
        partial.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|source| DirectoryError::Write { path: path.clone(), source })
}

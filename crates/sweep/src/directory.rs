//! The directory of a sweep: its plan, and a file for each cell that is done or failed. Every file
//! appears when it is complete, so whoever is killed leaves nothing half written under a name that
//! is read.

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

/// Where a sweep stands.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

/// A cell that failed, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failed {
    /// Its id.
    pub id: CellId,
    /// What tells it from others.
    pub cell: String,
    /// Why it failed.
    pub error: String,
}

/// How far a sweep is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Status {
    /// All of its cells.
    pub cells: usize,
    /// Those with results.
    pub done: usize,
    /// Cells that failed when they last ran or whose results are damaged, in the order of
    /// the plan.
    pub failed: Vec<Failed>,
}

/// Why a directory cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {}", named(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No plan is in it.
    #[error("{} is no sweep's directory: expected one that `pageout sweep plan` made", named(.0))]
    NotPlanned(PathBuf),
    /// The plan is not accepted.
    #[error("{}", named(path))]
    Plan {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: PlanError,
    },
    /// Another sweep's plan is in it.
    #[error("{} has the plan of another sweep: give another --dir", named(.0))]
    Taken(PathBuf),
    /// Results would be kept elsewhere.
    #[error("{} is a symbolic link: a sweep keeps its results in its own directory", named(.0))]
    Link(PathBuf),
    /// Results do not go together.
    #[error(transparent)]
    Merge(#[from] MergeError),
}

impl Directory {
    /// A directory, which may have to be made.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Writes a plan. The same one may be there already.
    ///
    /// # Errors
    /// [`DirectoryError::Taken`] if another is there; [`DirectoryError::Write`].
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

    /// Refuses to keep results where a link leads.
    fn check_links(&self) -> Result<(), DirectoryError> {
        let links = [RESULTS, ERRORS].map(|name| self.root.join(name));
        match links.into_iter().find(|path| path.is_symlink()) {
            Some(link) => Err(DirectoryError::Link(link)),
            None => Ok(()),
        }
    }

    /// The plan that is there.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn planned(&self) -> Result<Plan, DirectoryError> {
        self.check_links()?;
        let path = self.root.join(PLAN);
        let text = match input::read_text(&path, input::MAX_RECORDS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(DirectoryError::NotPlanned(self.root.clone()));
            }
            read => read.map_err(|source| DirectoryError::Read { path: path.clone(), source })?,
        };
        Plan::from_json(&text).map_err(|source| DirectoryError::Plan { path, source })
    }

    /// The result of a cell, if it is done.
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

    /// Keeps what a cell came to.
    ///
    /// # Errors
    /// [`DirectoryError::Write`].
    pub fn keep(&self, id: &CellId, json: &str) -> Result<(), DirectoryError> {
        write(&self.root.join(RESULTS), &format!("{id}.json"), json)?;
        // It may have failed before.
        match fs::remove_file(self.error(id)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(DirectoryError::Write { path: self.error(id), source })
            }
            _ => Ok(()),
        }
    }

    /// Keeps why a cell failed.
    ///
    /// # Errors
    /// [`DirectoryError::Write`].
    pub fn fail(&self, id: &CellId, error: &str) -> Result<(), DirectoryError> {
        write(&self.root.join(ERRORS), &format!("{id}.txt"), error)
    }

    /// How far the sweep is.
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

    /// The error of a cell that failed when it last ran.
    fn why_failed(&self, id: &CellId) -> Result<Option<String>, DirectoryError> {
        let path = self.error(id);
        match input::read_text(&path, input::MAX_TEXT) {
            Ok(error) => Ok(Some(error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DirectoryError::Read { path, source }),
        }
    }

    /// What all cells that are done came to, in the order of the plan.
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
    /// Cells that are neither done nor failed.
    pub const fn left(&self) -> usize {
        self.cells - self.done - self.failed.len()
    }

    /// It as indented JSON.
    ///
    /// # Panics
    /// Never: texts and numbers can be written.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written") + "\n"
    }
}

/// Returns true if there is no such file.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Writes a file that has its name only when it is complete.
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
